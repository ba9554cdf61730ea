"""An answer from elsewhere approves what was shown, and can bring nothing of its own (S5, S62)."""

from typing import Any

import pytest

from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.questions import read_answer, shown
from bridle.types.question import (
    ChoiceQuestion,
    Chosen,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
    Supplied,
)

_RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
_BYPASS = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
_CALL = PermissionQuestion(
    call_id="c1", tool="Bash", input={"command": "ls"}, reason="why", suggestions=(_BYPASS, _RULE)
)
_CHOICE = ChoiceQuestion(call_id="c2", questions=({"question": "Which?", "options": [{"label": "a"}]},))
_HOST = NetworkQuestion(host="example.com", port=443)
_FORM = ElicitationQuestion(
    server="s",
    message="who?",
    schema={"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
)
_PAGE = ElicitationQuestion(server="s", message="open", mode="url", url="https://example.com/x")


def test_the_input_is_shown_whole_and_nothing_that_turns_questions_off_is_offered():
    told = shown(_CALL)
    assert told["input"] == {"command": "ls"} and told["tool_name"] == "Bash"
    assert told["permission_suggestions"] == [_RULE]


@pytest.mark.parametrize(
    ("question", "said", "answer"),
    [
        (_CALL, {"behavior": "allow"}, Permitted()),
        (_CALL, {"behavior": "allow", "suggestion": 0}, Permitted(updates=(_RULE,))),
        (_CALL, {"behavior": "deny", "message": " use make "}, Refused(message="use make")),
        (_CALL, {"behavior": "deny"}, Refused(message="The user declined.")),
        (_HOST, {"behavior": "allow", "suggestion": 1}, Permitted(updates=(_HOST.suggestions[1],))),
        (_CHOICE, {"behavior": "allow", "answers": {"Which?": "a"}}, Chosen(answers={"Which?": "a"})),
        (_CHOICE, {"behavior": "deny"}, Refused(message="The user declined to answer.")),
        (_FORM, {"action": "accept", "content": {"age": 7}}, Supplied(action="accept", content={"age": 7})),
        (_FORM, {"action": "decline"}, Supplied(action="decline")),
        (_PAGE, {"action": "accept", "content": {"x": 1}}, Supplied(action="accept")),
        (_PAGE, {"action": "cancel"}, Supplied(action="cancel")),
    ],
)
def test_answers_mean_what_they_say(question: Question, said: dict[str, Any], answer: Any):
    assert read_answer(question, said) == answer


@pytest.mark.parametrize(
    "more",
    [
        {"updatedInput": {"command": "rm -rf /"}},
        {"input": {"command": "rm -rf /"}},
        {"updatedPermissions": [_BYPASS]},
        {"updates": [_BYPASS]},
    ],
)
def test_no_other_input_and_no_other_rules_come_from_elsewhere(more: dict[str, Any]):
    assert read_answer(_CALL, {"behavior": "allow", **more}) == Permitted()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (_CALL, {}),
        (_CALL, {"behavior": "yes"}),
        (_CALL, {"behavior": "allow", "suggestion": 1}),
        (_CALL, {"behavior": "allow", "suggestion": -1}),
        (_CALL, {"behavior": "allow", "suggestion": True}),
        (_CALL, {"behavior": "allow", "suggestion": _BYPASS}),
        (_CHOICE, {"behavior": "allow"}),
        (_CHOICE, {"behavior": "allow", "answers": {"Other?": "a"}}),
        (_FORM, {"action": "accept", "content": {}}),
        (_FORM, {"action": "accept", "content": {"age": "seven"}}),
        (_FORM, {"action": "later"}),
    ],
)
def test_what_is_no_answer_to_the_question_is_refused(question: Question, said: dict[str, Any]):
    with pytest.raises(RequestRefused):
        read_answer(question, said)
