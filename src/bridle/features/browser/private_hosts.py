"""Names of hosts that lead into private networks, which no blanket rule opens."""

import socket
from urllib.parse import urlsplit

from bridle.host.web_address import is_public, look_up
from bridle.types.permission import Allow, Ask, Case, Decision, Deny


async def reviewed(case: Case, decision: Allow) -> Decision:
    """An approval that follows from a blanket rule alone is none for an address that is not public."""
    rule = decision.rule
    if case.mode == "bypassPermissions" or rule is None:
        return decision
    if rule.content is not None and "*" not in rule.content:
        return decision
    host = case.subject.removeprefix("domain:")
    if (found := await _private_address(host, str(case.input.get("url", "")))) is None:
        return decision
    reason = f"{host} is {found}, which is not public, and no rule allows it"
    if case.mode == "dontAsk":
        return Deny(f"{reason}, and this session does not ask", "mode")
    return Ask(reason, "safetyCheck")


async def _private_address(host: str, url: str) -> str | None:
    try:
        port = urlsplit(url).port or 443
        found = await look_up(host, port)
    except (socket.gaierror, UnicodeError, ValueError):
        return None  # Unknown here: the browser asks a proxy, or cannot find it either.
    return next((each for each in found if not is_public(each)), None)
