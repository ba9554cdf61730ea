"""What rules say about the parts of a run, which are not asked about one by one."""

from typing import Any

from bridle.engine.calls.call import Call
from bridle.engine.calls.parsing import parse_input
from bridle.engine.permissions.gate import CallDenied, pass_gate, standing
from bridle.engine.turn import Turn
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.errors import ToolError
from bridle.types.permission import Allow, Ask, Deny
from bridle.types.tool import Tool


def objection(turn: Turn, tool: str, field: str, name: str) -> Ask | Deny | None:
    """The doubt that a rule raises about a call of `tool` for something of a name; None where none does."""
    asked = CallRequest(tool=tool, input={field: name}, subject=name, read_only=True)
    decision = turn.runtime.gate.decide(prepare(asked, standing(turn)))
    return None if isinstance(decision, Allow) or decision.rule is None else decision


async def require(tool: Tool, input: dict[str, Any], turn: Turn) -> None:
    """Ask about a part of a run where a rule says so.

    Raises:
        ToolError: a rule denies it, or asks about it and no one agrees.
    """
    given = Call(id=f"{tool.name.lower()}_{turn.id}", name=tool.name, input=input)
    try:
        call, parsed = parse_input(tool, given)
        await pass_gate(call, tool, parsed, turn, hook=None)
    except CallDenied as refusal:
        raise ToolError(str(refusal)) from refusal
