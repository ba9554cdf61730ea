"""The proxy of the house: where a machine has no other way out, ours goes through it."""

import asyncio
from collections.abc import Mapping

from bridle.host.http.address import Origin, Proxy, proxy_for
from bridle.host.http.tls import client_context
from bridle.host.sandbox.http_request import Streams
from bridle.types.errors import ConfigError

_LARGEST_HEAD = 64 * 1024


def upstream_for(scheme: str, host: str, port: int, env: Mapping[str, str]) -> Proxy | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY put before a host; none when they are unusable."""
    try:
        return proxy_for(Origin(scheme, host, port), env)
    except ConfigError:
        return None  # Reported when the sandbox was set up.


def upstream_problem(env: Mapping[str, str]) -> str | None:
    """What is wrong with the variables, in one sentence."""
    try:
        for scheme, port in (("http", 80), ("https", 443)):
            proxy_for(Origin(scheme, "proxied.invalid", port), env)
    except ConfigError as error:
        return f"{error} Until then commands in the sandbox connect without a proxy."
    return None


async def connect(proxy: Proxy, env: Mapping[str, str]) -> Streams:
    """Streams to the proxy itself, for requests that name their whole address.

    Raises:
        OSError: it does not answer.
    """
    context = None
    if proxy.origin.scheme == "https":
        try:
            context = client_context(env)
        except ConfigError as error:
            raise OSError(str(error)) from error
    return await asyncio.open_connection(
        proxy.origin.host, proxy.origin.port, ssl=context, limit=_LARGEST_HEAD
    )


async def tunnel(proxy: Proxy, host: str, port: int, env: Mapping[str, str]) -> Streams:
    """Streams through the proxy to a host.

    Raises:
        OSError: the proxy does not answer or does not let anyone through.
    """
    reader, writer = await connect(proxy, env)
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [
        f"CONNECT {authority} HTTP/1.1",
        f"Host: {authority}",
        *(f"{name}: {value}" for name, value in authorization(proxy)),
        "",
        "",
    ]
    try:
        writer.write("\r\n".join(lines).encode("latin-1"))
        head = await reader.readuntil(b"\r\n\r\n")
    except (EOFError, asyncio.LimitOverrunError) as error:
        writer.close()
        raise OSError("the proxy closed the connection") from error
    except BaseException:
        writer.close()
        raise
    if head.split(b" ", 2)[1:2] != [b"200"]:
        writer.close()
        raise OSError(head.split(b"\r\n", 1)[0].decode("latin-1"))
    return reader, writer


def authorization(proxy: Proxy) -> tuple[tuple[str, str], ...]:
    """The header that the proxy wants, if any."""
    return () if proxy.authorization is None else (("Proxy-Authorization", proxy.authorization),)
