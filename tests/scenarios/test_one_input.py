"""A call's input is read once: rules, hooks, people and the tool go by the same value (S4, S51, S52)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.cli.verbs.hypothetical_calls import imagine
from bridle.engine.calls.call import Call
from bridle.engine.calls.parsing import canonical, parse_input
from bridle.host.background import BackgroundShells
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls
from bridle.tools.catalog import CATALOG
from bridle.tools.toolbox import BuiltinToolbox
from bridle.types.errors import ToolError
from bridle.types.hooks.calls import PostToolUse, PreToolUse
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome, NoHooks
from bridle.types.permission import Allow, Case, Decision, Deny, Effect
from bridle.types.question import Permitted
from bridle.types.sandbox import Confined, Denials, Sandbox
from bridle.types.tool import Tool, ToolContext, ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.engine import FakeChannel, with_gate
from tests.scenarios.test_permissions import INPUTS, Answering, Recorder, bash, run
from tests.tables import table

LOOSE: tuple[Any, ...] = (
    "true", "True", "TRUE", "1", 1, 1.0, True, "false", "False", "0", 0, 0.0, False, None, "null", " true ",
    "5", 5, 5.0, "5.0", " 5 ", -1, "-1", 1e3, "", " ", "text", " text ", [], ["a"], {}, {"a": 1}, [1, "2"],
)  # fmt: skip
TOOLS = {listing.name: BuiltinToolbox(CATALOG).find(listing.name) for listing in CATALOG}


class Watch(NoHooks):
    """Listens to every call; may put another input in its place."""

    def __init__(self, instead: Mapping[str, Any] | None = None) -> None:
        self.seen: list[Mapping[str, Any]] = []
        self._instead = instead

    def listens_to(self, event: str) -> bool:
        return event in ("PreToolUse", "PostToolUse")

    async def fire(self, event: HookEvent) -> HookOutcome:
        assert isinstance(event, PreToolUse | PostToolUse)
        self.seen.append(event.input)
        if isinstance(event, PreToolUse) and self._instead is not None:
            return HookOutcome(updated_input=self._instead, decision=Allow("fine", "hook"))
        return NOTHING_SAID


def nameless(input: Any) -> str:
    del input
    return ""


def variants(name: str) -> list[dict[str, Any]]:
    """The plain input of a tool with every field in every loose spelling, one at a time."""
    tool, plain = TOOLS[name], INPUTS[name]
    assert tool is not None
    fields = [field.encode_name for field in msgspec.structs.fields(tool.input)]
    loose = [{**plain, field: value} for field in fields for value in LOOSE]
    return [plain, *loose, {**plain, "unknown": "x"}, {**plain, "dangerouslydisablesandbox": True}]


def watched(tool: Tool, ran: list[Any]) -> Tool:
    async def effect(input: Any, ctx: ToolContext) -> ToolOutput:
        del ctx
        ran.append(input)
        return ToolOutput(content="", data=None)

    def nothing_is_wrong(input: Any, ctx: ToolContext) -> None:
        """Whether the input makes sense here is not what is tested, as long as it has a subject."""
        del ctx
        try:
            tool.subject(input)
        except TypeError as error:
            raise ToolError("no subject") from error

    return msgspec.structs.replace(tool, run=effect, check=nothing_is_wrong)


@table("name", [listing.name for listing in CATALOG])
def test_what_is_read_reads_the_same_again(name: str):
    tool = TOOLS[name]
    assert tool is not None
    for given in variants(name):
        try:
            call, input = parse_input(tool, Call(id="c", name=name, input=given))
        except ToolError:
            continue
        assert set(call.input) == set(given)
        assert canonical(given, input) == call.input
        again, same = parse_input(tool, call)
        assert (json.dumps(again.input), same) == (json.dumps(call.input), input)


@pytest.mark.parametrize("name", [listing.name for listing in CATALOG])
async def test_the_gate_hooks_and_the_tool_see_one_input(tmp_path: Path, name: str):
    tool = TOOLS[name]
    assert tool is not None
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    ran: list[Any] = []
    cases: list[Case] = []
    hooks = Watch()

    def note(case: Case) -> Decision:
        cases.append(case)
        return Allow("a test")

    steps = [calls(name, **given) for given in variants(name)]
    await run(
        tmp_path,
        Answering(Permitted()),
        *steps,
        tools=(watched(tool, ran),),
        change=lambda runtime: msgspec.structs.replace(with_gate(runtime, decide=note), hooks=hooks),
    )
    assert len(ran) == len(cases) == len(hooks.seen) / 2
    before, after = hooks.seen[::2], hooks.seen[1::2]
    for input, case, told, reported in zip(ran, cases, before, after, strict=True):
        meant = canonical(case.input, input)
        assert json.dumps(case.input) == json.dumps(meant)
        assert json.dumps(told) == json.dumps(reported) == json.dumps(meant)
        assert case.subject == tool.subject(input)


@pytest.mark.parametrize("name", ["Bash", "Edit", "Monitor", "Sleep"])
async def test_what_a_hook_or_a_person_puts_in_is_read_and_decided_anew(tmp_path: Path, name: str):
    """S4"""
    tool = TOOLS[name]
    assert tool is not None
    for instead in variants(name):
        ran: list[Any] = []
        cases: list[Case] = []

        def note(case: Case, cases: list[Case] = cases) -> Decision:
            cases.append(case)
            return decide(case)

        hooks = Watch(instead)
        channel = Answering(Permitted(input=instead))
        await run(
            tmp_path,
            channel,
            calls(name, **INPUTS[name]),
            tools=(watched(tool, ran),),
            change=lambda runtime, hooks=hooks, note=note: msgspec.structs.replace(
                with_gate(runtime, decide=note), hooks=hooks
            ),
        )
        for input in ran:
            assert json.dumps(cases[-1].input) == json.dumps(canonical(instead, input))


class FakeSandbox:
    may_be_left = True

    def under(self, denials: Denials) -> "FakeSandbox":
        return self

    def covers(self, command: str) -> bool:
        return command != "excluded"

    def confine(self, argv: Any, *, cwd: str, env: Mapping[str, str], pass_fds: Any = ()) -> Confined:
        raise ToolError("inside")


@pytest.mark.parametrize("spelling", ["true", "True", "TRUE", "1", 1, 1.0, True])
async def test_leaving_the_sandbox_is_asked_about_in_every_spelling(tmp_path: Path, spelling: Any):
    """S51, S52"""
    recorder, sandbox = Recorder(), FakeSandbox()
    kept: Any = sandbox
    channel = Answering(Permitted())
    await run(
        tmp_path,
        channel,
        bash("make", dangerouslyDisableSandbox=spelling),
        tools=(recorder.tool,),
        change=lambda runtime: with_gate(runtime, sandbox=kept),
    )
    # A recorded call was approved; one that cannot be read at all was not made.
    assert len(channel.asked) == len(recorder.inputs)
    for question in channel.asked:
        assert question.reason_type == "sandboxOverride"
        assert question.input["dangerouslyDisableSandbox"] is True


async def test_a_command_that_was_to_be_confined_never_runs_outside(tmp_path: Path):
    """S51: what the gate decided on holds when the settings have changed meanwhile."""
    bash_tool = TOOLS["Bash"]
    assert bash_tool is not None

    class Fickle(FakeSandbox):
        asked = 0

        def covers(self, command: str) -> bool:
            self.asked += 1
            return self.asked == 1

    fickle: Any = Fickle()
    kept: Sandbox = fickle
    shells = BackgroundShells(str(tmp_path / "storage"), on_change=lambda _: None)
    await run(
        tmp_path,
        FakeChannel(),
        bash(f"touch {tmp_path}/outside"),
        tools=(bash_tool,),
        change=lambda runtime: msgspec.structs.replace(
            with_gate(runtime, sandbox=kept), workspace=Workspace(str(tmp_path), tasks=shells)
        ),
    )
    assert fickle.asked == 2
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    ("rule", "name", "input"),
    [
        ("Bash(run_in_background:true)", "Bash", {"command": "ls", "run_in_background": "True"}),
        ("Bash(run_in_background:true)", "Bash", {"command": "ls", "run_in_background": 1}),
        ("Bash(timeout:5)", "Bash", {"command": "ls", "timeout": "5"}),
        ("Bash(timeout:5)", "Bash", {"command": "ls", "timeout": 5.0}),
        ("Sleep(seconds:5)", "Sleep", {"seconds": 5}),
        ("Sleep(seconds:5)", "Sleep", {"seconds": "5"}),
        ("mcp__s__t(force:true)", "mcp__s__t", {"force": True}),
        ("mcp__s__t(force:true)", "mcp__s__t", {"force": "True"}),
        ("mcp__s__t(force:true)", "mcp__s__t", {"force": " yes"}),
        ("mcp__s__t(force:true)", "mcp__s__t", {"force": 1}),
        ("mcp__s__t(force:false)", "mcp__s__t", {"force": "0"}),
    ],
)
def test_rules_for_a_field_match_what_the_tool_gets(rule: str, name: str, input: dict[str, Any]):
    asked: CallRequest = imagine(name, input, cwd="/w", home="/h")
    standing = SessionPosition(
        rules=(parse(rule, Effect.DENY, "cliArg"),), cwd="/w", start="/w", home="/h", config_home="/h/.claude"
    )
    assert isinstance(decide(prepare(asked, standing)), Deny)


async def test_a_tool_keeps_its_input_when_those_who_saw_it_change_theirs(tmp_path: Path):
    """S4: a callback in this process gets a copy, nested values included."""
    ran: list[Any] = []

    class Meddler(Watch):
        async def fire(self, event: HookEvent) -> HookOutcome:
            assert isinstance(event, PreToolUse | PostToolUse)
            nested: Any = event.input["deep"]
            nested["list"].append("more")
            return NOTHING_SAID

    tool = BuiltinToolbox(CATALOG).find("Bash")
    assert tool is not None
    served = msgspec.structs.replace(tool, name="mcp__s__t", input=dict[str, Any], subject=nameless)
    await run(
        tmp_path,
        Answering(Permitted()),
        calls("mcp__s__t", deep={"list": ["one"]}),
        tools=(watched(served, ran),),
        change=lambda runtime: msgspec.structs.replace(runtime, hooks=Meddler()),
    )
    assert ran == [{"deep": {"list": ["one"]}}]


async def test_a_hook_may_not_approve_what_it_puts_in_where_only_a_person_may(tmp_path: Path):
    """S4, S19"""
    recorder = Recorder()

    class Approver(NoHooks):
        def listens_to(self, event: str) -> bool:
            return event == "PermissionRequest"

        async def fire(self, event: HookEvent) -> HookOutcome:
            return HookOutcome(decision=Allow("fine", "hook"), updated_input={"command": "rm -rf /"})

    channel = FakeChannel()
    await run(
        tmp_path,
        channel,
        bash("make"),
        tools=(recorder.tool,),
        change=lambda runtime: msgspec.structs.replace(runtime, hooks=Approver()),
    )
    assert recorder.inputs == []
