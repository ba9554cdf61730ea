"""Let the user choose."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.question import Answer, ChoiceQuestion, Chosen, Permitted, Refused, Supplied
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_MOST_ANSWER = 10_000


class Option(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    label: Annotated[str, Meta(min_length=1, description="One to five words.")]
    description: Annotated[str, Meta(description="What this choice means.")]
    preview: Annotated[str | None, Meta(description="Code or a sketch to compare before choosing.")] = None


class ChoiceInput(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1)]
    header: Annotated[str, Meta(description="At most 12 characters.")]
    options: Annotated[list[Option], Meta(min_length=2, max_length=4)]
    multiSelect: Annotated[bool, Meta(description="Allow several choices.")] = False


class AskUserQuestionInput(Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[
        list[ChoiceInput],
        Meta(min_length=1, max_length=4),
    ]
    answers: Annotated[dict[str, str] | None, UNLISTED] = None
    annotations: Annotated[dict[str, Any] | None, UNLISTED] = None
    metadata: Annotated[dict[str, Any] | None, UNLISTED] = None


def _check(input: AskUserQuestionInput, ctx: ToolContext) -> None:
    del ctx
    questions = [each.question for each in input.questions]
    if len(set(questions)) < len(questions):
        raise ToolError("Two questions have the same text; make each unique.")
    for each in input.questions:
        labels = [option.label for option in each.options]
        if len(set(labels)) < len(labels):
            raise ToolError(f"Two options of {each.question[:100]!r} have the same label; make each unique.")


@tool("AskUserQuestion", AskUserQuestionInput, read_only=True, parallel=lambda _: False, check=_check)
async def ask_user_question(input: AskUserQuestionInput, ctx: ToolContext) -> ToolOutput:
    """Ask the user to choose between a few options."""
    questions = tuple(msgspec.to_builtins(each) for each in input.questions)
    answers = _answers(await ctx.ask(ChoiceQuestion(call_id=ctx.call_id, questions=questions)))
    lines = [f"{each.question}\n→ {_shown(answers.get(each.question))}" for each in input.questions]
    return ToolOutput(
        content="The user answered:\n" + "\n".join(lines),
        data={"questions": list(questions), "answers": dict(answers)},
    )


def _answers(answer: Answer) -> Mapping[str, str]:
    match answer:
        case Chosen(answers=answers):
            return answers
        case Permitted(input={"answers": {**answers}}):
            return {str(question): str(text) for question, text in answers.items()}
        case Permitted() | Supplied():
            return {}
        case Refused(by_person=False):
            raise ToolError("No one can answer here; decide yourself and say what you assumed.")
        case Refused(message=message):
            raise ToolError(f"The user did not answer: {message[:_MOST_ANSWER] or 'no reason given'}")


def _shown(answer: str | None) -> str:
    return answer[:_MOST_ANSWER] if answer else "(no answer)"


TOOL = ask_user_question
