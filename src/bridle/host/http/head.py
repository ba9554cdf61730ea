"""Heads of HTTP messages: ours are written, theirs are read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import h11

_LONGEST = 64 * 1024
_NAME = frozenset("!#$%&'*+.^_`|~-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class HeadFault(Exception):
    """The head is not HTTP."""


class ResponseHead(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    """Names in lower case; equal names are joined with commas."""
    version: str
    rest: bytes
    """What had come behind the head."""
    reason: str = ""
    """The words behind the status, if any."""


def write_head(method: str, target: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """The head of a request.

    Raises:
        HeadFault: the target or a header has a character that HTTP forbids.
    """
    for name, value in headers:
        if not name or not _NAME.issuperset(name) or any(c < " " or c == "\x7f" for c in value):
            raise HeadFault(f"the header {name!r} cannot be sent")
    if any(c <= " " or c == "\x7f" for c in target):
        raise HeadFault("the target cannot be sent")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value.strip()}" for name, value in headers)]
    try:
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    except UnicodeEncodeError as error:
        raise HeadFault("a header has a character outside Latin-1") from error


class HeadReader:
    """Reads the head of a response from whatever pieces it comes in.

    It is made when the request is out: importing h11 then costs nothing, because the service is running.
    """

    def __init__(self) -> None:
        import h11

        self._h11 = h11
        self._machine = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST)
        # The machine only reads; it must believe that it has asked. How the body ends is not its business.
        self._machine.send(
            h11.Request(method="POST", target="/", headers=[("host", "-"), ("content-length", "0")])
        )
        self._machine.send(h11.EndOfMessage())

    def feed(self, data: bytes) -> ResponseHead | None:
        """The head once it is whole; `data` empty means that no more will come.

        Raises:
            HeadFault: what came is not the head of a response.
        """
        h11 = self._h11
        try:
            self._machine.receive_data(data)
            while isinstance(event := self._machine.next_event(), h11.InformationalResponse):
                pass
        except h11.RemoteProtocolError as error:
            raise HeadFault(str(error)) from error
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, h11.Response):
            raise HeadFault("the connection was closed")
        return ResponseHead(
            event.status_code,
            _joined(event),
            event.http_version.decode(),
            self._machine.trailing_data[0],
            event.reason.decode("latin-1"),
        )


def _joined(response: "h11.Response") -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
