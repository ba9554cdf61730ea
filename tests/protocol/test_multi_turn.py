"""Prompts that come while a turn runs."""

import asyncio
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_ASKS = ("--permission-prompt-tool", "stdio")
_A, _B, _C = (f"{letter * 8}-1111-4111-8111-111111111111" for letter in "abc")


def _bash(command: str, id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def _said(body: Any) -> list[str]:
    """What the user said in a request, without reminders."""
    said: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "user":
            said += [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in said if not text.startswith("<system-reminder>")]


def _lives(host: FakeHost) -> list[tuple[str, str]]:
    frames = [frame for frame in host.frames if frame["type"] == "command_lifecycle"]
    return [(frame["command_uuid"][0], frame["state"]) for frame in frames]


async def test_prompt_joins_the_turn_between_two_rounds(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("both")]) as server:
        async with FakeHost(Program(tmp_path, server.url), *_ASKS, "--replay-user-messages") as host:
            host.prompt("first", uuid=_A)
            asked = await host.asked()
            host.prompt("second", uuid=_B)
            await host.request("mcp_status")
            host.answer(asked, {"behavior": "allow"})
            result = await host.result()
            assert await host.close() == (0, "")
        assert _said(server.requests[1].body) == ["first", "second"] and len(server.requests) == 2
    assert result["user_message_uuid"] == _A and result["user_message_uuids"] == [_A, _B]
    echoed = [frame["uuid"] for frame in host.frames if frame.get("isReplay")]
    assert echoed == [_A, _B]
    answers = [frame for frame in host.frames if frame["type"] == "assistant"]
    assert [frame.get("user_message_uuids") for frame in answers] == [[_A], [_B]]
    assert _lives(host) == [
        ("a", "queued"), ("a", "started"), ("b", "queued"), ("b", "started"), ("a", "completed"),
        ("b", "completed"),
    ]  # fmt: skip


async def test_prompt_that_may_wait_gets_a_turn_of_its_own(tmp_path: Path):
    async with (
        MessagesServer([step(_bash("touch x")), step("one"), step("two")]) as server,
        FakeHost(Program(tmp_path, server.url), *_ASKS) as host,
    ):
        host.prompt("first")
        asked = await host.asked()
        host.prompt("second", priority="later")
        await host.request("mcp_status")
        host.answer(asked, {"behavior": "allow"})
        first = await host.result()
        second = await host.result()
    assert (first["result"], second["result"]) == ("one", "two")
    assert (first["queued_turn_count"], second["queued_turn_count"]) == (1, 0)
    assert (first["result_index"], second["result_index"]) == (0, 1)


async def test_urgent_prompt_goes_before_all_that_wait(tmp_path: Path):
    answers = [step(_bash("touch x")), step("ok"), step("ok"), step("ok")]
    async with MessagesServer(answers) as server:
        async with FakeHost(Program(tmp_path, server.url), *_ASKS) as host:
            host.prompt("first")
            asked = await host.asked()
            host.prompt("c", priority="later")
            host.prompt("b", priority="later")
            host.prompt("a", priority="now")
            await host.request("mcp_status")
            host.answer(asked, {"behavior": "allow"})
            for _ in range(3):
                await host.result()
        assert _said(server.requests[-1].body) == ["first", "a", "c", "b"]


async def test_every_prompt_reaches_the_model_once_and_in_order(tmp_path: Path):
    calls = [step(_bash("echo x", f"t{i}")) for i in range(3)]
    wanted = [f"prompt {i}" for i in range(12)]
    async with MessagesServer([*calls, *(step("ok", repeat=True) for _ in range(1))]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            for text in wanted:
                host.prompt(text)
            code, _ = await host.close()
        assert code == 0
        assert _said(server.requests[-1].body) == wanted


async def test_turn_limit_leaves_a_waiting_prompt_for_the_next_turn(tmp_path: Path):
    async with (
        MessagesServer([step(_bash("touch x")), step("two")]) as server,
        FakeHost(Program(tmp_path, server.url), *_ASKS, "--max-turns", "1") as host,
    ):
        host.prompt("first")
        asked = await host.asked()
        host.prompt("second")
        await host.request("mcp_status")
        host.answer(asked, {"behavior": "allow"})
        first = await host.result()
        second = await host.result()
    assert (first["subtype"], second["result"]) == ("error_max_turns", "two")


async def test_message_without_a_query_is_kept_for_the_next_prompt(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            host.prompt("remember this", shouldQuery=False, uuid=_A)
            host.prompt("go", uuid=_B)
            await host.result()
        assert _said(server.requests[0].body) == ["remember this", "go"] and len(server.requests) == 1
        assert [message["role"] for message in server.requests[0].body["messages"]] == ["user"]
    assert ("a", "completed") in _lives(host)


async def test_interrupt_leaves_waiting_prompts_unless_told_otherwise(tmp_path: Path):
    async with (
        MessagesServer([step("slow", silent_after=0), step("two")]) as server,
        FakeHost(Program(tmp_path, server.url)) as host,
    ):
        host.prompt("first", uuid=_A)
        await server.arrived.wait()
        host.prompt("second", uuid=_B)
        answer = await host.request("interrupt")
        first = await host.result()
        second = await host.result()
    assert answer["response"] == {"still_queued": [_B]}
    assert first["subtype"] == "error_during_execution" and second["result"] == "two"


async def test_interrupt_may_also_drop_what_waits(tmp_path: Path):
    async with (
        MessagesServer([step("slow", silent_after=0)]) as server,
        FakeHost(Program(tmp_path, server.url)) as host,
    ):
        host.prompt("first", uuid=_A)
        await server.arrived.wait()
        host.prompt("second", uuid=_B)
        host.prompt("third", uuid=_C)
        answer = await host.request("interrupt", cancel_queued=True)
        await host.result()
        assert (await host.close())[0] == 1
    assert answer["response"] == {"still_queued": [], "cancelled": [_B, _C]}
    assert ("b", "cancelled") in _lives(host) and ("b", "started") not in _lives(host)
    assert len([frame for frame in host.frames if frame["type"] == "result"]) == 1


async def test_waiting_prompt_can_be_withdrawn(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("one")]) as server:
        async with FakeHost(Program(tmp_path, server.url), *_ASKS) as host:
            host.prompt("first", uuid=_A)
            asked = await host.asked()
            host.prompt("second", uuid=_B)
            gone = await host.request("cancel_async_message", message_uuid=_B)
            again = await host.request("cancel_async_message", message_uuid=_B)
            running = await host.request("cancel_async_message", message_uuid=_A)
            host.answer(asked, {"behavior": "allow"})
            await host.result()
        assert _said(server.requests[1].body) == ["first"]
    answers = [each["response"]["cancelled"] for each in (gone, again, running)]
    assert answers == [True, False, False]


async def test_interrupt_right_behind_a_prompt_still_gives_one_result(tmp_path: Path):
    async with (
        MessagesServer([step("slow", silent_after=0), step("slow", silent_after=0)]) as server,
        FakeHost(Program(tmp_path, server.url)) as host,
    ):
        host.prompt("first")
        answer = await host.request("interrupt")
        result = await host.result()
        await host.close()
    assert answer["subtype"] == "success" and result["subtype"] == "error_during_execution"
    assert len([frame for frame in host.frames if frame["type"] == "result"]) == 1


async def test_model_chosen_in_the_middle_of_a_turn_answers_from_the_next_request_on(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url), *_ASKS, "--model", "sonnet") as host:
            host.prompt("go")
            asked = await host.asked()
            chosen = await host.request("set_model", model="haiku")
            host.answer(asked, {"behavior": "allow"})
            await host.result()
        models = [request.body["model"] for request in server.requests]
    assert models[1] == chosen["response"]["model"] != models[0]


async def test_prompt_behind_a_change_meets_the_change(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            for subtype, fields in (
                ("initialize", {"systemPrompt": ["Be brief."], "hooks": None}),
                ("set_model", {"model": "haiku"}),
                ("set_permission_mode", {"mode": "plan"}),
            ):
                request = {"subtype": subtype, **fields}
                host.send(type="control_request", request_id=subtype, request=request)
            host.prompt("go")
            init = await host.until(lambda frame: frame.get("subtype") == "init")
            await host.result()
        sent = server.requests[0].body
    assert "haiku" in sent["model"] and sent["system"][0]["text"] == "Be brief."
    assert init["permissionMode"] == "plan"
    answered = [
        frame["response"]["request_id"] for frame in host.frames if frame["type"] == "control_response"
    ]
    assert answered == ["initialize", "set_model", "set_permission_mode"]


async def test_prompt_before_the_introduction_works(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            host.prompt("first")
            await host.result()
            await host.request("initialize", appendSystemPrompt="Rhyme.")
            host.prompt("second")
            assert (await host.result())["result"] == "two"
        assert server.requests[1].body["system"][-1]["text"].endswith("Rhyme.")


async def test_pasted_texts_stand_behind_what_was_typed(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            pasted = ["one", [{"type": "text", "text": "two"}, {"type": "image"}]]
            host.prompt("typed", pasted_content=pasted)
            await host.result()
        assert _said(server.requests[0].body) == ["typed", "one", "two"]


async def test_request_that_waits_for_the_host_does_not_keep_its_input_waiting(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            hooks = {"PreModelSwitch": [{"matcher": None, "hookCallbackIds": ["h1"]}]}
            await host.request("initialize", hooks=hooks)
            wanted = {"subtype": "set_model", "model": "haiku"}
            host.send(type="control_request", request_id="switch", request=wanted)
            host.prompt("go")
            asked = await host.asked("hook_callback")
            other = await host.request("get_settings")
            host.answer(asked, {})
            await host.result()
        assert "haiku" in server.requests[0].body["model"]
    assert asked["request"]["callback_id"] == "h1" and other["subtype"] == "success"
    answered = [
        frame["response"]["request_id"] for frame in host.frames if frame["type"] == "control_response"
    ]
    assert answered.index("switch") > answered.index("r2")


async def test_request_that_the_host_withdraws_is_not_answered(tmp_path: Path):
    async with FakeHost(Program(tmp_path, "http://127.0.0.1:9")) as host:
        hooks = {"PreModelSwitch": [{"matcher": None, "hookCallbackIds": ["h1"]}]}
        await host.request("initialize", hooks=hooks)
        wanted = {"subtype": "set_model", "model": "haiku"}
        host.send(type="control_request", request_id="switch", request=wanted)
        asked = await host.asked("hook_callback")
        host.send(type="control_cancel_request", request_id="switch")
        gone = await host.until(lambda frame: frame["type"] == "control_cancel_request")
        assert await host.close() == (0, "")
    assert gone["request_id"] == asked["request_id"]
    assert "switch" not in [frame.get("response", {}).get("request_id") for frame in host.frames]


async def test_input_that_ends_early_still_runs_what_waits(tmp_path: Path):
    async with (
        MessagesServer([step("one"), step("two")]) as server,
        FakeHost(Program(tmp_path, server.url)) as host,
    ):
        host.prompt("first")
        host.prompt("second")
        async with asyncio.timeout(50):
            code, err = await host.close()
    results = [frame["result"] for frame in host.frames if frame["type"] == "result"]
    assert (code, err, results) == (0, "", ["one", "two"])
