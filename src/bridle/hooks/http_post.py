"""One POST whose answer has a size limit and whose redirects are not followed."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.host.http.address import Origin, proxy_for
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request, Resolve
from bridle.host.web_address import WebAddress, is_link_local, look_up
from bridle.types.errors import ConfigError
from bridle.version import __version__

MOST_BYTES = 1024 * 1024
# The timeout of a hook is the caller's to keep.
_LIMITS = Limits(connect=15, idle=86_400, body=MOST_BYTES)
_USUAL = (
    ("User-Agent", f"bridle/{__version__} (hook)"),
    ("Content-Type", "application/json"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
)

Headers = Sequence[tuple[str, str]]


class HttpReply(Struct, frozen=True):
    status: int
    body: bytes


async def post(endpoint: WebAddress, body: bytes, *, headers: Headers, env: Mapping[str, str]) -> HttpReply:
    """Send a JSON body and return what came back.

    Raises:
        ConfigError: the address may not be asked, or a header, the proxy or a root cannot be used.
        HttpFault: the host cannot be reached, or its answer is too large or not HTTP.
    """
    env = _with_proxy(endpoint, env)
    chosen = {name.lower() for name, _ in headers}
    usual = (pair for pair in _USUAL if pair[0].lower() not in chosen)
    client = HttpClient(env, resolve=_checked(endpoint, env))
    request = Request("POST", endpoint.url, (*usual, *headers, ("Connection", "close")), body)
    try:
        async with client.send(request, _LIMITS) as response:
            return HttpReply(response.status, await response.read())
    finally:
        await client.close()


def _with_proxy(endpoint: WebAddress, env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with the proxy for everything in the place of one for this scheme."""
    name, every = f"{endpoint.scheme}_proxy", env.get("all_proxy") or env.get("ALL_PROXY")
    return env if not every or env.get(name) or env.get(name.upper()) else {**env, name: every}


def _checked(endpoint: WebAddress, env: Mapping[str, str]) -> Resolve:
    """Gives the addresses of a host; the one that is connected is one that was checked."""
    proxied = proxy_for(Origin(endpoint.scheme, endpoint.host, endpoint.port), env) is not None

    async def resolve(host: str, port: int) -> list[str]:
        # A name that the proxy will look up is checked as it stands.
        addresses = [host] if proxied else await _look_up(host, port)
        for address in filter(is_link_local, addresses):
            raise ConfigError(f"{host} is {address}, a link-local address; hooks cannot use it")
        return addresses

    return resolve


async def _look_up(host: str, port: int) -> list[str]:
    try:
        return list(await look_up(host, port))
    except UnicodeError as error:
        raise HttpFault(f"{host} is not a host name.", "connect") from error
