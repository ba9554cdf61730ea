import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bridle.commands.context import CommandContext
from bridle.engine.runtime import ContextSources
from bridle.hooks.handler import FunctionHook
from bridle.permissions.rules import parse
from bridle.providers.scripted import says
from bridle.types.block import text_block
from bridle.types.command import Asks, Command, CommandResult, Says
from bridle.types.event import CommandReplied, ConversationReset, TurnFinished, TurnStarted
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.turn import Prompt
from tests.fakes.commanded import Commanded
from tests.fakes.engine import requests

_Run = Callable[[str, CommandContext], Awaitable[CommandResult]]


def _skill(name: str, run: _Run | None = None) -> Command:
    async def ask(arguments: str, context: CommandContext) -> CommandResult:
        del context
        return Asks(content=f"Do {name} with {arguments}.", shown=f"/{name} {arguments}".strip())

    return Command(name=name, description="a skill", run=run or ask, source="project")


def _sent(commanded: Commanded, number: int = -1) -> str:
    return json.dumps(requests(commanded.server.runtime)[number].messages)


async def test_a_command_that_says_something_asks_no_model_and_counts_no_turn(tmp_path: Path):
    commanded = Commanded(tmp_path)
    outcome = await commanded.prompt("/effort status")
    assert (outcome.reason, outcome.num_turns, outcome.is_error) == ("command", 0, False)
    assert commanded.said == [outcome.text] and outcome.text.startswith("Effort: ")
    kinds = [type(event) for event in commanded.channel.events]
    assert kinds == [TurnStarted, CommandReplied, TurnFinished]


async def test_a_command_that_stands_for_a_prompt_is_sent_with_its_text_beside_it(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Done.")], sources=[_skill("deploy")])
    outcome = await commanded.prompt("/deploy now")
    assert (outcome.reason, outcome.text) == ("completed", "Done.")
    assert "/deploy now" in _sent(commanded) and "Do deploy with now." in _sent(commanded)
    rows = [json.loads(row) for row in commanded.rows()]
    typed = next(row for row in rows if row.get("message", {}).get("content") == "/deploy now")
    beside = next(row for row in rows if row.get("parentUuid") == typed["uuid"])
    assert beside["isMeta"] is True


async def test_unknown_commands_go_to_the_model_as_ordinary_text(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("What?")])
    assert (await commanded.prompt("/frobnicate it")).text == "What?"
    assert "/frobnicate it" in _sent(commanded)


async def test_composed_prompts_are_never_commands(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    await commanded.prompt(Prompt(content="/help", origin=TYPED, verbatim=True))
    assert "/help" in _sent(commanded) and commanded.said == []


async def test_up_to_six_skills_are_chained(tmp_path: Path):
    names = [f"s{number}" for number in range(7)]
    commanded = Commanded(tmp_path, [says("ok")], sources=[_skill(name) for name in names])
    await commanded.prompt(" ".join(f"/{name}" for name in names) + " go")
    sent = _sent(commanded)
    assert all(f"Do s{number} with /s6 go." in sent for number in range(6))
    assert "Do s6" not in sent


async def test_built_in_commands_are_not_chained(tmp_path: Path):
    commanded = Commanded(tmp_path, sources=[_skill("deploy")])
    outcome = await commanded.prompt("/help /deploy")
    assert outcome.text.startswith("/deploy")


async def test_rules_model_and_effort_count_for_the_turn_alone(tmp_path: Path):
    rule = parse("Bash(make *)", Effect.ALLOW, "command")
    seen: list[Any] = []

    async def ask(arguments: str, context: CommandContext) -> CommandResult:
        del arguments, context
        return Asks(content="go", shown="/mine", rules=(rule,), model="haiku", effort="low")

    commanded = Commanded(tmp_path, [says("ok"), says("ok")], sources=[_skill("mine", ask)])
    commanded.server.change(sources=ContextSources(attach=_spy(seen)))
    await commanded.prompt("/mine", "plain")
    models = [request.model for request in requests(commanded.server.runtime)]
    assert models == ["claude-haiku-5-5", "claude-sonnet-5-5"]
    assert [turn.rules for turn in seen] == [(rule,), ()]
    assert [turn.prompt.effort for turn in seen] == ["low", None]


def _spy(seen: list[Any]) -> Callable[..., Awaitable[Prompt]]:
    async def attach(turn: Any, prompt: Prompt) -> Prompt:
        seen.append(turn)
        return prompt

    return attach


async def test_hooks_may_refuse_an_expansion_and_add_to_it(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")], sources=[_skill("deploy"), _skill("test")])
    heard: list[dict[str, Any]] = []

    def hook(input: dict[str, Any]) -> dict[str, Any]:
        heard.append(input)
        if input["command_name"] == "deploy":
            return {"decision": "block", "reason": "not on a Friday"}
        return {
            "hookSpecificOutput": {
                "hookEventName": "UserPromptExpansion",
                "additionalContext": "mind the gap",
            }
        }

    commanded.context.hooks.open().add_function("UserPromptExpansion", FunctionHook(function=hook))
    refused = await commanded.prompt("/deploy now")
    assert refused.is_error and "not on a Friday" in refused.text
    await commanded.prompt("/test")
    assert "mind the gap" in _sent(commanded)
    assert [each["command_args"] for each in heard] == ["now", ""]


async def test_what_goes_wrong_in_a_command_is_said_and_the_session_goes_on(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    outcome = await commanded.prompt("/add-dir /not/there")
    assert outcome.is_error and "/not/there" in outcome.text
    assert (await commanded.prompt("hello")).text == "ok"


async def test_commands_that_need_a_screen_say_so_where_there_is_none(tmp_path: Path):
    outcome = await Commanded(tmp_path).prompt("/theme dark")
    assert outcome.is_error and "terminal" in outcome.text


async def test_commands_wait_for_a_turn_of_their_own(tmp_path: Path):
    commanded = Commanded(tmp_path)
    assert not commanded.inbox.may_join(Prompt(content="/help", origin=TYPED))
    assert commanded.inbox.may_join(Prompt(content="/frobnicate", origin=TYPED))
    assert commanded.inbox.may_join(Prompt(content="and then?", origin=TYPED))


async def test_clearing_begins_a_new_conversation_with_nothing_spent(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("remember the word apple")
    before = commanded.session.id
    assert commanded.session.total_cost_usd > 0
    outcome = await commanded.prompt(Prompt(content="/clear fruit", origin=TYPED, uuid="u1"))
    (reset,) = commanded.channel.of(ConversationReset)
    assert (reset.before, reset.trigger, reset.prompt_uuid) == (before, "clear", "u1")
    assert reset.session_id == commanded.session.id != before
    assert (outcome.total_cost_usd, outcome.num_turns, outcome.text) == (0.0, 0, "")
    assert '"customTitle":"fruit"' in "".join(commanded.rows(before)).replace(": ", ":")
    await commanded.prompt("what was it?")
    assert "apple" not in _sent(commanded)
    assert "what was it?" in "".join(commanded.rows())
    assert commanded.server.runtime.records.transcript is not None
    assert commanded.session.id in commanded.server.runtime.records.transcript


async def test_clearing_tells_hooks_of_the_end_and_the_beginning(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one")])
    heard: list[tuple[str, Any, str]] = []

    def note(input: dict[str, Any]) -> None:
        heard.append(
            (input["hook_event_name"], input.get("reason") or input.get("source"), input["session_id"])
        )

    hooks = commanded.context.hooks.open()
    for event in ("SessionEnd", "SessionStart"):
        hooks.add_function(event, FunctionHook(function=note))
    await commanded.prompt("hi")
    before = commanded.session.id
    await commanded.prompt("/clear")
    assert heard == [("SessionEnd", "clear", before), ("SessionStart", "clear", commanded.session.id)]


async def test_an_interrupted_command_still_has_a_result(tmp_path: Path):
    began = asyncio.Event()

    async def wait(arguments: str, context: CommandContext) -> CommandResult:
        del arguments, context
        began.set()
        await asyncio.Event().wait()
        return Says()

    commanded = Commanded(tmp_path, sources=[_skill("wait", wait)])
    commanded.inbox.put(Prompt(content="/wait", origin=TYPED))
    serving = asyncio.create_task(commanded.server.serve(wait_for_tasks=0, say_waiting=lambda _: None))
    async with asyncio.timeout(50):
        await began.wait()
        assert commanded.server.interrupt()
        await commanded.channel.seen(lambda event: isinstance(event, TurnFinished))
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    (finished,) = commanded.channel.of(TurnFinished)
    assert finished.outcome.subtype == "error_during_execution"


async def test_leaving_takes_no_more_prompts(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.prompt("/exit")
    assert commanded.left


async def test_pictures_that_come_with_a_command_go_with_its_prompt(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")], sources=[_skill("look")])
    await commanded.prompt(Prompt(content=[text_block("/look here"), text_block("<picture>")], origin=TYPED))
    assert "Do look with here." in _sent(commanded) and "<picture>" in _sent(commanded)


async def test_commands_in_a_conversation_are_noted_for_readers_and_not_for_the_model(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("hi", "/effort status", "go on")
    assert "<command-name>/effort</command-name>" in "".join(commanded.rows())
    assert "command-name" not in _sent(commanded)
