"""Keeps the secrets that this process uses out of what it tells: errors, logs, transcripts."""

import re
from collections.abc import Iterable, Mapping

_SHORTEST = 8
"""Shorter values are no secrets worth the name, and words that texts are full of."""
_MOST = 500
_HEADERS = re.compile(r"auth|key|token|secret|cookie|signature|credential|passw", re.IGNORECASE)
_VARIABLES = re.compile(
    r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|BEARER|HEADERS?)(?:_|$)"
)
_PLAIN = re.compile(r"(?:true|false|[0-9]+|/[\w./~-]*|https?://[^@\s]*)", re.IGNORECASE)
"""Values of such variables that are none themselves: switches, numbers, paths and addresses."""
HIDDEN = "[hidden]"


class Secrets:
    """Values that must not be told, as they are or in the forms that servers repeat them in."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, *values: str) -> None:
        """From now on these are hidden; words before a blank, such as `Bearer`, are not part of them."""
        for value in values:
            secret = value.strip().rpartition(" ")[2]
            if len(secret) >= _SHORTEST and secret not in self._known and not _PLAIN.fullmatch(secret):
                self._known[secret] = None
                self._pattern = None
                if len(self._known) > _MOST:
                    self._known.pop(next(iter(self._known)))

    def learn_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Learn what a request shows of the user to a service."""
        for name, value in headers:
            if _HEADERS.search(name):
                self.learn(value)

    def learn_environment(self, env: Mapping[str, str]) -> None:
        """Learn the variables that hold secrets by their names."""
        for name, value in env.items():
            if value and _VARIABLES.search(name.upper()):
                self.learn(*value.splitlines())

    def hide(self, text: str) -> str:
        """The text without secrets; the few letters by which a service names a key stay."""
        if not self._known or len(text) < _SHORTEST:
            return text
        if self._pattern is None:
            ordered = sorted(self._known, key=len, reverse=True)
            forms = (form for make in (_whole, _encoded, _cut) for secret in ordered for form in make(secret))
            self._pattern = re.compile("|".join(forms))
        return self._pattern.sub(HIDDEN, text)


SECRETS = Secrets()
"""The secrets of this process."""


def _whole(secret: str) -> list[str]:
    """A secret as it is, or with any of its letters percent-encoded."""
    return ["".join(map(_letter, secret))]


def _cut(secret: str) -> list[str]:
    """The same with an end cut off, as long as half of it is left."""
    letters = [_letter(each) for each in secret]
    least = max(_SHORTEST, len(secret) // 2)
    head, tail = "".join(letters[:least]), "".join(letters[-least:])
    rest = ""
    for letter in reversed(letters[least:]):
        rest = f"(?:{letter}{rest})?"
    return [head + rest, tail]


def _letter(letter: str) -> str:
    encoded = "".join(f"%{byte:02x}" for byte in letter.encode())
    either = "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in encoded)
    return f"(?:{re.escape(letter)}|{either})"


def _encoded(secret: str) -> list[str]:
    """A secret inside Base64, wherever it begins there."""
    from base64 import b64encode

    data = secret.encode()
    found: list[str] = []
    for shift in range(3):
        # What stands before decides how the letters fall; those at the ends depend on it and are left out.
        text = b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = text[(shift * 8 + 5) // 6 : -1] if shift else text[:-1]
        if len(inner) >= _SHORTEST:
            pattern = "".join("[+-]" if each == "+" else "[/_]" if each == "/" else each for each in inner)
            found.append(pattern + "[A-Za-z0-9+/_=-]{0,2}")
    return found
