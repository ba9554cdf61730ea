"""Call a skill."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from bridle.types.services.session import SKILLS, SkillDone
from bridle.types.tool import ToolContext, ToolOutput, tool


class SkillInput(Struct, frozen=True, forbid_unknown_fields=True):
    skill: Annotated[str, Meta(min_length=1, description="The listed name.")]
    args: Annotated[str | None, Meta(description="Arguments, as typed after the name.")] = None


def _name(input: SkillInput) -> str:
    return input.skill.strip().removeprefix("/")


@tool("Skill", SkillInput, subject=_name, read_only=True, parallel=lambda _: False, max_result_chars=100_000)
async def TOOL(input: SkillInput, ctx: ToolContext) -> ToolOutput:
    """Take up the instructions of a skill, or have an agent follow them."""
    used = await ctx.need(SKILLS)(_name(input), input.args or "")
    data: dict[str, Any] = {"success": True, "commandName": used.name}
    if isinstance(used, SkillDone):
        data |= {"status": "forked", "agentId": used.agent_id, "result": used.result}
        return ToolOutput(content=used.result, data=data)
    data["status"] = "inline"
    if used.allowed_tools:
        data["allowedTools"] = list(used.allowed_tools)
    if used.model is not None:
        data["model"] = used.model
    return ToolOutput(
        content=f"Loaded the skill {used.name}. Follow its text below.", data=data, beside=(used.text,)
    )
