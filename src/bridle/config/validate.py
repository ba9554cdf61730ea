"""Checks a settings file and leaves out exactly what is wrong with it."""

import re
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from bridle.config.problems import Fault, KeyPath, Problem, located
from bridle.config.schema import TYPES
from bridle.types.text import unmarked

_DEEPEST = 64
_LONGEST_SHOWN = 40


class _Missing:
    """Stands for a value that was left out."""


_MISSING = _Missing()


def parse(data: bytes, *, file: str) -> tuple[dict[str, Any], str, Problem | None]:
    """The object in a settings file and its text; a file that cannot be read as one counts as empty."""
    data = unmarked(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return {}, "", Problem(file=file, line=line, message="not valid UTF-8", broken=True)
    if not text.strip():
        return {}, text, None
    try:
        values: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return {}, text, _syntax_problem(text, str(error), file)
    if not isinstance(values, dict):
        message = f"expected an object, found {_kind(values)}"
        return {}, text, Problem(file=file, line=1, column=1, message=message, broken=True)
    if text.count("{") + text.count("[") > _DEEPEST and _depth(text) > _DEEPEST:
        message = f"objects are nested deeper than {_DEEPEST} levels"
        return {}, text, Problem(file=file, message=message, broken=True)
    return values, text, None


def validate(values: dict[str, Any], *, file: str, text: str) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The values without those that are wrong, and what was wrong with them."""
    clean, faults = check(values)
    return clean, located((*faults, *misspelled(values)), file=file, text=text)


def check(values: dict[str, Any]) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """Like `validate`, for values that have no text."""
    faults: list[Fault] = []
    clean = _clean_fields(values, TYPES, (), faults)
    return clean if faults else values, tuple(faults)


def misspelled(values: dict[str, Any]) -> Iterator[Fault]:
    """Keys that are one slip away from a setting; others may be of newer releases or other programs."""
    for key in values.keys() - TYPES.keys():
        from bridle.types.nearest import is_slip  # Only a wrong name needs it.

        if meant := next((name for name in TYPES if is_slip(key, name)), None):
            yield (key,), f"unknown setting: did you mean {meant}?"


def _clean(value: Any, expected: Any, path: KeyPath, faults: list[Fault]) -> Any:
    """The value without its wrong parts, or `_MISSING` when nothing of it can be used."""
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError:
        pass
    else:
        return value
    for choice in alternatives(expected):
        if isinstance(value, dict) and is_struct(choice) and _tag_fits(value, choice):
            return _clean_whole_struct(value, choice, path, faults)
        if isinstance(value, dict) and get_origin(choice) is dict:
            return _clean_items(value, get_args(choice)[1], path, faults)
        if isinstance(value, list) and get_origin(choice) is tuple:
            return _clean_elements(value, get_args(choice)[0], path, faults)
    faults.append((path, _sentence(value, expected)))
    return _MISSING


def _clean_whole_struct(
    value: dict[str, Any], struct: type[Struct], path: KeyPath, faults: list[Fault]
) -> Any:
    known = len(faults)
    clean = _clean_struct(value, struct, path, faults)
    try:
        msgspec.convert(_without_nulls(clean), struct)
    except msgspec.ValidationError as error:
        if len(faults) == known:
            missing = re.search(r"required field `(\w+)`", str(error))
            faults.append((path, f"`{missing[1]}` is missing" if missing else str(error)))
        return _MISSING
    return clean


def _clean_struct(
    value: dict[str, Any], struct: type[Struct], path: KeyPath, faults: list[Fault]
) -> dict[str, Any]:
    types = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    return _clean_fields(value, types, path, faults)


def _clean_fields(
    value: dict[str, Any], types: Mapping[str, Any], path: KeyPath, faults: list[Fault]
) -> dict[str, Any]:
    return {
        key: cleaned
        for key, item in value.items()
        if (cleaned := _clean(item, types.get(key, Any), (*path, key), faults)) is not _MISSING
    }


def _clean_items(value: dict[str, Any], expected: Any, path: KeyPath, faults: list[Fault]) -> dict[str, Any]:
    # A null means that the key is not set, so it is never wrong.
    return {
        key: cleaned
        for key, item in value.items()
        if (cleaned := None if item is None else _clean(item, expected, (*path, key), faults)) is not _MISSING
    }


def _clean_elements(value: list[Any], expected: Any, path: KeyPath, faults: list[Fault]) -> list[Any]:
    cleaned = (_clean(item, expected, (*path, index), faults) for index, item in enumerate(value))
    return [item for item in cleaned if item is not _MISSING]


def alternatives(expected: Any) -> tuple[Any, ...]:
    """The types that a key takes, without None and without the limits on them."""
    if get_origin(expected) is Annotated:
        return alternatives(get_args(expected)[0])
    if get_origin(expected) in (None, dict, tuple, Literal):
        return (expected,)
    return tuple(inner for part in get_args(expected) if part is not NoneType for inner in alternatives(part))


def is_struct(choice: Any) -> bool:
    return isinstance(choice, type) and issubclass(choice, Struct)


def _tag_fits(value: dict[str, Any], struct: type[Struct]) -> bool:
    config = struct.__struct_config__
    return config.tag is None or value.get(config.tag_field or "") == config.tag


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_nulls(item) if isinstance(item, dict) else item
        for key, item in value.items()
        if item is not None
    }


def _sentence(value: Any, expected: Any) -> str:
    wanted = list(dict.fromkeys(_wanted(choice) for choice in alternatives(expected)))
    if limits := _limits(expected):
        wanted = [f"{word} {limits}" for word in wanted]
    return f"expected {' or '.join(wanted)}, found {_shown(value)}"


_WANTED: dict[Any, str] = {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}


def _wanted(choice: Any) -> str:
    if get_origin(choice) is Literal:
        words = [str(word) for word in get_args(choice)]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    if get_origin(choice) is tuple:
        return "a list"
    if is_struct(choice) and choice.__struct_config__.tag is not None:
        return f"an object with `{choice.__struct_config__.tag_field}` {choice.__struct_config__.tag}"
    return _WANTED.get(choice, "an object")


def _limits(expected: Any) -> str:
    for part in (expected, *get_args(expected)):
        for meta in getattr(part, "__metadata__", ()):
            low = meta.ge if meta.ge is not None else meta.gt
            if meta.le is not None:
                return f"from {low} to {meta.le}"
            return f"of at least {low}" if meta.ge is not None else f"above {low}"
    return ""


def _shown(value: Any) -> str:
    """A value as an error message may show it: texts may be secrets, so only short words are repeated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"[\w-]{0,20}", value)):
        return msgspec.json.encode(value).decode()[:_LONGEST_SHOWN]
    return _kind(value)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


def _syntax_problem(text: str, fallback: str, file: str) -> Problem:
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        message = f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"
        return Problem(file=file, line=error.lineno, column=error.colno, message=message, broken=True)
    except (RecursionError, ValueError):
        pass  # Nested too deeply, or a number of thousands of digits: then there is the offset.
    offset = re.search(r"\(byte (\d+)\)", fallback)
    before = text.encode()[: int(offset[1])].decode(errors="ignore") if offset else ""
    column = len(before) - before.rfind("\n")
    line = before.count("\n") + 1
    return Problem(file=file, line=line, column=column, message=f"not valid JSON: {fallback}", broken=True)


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{\[]|[}\]]', text):
        if match[0] in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "}]":
            depth -= 1
    return deepest
