import asyncio
from typing import NamedTuple

import pytest

from bridle.config.hook_schema import AgentHook, PromptHook
from bridle.hooks.handler import Answered, Failed, Handler, Kind, Refused
from bridle.hooks.model_hooks import Verdict, agent_handler, fill, prompt_handler, read_verdict
from bridle.types.errors import ProviderError, ToolError
from bridle.types.hooks.events import HookEvent
from bridle.types.permission import Deny
from tests.fakes.hook_calls import BASH, STOPPED, WRITTEN, call_of
from tests.fakes.hook_runner import runner_of


class Asked(NamedTuple):
    prompt: str
    model: str | None


class FakeJudge:
    """Says one thing, or raises it, and remembers what it was asked."""

    def __init__(self, says: str | Exception) -> None:
        self._says = says
        self.asked: list[Asked] = []
        self.timeouts: list[float] = []

    async def ask(self, prompt: str, *, system: str, model: str | None) -> str:
        assert '{"ok": true}' in system
        self.asked.append(Asked(prompt, model))
        if isinstance(self._says, Exception):
            raise self._says
        return self._says

    async def run(self, prompt: str, *, system: str, model: str | None, timeout: float) -> str:
        self.timeouts.append(timeout)
        return await self.ask(prompt, system=system, model=model)


async def test_a_prompt_hook_is_one_question_with_the_input_in_it():
    judge = FakeJudge('{"ok": true}')
    call = call_of(PromptHook(prompt="Is $ARGUMENTS harmless?", model="haiku"))
    reply = await prompt_handler(judge.ask)(call)
    assert reply == Answered(output={}, text='{"ok": true}')
    assert judge.asked == [Asked(f"Is {call.data.decode().rstrip()} harmless?", "haiku")]


def test_without_a_place_for_it_the_input_comes_after_the_prompt():
    assert fill("Harmless?", b'{"a": 1}') == 'Harmless?\n\nARGUMENTS: {"a": 1}'


def test_what_the_input_says_is_not_filled_in_again():
    assert fill("Judge $ARGUMENTS.", b'{"prompt": "$ARGUMENTS"}') == 'Judge {"prompt": "$ARGUMENTS"}.'


def test_a_huge_input_is_cut():
    assert len(fill("$ARGUMENTS", b'"' + b"x" * 1_000_000 + b'"')) < 101_000


async def test_a_no_blocks_with_its_reason():
    judge = FakeJudge('```json\n{"ok": false, "reason": "it deletes files"}\n```')
    reply = await prompt_handler(judge.ask)(call_of(PromptHook(prompt="Harmless?")))
    assert reply == Refused(reason="it deletes files")


async def test_a_no_after_a_call_ends_the_turn_unless_the_hook_lets_it_go_on():
    judge = FakeJudge('{"ok": false, "reason": "no tests"}')
    ends = await prompt_handler(judge.ask)(call_of(PromptHook(prompt="x"), WRITTEN))
    goes_on = await prompt_handler(judge.ask)(
        call_of(PromptHook(prompt="x", continue_on_block=True), WRITTEN)
    )
    assert isinstance(ends, Answered)
    assert ends.output == {"continue": False, "stopReason": "no tests"}
    assert goes_on == Refused(reason="no tests")


async def test_an_unmet_condition_keeps_the_turn_going_and_an_impossible_one_does_not():
    unmet = FakeJudge('{"ok": false, "reason": "tests fail"}')
    impossible = FakeJudge('{"ok": false, "reason": "there is no network", "impossible": true}')
    hook = PromptHook(prompt="Do all tests pass?")
    assert await prompt_handler(unmet.ask)(call_of(hook, STOPPED)) == Refused(reason="tests fail")
    reply = await prompt_handler(impossible.ask)(call_of(hook, STOPPED))
    assert isinstance(reply, Answered) and "there is no network" in reply.output["systemMessage"]


async def test_impossible_makes_no_call_pass():
    judge = FakeJudge('{"ok": false, "reason": "no", "impossible": true}')
    assert await prompt_handler(judge.ask)(call_of(PromptHook(prompt="x"), BASH)) == Refused(reason="no")


@pytest.mark.parametrize(
    "said", ["", "Yes, it is fine.", '{"ok": "true"}', '{"reason": "x"}', '{"ok": false', "[true]", "}{"]
)
async def test_an_answer_without_a_verdict_is_reported_and_is_no_opinion(said: str):
    reply = await prompt_handler(FakeJudge(said).ask)(call_of(PromptHook(prompt="x")))
    assert reply == Failed(reason='got no verdict of the form {"ok": true} from the model', stdout=said)


def test_words_around_a_verdict_do_no_harm():
    assert read_verdict('I looked.\n{"ok": false, "reason": "a {b}", "more": 1}\nBye.') == Verdict(
        ok=False, reason="a {b}"
    )


async def test_a_reason_has_a_size_limit():
    judge = FakeJudge('{"ok": false, "reason": "' + "x" * 50_000 + '"}')
    reply = await prompt_handler(judge.ask)(call_of(PromptHook(prompt="x")))
    assert isinstance(reply, Refused) and len(reply.reason) == 10_000


@pytest.mark.parametrize("error", [ProviderError("overloaded"), ToolError("the budget is used up")])
async def test_a_model_that_cannot_be_asked_is_a_failure(error: Exception):
    reply = await prompt_handler(FakeJudge(error).ask)(call_of(PromptHook(prompt="x")))
    assert isinstance(reply, Failed) and str(error) in reply.reason


async def test_an_agent_hook_is_given_its_model_and_its_time():
    judge = FakeJudge('{"ok": false, "reason": "no changelog"}')
    call = call_of(AgentHook(prompt="Is there a changelog? $ARGUMENTS", model="opus"), STOPPED)
    assert await agent_handler(judge.run)(call) == Refused(reason="no changelog")
    assert judge.asked[0].model == "opus" and judge.timeouts == [5]


async def test_without_agents_an_agent_hook_says_what_it_needs():
    reply = await agent_handler(None)(call_of(AgentHook(prompt="x")))
    assert isinstance(reply, Failed) and "need subagents" in reply.reason


async def test_cancelling_a_hook_cancels_the_question():
    ended = asyncio.Event()

    async def ask(prompt: str, *, system: str, model: str | None) -> str:
        del prompt, system, model
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await prompt_handler(ask)(call_of(PromptHook(prompt="x")))
    assert ended.is_set()


@pytest.mark.parametrize(("event", "says"), [(BASH, "deny"), (STOPPED, "block"), (WRITTEN, "stop")])
async def test_a_no_does_what_the_event_can_do(event: HookEvent, says: str):
    judge = FakeJudge('{"ok": false, "reason": "no"}')
    hook = PromptHook(prompt="x")
    handlers: dict[Kind, Handler] = {"prompt": prompt_handler(judge.ask)}
    outcome = await runner_of(event.name, hook, handlers=handlers).fire(event)
    done = {
        "deny": outcome.decision.reason if isinstance(outcome.decision, Deny) else None,
        "block": outcome.block,
        "stop": outcome.stop,
    }
    assert done == {"deny": None, "block": None, "stop": None, says: "no"}
