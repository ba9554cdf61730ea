"""What a `WWW-Authenticate` header says about the login that a server wants."""

import re

from msgspec import Struct

_PART = re.compile(r'([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_SCHEME = re.compile(r"(?:^|,)\s*(?:Bearer|DPoP)(?=\s|,|$)", re.IGNORECASE)
_NEXT_SCHEME = re.compile(r",\s*[A-Za-z][A-Za-z0-9-]*\s+[A-Za-z0-9_-]+\s*=")


class Challenge(Struct, frozen=True, kw_only=True):
    """The parameters of a bearer or DPoP challenge that matter to a client."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""

    @property
    def wants_more(self) -> bool:
        """The login is good, and does not reach far enough."""
        return self.error == "insufficient_scope"


def read_challenge(header: str) -> Challenge:
    """The first bearer or DPoP challenge in a header; empty where there is none."""
    header = header[:8192]
    if (scheme := _SCHEME.search(header)) is None:
        return Challenge()
    rest = header[scheme.end() :]
    if (other := _NEXT_SCHEME.search(rest)) is not None:
        rest = rest[: other.start()]
    found = {
        name.lower(): _unquoted(quoted) if quoted else plain for name, quoted, plain in _PART.findall(rest)
    }
    return Challenge(
        error=found.get("error", ""),
        scope=" ".join(found.get("scope", "").split()),
        resource_metadata=found.get("resource_metadata", ""),
    )


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
