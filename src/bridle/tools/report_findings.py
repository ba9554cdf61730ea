"""Hand over what a review has found, as data."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, to_builtins

from bridle.types.tool import ToolContext, ToolOutput, tool

_MOST = 32


class Finding(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    file: Annotated[str, Meta(description="File path.")]
    line: Annotated[int | None, Meta(description="Line, from 1.")] = None
    summary: Annotated[str, Meta(description="What is wrong, in one sentence.")]
    failure_scenario: Annotated[str, Meta(description="What goes wrong, with concrete values.")]
    short_summary: Annotated[str | None, Meta(description="Short title.")] = None
    category: Annotated[str | None, Meta(description="Such as correctness, security, simplification.")] = None
    verdict: Annotated[Literal["CONFIRMED", "PLAUSIBLE"] | None, Meta(description="Confidence.")] = None
    outcome: Annotated[
        Literal["fixed", "skipped", "no_change_needed"] | None, Meta(description="What you did about it.")
    ] = None


class ReportFindingsInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    level: Annotated[str | None, Meta(description="How thorough the review was.")] = None
    findings: Annotated[
        Sequence[Finding],
        Meta(description="Worst first; empty if none.", max_length=_MOST),
    ]


@tool("ReportFindings", ReportFindingsInput, read_only=True, parallel=lambda _: False)
async def TOOL(input: ReportFindingsInput, ctx: ToolContext) -> ToolOutput:
    """Hand over the findings of a review."""
    del ctx
    count = len(input.findings)
    return ToolOutput(
        content=(
            f"Reported {count} finding{'' if count == 1 else 's'}; the user sees them. Do not repeat "
            "them in full."
        ),
        data={"level": input.level, "findings": to_builtins(input.findings), "count": count},
    )
