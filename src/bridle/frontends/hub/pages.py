"""The page of the hub: files that hold nothing secret."""

import asyncio
import os

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridle.frontends import remote
from bridle.host.files import read_bytes

_LARGEST = 1_000_000
_OWN = os.path.join(os.path.dirname(__file__), "page")
_SHARED = os.path.join(os.path.dirname(remote.__file__), "page")
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
FILES = {
    "/": (_OWN, "index.html", "text/html; charset=utf-8"),
    "/hub.css": (_OWN, "hub.css", _STYLE),
    "/hub.js": (_OWN, "hub.js", _SCRIPT),
    "/link.js": (_OWN, "link.js", _SCRIPT),
    "/asking.js": (_OWN, "asking.js", _SCRIPT),
    "/dialogs.js": (_OWN, "dialogs.js", _SCRIPT),
    "/home.js": (_OWN, "home.js", _SCRIPT),
    "/seal.js": (_OWN, "seal.js", _SCRIPT),
    "/session.js": (_OWN, "session.js", _SCRIPT),
    "/stream.js": (_OWN, "stream.js", _SCRIPT),
    "/tasks.js": (_OWN, "tasks.js", _SCRIPT),
    "/view.js": (_OWN, "view.js", _SCRIPT),
    "/markdown.js": (_OWN, "markdown.js", _SCRIPT),
    "/diff.js": (_OWN, "diff.js", _SCRIPT),
    "/worker.js": (_OWN, "worker.js", _SCRIPT),
    "/icon.svg": (_OWN, "icon.svg", "image/svg+xml"),
    "/manifest.webmanifest": (_OWN, "manifest.webmanifest", "application/manifest+json"),
    "/conversation.js": (_SHARED, "conversation.js", _SCRIPT),
    "/questions.js": (_SHARED, "questions.js", _SCRIPT),
}


def page_routes() -> list[Route]:
    """The routes of the page, which anyone may read."""
    return [Route(path, _file, methods=["GET"]) for path in FILES]


async def _file(request: Request) -> Response:
    folder, name, kind = FILES[request.url.path]
    data = await asyncio.to_thread(read_bytes, os.path.join(folder, name), _LARGEST)
    return Response(data, 200, {"cache-control": "no-cache"}, media_type=kind)
