"""Signs AWS requests again that were signed with placeholders."""

import re
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from bridle.host.sandbox.http_request import Head
from bridle.host.sandbox.masking.credentials import CredentialStore
from bridle.host.sandbox.masking.settings import Refusal, Signing

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=([^/,\s]+)/\d{8}/([^/,\s]+)/([^/,\s]+)/aws4_request\s*,"
    r"\s*SignedHeaders=([^,\s]+)\s*,\s*Signature=[0-9a-f]+\s*"
)
_ASYMMETRIC = re.compile(r"AWS4-ECDSA-P256-SHA256\s+Credential=([^/,\s]+)/")
_MOMENT = re.compile(r"\d{8}T\d{6}Z")
_DIGEST, _TOKEN, _DATE = "x-amz-content-sha256", "x-amz-security-token", "x-amz-date"


class Unchanged(Struct, frozen=True):
    """The request goes out as it is, for AWS to refuse."""


class Refused(Struct, frozen=True):
    """The request does not go out."""

    reason: str


class Resigned(Struct, frozen=True):
    """How a request is to be signed again."""

    credentials: AwsCredentials
    scope: Scope
    signed: tuple[str, ...]
    digest: str | None
    """What the request says about its body; None when the body must be read for it."""

    def apply(self, head: Head, body: bytes) -> Head:
        headers = head.without("authorization", _TOKEN)
        names = {*self.signed, "host", _DATE} - {_TOKEN}
        if (token := self.credentials.session_token) is not None:
            headers = (*headers, (_TOKEN, token))
            names.add(_TOKEN)
        signature = authorization(
            head.method,
            head.target,
            [(name, value) for name, value in headers if name.lower() in names],
            body,
            credentials=self.credentials,
            scope=self.scope,
            digest=self.digest,
        )
        return replace(head, headers=(*headers, ("Authorization", signature)))


Outcome = Resigned | Unchanged | Refused


def resign(head: Head, vault: CredentialStore, signing: Signing, *, host: str, port: int) -> Outcome | None:
    """What becomes of a request that is signed with a masked pair; None for any other."""
    written = head.value("authorization") or ""
    if found := _SIGNED.fullmatch(written):
        credentials = vault.credentials_for(found[1], host, port)
        if credentials is None:
            return None
        digest = head.value(_DIGEST)
        if digest is not None and digest.startswith("STREAMING-"):
            return _refusal(signing.streaming, "a streaming upload", "streaming")
        moment = head.value(_DATE) or ""
        if not _MOMENT.fullmatch(moment):
            return Refused("Can't sign an AWS request without x-amz-date.")
        return Resigned(
            credentials, Scope(moment, found[2], found[3]), tuple(found[4].lower().split(";")), digest
        )
    if (found := _ASYMMETRIC.match(written)) and vault.credentials_for(found[1], host, port):
        return _refusal(signing.sigv4a, "a request with an asymmetric signature", "sigv4a")
    if (key := _presigned_key(head.target)) and vault.credentials_for(key, host, port):
        return _refusal(signing.presigned, "a presigned URL", "presigned")
    return None


def _refusal(wish: Refusal, what: str, key: str) -> Outcome:
    if wish == "passthrough":
        return Unchanged()
    return Refused(f"The sandbox can't sign {what}; set sandbox.credentials.sigv4.{key} to send it as it is.")


def _presigned_key(target: str) -> str | None:
    query = target.partition("?")[2]
    if "amz-credential" not in query.lower():
        return None
    for name, value in parse_qsl(query):
        if name.lower() == "x-amz-credential":
            return value.partition("/")[0]
    return None
