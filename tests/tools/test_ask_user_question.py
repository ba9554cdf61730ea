"""AskUserQuestion puts choices to whoever is there."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.tools.ask_user_question import TOOL, AskUserQuestionInput
from bridle.types.errors import ToolError
from bridle.types.question import Answer, ChoiceQuestion, Chosen, Permitted, Question, Refused
from bridle.types.tool import ToolOutput
from tests.fakes.tool_context import make_context


class FakePerson:
    """Gives one answer and keeps the questions."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self._answer


def choice(question: str, *labels: str, **more: Any) -> dict[str, Any]:
    options = [{"label": label, "description": f"Use {label}"} for label in labels]
    return {"question": question, "header": "Choice", "options": options, "multiSelect": False, **more}


def read(*questions: dict[str, Any], **more: Any) -> AskUserQuestionInput:
    return msgspec.convert({"questions": list(questions), **more}, AskUserQuestionInput)


async def ask(tmp_path: Path, input: AskUserQuestionInput, answer: Answer) -> tuple[ToolOutput, FakePerson]:
    person = FakePerson(answer)
    return await TOOL.run(input, make_context(tmp_path, ask=person)), person


async def test_the_answers_of_the_user_come_back(tmp_path: Path):
    questions = choice("Which one?", "A", "B"), choice("How many?", "1", "2", "3", multiSelect=True)
    answers = {"Which one?": "A", "How many?": "1, 3"}

    output, person = await ask(tmp_path, read(*questions), Chosen(answers=answers))

    assert person.asked == [ChoiceQuestion(call_id="call-1", questions=questions)]
    assert output.data == {"questions": list(questions), "answers": answers}
    assert output.content == "The user answered:\nWhich one?\n→ A\nHow many?\n→ 1, 3"


async def test_previews_are_shown_only_where_there_are_some(tmp_path: Path):
    question = choice("Which one?", "A", "B")
    question["options"][0]["preview"] = "a = 1"
    _, person = await ask(tmp_path, read(question), Chosen(answers={}))
    assert person.asked == [ChoiceQuestion(call_id="call-1", questions=(question,))]


async def test_several_picks_are_off_unless_asked_for(tmp_path: Path):
    question = choice("Which one?", "A", "B")
    del question["multiSelect"]
    output, _ = await ask(tmp_path, read(question), Chosen(answers={}))
    assert output.data["questions"][0]["multiSelect"] is False


async def test_a_host_may_answer_with_the_input_it_permits(tmp_path: Path):
    answer = Permitted(input={"questions": [], "answers": {"Which one?": "B"}})
    output, _ = await ask(tmp_path, read(choice("Which one?", "A", "B")), answer)
    assert output.data["answers"] == {"Which one?": "B"}


async def test_a_question_without_an_answer_says_so(tmp_path: Path):
    output, _ = await ask(tmp_path, read(choice("Which one?", "A", "B")), Permitted())
    assert "(no answer)" in str(output.content)


async def test_answers_that_the_model_made_up_do_not_count(tmp_path: Path):
    input = read(choice("Which one?", "A", "B"), answers={"Which one?": "A"}, metadata={"source": "x"})
    output, person = await ask(tmp_path, input, Chosen(answers={"Which one?": "B"}))
    assert len(person.asked) == 1
    assert output.data["answers"] == {"Which one?": "B"}


async def test_nobody_there_and_a_refusal_are_told_apart(tmp_path: Path):
    input = read(choice("Which one?", "A", "B"))
    with pytest.raises(ToolError, match="No one"):
        await ask(tmp_path, input, Refused(message="no terminal", by_person=False))
    with pytest.raises(ToolError, match="later"):
        await ask(tmp_path, input, Refused(message="later"))


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [choice(f"Which {number}?", "A", "B") for number in range(5)],
        [choice("Which one?", "A")],
        [choice("Which one?", "A", "B", "C", "D", "E")],
        [choice("", "A", "B")],
        [{**choice("Which one?", "A", "B"), "color": "red"}],
    ],
)
def test_the_number_of_questions_and_options_is_bounded(questions: list[dict[str, Any]]):
    with pytest.raises(msgspec.ValidationError):
        read(*questions)


@pytest.mark.parametrize(
    "questions",
    [[choice("Which one?", "A", "A")], [choice("Which one?", "A", "B"), choice("Which one?", "C", "D")]],
)
def test_questions_and_options_must_differ(tmp_path: Path, questions: list[dict[str, Any]]):
    with pytest.raises(ToolError):
        TOOL.check(read(*questions), make_context(tmp_path))


def test_it_touches_nothing_and_runs_alone():
    input = read(choice("Which one?", "A", "B"))
    assert TOOL.read_only(input)
    assert not TOOL.parallel(input)
