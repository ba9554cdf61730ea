import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.scripted import calls, says
from bridle.sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ClaudeSDKError,
    CLIConnectionError,
    Client,
    ResultMessage,
    SystemMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TextBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)
from tests.fakes.processes import eventually
from tests.inprocess.scene import Scene, of, prompts


async def heard(client: Client) -> list[Any]:
    async with asyncio.timeout(50):
        return [message async for message in client.receive_response()]


async def test_a_conversation_goes_on(tmp_path: Path):
    scene = Scene(tmp_path, says("I am well."), says("You asked how I am."))
    async with Client(scene.options()) as client:
        await client.query("How are you?")
        first = await heard(client)
        await client.query("What did I ask?")
        second = await heard(client)
    assert (first[-1].result, second[-1].result) == ("I am well.", "You asked how I am.")
    assert [m["role"] for m in scene.model.requests[1].messages] == ["user", "assistant", "user"]
    assert first[-1].session_id == second[-1].session_id
    assert scene.model.closed


async def test_a_first_prompt_may_come_with_the_connection(tmp_path: Path):
    for first in ("hello", prompts("hello")):
        scene = Scene(tmp_path, says("hi"))
        client = Client(scene.options())
        await client.connect(first)
        assert (await heard(client))[-1].result == "hi"
        await client.disconnect()


async def test_nothing_works_before_it_is_connected_or_after_it_is_over(tmp_path: Path):
    client = Client(Scene(tmp_path).options())
    for _ in range(2):
        with pytest.raises(CLIConnectionError, match="Not connected"):
            await client.query("x")
        with pytest.raises(CLIConnectionError):
            await client.interrupt()
        with pytest.raises(CLIConnectionError):
            await anext(aiter(client.receive_messages()))
        await client.connect()
        await client.disconnect()
        await client.disconnect()


async def test_an_interrupt_leaves_the_session_usable(tmp_path: Path):
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    scene = Scene(tmp_path, says("Working on", closed=False, then=hang), says("Fine."))
    async with Client(scene.options()) as client:
        await client.query("a long job")
        async with asyncio.timeout(50):
            await reached.wait()
        await client.interrupt()
        cut = await heard(client)
        await client.query("something else")
        rest = await heard(client)
    assert (cut[-1].subtype, cut[-1].terminal_reason) == ("error_during_execution", "aborted_streaming")
    assert rest[-1].result == "Fine."


async def test_an_interrupt_without_a_turn_is_harmless(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    async with Client(scene.options()) as client:
        await client.interrupt()
        await client.query("hi")
        assert (await heard(client))[-1].result == "ok"


async def test_mode_and_model_can_be_switched(tmp_path: Path):
    scene = Scene(
        tmp_path,
        says(calls("Write", file_path="a.txt", content="1")),
        says("no"),
        says(calls("Write", file_path="a.txt", content="2")),
        says("yes"),
    )
    async with Client(scene.options(model="sonnet")) as client:
        await client.query("write")
        refused = await heard(client)
        await client.set_permission_mode("acceptEdits")
        await client.set_model("haiku")
        await client.query("write")
        await heard(client)
        await client.set_model()
        wrong: Any = "nonsense"
        with pytest.raises(ClaudeSDKError):
            await client.set_permission_mode(wrong)
    assert refused[-1].permission_denials[0]["tool_name"] == "Write"
    assert (scene.project / "a.txt").read_text() == "2"
    models = [asked.model for asked in scene.model.requests]
    assert "sonnet" in models[0] and "haiku" in models[2]


async def test_prompts_that_come_while_a_turn_runs_reach_the_model_once(tmp_path: Path):
    scene = Scene(tmp_path, *(says("ok") for _ in range(4)))
    async with Client(scene.options()) as client:
        for number in range(3):
            await client.query(f"question {number}")
        answers = 0
        async with asyncio.timeout(50):
            async for message in client.receive_messages():
                answers += isinstance(message, ResultMessage)
                if str(scene.model.requests[-1].messages).count("question 2") and answers:
                    break
    asked = str(scene.model.requests[-1].messages)
    assert [asked.count(f"question {number}") for number in range(3)] == [1, 1, 1]


async def test_the_session_says_what_it_is(tmp_path: Path):
    @tool("ping", "Ping", {})
    async def ping(args: Any) -> dict[str, Any]:
        return {"content": []}

    servers = {"net": create_sdk_mcp_server("net", "2.0.0", [ping])}
    scene = Scene(tmp_path, says("ok"), says("ok"))
    async with Client(scene.options(mcp_servers=servers)) as client:
        info = await client.get_server_info()
        assert info is not None and info["models"] and "commands" in info
        (server,) = (await client.get_mcp_status())["mcpServers"]
        assert (server["name"], server["status"]) == ("net", "connected")
        assert server["serverInfo"] == {"name": "net", "version": "2.0.0"}
        assert [each["name"] for each in server["tools"]] == ["ping"]
        await client.toggle_mcp_server("net", False)
        await client.query("hi")
        init = of(await heard(client), SystemMessage)[0]
        assert "mcp__net__ping" not in init.data["tools"]
        assert init.data["mcp_servers"] == [{"name": "net", "status": "disabled", "source": "sdk"}]
        await client.toggle_mcp_server("net", True)
        await client.reconnect_mcp_server("net")
        await client.query("hi")
        assert "mcp__net__ping" in of(await heard(client), SystemMessage)[0].data["tools"]
        with pytest.raises(ClaudeSDKError, match="Server not found"):
            await client.reconnect_mcp_server("other")
        assert (await client.get_context_usage())["totalTokens"] >= 0


async def test_files_go_back_to_a_prompt(tmp_path: Path):
    scene = Scene(
        tmp_path, says(calls("Write", file_path="a.txt", content="new")), says("done"), says("and now")
    )
    options = scene.options(
        enable_file_checkpointing=True,
        permission_mode="acceptEdits",
        extra_args={"replay-user-messages": None},
    )
    async with Client(options) as client:
        await client.query("make it")
        messages = await heard(client)
        prompt = next(m.uuid for m in of(messages, UserMessage) if m.content == "make it")
        assert prompt is not None
        told = await client.rewind_files(prompt, dry_run=True)
        assert told["filesChanged"] == [str(scene.project / "a.txt")]
        assert (scene.project / "a.txt").exists()
        await client.rewind_files(prompt)
        assert not (scene.project / "a.txt").exists()
        with pytest.raises(ClaudeSDKError, match="No file checkpoint found"):
            await client.rewind_files("unknown")
        await client.query("still there?")
        assert (await heard(client))[-1].result == "and now"


async def test_files_are_kept_only_when_that_is_asked_for(tmp_path: Path):
    async with Client(Scene(tmp_path).options()) as client:
        with pytest.raises(ClaudeSDKError, match="File rewinding is not enabled"):
            await client.rewind_files("x")
    assert not (tmp_path / "home" / ".claude" / "file-history").exists()


async def test_background_jobs_report_and_end_with_the_session(tmp_path: Path):
    scene = Scene(
        tmp_path,
        says(calls("Bash", command="echo from behind", run_in_background=True)),
        says("started"),
        says("it has ended"),
    )
    async with Client(scene.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        messages: list[Any] = []
        async with asyncio.timeout(50):
            async for message in client.receive_messages():
                messages.append(message)
                if len(of(messages, ResultMessage)) == 2:
                    break
    (started,), (ended,) = of(messages, TaskStartedMessage), of(messages, TaskNotificationMessage)
    assert (started.task_id, ended.status) == (ended.task_id, "completed")
    assert of(messages, ResultMessage)[1].origin == {"kind": "task-notification"}


async def test_disconnecting_in_the_middle_of_a_turn_ends_it(tmp_path: Path):
    pid = tmp_path / "project" / "pid"
    scene = Scene(tmp_path, says(calls("Bash", command="echo $$ > pid; exec sleep 100")), says("never"))
    client = Client(scene.options(permission_mode="default", allowed_tools=["Bash"]))
    await client.connect("go")
    async with asyncio.timeout(50):
        await eventually(lambda: pid.exists() and pid.read_text())
        await client.disconnect()
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


async def test_the_official_names_are_the_same_classes(tmp_path: Path):
    assert ClaudeSDKClient is Client
    scene = Scene(tmp_path, says("ok"))
    async with ClaudeSDKClient(options=scene.options()) as client:
        await client.query("hi")
        messages = await heard(client)
    assert of(messages, AssistantMessage)[0].content == [TextBlock("ok")]
