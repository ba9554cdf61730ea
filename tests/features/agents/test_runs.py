"""Agents in the foreground and in the background."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.runtime import Limits, Runtime
from bridle.engine.turn import Turn
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.tasks.task_output import TOOL as TASK_OUTPUT
from bridle.tools.tasks.task_output import TaskOutputInput
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ProviderError
from bridle.types.event import (
    AssistantReplied,
    FromAgent,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
    ToolFinished,
)
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.question import Permitted
from bridle.types.services.delegation import Delegation
from bridle.types.turn import Prompt
from tests.fakes.agents import echo, team, touch
from tests.fakes.engine import FakeChannel
from tests.fakes.tool_context import make_context

_HELPER = AgentDefinition(name="helper", description="Helps.", text="You help.", source="user")


def _call(prompt: str = "<job>", **more: Any) -> Any:
    fields = {"subagent_type": "helper", "run_in_background": False, **more}
    return calls("Agent", description="A job", prompt=prompt, **fields)


async def test_an_agent_has_a_conversation_of_its_own_and_its_last_text_is_the_result(tmp_path: Path):
    scripts = {
        "main": [says("Let me ask.", _call()), says("It said so.")],
        "job": [says("Looking.", calls("Echo", text="hi")), says("The report.")],
    }
    async with team(tmp_path, scripts, echo, agents=[_HELPER]) as made:
        outcome = await made.prompt()
    assert outcome.text == "It said so."
    first = made.models.requests("job")[0]
    assert [block["text"] for block in first.system] == ["You help."]
    assert "<main>" not in json.dumps(first.messages)
    data = made.result("call-1")
    assert data["status"] == "completed"
    assert data["content"] == [{"type": "text", "text": "The report."}]
    assert (data["totalToolUseCount"], data["totalTokens"]) == (1, 15)
    assert data["resolvedModel"] == "model-a"
    assert "Looking" not in json.dumps(made.models.requests("main")[-1].messages)


async def test_its_lines_are_a_side_chain_in_a_file_of_their_own(tmp_path: Path):
    scripts = {"main": [says(_call()), says("ok")], "job": [says("The report.")]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        await made.prompt()
    agent_id = made.result("call-1")["agentId"]
    folder = tmp_path / "storage" / "subagents"
    rows = [json.loads(line) for line in (folder / f"agent-{agent_id}.jsonl").read_text().splitlines()]
    talk = [row for row in rows if "uuid" in row]
    assert {(row["isSidechain"], row["agentId"], row["sessionId"]) for row in talk} == {
        (True, agent_id, "s1")
    }
    meta = json.loads((folder / f"agent-{agent_id}.meta.json").read_text())
    assert (meta["agentType"], meta["toolUseId"], meta["description"]) == ("helper", "call-1", "A job")
    main = [json.loads(line) for line in (tmp_path / "s1.jsonl").read_text().splitlines()]
    assert not any(row.get("isSidechain") for row in main)


async def test_its_events_reach_the_channel_marked_and_without_the_stream(tmp_path: Path):
    scripts = {
        "main": [says(_call()), says("ok")],
        "job": [says("Looking.", calls("Echo", text="hi")), says("The report.")],
    }
    async with team(tmp_path, scripts, echo, agents=[_HELPER]) as made:
        await made.prompt()
    inside = made.channel.of(FromAgent)
    assert {(each.call_id, each.agent_type, each.description) for each in inside} == {
        ("call-1", "helper", "A job")
    }
    kinds = [type(each.event).__name__ for each in inside]
    assert kinds[0] == "TurnStarted" and kinds[-1] == "TurnFinished"
    assert kinds.count("AssistantReplied") == 3 and kinds.count("ToolFinished") == 1
    assert not {"TextDelta", "Streamed", "ThinkingDelta"} & set(kinds)
    started, ended = made.channel.of(TaskStarted), made.channel.of(TaskEnded)
    assert [(each.task.kind, each.task.backgrounded) for each in started] == [("local_agent", False)]
    assert [(each.task.status, each.task.result) for each in ended] == [("completed", "The report.")]
    (progress,) = made.channel.of(TaskProgressed)
    assert (progress.task.last_tool, progress.task.usage and progress.task.usage.tool_uses) == ("Echo", 1)


async def test_several_agents_of_one_message_work_at_the_same_time(tmp_path: Path):
    meet = asyncio.Barrier(3)
    scripts: dict[str, list[Any]] = {
        f"job{number}": [says(f"report {number}", then=meet.wait)] for number in range(3)
    }
    scripts["main"] = [says(*(_call(f"<job{number}>") for number in range(3))), says("ok")]
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        await made.prompt()
    for number in range(3):
        assert made.result(f"call-{number + 1}")["content"][0]["text"] == f"report {number}"


async def test_what_agents_cost_is_the_sessions_and_not_the_turns_usage(tmp_path: Path):
    scripts = {"main": [says(_call()), says("ok")], "job": [says("The report.")]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        outcome = await made.prompt()
    assert outcome.usage.input == 20
    assert outcome.spend["model-a"].usage.input == 30
    assert round(outcome.total_cost_usd, 6) == 0.00045


async def test_the_budget_of_the_session_stops_its_agents(tmp_path: Path):
    many = [says(calls("Echo", text="x")) for _ in range(20)]
    scripts = {"main": [says(_call()), says("never")], "job": many}
    limits = Limits(max_budget_usd=0.0007)
    async with team(
        tmp_path, scripts, echo, agents=[_HELPER], change=lambda each: _with(each, limits=limits)
    ) as made:
        outcome = await made.prompt()
    assert outcome.subtype == "error_max_budget_usd"
    assert len(made.models.requests("job")) < 6
    assert made.result("call-1")["partial"] is True


async def test_an_unknown_type_is_answered_with_the_known_ones(tmp_path: Path):
    scripts = {"main": [says(_call(subagent_type="nobody")), says("ok")]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        await made.prompt()
    text = made.result("call-1")
    assert "nobody" in text and "general-purpose" in text and "helper" in text


async def test_at_its_limit_of_turns_an_agent_leaves_what_it_has(tmp_path: Path):
    short = AgentDefinition(name="helper", description="d", text="p", source="user", max_turns=2)
    scripts = {
        "main": [says(_call()), says("ok")],
        "job": [says("First.", calls("Echo", text="x")), says("Second.", calls("Echo", text="x"))],
    }
    async with team(tmp_path, scripts, echo, agents=[short]) as made:
        await made.prompt()
    data = made.result("call-1")
    assert (data["partial"], data["content"]) == (True, [{"type": "text", "text": "Second."}])


async def test_a_failing_service_is_a_result_and_the_parent_continues(tmp_path: Path):
    fault = ProviderError("No key.", kind="authentication_failed", status=401)
    scripts = {"main": [says(_call()), says("I continue.")], "job": [fault]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        outcome = await made.prompt()
    assert outcome.text == "I continue."
    assert "No key." in made.result("call-1")
    assert made.ended[0].status == "failed"


async def test_questions_of_an_agent_name_it_and_what_is_agreed_holds_for_the_session(tmp_path: Path):
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Touch"}],
        "behavior": "allow",
        "destination": "session",
    }
    channel = FakeChannel(answer=Permitted(updates=(update,)))
    scripts = {
        "main": [says(_call()), says(calls("Touch", path="b")), says("ok")],
        "job": [says(calls("Touch", path="a")), says("done")],
    }
    async with team(tmp_path, scripts, touch, agents=[_HELPER], channel=channel) as made:
        made.session.swap(mode="default")
        await made.prompt()
    (question,) = channel.questions
    assert getattr(question, "agent_id", None) == made.result("call-1")["agentId"]


async def test_in_the_background_the_call_returns_at_once_and_the_end_is_news(tmp_path: Path):
    go = asyncio.Event()
    scripts = {
        "main": [says(_call(run_in_background=None)), says("Started.")],
        "job": [says("The report.", then=go.wait)],
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        outcome = await made.prompt()
        assert outcome.text == "Started."
        data = made.result("call-1")
        assert (data["status"], data["isAsync"]) == ("async_launched", True)
        running = made.runtime.workspace.tasks.find(data["agentId"])
        assert running is not None and running.status == "running" and running.backgrounded
        go.set()
        (task,) = await made.over()
    assert (task.id, task.status, task.result) == (data["agentId"], "completed", "The report.")
    assert Path(data["outputFile"]).read_text() == "The report.\n"


async def test_an_interrupt_stops_agents_that_are_waited_for(tmp_path: Path):
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    scripts = {"main": [says(_call())], "job": [says("partial", closed=False, then=hang)]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        turn = asyncio.create_task(made.prompt())
        await began.wait()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        assert [task.status for task in made.ended] == ["killed"]
        assert made.agents.running() == ()
    assert not made.session.open_calls()


async def test_stopping_a_background_agent_ends_its_children_too(tmp_path: Path):
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    scripts = {
        "main": [says(_call(run_in_background=True)), says("Started.")],
        "job": [says("x", closed=False, then=hang)],
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        await made.prompt()
        await began.wait()
        task = await made.runtime.workspace.tasks.stop(made.result("call-1")["agentId"])
        assert task.status == "killed"
        assert made.agents.running() == ()


async def test_stopping_an_agent_that_is_waited_for_leaves_the_parent_at_work(tmp_path: Path):
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    scripts = {"main": [says(_call()), says("I continue.")], "job": [says("x", closed=False, then=hang)]}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        turn = asyncio.create_task(made.prompt())
        await began.wait()
        (task,) = made.agents.running()
        await made.runtime.workspace.tasks.stop(task.id)
        assert (await turn).text == "I continue."
    assert "stopped" in made.result("call-1")


async def test_a_background_agent_without_progress_is_given_up(tmp_path: Path):
    async def hang() -> None:
        await asyncio.Event().wait()

    scripts = {
        "main": [says(_call(run_in_background=True)), says("Started.")],
        "job": [says("x", closed=False, then=hang)],
    }
    env = {"CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS": "50"}
    async with team(tmp_path, scripts, agents=[_HELPER], env=env) as made:
        await made.prompt()
        (task,) = await made.over()
    assert task.status == "failed"
    assert task.error is not None and "no progress" in task.error


async def test_thirty_agents_at_once_do_not_mix(tmp_path: Path):
    meet = asyncio.Barrier(30)
    scripts: dict[str, list[Any]] = {
        f"job{number:02}": [
            says(calls("Echo", text=f"e{number}"), then=meet.wait),
            says(f"report {number:02}"),
        ]
        for number in range(30)
    }
    scripts["main"] = [says(*(_call(f"<job{number:02}>") for number in range(30))), says("ok")]
    env = {"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "30"}
    limits = Limits(parallel_calls=30)
    async with (
        team(
            tmp_path, scripts, echo, agents=[_HELPER], env=env, change=lambda each: _with(each, limits=limits)
        ) as made,
        asyncio.timeout(50),
    ):
        await made.prompt()
    for number in range(30):
        assert made.result(f"call-{number + 1}")["content"][0]["text"] == f"report {number:02}"
        inside = [each for each in made.channel.of(FromAgent) if each.call_id == f"call-{number + 1}"]
        texts = [
            block["text"]
            for each in inside
            if isinstance(each.event, AssistantReplied)
            for block in each.event.message["content"]
            if block["type"] == "text"
        ]
        assert texts == [f"report {number:02}"]
        assert sum(isinstance(each.event, ToolFinished) for each in inside) == 1


async def test_more_than_the_most_at_once_is_refused(tmp_path: Path):
    go = asyncio.Event()
    scripts = {
        "main": [says(*(_call("<job>", run_in_background=True) for _ in range(3))), says("ok")],
        "job": [says("r", then=go.wait), says("r", then=go.wait)],
    }
    env = {"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "2"}
    async with team(tmp_path, scripts, agents=[_HELPER], env=env) as made:
        await made.prompt()
        assert "The limit of 2 running agents" in made.result("call-3")
        go.set()
        await made.over(2)


async def test_agents_start_agents_up_to_a_depth_and_wait_for_them(tmp_path: Path):
    scripts = {
        "main": [says(_call("<one>")), says("ok")],
        "one": [says(_call("<two>", run_in_background=True)), says("one is done")],
        "two": [says(_call("<three>")), says("two is done")],
        "three": [says("three is done")],
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        await made.prompt()
    assert [task.depth for task in made.ended] == [3, 2, 1]
    tools = [{tool["name"] for tool in made.models.requests(key)[0].tools} for key in ("one", "two", "three")]
    assert [("Agent" in names) for names in tools] == [True, True, False]
    assert {each.call_id for each in made.channel.of(FromAgent)} == {"call-1"}


def _with(runtime: Runtime, **changes: Any) -> Runtime:
    return msgspec.structs.replace(runtime, **changes)


async def test_task_tools_know_agents_by_id_and_name(tmp_path: Path):
    go = asyncio.Event()
    scripts = {
        "main": [says(_call(run_in_background=True, name="bob")), says("Started.")],
        "job": [says("The report.", then=go.wait)],
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        await made.prompt()
        context = make_context(tmp_path, workspace=made.runtime.workspace)
        agent_id = made.result("call-1")["agentId"]
        look = TaskOutputInput(task_id="bob", block=False)
        assert (await TASK_OUTPUT.run(look, context)).data["task"]["task_id"] == agent_id
        go.set()
        await made.over()
        ended = await TASK_OUTPUT.run(TaskOutputInput(task_id=agent_id), context)
    assert ended.data["task"]["output"] == "The report."
    assert ended.data["task"]["task_type"] == "local_agent"


async def test_in_auto_mode_a_reviewer_may_warn_of_the_work(tmp_path: Path):
    verdict = '{"verdict": "deny", "reason": "It deleted a backup"}'
    scripts = {
        "main": [says(_call()), says("ok")],
        "job": [says("The report."), says(verdict)],
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made:
        made.session.swap(mode="auto")
        await made.prompt()
    text = json.dumps(made.models.requests("main")[-1].messages)
    assert "SECURITY WARNING: It deleted a backup" in text and "The report." in text


async def test_what_is_agreed_for_one_agent_spares_the_others_the_question(tmp_path: Path):
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Touch"}],
        "behavior": "allow",
        "destination": "session",
    }
    channel = FakeChannel(answer=Permitted(updates=(update,)))
    asked = asyncio.Event()
    scripts = {
        "main": [says(_call("<one>"), _call("<two>")), says("ok")],
        "one": [says(calls("Touch", path="a")), says("done", then=_setting(asked))],
        "two": [
            says("wait", calls("Echo", text="x"), then=asked.wait),
            says(calls("Touch", path="b")),
            says("d"),
        ],
    }
    async with team(tmp_path, scripts, touch, echo, agents=[_HELPER], channel=channel) as made:
        made.session.swap(mode="default", rules=(parse("Echo", Effect.ALLOW),))
        await made.prompt()
    assert (tmp_path / "a").exists() and (tmp_path / "b").exists()
    assert len(channel.questions) == 1


def _setting(event: asyncio.Event) -> Any:
    async def tell() -> None:
        event.set()

    return tell


async def test_an_agent_that_is_stopped_before_its_first_step_has_an_end_too(tmp_path: Path):
    scripts = {"main": [says(_call(run_in_background=True)), says("Started.")], "job": []}
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        turn = Turn(made.session, Prompt(content="x", origin=TYPED), made.runtime)
        wanted = Delegation(description="d", prompt="<job>", agent_type="helper")
        launched = await made.agents.run(turn, wanted, call_id="c")
        await made.agents.stop(launched.agent_id)
        (task,) = await made.over()
    assert (task.status, made.agents.running()) == ("killed", ())


async def test_closing_the_session_ends_all_agents(tmp_path: Path):
    async def hang() -> None:
        await asyncio.Event().wait()

    scripts = {
        "main": [says(*(_call(f"<job{n}>", run_in_background=True) for n in range(5))), says("Started.")],
        **{f"job{n}": [says("x", closed=False, then=hang)] for n in range(5)},
    }
    async with team(tmp_path, scripts, agents=[_HELPER]) as made, asyncio.timeout(50):
        await made.prompt()
    assert [task.status for task in made.ended] == ["killed"] * 5
