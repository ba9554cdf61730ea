"""A web server on 127.0.0.1 that answers paths with fixed JSON, and keeps what it was asked."""

import json
from collections.abc import Mapping
from typing import Any

from tests.fakes.http_server import Heard, HttpServer, Wire, response


class JsonServer(HttpServer):
    """`answers` maps a path to its JSON, or to a status and JSON; None keeps the caller waiting."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__()
        self.answers = dict(answers)
        self.headers: dict[str, str] = {}
        """What every answer says besides."""

    @property
    def url(self) -> str:
        return self.origin

    @property
    def asked(self) -> list[Heard]:
        return self.requests

    async def answer(self, request: Heard, wire: Wire) -> bool:
        missing = (404, {"error": {"message": "nothing here"}})
        answer = self.answers.get(request.path.partition("?")[0], missing)
        if answer is None:
            await wire.closed()
            return False
        status, value = answer if isinstance(answer, tuple) else (200, answer)
        more = {"content-type": "application/json", "connection": "close", **self.headers}
        await wire.send(response(status, json.dumps(value).encode(), **more))
        return False
