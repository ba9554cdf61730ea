import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.hooks.callback import callback_handler, run_function
from bridle.hooks.handler import Answered, CallbackHook, Failed, FunctionHook
from bridle.types.errors import BridleError
from bridle.types.hooks.events import HookEvent, UserPromptSubmit
from bridle.types.permission import Deny
from tests.fakes.hook_calls import BASH, STOPPED, WRITTEN, call_of
from tests.fakes.hook_runner import runner_of

PROMPT = UserPromptSubmit(prompt="hi")
BLOCKS = {"decision": "block", "reason": "no"}


class FakeHost:
    def __init__(self, answer: Mapping[str, Any] | Exception | None) -> None:
        self._answer = answer
        self.asked: list[tuple[str, Any, str, float]] = []
        self.withdrawn = False

    async def ask(
        self, callback_id: str, input: dict[str, Any], *, tool_use_id: str, timeout: float
    ) -> Mapping[str, Any]:
        self.asked.append((callback_id, input, tool_use_id, timeout))
        if self._answer is None:
            try:
                await asyncio.Event().wait()
            finally:
                self.withdrawn = True
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer or {}


async def test_the_host_gets_the_input_and_its_object_comes_back():
    host = FakeHost(BLOCKS)
    call = call_of(CallbackHook(callback_id="hook_0"))
    reply = await callback_handler(host.ask)(call)
    assert isinstance(reply, Answered) and reply.output == BLOCKS
    assert host.asked == [("hook_0", call.payload, "toolu_1", 5)]


async def test_an_event_without_a_tool_call_carries_some_id():
    host = FakeHost({})
    await callback_handler(host.ask)(call_of(CallbackHook(callback_id="hook_0"), STOPPED))
    assert host.asked[0][2] == "hook-1"


async def test_an_error_answer_is_a_failure():
    host = FakeHost(BridleError("callback raised ValueError"))
    reply = await callback_handler(host.ask)(call_of(CallbackHook(callback_id="hook_0")))
    assert reply == Failed(reason="failed in the host: callback raised ValueError")


async def test_giving_up_withdraws_the_request():
    host = FakeHost(None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await callback_handler(host.ask)(call_of(CallbackHook(callback_id="hook_0")))
    assert host.withdrawn


async def test_a_function_of_this_process_is_called_with_the_input():
    seen: list[dict[str, Any]] = []

    def look(input: dict[str, Any]) -> dict[str, Any]:
        seen.append(input)
        return BLOCKS

    call = call_of(FunctionHook(function=look))
    reply = await run_function(call)
    assert isinstance(reply, Answered) and reply.output == BLOCKS
    assert seen == [call.payload]


async def test_an_async_function_is_awaited():
    async def look(input: dict[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(0)
        return OrderedDict(systemMessage=input["tool_name"])

    reply = await run_function(call_of(FunctionHook(function=look)))
    assert isinstance(reply, Answered) and reply.output == {"systemMessage": "Bash"}


async def test_nothing_is_no_opinion():
    assert await run_function(call_of(FunctionHook(function=lambda _: None))) == Answered(output={})


async def test_what_a_function_changes_in_its_input_stays_with_it():
    call = call_of(FunctionHook(function=lambda input: input.clear()))
    before = dict(call.payload)
    await run_function(call)
    assert call.payload == before


@pytest.mark.parametrize("output", ["block", 3, ["x"], {"reason": object()}, {"reason": float}])
async def test_a_function_that_returns_no_json_object_fails(output: object):
    reply = await run_function(call_of(FunctionHook(function=lambda _: output)))
    assert isinstance(reply, Failed)


@pytest.mark.parametrize(
    ("event", "stopped"), [(BASH, True), (PROMPT, True), (WRITTEN, False), (STOPPED, False)]
)
async def test_silence_of_the_host_stops_calls_and_prompts_and_nothing_else(event: HookEvent, stopped: bool):
    host = FakeHost(None)
    hook = CallbackHook(callback_id="hook_0", timeout=0.05)
    runner = runner_of(event.name, hook, handlers={"callback": callback_handler(host.ask)})
    async with asyncio.timeout(50):
        outcome = await runner.fire(event)
    assert host.withdrawn
    assert (isinstance(outcome.decision, Deny) or outcome.block is not None) is stopped


@pytest.mark.parametrize(("on_failure", "stopped"), [(None, False), ("block", True)])
async def test_an_error_answer_lets_the_call_through_unless_the_hook_fails_closed(
    on_failure: str | None, stopped: bool
):
    host = FakeHost(BridleError("it raised"))
    hook = CallbackHook(callback_id="hook_0", on_failure=on_failure)
    runner = runner_of("PreToolUse", hook, handlers={"callback": callback_handler(host.ask)})
    outcome = await runner.fire(BASH)
    assert isinstance(outcome.decision, Deny) is stopped
    assert len(outcome.problems) == 1 and "it raised" in outcome.problems[0]


async def test_a_function_that_raises_is_a_problem_and_no_opinion():
    def breaks(input: dict[str, Any]) -> None:
        raise KeyError("missing")

    runner = runner_of("PreToolUse", FunctionHook(function=breaks), handlers={"function": run_function})
    outcome = await runner.fire(BASH)
    assert outcome.decision is None and "KeyError" in outcome.problems[0]
