"""Makes of a skill's body what the model reads: variables, arguments, the output of embedded commands."""

import re
import shlex
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from bridle.extensions.skills import Skill
from bridle.types.errors import ToolError
from bridle.types.text import encodable

RunShell = Callable[[str], Awaitable[str]]
"""Runs a command behind the gate and returns its output. Raises ToolError."""

LONGEST = 400_000
_MOST_COMMANDS = 50
_LONGEST_QUOTED = 100_000
"""Characters of arguments that are looked through for quotes, which takes long."""
_FENCE = r"^(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*+)\n"
_INLINE = r"(?<!\S)!`(?P<inline>[^`\n]+)`"
_CODE = re.compile(f"{_FENCE}|(?P<ticks>`{{2,}})|{_INLINE}", re.MULTILINE)
_FENCE_END = re.compile(r"^(`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_TICKS = re.compile(r"`{2,}")
_VARIABLE = re.compile(
    r"\$ARGUMENTS\[(?P<index>\d{1,4})\]|\$(?P<whole>ARGUMENTS)(?!\w)|\$(?P<number>\d{1,4})(?!\w)"
    r"|\$\{(?P<fact>[A-Z_]+|user_config\.[\w-]+)\}|\$(?P<named>[A-Za-z_]\w*)"
)


_FIRST_WORD = re.compile(r"\S*")


class ExpansionContext(Struct, frozen=True, kw_only=True):
    """What a skill can learn about the session that it is used in."""

    session_id: str
    project_dir: str
    effort: str = ""
    skill_dir: str | None = None
    """Where the skill's own files can be read."""


class Expanded(Struct, frozen=True):
    """A skill's text, and in two parts what may name files: never what commands printed."""

    text: str
    fixed: str
    """What the skill says itself, without every word that an argument stands in."""
    given: str
    """The words that arguments stand in."""


async def expand(
    skill: Skill, arguments: str, circumstances: ExpansionContext, run: RunShell | None
) -> Expanded:
    """The text of a skill called with `arguments`.

    Commands count only where the body has them: what arguments or outputs contain is never run. Without `run`
    they are text like any other.

    Raises:
        ToolError: the file is gone, or an embedded command failed or was not allowed.
    """
    try:
        body = await skill.load()
    except OSError as error:
        raise ToolError(f"The skill {skill.name} could not be read: {error.strerror or error}.") from error
    fill = _Filling(skill, arguments, circumstances)
    pieces: list[str] = []
    written: list[_Part] = []
    commands = 0
    for kind, text in [("text", body.strip())] if run is None else _segments(body.strip()):
        parts = fill(text)
        filled = "".join(part.text for part in parts)
        if kind == "text" or run is None:
            pieces.append(filled)
            written += parts
            continue
        commands += 1
        if commands > _MOST_COMMANDS:
            raise ToolError(f"The skill {skill.name} runs more than {_MOST_COMMANDS} commands. Shorten it.")
        pieces.append((await run(filled.strip())).strip("\n"))
    text = "".join(pieces)
    if arguments.strip() and not fill.used:
        text += f"\n\nARGUMENTS: {arguments.strip()}"
    if circumstances.skill_dir is not None:
        text = f"Base directory for this skill: {circumstances.skill_dir}\n\n{text}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n\n[The rest of the skill is omitted: it is too long.]"
    fixed, given = _apart(written)
    return Expanded(encodable(text), encodable(fixed), encodable(given))


def split_arguments(arguments: str) -> list[str]:
    """Words as a shell would see them; quotes that do not fit together are ordinary characters."""
    if len(arguments) > _LONGEST_QUOTED:
        return arguments.split()
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


class _Filling:
    """Puts values in place of variables, in one pass: values are never looked into."""

    def __init__(self, skill: Skill, arguments: str, circumstances: ExpansionContext) -> None:
        self._arguments = arguments.strip()
        self._words: list[str] | None = None
        self._names = {name: place for place, name in enumerate(skill.argument_names)}
        self._facts = _facts(skill, circumstances)
        self.used = False
        """Whether the arguments stand somewhere in the text."""

    def __call__(self, text: str) -> list["_Part"]:
        parts: list[_Part] = []
        at = 0
        for match in _VARIABLE.finditer(text):
            parts += (_Part(text[at : match.start()]), self._value(match))
            at = match.end()
        return [*parts, _Part(text[at:])]

    def _value(self, match: re.Match[str]) -> "_Part":
        if (fact := match["fact"]) is not None:
            return _Part(self._facts.get(fact, match[0]))
        if match["whole"]:
            self.used = True
            return _Part(self._arguments, is_given=True)
        if (named := match["named"]) is not None:
            if named not in self._names:
                return _Part(match[0])
            return self._word(self._names[named])
        return self._word(int(match["index"] or match["number"]))

    def _word(self, place: int) -> "_Part":
        self.used = True
        if self._words is None:
            # Only when one is used: whole files are pasted as arguments.
            self._words = split_arguments(self._arguments)
        return _Part(self._words[place] if place < len(self._words) else "", is_given=True)


class _Part(Struct, frozen=True):
    text: str
    is_given: bool = False
    """It is the value of an argument."""


def _apart(parts: Sequence[_Part]) -> tuple[str, str]:
    """What stands free of arguments, and the words that arguments stand in."""
    fixed: list[str] = []
    given: list[str] = []
    word, holds = "", False
    for own, group in groupby(parts, key=lambda part: not part.is_given):
        text = "".join(part.text for part in group)
        if not own:
            word, holds = word + text, True
            continue
        start = _end_of_word(text) if holds else 0
        word += text[:start]
        if start == len(text):
            continue  # The next value may stand in the same word.
        if holds:
            given.append(word)
        end = max(start, _last_word(text))
        fixed.append(text[start:end])
        word, holds = text[end:], False
    (given if holds else fixed).append(word)
    return "".join(fixed), "\n".join(given)


def _end_of_word(text: str) -> int:
    """Where the first blank stands."""
    match = _FIRST_WORD.match(text)
    return 0 if match is None else match.end()


def _last_word(text: str) -> int:
    """Where the word begins that a text is cut off in; a quoted mention is one word."""
    quoted = text.rfind('@"')
    if quoted >= 0 and '"' not in text[quoted + 2 :] and "\n" not in text[quoted + 2 :]:
        return quoted
    return len(text) if not text or text[-1].isspace() else len(text) - len(text.rsplit(maxsplit=1)[-1])


def _facts(skill: Skill, circumstances: ExpansionContext) -> Mapping[str, str]:
    facts = {
        "CLAUDE_SESSION_ID": circumstances.session_id,
        "CLAUDE_EFFORT": circumstances.effort,
        "CLAUDE_PROJECT_DIR": circumstances.project_dir,
        "CLAUDE_SKILL_DIR": circumstances.skill_dir or "",
    }
    if skill.root is not None and skill.root.plugin_root is not None:
        facts["CLAUDE_PLUGIN_ROOT"] = skill.root.plugin_root
        facts["CLAUDE_PLUGIN_DATA"] = skill.root.plugin_data or ""
        facts |= {f"user_config.{name}": value for name, value in skill.root.options.items()}
    return facts


def _segments(body: str) -> list[tuple[Literal["text", "command"], str]]:
    """The body cut at its commands; other code stays text and is not searched."""
    found: list[tuple[Literal["text", "command"], str]] = []
    start = at = 0
    fences, spans = _Ends(_FENCE_END, body), _Ends(_TICKS, body)
    while (match := _CODE.search(body, at)) is not None:
        at = match.end()
        command = match["inline"]
        if (fence := match["fence"]) is not None and (end := fences.after(at, fence)) is not None:
            command = body[at : end[0]] if match["info"].strip().startswith("!") else None
            at = end[1]
        elif command is None:
            ticks = match["ticks"] or fence or ""
            at = match.start() + len(ticks)
            end = spans.after(at, ticks)
            at = at if end is None else end[1]
        if command is not None:
            found.append(("text", body[start : match.start()]))
            found.append(("command", command))
            start = at
    return [*found, ("text", body[start:])]


class _Ends:
    """Where code may end, found in one pass: looking ahead from every beginning could take hours."""

    def __init__(self, pattern: re.Pattern[str], body: str) -> None:
        self._places: dict[str, list[tuple[int, int]]] = {}
        for match in pattern.finditer(body):
            mark = match[match.lastindex or 0]
            self._places.setdefault(mark, []).append(match.span())

    def after(self, at: int, mark: str) -> tuple[int, int] | None:
        """Where the mark stands next, with its end."""
        places = self._places.get(mark, [])
        number = bisect_left(places, (at, 0))
        return places[number] if number < len(places) else None
