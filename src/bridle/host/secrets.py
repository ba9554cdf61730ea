"""Keeps the secrets that this process uses out of what it tells: errors, logs, transcripts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

_SHORTEST = 8
"""Shorter values are no secrets worth the name, and words that texts are full of."""
_MOST = 50
_HEADERS = ("auth", "key", "token", "secret", "cookie", "signature", "credential", "passw")
_VARIABLES = frozenset((
    "KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE",
    "CREDENTIAL", "CREDENTIALS", "BEARER", "HEADER", "HEADERS",
))  # fmt: skip
"""Words in the names of variables that hold secrets."""
_PLAIN = r"(?i:true|false|[0-9]+|/[\w./~-]*|https?://[^@\s]*)"
"""Values of such variables that are none themselves: switches, numbers, paths and addresses."""
HIDDEN = "[hidden]"
_PERCENT = r"(?:%[0-9A-Fa-f]{2})+"
_URL_SAFE = str.maketrans("-_", "+/")
_ENDS = r"[A-Za-z0-9+/=]{0,2}"


def is_secret_name(variable: str) -> bool:
    """Whether a variable holds a secret by its name."""
    return not _VARIABLES.isdisjoint(variable.upper().split("_"))


def without_secrets(value: Any, name: str = "") -> Any:
    """Settings for people: what variables with names of secrets hold is left out, at any depth."""
    if isinstance(value, dict):
        return {key: without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, str) and is_secret_name(name.rpartition(".")[2]) and _secret_in(value):
        return f"({len(value)} characters, not shown)"
    return value


def shown_address(url: str) -> str:
    """An address for people: without a password, and without what parameters with names of secrets hold."""
    url = re.sub(r"(?<=//)[^/@\s]*@", f"{HIDDEN}@", url)

    def shown(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        return f"{name}={HIDDEN}" if _is_secret(name) and len(value) >= _SHORTEST else found[0]

    return re.sub(r"(?<=[?&])([^=&#]+)=([^&#]*)", shown, url)


class Secrets:
    """Values that must not be shown, as they are or in the forms that servers repeat them in."""

    def __init__(self) -> None:
        self._known: dict[str, _Forms] = {}
        self._passing: dict[str, _Forms] = {}
        """Those of single requests, such as signatures: each has a new one, so only the latest are kept."""

    def learn(self, *values: str) -> None:
        """From now on these are hidden; words before a blank, such as `Bearer`, are not part of them."""
        for secret in map(_secret_in, values):
            if secret and secret not in self._known:
                self._known[secret] = _forms_of(secret)

    def learn_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Learn what a request shows of the user to a service."""
        for name, value in headers:
            if not _is_secret(name) or not (secret := _secret_in(value)) or secret in self._known:
                continue
            # What is used again and again stays: it is the one used last each time.
            self._passing[secret] = self._passing.pop(secret, None) or _forms_of(secret)
            if len(self._passing) > _MOST:
                self._passing.pop(next(iter(self._passing)))

    def learn_environment(self, env: Mapping[str, str]) -> None:
        """Learn the variables that hold secrets by their names."""
        for name, value in env.items():
            if value and is_secret_name(name):
                self.learn(*value.splitlines())

    def hide(self, text: str) -> str:
        """The text without secrets; the few letters by which a service names a key stay."""
        if len(text) < _SHORTEST or not (self._known or self._passing):
            return text
        found = _places(text, (*self._known.values(), *self._passing.values()))
        if not found:
            return text
        parts: list[str] = []
        at = 0
        for start, end in sorted(found):
            if start > at or not parts:
                parts += text[at:start], HIDDEN
            at = max(at, end)
        return "".join((*parts, text[at:]))


class _Forms(Struct, frozen=True):
    """What to look for: any text with the secret, or with at least half of it, has one of these."""

    secret: str
    head: str
    tail: str
    encoded: tuple[str, ...]
    """Pieces of it in Base64, wherever it begins there."""


SECRETS = Secrets()
"""The secrets of this process."""


def _is_secret(header: str) -> bool:
    name = header.lower()
    return any(word in name for word in _HEADERS)


def _secret_in(value: str) -> str:
    secret = value.strip().rpartition(" ")[2]
    return "" if len(secret) < _SHORTEST or re.fullmatch(_PLAIN, secret) else secret


def _forms_of(secret: str) -> _Forms:
    from base64 import b64encode

    data = secret.encode("utf-8", "surrogateescape")
    encoded: list[str] = []
    for shift in range(3):
        # What stands before decides how the letters fall; those at the ends depend on it and are left out.
        text = b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = text[(shift * 8 + 5) // 6 : -1] if shift else text[:-1]
        if len(inner) >= _SHORTEST:
            encoded.append(inner)
    least = max(_SHORTEST, len(secret) // 2)
    return _Forms(secret, secret[:least], secret[-least:], tuple(encoded))


def _places(text: str, known: Iterable[_Forms]) -> list[tuple[int, int]]:
    """Where anything of secrets stands in a text."""
    decoded, starts = _decoded(text) if "%" in text else ("", [])
    spelled = text.translate(_URL_SAFE)
    found: list[tuple[int, int]] = []
    for forms in known:
        found += _occurrences(forms, text)
        if decoded:
            found += ((starts[start], starts[end]) for start, end in _occurrences(forms, decoded))
        for inner in forms.encoded:
            for start in _finds(spelled, inner):
                rest = re.compile(_ENDS).match(spelled, start + len(inner))
                found.append((start, start + len(inner) if rest is None else rest.end()))
    return found


def _occurrences(forms: _Forms, text: str) -> Iterator[tuple[int, int]]:
    """A secret, or what is left of it when an end was cut off."""
    secret = forms.secret
    for start in _finds(text, forms.head):
        length = len(forms.head)
        while length < len(secret) and text[start + length : start + length + 1] == secret[length]:
            length += 1
        yield start, start + length
    for start in _finds(text, forms.tail):
        more, left = 0, len(secret) - len(forms.tail)
        while more < left and start > more and text[start - more - 1] == secret[left - more - 1]:
            more += 1
        yield start - more, start + len(forms.tail)


def _finds(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + len(piece))


def _decoded(text: str) -> tuple[str, list[int]]:
    """The text with percent signs resolved, and where each of its letters begins in the original."""
    letters: list[str] = []
    starts: list[int] = []
    at = 0
    for run in re.finditer(_PERCENT, text):
        letters.append(text[at : run.start()])
        starts += range(at, run.start())
        at = run.start()
        for letter in bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "surrogateescape"):
            letters.append(letter)
            starts.append(at)
            at += 3 * len(letter.encode("utf-8", "surrogateescape"))
    letters.append(text[at:])
    starts += range(at, len(text) + 1)
    return "".join(letters), starts
