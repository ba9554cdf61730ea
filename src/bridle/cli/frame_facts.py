"""What the frames of a session say that no event carries."""

from bridle.cli.setup import Setup
from bridle.protocol.frames import Facts
from bridle.sessions.session import Session


def facts_of(setup: Setup, session: Session) -> Facts:
    """The facts of the init message."""
    return Facts(
        session_id=session.id,
        api_key_source="ANTHROPIC_API_KEY" if setup.env.get("ANTHROPIC_API_KEY") else "none",
        output_style=setup.config.settings.output_style or "default",
        betas=tuple(setup.args.many("betas") or ()),
    )
