"""What a session and the hub say to each other where the hub may not read it."""

import time
from collections.abc import Mapping
from typing import Any

from bridle.frontends.hub.machine.encryption import (
    FOLDERS,
    Cipher,
    DecryptionError,
    Keyring,
    SeenRequests,
    plain_session,
)
from bridle.frontends.remote.errors import RequestRefused

Frame = dict[str, Any]

_OLDEST_SECONDS = 86_400.0
_CLOCKS_DIFFER = 600.0
_IN_CLEAR = ("interrupt", "end_session")
"""What a hub could do anyway, by cutting the connection."""
_OPEN_STATE = ("ends", "joined", "waiting")


class EncryptedLink:
    """Encrypts events and states of one session, and decrypts what devices ask of it."""

    def __init__(self, keyring: Keyring, session: str, seen: SeenRequests) -> None:
        self._cipher: Cipher = keyring.cipher(f"session {plain_session(session)}")
        self._files = keyring.cipher(FOLDERS)
        self._seen = seen

    def event(self, frame: Mapping[str, Any]) -> Frame:
        """An event with its envelope in clear: what it is, its name, and which question it is about."""
        kind, uuid = str(frame["type"]), str(frame["uuid"])
        envelope: Frame = {"type": kind, "uuid": uuid}
        if kind == "control_request":
            asked, request = str(frame["request_id"]), frame["request"]
            inner = {"request": request, "digest": frame.get("digest", "")}
            sealed = self._cipher.seal(inner, f"question|{asked}")
            return {**envelope, "request_id": asked, "request": {"subtype": request["subtype"], **sealed}}
        if kind == "control_cancel_request":
            envelope["request_id"] = str(frame["request_id"])
        return {**envelope, **self._cipher.seal(frame, f"out|{kind}|{uuid}")}

    def state(self, report: Mapping[str, Any]) -> Frame:
        """A report in which only whether the session works, waits or has ended is in clear."""
        facts = report.get("external_metadata") or {}
        clear = {name: facts[name] for name in _OPEN_STATE if name in facts}
        return {**report, "external_metadata": {**clear, **self._cipher.seal(facts, "state")}}

    def wish(self, payload: Mapping[str, Any]) -> Frame | None:
        """What a device asks; None for what may come in clear.

        Raises:
            RequestRefused: it was not encrypted by a device of this machine, or was done before.
        """
        request = payload.get("request")
        if isinstance(request, dict) and request.get("subtype") in _IN_CLEAR:
            return None
        if "sealed" not in payload:
            raise RequestRefused(403, "this machine takes only what its devices have encrypted")
        action, id = str(payload.get("do", "")), str(payload.get("uuid", ""))
        try:
            wish = self._cipher.open(payload, f"in|{action}|{id}")
        except DecryptionError as error:
            raise RequestRefused(403, str(error)) from error
        check_fresh(wish, id, self._seen)
        return {**wish, "do": action, "id": id}

    def file(self, key: Any, data: bytes) -> bytes:
        """The content of an attachment.

        Raises:
            RequestRefused: it was changed on the way.
        """
        try:
            return self._files.open_bytes(key, data, "file")
        except DecryptionError as error:
            raise RequestRefused(403, f"the attachment can't be read: {error}") from error


def check_fresh(wish: Any, id: str, seen: SeenRequests) -> None:
    """Refuse what is old or was done before: a hub could keep it and send it again.

    Raises:
        RequestRefused: it is.
    """
    at = wish.get("at") if isinstance(wish, dict) else None
    now = time.time()
    if not isinstance(at, int | float) or not now - _OLDEST_SECONDS < at < now + _CLOCKS_DIFFER:
        raise RequestRefused(403, "it is older than a day, or the clocks of device and machine differ")
    if not seen.take(id):
        raise RequestRefused(409, "it was done before")
