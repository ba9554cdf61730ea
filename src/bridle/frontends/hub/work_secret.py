"""What a worker needs for one session: the token, the address and where the code comes from."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.hub.sessions import SessionRow
from bridle.types.errors import BridleError

VERSION = 1
_ARGUMENTS = ("model", "effort", "worktree", "directory", "sealed", "key", "start")


class WorkSecret(Struct, frozen=True, kw_only=True):
    """The secret of a piece of work, as it travels in base64url."""

    version: int
    session_ingress_token: str
    api_base_url: str
    sources: list[dict[str, Any]] = []
    auth: list[dict[str, Any]] = []
    claude_code_args: dict[str, Any] | None = None
    mcp_config: Any = None
    environment_variables: dict[str, str] | None = None
    use_code_sessions: bool = True


def work_secret(url: str, token: str, session: SessionRow) -> str:
    """The secret for a session. Nothing in it widens what the machine itself allows."""
    context = session.context if isinstance(session.context, dict) else {}
    sources = context.get("sources")
    arguments = {name: context[name] for name in _ARGUMENTS if name in context}
    if session.mode:
        arguments["permission_mode"] = session.mode
    secret = WorkSecret(
        version=VERSION,
        session_ingress_token=token,
        api_base_url=url.rstrip("/"),
        sources=[each for each in sources if isinstance(each, dict)] if isinstance(sources, list) else [],
        claude_code_args=arguments or None,
    )
    return urlsafe_b64encode(msgspec.json.encode(secret)).rstrip(b"=").decode()


def decode_work_secret(text: str) -> WorkSecret:
    """Read a secret.

    Raises:
        BridleError: it is none, or of a version that this bridle does not know.
    """
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        secret = msgspec.json.decode(data, type=WorkSecret)
    except (ValueError, msgspec.MsgspecError) as error:
        raise BridleError("The hub sent work that can't be read. Update bridle or the hub.") from error
    if secret.version != VERSION:
        raise BridleError(f"The hub sent work of version {secret.version}. Update bridle.")
    if not secret.session_ingress_token:
        raise BridleError("The hub sent work without a token.")
    return secret
