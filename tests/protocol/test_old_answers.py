from typing import Any

from bridle.frontends.stdio.channel import read_permission
from bridle.protocol.control import ControlResponse
from bridle.protocol.input_lines import read_message
from bridle.types.question import Permitted, Refused


def _answer(response: dict[str, Any]) -> Any:
    line = read_message({"type": "control_response", "request_id": "r1", "response": response})
    assert isinstance(line, ControlResponse) and line.request_id == "r1"
    return read_permission(line.answer)


def test_older_hosts_answer_a_question_with_a_subtype():
    changed = {"command": "ls"}

    assert isinstance(_answer({"subtype": "allow"}), Permitted)
    assert _answer({"subtype": "allow", "updatedInput": changed}).input == changed
    assert isinstance(_answer({"subtype": "deny", "message": "no"}), Refused)
    assert _answer({"subtype": "deny", "behavior": "allow", "message": "no"}).message == "no"
