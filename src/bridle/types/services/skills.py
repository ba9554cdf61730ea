"""What comes of calling a skill."""

from msgspec import Struct


class SkillLoaded(Struct, frozen=True, kw_only=True):
    """The skill's text joins the conversation."""

    name: str
    text: str
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None


class SkillDone(Struct, frozen=True, kw_only=True):
    """An agent of its own has followed the skill, or is about to."""

    name: str
    agent_id: str
    result: str


SkillUse = SkillLoaded | SkillDone
