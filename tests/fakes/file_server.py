"""Serves bytes over HTTP on this machine."""

from collections.abc import Mapping

from tests.fakes.http_server import Heard, HttpServer, Wire, response


class FileServer(HttpServer):
    """Answers with what `files` holds at the moment; everything else is missing."""

    def __init__(self, files: Mapping[str, bytes], *, redirects: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._files = files
        self._redirects = redirects or {}

    @property
    def url(self) -> str:
        return self.origin

    async def answer(self, request: Heard, wire: Wire) -> bool:
        if (elsewhere := self._redirects.get(request.path)) is not None:
            await wire.send(response("302 Found", b"", location=elsewhere, connection="close"))
            return False
        status = "200 OK" if request.path in self._files else "404 Not Found"
        await wire.send(response(status, self._files.get(request.path, b""), connection="close"))
        return False
