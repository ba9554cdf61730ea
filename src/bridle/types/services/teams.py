"""Whether a session leads a team, by its variables."""

from collections.abc import Mapping

from bridle.types.variables import is_on


def team_name(env: Mapping[str, str], session_id: str) -> str | None:
    """The team of this session; None where named agents are no team."""
    if not (is_on(env, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS") or is_coordinating(env)):
        return None
    return env.get("CLAUDE_CODE_TEAM_NAME") or f"session-{session_id[:8]}"


def is_coordinating(env: Mapping[str, str]) -> bool:
    """Whether the main thread leaves all work to others."""
    return is_on(env, "CLAUDE_CODE_COORDINATOR_MODE")
