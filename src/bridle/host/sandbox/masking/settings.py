"""What the settings ask to be masked."""

from typing import Literal

from msgspec import Struct

Refusal = Literal["deny", "passthrough"]


class Mask(Struct, frozen=True, kw_only=True):
    """Which part of a text is secret, and where the real one may go."""

    extract: str | None = None
    """A pattern whose first group is the secret; without one, the whole text is."""
    decode: Literal["jwt"] | None = None
    claims: tuple[str, ...] = ()
    """Claims of a token that are masked one by one."""
    duplicates: bool = False
    """Copies of a secret elsewhere in the text are masked, too."""
    no_match: Literal["warn", "deny", "error"] = "warn"
    """What happens to a text in which nothing was found: left open, hidden, or no sandbox at all."""
    hosts: tuple[str, ...] = ()


class MaskedVariable(Struct, frozen=True):
    name: str
    mask: Mask


class MaskedFile(Struct, frozen=True):
    path: str
    mask: Mask


class AwsPair(Struct, frozen=True):
    """Variables that make up one credential of AWS."""

    access_key: str
    secret_key: str
    session_token: str | None = None


class Signing(Struct, frozen=True, kw_only=True):
    """What happens to AWS requests that cannot be signed again."""

    streaming: Refusal = "deny"
    presigned: Refusal = "deny"
    sigv4a: Refusal = "deny"


class MaskingSettings(Struct, frozen=True, kw_only=True):
    variables: tuple[MaskedVariable, ...] = ()
    files: tuple[MaskedFile, ...] = ()
    pairs: tuple[AwsPair, ...] = ()
    signing: Signing = Signing()
    plaintext: bool = False
    """Real values may also go out over plain HTTP."""
