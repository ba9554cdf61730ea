"""Recorded exchanges with models, in a file of JSON lines that can be read, compared and kept.

The first line has the rules by which what differs from run to run is made the same. A line with `part` is a
piece of requests (a system prompt, the tools, a message) under its digest; a line with `asked` is one
exchange: the digests of its request and the answer.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.json import encode as to_json

from bridle.host.paths import config_home, project_slug
from bridle.types.errors import ConfigError
from bridle.types.model import ModelRequest

VERSION = 1
_LARGEST_LINE = 64 * 1024 * 1024
_SHOWN = 60
"""Characters on either side of a difference that are shown."""
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8
_SECRETS = re.compile(r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b")


class Rule(Struct, frozen=True):
    """What matches `pattern` is written as `text`."""

    pattern: str
    text: str


RULES: tuple[Rule, ...] = (
    Rule(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
    Rule(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    Rule(r"\b20\d\d-\d\d-\d\d\b", "<date>"),
    Rule(r"(?m)^(Platform|Shell): .*$", r"\1: <machine>"),
    Rule(r"\b[0-9a-f]{40}\b", "<hash>"),
    Rule(r"\b\d+\.\d+ ?(?:s|sec|seconds|ms)\b", "<duration>"),
    Rule(r"/tmp/[\w.+-]+", "<tmp>"),
)


class Header(Struct, frozen=True, kw_only=True):
    bridle_cassette: int = VERSION
    rules: tuple[Rule, ...] = RULES


class RequestDigest(Struct, frozen=True, kw_only=True):
    """A request by the digests of its parts, and the few values that have none."""

    key: str
    plain: dict[str, Any]
    system: str
    tools: str
    messages: tuple[str, ...]


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a request: a message, or a fault."""

    message: dict[str, Any] | None = None
    request_id: str | None = None
    flaws: dict[str, str] = {}
    """Why the input of a call could not be read, by the place of its block."""
    fell_back: dict[str, str] | None = None
    fault: dict[str, Any] | None = None


class Exchange(Struct, frozen=True):
    asked: RequestDigest
    answer: Answer


class Placeholders:
    """Folders and secrets of this machine, written as names that are the same on every machine."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        home = env.get("HOME") or os.path.expanduser("~")
        named = {
            config_home(env): "<config>",
            os.path.realpath(cwd): "<cwd>",
            cwd: "<cwd>",
            project_slug(cwd): "<project>",
            home: "<home>",
        }
        self._named = sorted(((path, name) for path, name in named.items() if len(path) > 1), key=_by_length)
        self._secrets = [
            value
            for name, value in env.items()
            if _SECRET_NAMES.search(name) and len(value) >= _SHORTEST_SECRET and not value.startswith("/")
        ]
        self._back = {
            "<config>": config_home(env),
            "<cwd>": cwd,
            "<project>": project_slug(cwd),
            "<home>": home,
        }

    def named(self, text: str) -> str:
        """The text without secrets and without values that belong to this machine."""
        for secret in self._secrets:
            text = text.replace(secret, "<secret>")
        text = _SECRETS.sub("<secret>", text)
        for path, name in self._named:
            text = text.replace(path, name)
        return text

    def here(self, text: str) -> str:
        """The text with the folders of this machine."""
        for name, path in self._back.items():
            text = text.replace(name, path)
        return text


class Rendering:
    """Requests in the form in which they are compared."""

    def __init__(self, places: Placeholders, rules: Sequence[Rule]) -> None:
        self._places = places
        self._rules = [(re.compile(rule.pattern), rule.text) for rule in rules]

    def render(self, request: ModelRequest) -> tuple[RequestDigest, dict[str, Any]]:
        """The request by digests, and the value behind each."""
        parts: dict[str, Any] = {}

        def part(value: Any) -> str:
            plain = self.steady(msgspec.to_builtins(value))
            digest = _digest(plain)
            parts[digest] = plain
            return digest

        system = part([block["text"] for block in request.system])
        tools = part(request.tools)
        messages = tuple(part(message) for message in request.history.messages)
        thinking = request.thinking
        plain: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "thinking": None if thinking is None else msgspec.to_builtins(thinking),
            "effort": request.effort,
            "stream": request.stream,
        }
        key = _digest([plain, system, tools, messages])
        return RequestDigest(key=key, plain=plain, system=system, tools=tools, messages=messages), parts

    def steady(self, value: Any) -> Any:
        """A value in which nothing is left that changes from run to run."""
        return _mapped(value, self._steady_text)

    def _steady_text(self, text: str) -> str:
        text = self._places.named(text)
        for pattern, replacement in self._rules:
            text = pattern.sub(replacement, text)
        return text


def named(value: Any, places: Placeholders) -> Any:
    """A value with this machine's folders and secrets replaced by names."""
    return _mapped(value, places.named)


def here(value: Any, places: Placeholders) -> Any:
    """A value with names replaced by this machine's folders."""
    return _mapped(value, places.here)


def read(path: str) -> tuple[Header, list[Exchange], dict[str, Any]]:
    """The header, the exchanges and the parts of a cassette.

    Raises:
        ConfigError: the file is no cassette.
    """
    exchanges: list[Exchange] = []
    parts: dict[str, Any] = {}
    header: Header | None = None
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(_lines(file), 1):
                value = msgspec.json.decode(line)
                if header is None:
                    header = msgspec.convert(value, Header)
                    if header.bridle_cassette != VERSION or "bridle_cassette" not in value:
                        raise ConfigError(f"{path} is from another cassette version. Record it again.")
                elif "part" in value:
                    parts[value["part"]] = value["value"]
                else:
                    exchanges.append(_exchange(value, path, number))
    except OSError as error:
        raise ConfigError(f"Could not read {path}: {error.strerror}.") from error
    except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a cassette ({error}). Record one with `bridle record`.") from error
    if header is None:
        raise ConfigError(f"{path} is empty. Record it with `bridle record`.")
    return header, exchanges, parts


def written(value: Any) -> bytes:
    return to_json(value) + b"\n"


def assembled(asked: RequestDigest, parts: Mapping[str, Any]) -> dict[str, Any]:
    """A request as it is shown and compared."""
    return {
        **asked.plain,
        "system": parts.get(asked.system),
        "tools": parts.get(asked.tools),
        "messages": [parts.get(digest) for digest in asked.messages],
    }


def first_difference(expected: Any, got: Any, path: str = "") -> str | None:
    """Where two values first differ, as a path with both sides; None when they are equal."""
    if expected == got:
        return None
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            inner = f"{path}.{key}" if path else str(key)
            if (found := first_difference(expected.get(key), got.get(key), inner)) is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(got, list):
        for place, (one, other) in enumerate(zip(expected, got, strict=False)):
            if (found := first_difference(one, other, f"{path}[{place}]")) is not None:
                return found
        return f"{path} has {len(expected)} items in the recording and {len(got)} now"
    if isinstance(expected, str) and isinstance(got, str):
        return _text_difference(expected, got, path)
    return f"{path}\n  expected {_brief(expected)}\n  got      {_brief(got)}"


def _text_difference(expected: str, got: str, path: str) -> str:
    pairs = enumerate(zip(expected, got, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), min(len(expected), len(got)))
    start = max(0, place - _SHOWN)
    before, after = expected[start : place + _SHOWN], got[start : place + _SHOWN]
    return f"{path} at character {place}\n  expected …{_brief(before)}…\n  got      …{_brief(after)}…"


def _brief(value: Any) -> str:
    text = to_json(value).decode()
    return text if len(text) <= 4 * _SHOWN else f"{text[: 4 * _SHOWN]}…"


def _exchange(value: Any, path: str, number: int) -> Exchange:
    try:
        return msgspec.convert(value, Exchange)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}, line {number}, is not a recorded exchange: {error}.") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LARGEST_LINE):
        if line.strip():
            yield line


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_mapped(each, change) for each in value]
        case dict():
            return {key: _mapped(each, change) for key, each in value.items()}
        case _:
            return value


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


def _by_length(pair: tuple[str, str]) -> int:
    return -len(pair[0])
