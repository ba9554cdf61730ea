"""What a command substitution prints, where its last command shows that it can be nothing but a number."""

import re
from typing import Literal

Printed = Literal["numbers", "several", "object", "text"]
"""One number, several numbers, the name of an object of git, or anything."""

_WHOLE = re.compile(r"\$\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"([^"$`\\]*)\"""")
_UNFOLLOWED = re.compile(r"""[;&`\\'"(){}\n$]|\|\|""")
_NUMBERS = re.compile(
    r"wc -[lwcm](?:\s*<\s*[\w./-]+)?|nproc|date \+%s|git rev-list --count [A-Za-z][\w./~^-]*"
    r"|grep -[iEFvw]*c[iEFvw]* \w[\w.:=]*(?: \w[\w./]*)?"
)
_SEVERAL = re.compile(r"seq(?: \d+){1,3}")
_OBJECT = re.compile(
    r"git rev-parse(?: --short(?:=\d+)?| --verify)* [A-Za-z][\w./~^-]*|git log -1 --format=%[hH]"
    r"|git merge-base [A-Za-z][\w./~^-]* [A-Za-z][\w./~^-]*"
)


def printed(substitution: str) -> Printed:
    """What kind of text `$(…)` comes to."""
    whole = _WHOLE.fullmatch(substitution)
    if whole is None:
        return "text"
    before, _, last = _QUOTED.sub(_stand_in, whole[1]).replace("2>/dev/null", "").rpartition("|")
    if before.endswith("|") or _UNFOLLOWED.search(before.replace("2>&1", "")) or _UNFOLLOWED.search(last):
        return "text"
    last = " ".join(last.split())
    if _NUMBERS.fullmatch(last):
        return "numbers"
    if _SEVERAL.fullmatch(last):
        return "several"
    return "object" if not before and ".." not in last and _OBJECT.fullmatch(last) else "text"


def _stand_in(found: re.Match[str]) -> str:
    """One word for what stands in quotes, unless it could be an option or nothing."""
    content = found[1] or found[2] or ""
    return "quoted" if content and not content.startswith("-") else "-quoted"
