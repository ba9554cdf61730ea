"""One HTTP request whose connection goes to the address that was checked."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.host.http.client import Response as Answer
from bridle.host.web_address import WebAddress
from bridle.tools.web.addresses import Proxy, find_addresses, find_proxy, require_public_name
from bridle.types.errors import ConfigError, ToolError
from bridle.version import __version__

MOST_BYTES = 10 * 1024 * 1024
_LIMITS = Limits(connect=15.0, body=MOST_BYTES)
_HEADERS = (
    ("User-Agent", f"bridle/{__version__} (WebFetch)"),
    ("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Connection", "close"),
)
_PRIVATE = ("CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY")
"""Who the user is, is for their own services to know, and not for every page."""


class Response:
    """The head of an answer; the body is read on request while the connection is open."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.reason = answer.reason[:100] or _phrase(answer.status)
        self._answer = answer

    def header(self, name: str) -> str:
        """A header by its name in small letters, empty when it is absent."""
        return self._answer.headers.get(name, "")

    async def read(self) -> bytes:
        """The whole body, unpacked.

        Raises:
            HttpFault: it is too large or broken.
        """
        return await self._answer.read()


@asynccontextmanager
async def get(target: WebAddress, env: Mapping[str, str]) -> AsyncGenerator[Response, None]:
    """Ask for a page and give its answer as long as the block runs.

    Raises:
        ToolError: the host may not be reached, cannot be reached, or its answer cannot be used.
    """
    proxy = find_proxy(target, env)

    async def resolve(host: str, port: int) -> list[str]:
        del host, port  # It is the target: nothing is followed.
        if proxy is None:
            return list(await find_addresses(target, env))
        await require_public_name(target, env)
        return [target.host]

    client = HttpClient(_environment(target, proxy, env), resolve=resolve)
    try:
        async with client.send(Request("GET", target.url, _HEADERS), _LIMITS) as answer:
            yield Response(answer)
    except HttpFault as fault:
        raise ToolError(_told(target, fault)) from fault
    except ConfigError as error:
        raise ToolError(f"Cannot query {target.host}: {error}") from error
    finally:
        await client.close()


def _environment(target: WebAddress, proxy: Proxy | None, env: Mapping[str, str]) -> dict[str, str]:
    """What the client may know: the proxy that was chosen, and no certificate of the user."""
    name = f"{target.scheme}_proxy"
    left_out = (*_PRIVATE, name, name.upper(), "no_proxy", "NO_PROXY")
    kept = {key: value for key, value in env.items() if key not in left_out}
    return kept if proxy is None else {**kept, name: proxy.url}


def _told(target: WebAddress, fault: HttpFault) -> str:
    match fault.reason:
        case "size":
            return f"The page is larger than {MOST_BYTES // 1024 // 1024} MB; fetch a smaller one."
        case "broken":
            return f"Invalid response from {target.host}: {fault}"
        case _:
            return f"Cannot reach {target.host}: {fault}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
