"""What an editor sees of a prompt, with the official Python client in its place."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from acp.exceptions import RequestError

from tests.fakes.acp_editor import Editor, editing, said
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program


def use(name: str, id: str = "call-1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


async def test_an_answer_streams_and_its_turn_ends_with_usage_and_commands(tmp_path: Path):
    async with MessagesServer([step("Hello from bridle.")]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            answer = await agent.prompt(session_id=session.session_id, prompt=said("Hi"))
            await editor.until(lambda: editor.of("available_commands_update"))

    assert answer.stop_reason == "end_turn"
    assert editor.text() == "Hello from bridle."
    assert len({each.message_id for each in editor.of("agent_message_chunk")}) == 1
    assert editor.of("usage_update")[-1].size >= 200_000
    (commands, *_) = editor.of("available_commands_update")
    assert {"compact", "context"} <= {each.name for each in commands.available_commands}
    assert session.modes is not None and session.modes.current_mode_id == "default"
    assert {each.root.id if hasattr(each, "root") else each.id for each in session.config_options or []} >= {
        "mode",
        "model",
    }


async def test_an_edit_is_asked_about_with_its_diff_and_made(tmp_path: Path):
    program = Program(tmp_path)
    file = program.project / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    script = [
        step(use("Read", "r", file_path=str(file))),
        step(use("Edit", "e", file_path=str(file), old_string="two", new_string="2")),
        step("Done."),
    ]
    async with MessagesServer(script) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=said("change it"))

    ((call, options),) = editor.asked
    assert (call.kind, call.status, call.tool_call_id) == ("edit", "pending", "e")
    assert call.content is not None
    assert (call.content[0].path, call.content[0].old_text, call.content[0].new_text) == (
        str(file),
        "one\ntwo\nthree\n",
        "one\n2\nthree\n",
    )
    assert options[0].kind == "allow_once" and options[-1].kind == "reject_once"
    calls = {each.tool_call_id: each for each in editor.of("tool_call")}
    assert (calls["r"].kind, calls["e"].kind) == ("read", "edit")
    assert calls["r"].locations[0].path == str(file)
    ends = {each.tool_call_id: each for each in editor.of("tool_call_update") if each.status == "completed"}
    assert ends["e"].content[0].new_text == "one\n2\nthree\n"
    assert ends["e"].locations[0].line == 1
    assert file.read_text() == "one\n2\nthree\n"


async def test_a_rejected_call_does_not_run_and_the_model_goes_on(tmp_path: Path):
    script = [step(use("Bash", command="touch made")), step("I did not.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        editor = Editor(lambda _, options: options[-1].option_id)
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            answer = await agent.prompt(session_id=session.session_id, prompt=said("make it"))

    assert not (program.project / "made").exists()
    assert (answer.stop_reason, editor.text()) == ("end_turn", "I did not.")
    assert editor.of("tool_call_update")[-1].status == "failed"


async def test_a_grant_for_the_session_asks_no_second_time(tmp_path: Path):
    script = [
        step(use("Bash", "1", command="touch a")),
        step(use("Bash", "2", command="touch a")),
        step("ok"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        editor = Editor(lambda _, options: options[1].option_id)
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=said("make it"))

    assert len(editor.asked) == 1
    assert [each.kind for each in editor.asked[0][1]].count("allow_always") >= 1


async def test_cancelling_ends_the_turn_and_the_session_takes_more_prompts(tmp_path: Path):
    script = [step(use("Bash", command="sleep 60")), step("Again.")]
    async with MessagesServer(script) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            running = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=said("wait")))
            await editor.until(lambda: editor.of("tool_call"))
            await agent.cancel(session_id=session.session_id)
            stopped = await running
            again = await agent.prompt(session_id=session.session_id, prompt=said("and now"))

    assert (stopped.stop_reason, again.stop_reason) == ("cancelled", "end_turn")
    assert editor.text() == "Again."


async def test_a_task_list_is_shown_as_a_plan(tmp_path: Path):
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Fix", "status": "in_progress", "activeForm": "Fixing"},
    ]
    async with MessagesServer([step(use("TodoWrite", todos=todos)), step("ok")]) as server:
        program, editor = Program(tmp_path, server.url, CLAUDE_CODE_ENABLE_TASKS="0"), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=said("plan"))

    (plan,) = editor.of("plan")
    assert [(each.content, each.status) for each in plan.entries] == [
        ("Look", "completed"),
        ("Fix", "in_progress"),
    ]


async def test_images_and_resources_reach_the_model(tmp_path: Path):
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    async with MessagesServer([step("I see.")]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        (program.project / "notes.md").write_text("remember the milk\n")
        blocks: list[Any] = [
            *said("Look at "),
            schema.ResourceContentBlock(
                type="resource_link", name="notes.md", uri=f"file://{program.project}/notes.md"
            ),
            schema.ImageContentBlock(type="image", data=pixel, mime_type="image/png"),
            schema.EmbeddedResourceContentBlock(
                type="resource",
                resource=schema.TextResourceContents(uri="file:///elsewhere/x.py", text="print(1)"),
            ),
        ]
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=blocks)
            sent = str(server.requests[-1].body["messages"])

    assert "remember the milk" in sent and "print(1)" in sent and pixel in sent


async def test_slash_commands_answer_without_the_model(tmp_path: Path):
    async with MessagesServer([]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            answer = await agent.prompt(session_id=session.session_id, prompt=said("/cost"))

    assert answer.stop_reason == "end_turn" and editor.text().strip()
    assert server.requests == []


async def test_a_key_that_is_refused_asks_the_editor_to_log_in_and_other_faults_are_errors(tmp_path: Path):
    async with MessagesServer() as server:
        program, editor = Program(tmp_path, server.url), Editor()
        codes: list[int] = []
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            for status, kind in ((401, "authentication_error"), (400, "invalid_request_error")):
                server.script([fault(status, kind, repeat=True)])
                with pytest.raises(RequestError) as caught:
                    await agent.prompt(session_id=session.session_id, prompt=said("Hi"))
                codes.append(caught.value.code)

    assert codes == [-32000, -32603]


async def test_without_a_key_the_editor_is_told_to_log_in(tmp_path: Path):
    program, editor = Program(tmp_path), Editor()
    async with editing(program, editor) as agent:
        with pytest.raises(RequestError) as caught:
            await agent.new_session(cwd=str(program.project), mcp_servers=[])
        with pytest.raises(RequestError) as refused:
            await agent.authenticate(method_id="key")

    assert (caught.value.code, refused.value.code) == (-32000, -32000)
