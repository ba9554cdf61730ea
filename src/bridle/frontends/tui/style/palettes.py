"""The colors of the built-in themes, one row per semantic name."""

from collections.abc import Mapping

_ROWS = """
text                 -        -        -   -
muted                #8b8b8b  #6a6a6a  8   8
subtle               #505050  #b4b4b4  8   7
accent               #d9915b  #a8551f  11  3
inverse              #101010  #ffffff  0   15
selection            #3a4a63  #cfe0f7  4   6
error                #f0606a  #b3202c  9   1
warning              #e5b454  #8a6100  11  3
success              #6cc07a  #1f7a35  10  2
info                 #66aef0  #1a64b0  12  4
link                 #66aef0  #1a64b0  12  4
border               #5a5a5a  #a8a8a8  8   8
border.focus         #66aef0  #1a64b0  12  4
prompt               #b8b8b8  #505050  7   8
user                 #c8c8c8  #404040  15  0
user.ground          #303030  #ececec  -   -
assistant            -        -        -   -
thinking             #909090  #6a6a6a  8   8
tool                 #9bc9c0  #1f6f66  14  6
suggestion           #6e6e6e  #8e8e8e  8   8
spinner              #d9915b  #a8551f  11  3
spinner.bright       #f4c79b  #d98a4d  15  11
permission           #a9a0f5  #5145c0  13  5
plan                 #5fb3a8  #1b6e62  14  6
heading              #e0c08c  #7a4a10  15  0
quote                #8b8b8b  #6a6a6a  8   8
code                 #a9b8f0  #3b4fb5  12  4
added                #6cc07a  #1f7a35  10  2
added.ground         #1d3b26  #d4f2da  -   -
added_word           #d4f2da  #0c3d18  10  2
added_word.ground    #2e6b3f  #9fdfae  2   10
removed              #f0606a  #b3202c  9   1
removed.ground       #47222a  #f9d9dc  -   -
removed_word         #f9d9dc  #54101a  9   1
removed_word.ground  #7d313c  #f2a9b0  1   9
line_number          #6e6e6e  #8e8e8e  8   8
search.match         #5a4a14  #fbe9a8  3   11
search.current       #a87b1a  #f5c542  11  3
code.keyword         #c99cf0  #7a35b0  13  5
code.string          #9ccf7d  #3d7a1a  10  2
code.number          #e8a96b  #9a5310  11  3
code.comment         #7f8a92  #6b757c  8   8
code.function        #7fb8f5  #1d5fb0  12  4
code.type            #e6c96f  #7d5c00  11  3
code.operator        #b9c4cc  #4a545b  7   8
code.constant        #e8a96b  #9a5310  11  3
code.builtin         #6fc7cf  #0f6d78  14  6
code.decorator       #e0a3c8  #99306e  13  5
code.variable        -        -        -   -
code.property        #9bc9e8  #225f8a  14  4
code.tag             #f0868e  #b02a3a  9   1
code.attribute       #e6c96f  #7d5c00  11  3
code.escape          #6fc7cf  #0f6d78  14  6
code.regex           #e0a3c8  #99306e  13  5
code.punctuation     #a0a8ae  #5a636a  7   8
code.error           #f0606a  #b3202c  9   1
mode.default         #8b8b8b  #6a6a6a  8   8
mode.plan            #5fb3a8  #1b6e62  14  6
mode.acceptEdits     #a9a0f5  #5145c0  13  5
mode.auto            #e5b454  #8a6100  11  3
mode.dontAsk         #e5b454  #8a6100  11  3
mode.bypassPermissions  #f0606a  #b3202c  9   1
mode.bash            #e57bb5  #a8246f  13  5
mode.memory          #66aef0  #1a64b0  12  4
agent.red            #f0606a  #b3202c  9   1
agent.blue           #66aef0  #1a64b0  12  4
agent.green          #6cc07a  #1f7a35  10  2
agent.yellow         #e5c454  #7d6400  11  3
agent.purple         #b48cf0  #6b35b8  13  5
agent.orange         #e8955b  #a8551f  11  3
agent.pink           #ef8fc4  #a8246f  13  5
agent.cyan           #5fc7d0  #0f6d78  14  6
chart.1              #d9915b  #a8551f  11  3
chart.2              #66aef0  #1a64b0  12  4
chart.3              #6cc07a  #1f7a35  10  2
chart.4              #b48cf0  #6b35b8  13  5
chart.5              #e5c454  #7d6400  3   11
chart.6              #5fc7d0  #0f6d78  14  6
chart.free           #404040  #d8d8d8  8   7
"""

_COLOR_BLIND = """
error                #ff8a3d  #a84300
success              #5aa9ff  #0a58ad
added                #5aa9ff  #0a58ad
added.ground         #12304f  #d3e6fb
added_word           #d3e6fb  #06294f
added_word.ground    #1f5a96  #9cc9f5
removed              #ff9d47  #a84300
removed.ground       #4a2f10  #fce3c6
removed_word         #fce3c6  #4a2400
removed_word.ground  #8a5312  #f5bd7c
code.string          #8cc4ff  #0a58ad
code.tag             #ffb070  #a84300
code.error           #ff8a3d  #a84300
mode.bypassPermissions  #ff8a3d  #a84300
agent.red            #ff8a3d  #a84300
agent.green          #7fd0e8  #0a6d8a
chart.3              #7fd0e8  #0a6d8a
"""


_HIGH_CONTRAST = """
muted                #d0d0d0  #303030
subtle               #b0b0b0  #404040
accent               #ffb870  #7a2f00
selection            #005fd7  #ffe066
error                #ff8088  #a00010
warning              #ffd75f  #604000
success              #7dff9a  #00541a
info                 #8fd0ff  #003f8f
link                 #8fd0ff  #003f8f
border               #e0e0e0  #000000
border.focus         #ffffff  #003f8f
prompt               #ffffff  #000000
user                 #ffffff  #000000
user.ground          #262626  #e0e0e0
thinking             #d0d0d0  #303030
tool                 #b8fff0  #004f48
suggestion           #c0c0c0  #404040
spinner              #ffb870  #7a2f00
spinner.bright       #ffffff  #000000
permission           #d0c8ff  #3020a0
plan                 #90ffe8  #00493f
heading              #ffe0a0  #502c00
quote                #d0d0d0  #303030
code                 #d0dcff  #1c2f95
added                #7dff9a  #00541a
added.ground         #003010  #c8ffd4
added_word           #ffffff  #000000
added_word.ground    #005a1a  #80e898
removed              #ff8a92  #900010
removed.ground       #300004  #ffe4e7
removed_word         #ffffff  #000000
removed_word.ground  #a00014  #ff98a0
line_number          #c0c0c0  #404040
code.comment         #c0c8d0  #404850
code.punctuation     #e0e0e0  #202020
mode.default         #d0d0d0  #303030
mode.plan            #90ffe8  #00493f
chart.free           #808080  #909090
"""


def palette(name: str) -> Mapping[str, str | None]:
    """The colors of a built-in theme by their names; None keeps the terminal's own.

    A name that ends in `.ground` is what the name without it means behind text.

    Raises:
        KeyError: there is no such theme.
    """
    column, changes = _COLUMNS[name]
    return {**_column(_ROWS, column), **_column(changes, column)}


_COLUMNS = {
    "dark": (1, ""),
    "light": (2, ""),
    "dark-daltonized": (1, _COLOR_BLIND),
    "light-daltonized": (2, _COLOR_BLIND),
    "dark-high-contrast": (1, _HIGH_CONTRAST),
    "light-high-contrast": (2, _HIGH_CONTRAST),
    "dark-ansi": (3, ""),
    "light-ansi": (4, ""),
}

NAMES = tuple(_COLUMNS)
"""The built-in themes, in the order in which they are offered."""


def _column(table: str, column: int) -> dict[str, str | None]:
    rows = (row.split() for row in table.strip().splitlines())
    return {row[0]: _color(row[column]) for row in rows}


def _color(value: str) -> str | None:
    if value == "-":
        return None
    return f"ansi.{value}" if value.isdigit() else value
