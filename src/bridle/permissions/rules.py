"""Permission rules as people write them: `Tool` or `Tool(content)`, with the line of their file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.problems import line_numbers
from bridle.config.sources import Layer
from bridle.permissions.tool_names import BY_HOST, OLD_NAMES, RULED_BY
from bridle.types.permission import Effect, Rule, RuleSource

_TOOL = r"[^\s(),]+"
_ALLOWED_GLOB = r"mcp__[^*]+__[^*]*\*"
_PRIMARY_FIELD = r"(command|file_path|notebook_path|path|url):"
_SHOWN = 200


def parse(text: str, effect: Effect, source: RuleSource = "session") -> Rule:
    """Read one rule; `Tool(*)` is the same as `Tool`, and `\\(`, `\\)` and `\\\\` stand for themselves.

    Raises:
        ValueError: the text is no rule, or one that may not have this effect.
    """
    stripped = text.strip()
    name, bracket, rest = stripped.partition("(")
    if not re.fullmatch(_TOOL, name) or (bracket and not _closes(rest)):
        raise ValueError(f"{_shown(text)} is not a permission rule; write Tool or Tool(content).")
    content = _unescape(rest[:-1]) if bracket else None
    if content is not None and not content.strip():
        raise ValueError(f"{_shown(text)} has empty parentheses; write {name} to match every call.")
    if effect is Effect.ALLOW and "*" in name and not re.fullmatch(_ALLOWED_GLOB, name):
        raise ValueError(f"{_shown(text)} would allow too much; a star may only follow mcp__<server>__.")
    return Rule(effect, OLD_NAMES.get(name, name), None if content == "*" else content, source)


def write(rule: Rule) -> str:
    """The text that `parse` reads back as the same rule."""
    if rule.content is None:
        return rule.tool
    escaped = re.sub(r"[\\()]", lambda found: "\\" + found[0], rule.content)
    return f"{rule.tool}({escaped})"


def split_rules(text: str) -> tuple[str, ...]:
    """Take a list apart at the commas and blanks outside parentheses, as in `Bash(git log:*),Read Write`."""
    pieces: list[str] = []
    piece, depth, escaped = "", 0, False
    for character in text:
        if depth == 0 and (character == "," or character.isspace()):
            pieces.append(piece)
            piece = ""
            continue
        if not escaped:
            depth += (character == "(") - (character == ")" and depth > 0)
        escaped = character == "\\" and not escaped
        piece += character
    return tuple(piece for piece in (*pieces, piece) if piece)


def from_value(value: Mapping[str, Any], effect: Effect, source: RuleSource) -> Rule:
    """Read a rule that an update carries.

    Raises:
        ValueError: it is no rule, one that may not have this effect, or one that never matches.
    """
    name, content = value.get("toolName"), value.get("ruleContent")
    if not isinstance(name, str) or not (content is None or isinstance(content, str)):
        raise ValueError(f"{_shown(dict(value))} is not a permission rule; it needs a toolName.")
    rule = parse(write(Rule(effect, name, content or None)), effect, source)
    if flaw := _flaw(rule):
        raise ValueError(flaw)
    return rule


class Origin(Struct, frozen=True, kw_only=True):
    """Where the rules of one settings layer are written."""

    source: RuleSource
    file: str | None = None
    lines: Mapping[tuple[Effect, str], int] = {}


def rules_from(permissions: Mapping[str, Any], origin: Origin) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of one settings layer, and a sentence about each that cannot be used."""
    rules: list[Rule] = []
    problems: list[str] = []
    for effect in Effect:
        listed = permissions.get(effect.value) or []
        if not isinstance(listed, list | tuple):
            problems.append(_located(origin, None, f"permissions.{effect.value} must be a list of rules."))
            continue
        for text in listed:
            if not isinstance(text, str):
                complaint = f"permissions.{effect.value} must hold strings, not {_shown(text)}."
                problems.append(_located(origin, None, complaint))
                continue
            line = origin.lines.get((effect, text))
            try:
                rules.append(_usable(text, effect, origin, line))
            except ValueError as error:
                problems.append(_located(origin, line, str(error)))
    return tuple(rules), tuple(problems)


def _usable(text: str, effect: Effect, origin: Origin, line: int | None) -> Rule:
    rule = parse(text, effect, origin.source)
    if flaw := _flaw(rule):
        raise ValueError(flaw)
    return msgspec.structs.replace(rule, file=origin.file, line=line)


def _located(origin: Origin, line: int | None, complaint: str) -> str:
    place = ":".join(str(part) for part in (origin.file, line) if part is not None)
    return f"{place}: {complaint}" if place else complaint


def _flaw(rule: Rule) -> str | None:
    """Why a rule that reads well would never match."""
    return next(_flaws(rule), None)


def _flaws(rule: Rule) -> Iterator[str]:
    content = rule.content
    if content is None:
        return
    if (instead := RULED_BY.get(rule.tool)) is not None:
        yield f"{_shown(write(rule))} never matches; write {instead}({content[:_SHOWN]}) for files."
    if rule.effect is Effect.ALLOW and rule.tool.startswith("mcp__"):
        yield f"{_shown(write(rule))} never matches; an allow rule for a server's tool has no parentheses."
    if rule.effect is not Effect.ALLOW and (field := re.match(_PRIMARY_FIELD, content)):
        yield f"{_shown(write(rule))} never matches; remove {field[0]} and write the pattern only."
    if rule.effect is Effect.ALLOW and rule.tool in BY_HOST and not content.startswith("domain:"):
        yield f"{_shown(write(rule))} never matches; write {rule.tool}(domain:host)."


def _closes(rest: str) -> bool:
    """Whether the text after the opening parenthesis ends with one that closes it."""
    body = rest[:-1]
    backslashes = len(body) - len(body.rstrip("\\"))
    return rest.endswith(")") and backslashes % 2 == 0


def _unescape(text: str) -> str:
    return re.sub(r"\\([\\()])", r"\1", text)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def rules_of(layer: Layer) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that a layer gives, and a sentence with file and line about each that cannot be used."""
    permissions = layer.values.get("permissions")
    if not isinstance(permissions, dict) or not any(permissions.get(effect) for effect in Effect):
        return (), ()
    lines = dict(reversed(list(_lines(layer.text))))
    return rules_from(permissions, Origin(source=layer.source, file=layer.path, lines=lines))


def _lines(text: str) -> Iterator[tuple[tuple[Effect, str], int]]:
    """The line of each rule as the file has it, since a layer's values lack what is wrong in them."""
    try:
        written: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return
    numbers = line_numbers(text)
    for effect in Effect:
        match written:
            case {"permissions": dict() as permissions}:
                listed: Any = permissions.get(effect.value)
            case _:
                return
        for index, rule in enumerate(listed if isinstance(listed, list) else ()):
            line = numbers.get(("permissions", effect.value, index))
            if line is not None:
                yield (effect, str(rule)), line
