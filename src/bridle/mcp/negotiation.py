"""How client and server find a revision of the protocol that both speak."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.host.jsonrpc import Limits
from bridle.mcp.errors import MODERN_CODES, UNSUPPORTED_VERSION, Refused, TimedOut
from bridle.mcp.peer import McpPeer
from bridle.mcp.protocol_versions import HANDSHAKE, HANDSHAKES, MODERN, MODERNS, REVISION
from bridle.mcp.transports.base import Transport
from bridle.types.errors import McpError
from bridle.types.services.mcp import ServerInfo
from bridle.version import __version__

CLIENT: Mapping[str, str] = {"name": "bridle", "title": "bridle", "version": __version__}
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_PROBE_SECONDS = 5.0
_LONGEST_NAME = 200

Negotiation = Literal["auto", "legacy"]
"""Whether a server is first asked if it does without a handshake."""


class Negotiated(Struct, frozen=True, kw_only=True):
    """What is known once both sides can talk."""

    revision: str
    modern: bool
    capabilities: Mapping[str, Any]
    info: ServerInfo
    instructions: str = ""

    def offers(self, feature: str) -> bool:
        return isinstance(self.capabilities.get(feature), dict)

    def extends(self, feature: str) -> bool:
        """Whether the server has something that the protocol does not know."""
        experimental = self.capabilities.get("experimental")
        return isinstance(experimental, dict) and isinstance(experimental.get(feature), dict)

    def supports(self, extension: str) -> bool:
        """Whether the server takes part in an extension of the protocol."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(extension), dict)

    def announces(self, feature: str) -> bool:
        """Whether the server tells when what it offers has changed."""
        given = self.capabilities.get(feature)
        return isinstance(given, dict) and given.get("listChanged") is True


async def agree(
    peer: McpPeer,
    transport: Transport,
    *,
    capabilities: Mapping[str, Any],
    negotiation: Negotiation,
    limits: Limits,
) -> Negotiated:
    """Find out what the server speaks: the newest way first, a handshake where it does not know that.

    Raises:
        McpError: there is no revision that both speak, or the server does not answer.
    """
    if negotiation == "auto":
        version = MODERN
        for attempt in range(2):
            probed = await _probe(peer, version, capabilities, limits)
            if isinstance(probed, Negotiated):
                transport.agree(probed.revision)
                transport.begin()
                return probed
            try:
                return await _shake_hands(peer, transport, capabilities, limits)
            except McpError as error:
                # A server that was slow to start may have taken the probe after all.
                named = _named_versions(error)
                if error.code != UNSUPPORTED_VERSION or attempt or not named:
                    raise
                version = named[0]
    return await _shake_hands(peer, transport, capabilities, limits)


def request_meta(agreement: Negotiated | None, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """What every request says about itself where there was no handshake."""
    if agreement is None or not agreement.modern:
        return {}
    return _modern_meta(agreement.revision, capabilities)


def _modern_meta(version: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    own_capabilities = {**capabilities, **({"roots": {}} if "roots" in capabilities else {})}
    return {REVISION: version, _CLIENT_INFO: CLIENT, _CAPABILITIES: own_capabilities}


async def _probe(
    peer: McpPeer, version: str, capabilities: Mapping[str, Any], limits: Limits, *, again: bool = True
) -> Negotiated | None:
    """What a server without handshake says of itself; None when there must be one."""
    params = {"_meta": _modern_meta(version, capabilities)}
    patience = Limits(min(_PROBE_SECONDS, limits.total))
    try:
        result = await peer.request("server/discover", params, limits=patience, tells_cancel=False)
    except TimedOut:
        return None
    except Refused as error:
        if error.code in MODERN_CODES:
            return await _probe_again(peer, error, capabilities, limits, again=again)
        if error.status >= 500:
            raise
        return None
    except McpError as error:
        if error.code is None:
            raise
        if error.code == UNSUPPORTED_VERSION:
            return await _probe_again(peer, error, capabilities, limits, again=again)
        return None
    return _discovered(result)


async def _probe_again(
    peer: McpPeer, error: McpError, capabilities: Mapping[str, Any], limits: Limits, *, again: bool
) -> Negotiated | None:
    """Once more, with a revision that the refusal itself names."""
    named = _named_versions(error)
    if named and again:
        return await _probe(peer, named[0], capabilities, limits, again=False)
    supported = _supported(error)
    if supported and not HANDSHAKES & set(supported):
        raise McpError(
            f"{peer.name} speaks only {', '.join(supported)[:200]} of the protocol, which bridle does "
            "not support."
        )
    return None


def _discovered(result: Mapping[str, Any]) -> Negotiated | None:
    versions = result.get("supportedVersions")
    common = [each for each in MODERNS if isinstance(versions, list) and each in versions]
    capabilities = result.get("capabilities")
    if not common or not isinstance(capabilities, dict):
        return None
    meta = result.get("_meta")
    return Negotiated(
        revision=common[0],
        modern=True,
        capabilities=capabilities,
        info=_info(meta.get(_SERVER_INFO) if isinstance(meta, dict) else None),
        instructions=_text(result.get("instructions")),
    )


async def _shake_hands(
    peer: McpPeer, transport: Transport, capabilities: Mapping[str, Any], limits: Limits
) -> Negotiated:
    transport.agree("")
    params = {"protocolVersion": HANDSHAKE, "capabilities": capabilities, "clientInfo": CLIENT}
    result = await peer.request("initialize", params, limits=limits)
    version, offered = result.get("protocolVersion"), result.get("capabilities")
    if not isinstance(version, str) or not isinstance(offered, dict):
        raise McpError(f"{peer.name} did not answer like an MCP server.")
    if version not in HANDSHAKES:
        raise McpError(f"{peer.name} speaks {version[:50]} of the protocol, which bridle does not support.")
    transport.agree(version)
    await peer.notify("notifications/initialized")
    transport.begin()
    return Negotiated(
        revision=version,
        modern=False,
        capabilities=offered,
        info=_info(result.get("serverInfo")),
        instructions=_text(result.get("instructions")),
    )


def _supported(error: McpError) -> list[str]:
    match error.data:
        case {"supported": list() as listed}:
            return [each for each in listed if isinstance(each, str)]
        case _:
            return []


def _named_versions(error: McpError) -> list[str]:
    """Revisions without handshake that a refusal names and bridle speaks."""
    return [each for each in MODERNS if each in _supported(error)]


def _info(value: Any) -> ServerInfo:
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    title = given.get("title")
    return ServerInfo(
        name=_text(given.get("name"))[:_LONGEST_NAME],
        version=_text(given.get("version"))[:_LONGEST_NAME],
        title=title[:_LONGEST_NAME] if isinstance(title, str) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
