"""Images and PDFs that the service rejects are left out, and the conversation continues."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program, lines, user

_DOT = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcff"
        "9fa11e000782027f3dc848ef0000000049454e44ae426082"
    )
).decode()
_REJECTED = fault(400, "invalid_request_error", "messages.0.content.1.image.source: Could not process image")
_STREAM = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")


def _image() -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _DOT}}


def _has_image(request: Any) -> bool:
    return _DOT[:40] in json.dumps(request.body["messages"])


async def test_a_rejected_image_is_left_out_of_this_turn_the_next_and_a_resume(tmp_path: Path):
    prompt = lines(user([{"type": "text", "text": "what is this?"}, _image()]))
    async with MessagesServer([_REJECTED, step("I cannot see it."), step("two"), step("three")]) as server:
        program = Program(tmp_path, server.url)
        first = await program.run(*_STREAM, stdin=prompt)
        again = await program.run("-p", "and now?", "-c")
        forked = await program.run("-p", "a copy", "-c", "--fork-session")
        sent = [_has_image(request) for request in server.requests]
    assert (first.result["subtype"], first.result["is_error"]) == ("success", False)
    assert (again.out, forked.out) == ("two\n", "three\n")
    assert sent == [True, False, False, False]


async def test_an_image_that_was_accepted_before_stays(tmp_path: Path):
    with_image = [{"type": "text", "text": "look"}, _image()]
    async with MessagesServer([step("I see."), _REJECTED, step("Only the first."), step("end")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_STREAM, stdin=lines(user(with_image), user(with_image)))
        counts = [json.dumps(request.body["messages"]).count(_DOT[:40]) for request in server.requests]
    assert done.code == 0 and counts == [1, 2, 1]


async def test_an_image_that_a_tool_has_read_is_left_out_too(tmp_path: Path):
    use = {"type": "tool_use", "id": "r", "name": "Read", "input": {}}
    async with MessagesServer() as server:
        program = Program(tmp_path, server.url)
        picture = program.project / "a.png"
        picture.write_bytes(base64.b64decode(_DOT))
        use["input"] = {"file_path": str(picture)}
        server.script([step(use), _REJECTED, step("It is broken.")])
        done = await program.run("-p", "look at a.png")
        sent = [_has_image(request) for request in server.requests]
    assert (done.code, done.out) == (0, "It is broken.\n")
    assert sent == [False, True, False]


async def test_without_any_image_the_refusal_is_the_answer(tmp_path: Path):
    async with MessagesServer([_REJECTED]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hello", "--output-format", "json")
    assert done.code == 1 and done.result["terminal_reason"] == "image_error"
