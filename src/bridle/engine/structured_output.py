"""Answers in a shape that the caller prescribes: a tool whose input is the answer."""

from typing import Any

import msgspec
from msgspec import UNSET

from bridle.engine.turn import Ending
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Access
from bridle.types.tool import Tool, ToolContext, ToolOutput
from bridle.types.variables import whole_number

NAME = "StructuredOutput"
MOST_ATTEMPTS = 5
_MOST_FAULTS = 5
_LONGEST_FAULT = 300
_SUMMARY = (
    "Give your final answer with this tool, once, when the work is done. Its input is the answer: it "
    "must match the schema, and the user sees nothing else."
)
_NUDGE = f"You have not given the final answer yet. Call {NAME} with it now; its input must match the schema."


class AnswerShape:
    """A JSON Schema for answers, and how far the turn that runs has come with it."""

    def __init__(self, schema: object) -> None:
        """Take a schema as the caller gave it.

        Raises:
            UsageError: it is not a JSON Schema of an object.
        """
        if not isinstance(schema, dict):
            raise UsageError("the JSON Schema for answers must be an object")
        wanted: dict[str, Any] = schema
        if wanted.get("type", "object") != "object":
            raise UsageError(
                f'the JSON Schema for answers must have the type "object", not {wanted["type"]!r}'
            )
        self._validator = _compile(wanted)
        self._most = MOST_ATTEMPTS
        self.tools = (self._make_tool({"type": "object", **wanted}),)
        self.begin()

    def begin(self) -> None:
        """A turn begins."""
        self.accepted: Any = UNSET
        self.refused = 0
        self._nudged = False

    def nudge(self) -> str | None:
        """What to say to a model that stops without an answer, once in a turn."""
        if self._nudged or self.accepted is not UNSET:
            return None
        self._nudged = True
        return _NUDGE

    def ending(self) -> Ending | None:
        """How the turn ends, when its answer was given or was wrong too often."""
        if self.accepted is not UNSET:
            text = msgspec.json.encode(self.accepted).decode()
            return Ending("completed", text=text, structured=self.accepted)
        if self.refused >= self._most:
            return Ending.failed(
                "structured_output_retry_exhausted",
                "error_max_structured_output_retries",
                f"The model gave no answer that matches the JSON schema in {self.refused} attempts.",
            )
        return None

    def _check(self, answer: Any, context: ToolContext) -> None:
        self._most = whole_number(context.env, "MAX_STRUCTURED_OUTPUT_RETRIES") or MOST_ATTEMPTS
        faults = [
            f"{_place(error.instance_path)}: {error.message[:_LONGEST_FAULT]}"
            for _, error in zip(range(_MOST_FAULTS), self._validator.iter_errors(answer), strict=False)
        ]
        if faults:
            self.refused += 1
            raise ToolError(
                "The answer does not match the JSON schema. Fix it and call again:\n" + "\n".join(faults)
            )

    async def _run(self, answer: Any, context: ToolContext) -> ToolOutput:
        del context
        self.accepted = answer
        return ToolOutput(content="Answer accepted.", data=answer)

    def _make_tool(self, schema: dict[str, Any]) -> Tool:
        return Tool(
            name=NAME,
            input=dict[str, Any],
            summary=_SUMMARY,
            run=self._run,
            subject=lambda _: "",
            access=lambda _, __: Access(),
            read_only=lambda _: True,
            parallel=lambda _: False,
            check=self._check,
            max_result_chars=None,
            definition={"name": NAME, "description": _SUMMARY, "input_schema": schema},
        )


def _compile(schema: dict[str, Any]) -> Any:
    import jsonschema_rs

    try:
        # Offline, because a schema must not make bridle ask servers for its parts.
        return jsonschema_rs.validator_for(schema, offline=True)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"the JSON Schema for answers cannot be used: {reason}") from error


def _place(path: list[str | int]) -> str:
    return "/" + "/".join(map(str, path))
