"""Sessions of an editor: listed, loaded, resumed, forked, closed and removed; modes, models and servers."""

import sys
from pathlib import Path

import pytest
from acp import schema
from acp.exceptions import RequestError

from tests.fakes.acp_editor import Editor, editing, said
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


async def test_a_conversation_is_listed_loaded_resumed_forked_and_removed(tmp_path: Path):
    use = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "echo hi"}}
    async with MessagesServer([step(use), step("First."), step("Second."), step("Third.")]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        cwd = str(program.project)
        async with editing(program, editor) as agent:
            begun = await agent.new_session(cwd=cwd, mcp_servers=[])
            await agent.prompt(session_id=begun.session_id, prompt=said("Count the birds"))
        later = Editor()
        async with editing(program, later) as agent:
            listed = await agent.list_sessions(cwd=cwd)
            await agent.load_session(cwd=cwd, session_id=begun.session_id, mcp_servers=[])
            told = [
                each.session_update
                for each in later.updates
                if each.session_update != "available_commands_update"
            ]
            asked = later.text("user_message_chunk")
            await agent.prompt(session_id=begun.session_id, prompt=said("And now?"))
            fork = await agent.fork_session(cwd=cwd, session_id=begun.session_id, mcp_servers=[])
            await agent.prompt(session_id=fork.session_id, prompt=said("In the copy"))
            await agent.close_session(session_id=begun.session_id)
            with pytest.raises(RequestError) as closed:
                await agent.prompt(session_id=begun.session_id, prompt=said("More"))
            silent = len(later.of("user_message_chunk"))
            await agent.resume_session(cwd=cwd, session_id=begun.session_id, mcp_servers=[])
            assert len(later.of("user_message_chunk")) == silent
            await agent._conn.send_request("session/delete", {"sessionId": begun.session_id})
            left = await agent.list_sessions(cwd=cwd)

    assert [(each.session_id, each.cwd) for each in listed.sessions] == [(begun.session_id, cwd)]
    assert told[:4] == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    assert asked == "Count the birds"
    assert "Count the birds" in str(server.requests[-1].body["messages"])
    assert fork.session_id != begun.session_id
    assert closed.value.code == -32002
    assert [each.session_id for each in left.sessions] == [fork.session_id]


async def test_modes_and_models_are_chosen_and_what_is_unknown_is_refused(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.set_session_mode(session_id=session.session_id, mode_id="plan")
            chosen = await agent.set_config_option(
                session_id=session.session_id, config_id="model", value="haiku"
            )
            for option, value in (("mode", "bypassPermissions"), ("color", "red"), ("effort", "endless")):
                with pytest.raises(RequestError):
                    await agent.set_config_option(
                        session_id=session.session_id, config_id=option, value=value
                    )
            await agent.prompt(session_id=session.session_id, prompt=said("Hi"))

    assert chosen is not None
    values = {each.id: each.current_value for each in chosen.config_options}
    assert (values["mode"], values["model"]) == ("plan", "haiku")
    assert [each.current_mode_id for each in editor.of("current_mode_update")] == ["plan"]
    assert "haiku" in server.requests[-1].body["model"]


async def test_servers_and_folders_of_the_editor_count_for_its_session(tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("beside\n")
    calls = [
        {"type": "tool_use", "id": "m", "name": "mcp__plain__echo", "input": {"text": "over here"}},
        {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": str(other / "b.txt")}},
    ]
    async with MessagesServer([step(calls[0]), step(calls[1]), step("ok")]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        plain = schema.McpServerStdio(
            name="plain",
            command=sys.executable,
            args=["-m", "tests.fakes.mcp_plain"],
            env=[schema.EnvVariable(name="PYTHONPATH", value=str(Path(__file__).parents[3]))],
        )
        async with editing(program, editor) as agent:
            session = await agent.new_session(
                cwd=str(program.project), additional_directories=[str(other)], mcp_servers=[plain]
            )
            await agent.prompt(session_id=session.session_id, prompt=said("go"))

    ends = {each.tool_call_id: each for each in editor.of("tool_call_update") if each.status == "completed"}
    assert set(ends) == {"m", "r"}
    assert [call.tool_call_id for call, _ in editor.asked] == ["m"]


async def test_folders_and_sessions_that_are_not_there_are_told(tmp_path: Path):
    async with MessagesServer([]) as server:
        program, editor = Program(tmp_path, server.url), Editor()
        async with editing(program, editor) as agent:
            codes: list[int] = []
            for cwd in ("relative", "/no/such/folder"):
                with pytest.raises(RequestError) as caught:
                    await agent.new_session(cwd=cwd, mcp_servers=[])
                codes.append(caught.value.code)
            with pytest.raises(RequestError):
                await agent.load_session(cwd=str(program.project), session_id="nothing", mcp_servers=[])
            with pytest.raises(RequestError) as unknown:
                await agent.set_session_mode(session_id="nothing", mode_id="plan")

    assert codes == [-32602, -32602] and unknown.value.code == -32002
