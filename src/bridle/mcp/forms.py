"""The forms that servers ask people to fill in: fields from a flat schema, and what fits into each."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

FieldKind = Literal["text", "number", "integer", "switch", "choice", "choices"]

_MOST_FIELDS = 50
_MOST_CHOICES = 200
_LONGEST = 500
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


class Option(Struct, frozen=True):
    value: str
    title: str


class Field(Struct, frozen=True, kw_only=True):
    """One thing to fill in."""

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    required: bool = False
    default: Any = None
    options: tuple[Option, ...] = ()
    format: str = ""
    least: float | None = None
    most: float | None = None
    """Of a number, of the length of a text, or of how many are chosen."""


def fields_of(schema: Mapping[str, Any] | None) -> tuple[Field, ...]:
    """The fields of a form, in the order of the schema; what no form can show is left out."""
    properties, required = (schema or {}).get("properties"), (schema or {}).get("required")
    needed = required if isinstance(required, list) else []
    found = [
        _field(name, each, required=name in needed)
        for name, each in list((properties if isinstance(properties, dict) else {}).items())[:_MOST_FIELDS]
        if isinstance(each, dict)
    ]
    return tuple(each for each in found if each is not None)


def problem_with(field: Field, value: Any) -> str | None:
    """Why a value cannot be sent, in one sentence; None when it can."""
    if value is None or value in ("", []):
        return f"{field.title} is required." if field.required else None
    match field.kind:
        case "text":
            return _text_problem(field, value)
        case "number" | "integer":
            return _number_problem(field, value)
        case "switch":
            return None if isinstance(value, bool) else f"{field.title} must be yes or no."
        case "choice":
            known = {option.value for option in field.options}
            return (
                None
                if value in known
                else (f"{field.title} must be one of {', '.join(sorted(known))[:200]}.")
            )
        case "choices":
            return _choices_problem(field, value)


def value_of(field: Field, typed: str) -> Any:
    """What someone typed, as the kind of value that the field takes; what does not fit stays a text."""
    text = typed.strip()
    match field.kind:
        case "integer" if re.fullmatch(r"[+-]?\d{1,18}", text):
            return int(text)
        case "number" if re.fullmatch(r"[+-]?\d{0,18}(\.\d+)?", text) and text.strip("+-"):
            return float(text)
        case "switch" if text.lower() in ("y", "yes", "true", "1", "on"):
            return True
        case "switch" if text.lower() in ("n", "no", "false", "0", "off"):
            return False
        case "choices":
            return [part.strip() for part in text.split(",") if part.strip()]
        case _:
            return typed


def problems_with(fields: tuple[Field, ...], content: Mapping[str, Any]) -> dict[str, str]:
    """Everything that must be put right before a form can be sent, by field."""
    found = {field.name: problem_with(field, content.get(field.name)) for field in fields}
    return {name: problem for name, problem in found.items() if problem is not None}


def _field(name: str, each: Mapping[str, Any], *, required: bool) -> Field | None:
    kind, options = _kind(each)
    if kind is None:
        return None
    title, description = each.get("title"), each.get("description")
    low, high = {
        "text": ("minLength", "maxLength"),
        "choices": ("minItems", "maxItems"),
    }.get(kind, ("minimum", "maximum"))
    form = each.get("format")
    return Field(
        name=name,
        kind=kind,
        title=(title if isinstance(title, str) and title else name)[:_LONGEST],
        description=description[:_LONGEST] if isinstance(description, str) else "",
        required=required,
        default=each.get("default"),
        options=options,
        format=form if isinstance(form, str) else "",
        least=_bound(each.get(low)),
        most=_bound(each.get(high)),
    )


def _kind(each: Mapping[str, Any]) -> tuple[FieldKind | None, tuple[Option, ...]]:
    match each:
        case {"type": "array", "items": dict() as items}:
            options = _options(items)
            return ("choices" if options else None), options
        case {"type": "boolean"}:
            return "switch", ()
        case {"type": "integer"}:
            return "integer", ()
        case {"type": "number"}:
            return "number", ()
        case _:
            options = _options(each)
            is_text = each.get("type", "string") == "string"
            return ("choice" if options else "text" if is_text else None), options


def _options(each: Mapping[str, Any]) -> tuple[Option, ...]:
    match each:
        case {"oneOf": list() as listed} | {"anyOf": list() as listed}:
            pairs = [
                (one.get("const"), one.get("title"))
                for one in listed[:_MOST_CHOICES]
                if isinstance(one, dict)
            ]
        case {"enum": list() as values}:
            names = each.get("enumNames")
            titles = names if isinstance(names, list) and len(names) == len(values) else values
            pairs = list(zip(values, titles, strict=True))[:_MOST_CHOICES]
        case _:
            return ()
    return tuple(
        Option(value, title if isinstance(title, str) else value)
        for value, title in pairs
        if isinstance(value, str)
    )


def _text_problem(field: Field, value: Any) -> str | None:
    if not isinstance(value, str):
        return f"{field.title} must be text."
    if field.least is not None and len(value) < field.least:
        return f"{field.title} needs at least {field.least:g} characters."
    if field.most is not None and len(value) > field.most:
        return f"{field.title} allows at most {field.most:g} characters."
    shapes = {
        "email": (_EMAIL, "an e-mail address"),
        "uri": (_URI, "a URL such as https://…"),
        "date": (_DATE, "a date such as 2026-01-31"),
    }
    if field.format in shapes and shapes[field.format][0].fullmatch(value) is None:
        return f"{field.title} must be {shapes[field.format][1]}."
    if field.format == "date-time" and not _is_moment(value):
        return f"{field.title} must be a time such as 2026-01-31T12:00:00Z."
    return None


def _number_problem(field: Field, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{field.title} must be a number."
    if field.kind == "integer" and value != int(value):
        return f"{field.title} must be a whole number."
    if field.least is not None and value < field.least:
        return f"{field.title} must be at least {field.least:g}."
    if field.most is not None and value > field.most:
        return f"{field.title} must be at most {field.most:g}."
    return None


def _choices_problem(field: Field, value: Any) -> str | None:
    known = {option.value for option in field.options}
    if not isinstance(value, list) or any(each not in known for each in value):
        return f"{field.title} must be some of {', '.join(sorted(known))[:200]}."
    if field.least is not None and len(value) < field.least:
        return f"{field.title} needs at least {field.least:g}."
    if field.most is not None and len(value) > field.most:
        return f"{field.title} allows at most {field.most:g}."
    return None


def _is_moment(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text


def _bound(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
