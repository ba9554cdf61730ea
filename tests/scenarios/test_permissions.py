"""Calls on their way through the gate: asked, allowed, denied, changed, granted."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.calls.dispatch import Call, prepare_call
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.auto_mode.feature import AutoModeFeature
from bridle.permissions.policy import decide
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.catalog import CATALOG
from bridle.tools.definitions import find_tool
from bridle.tools.toolbox import BuiltinToolbox
from bridle.transcripts.session import Session
from bridle.types.event import Noticed, PermissionDenied, ToolFinished
from bridle.types.hooks.calls import PermissionRequest
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import HookOutcome, NoHooks
from bridle.types.origin import TYPED
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Effect, Mode, PermissionUpdate
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.sandbox import Denials, Sandbox
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from bridle.types.turn import Denial, Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session, with_gate
from tests.fakes.features import with_feature


class Note(msgspec.Struct):
    text: str = ""
    command: str = ""
    dangerouslyDisableSandbox: bool = False


class Answering(FakeChannel):
    """Answers each question with the next of the answers; the last one stays."""

    def __init__(self, *answers: Answer | Callable[[PermissionQuestion], Answer]) -> None:
        super().__init__()
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        assert isinstance(question, PermissionQuestion)
        return answer(question) if callable(answer) else answer

    @property
    def asked(self) -> list[PermissionQuestion]:
        return [question for question in self.questions if isinstance(question, PermissionQuestion)]


class Recorder:
    """A tool that only remembers with what it was run."""

    def __init__(self, name: str = "Bash") -> None:
        self.inputs: list[Any] = []
        self.contexts: list[ToolContext] = []

        @tool(name, Note, subject=lambda i: i.command or i.text, shell="awaited" if name == "Bash" else "")
        async def record(input: Note, ctx: ToolContext) -> ToolOutput:
            """Remember."""
            self.inputs.append(input.command or input.text)
            self.contexts.append(ctx)
            return ToolOutput(content="done", data={})

        self.tool = record


async def run(
    folder: Path,
    channel: FakeChannel,
    *steps: Any,
    tools: Sequence[Tool],
    session: Session | None = None,
    mode: Mode = "default",
    rules: Mapping[str, Sequence[str]] | None = None,
    change: Callable[[Runtime], Runtime] = lambda runtime: runtime,
) -> Outcome:
    session = session or make_session(mode=mode)
    written = tuple(parse(t, Effect(e), "cliArg") for e, texts in (rules or {}).items() for t in texts)
    session.swap(rules=(*session.state.rules, *written))
    runtime = make_runtime(folder, [*(says(step) for step in steps), says("ok")], *tools, channel=channel)
    runtime = msgspec.structs.replace(runtime, env={"HOME": str(folder / "home")})
    return await run_turn(session, Prompt(content="go", origin=TYPED), change(runtime))


def bash(command: str, **more: Any) -> Any:
    return calls("Bash", command=command, **more)


async def test_an_approved_call_runs_and_the_question_says_why_it_was_asked(tmp_path: Path):
    recorder, channel = Recorder(), Answering(Permitted())

    outcome = await run(tmp_path, channel, bash("cat /opt/x/a && make"), tools=(recorder.tool,))

    assert recorder.inputs == ["cat /opt/x/a && make"]
    (question,) = channel.asked
    assert (question.tool, question.blocked_path, question.reason_type) == ("Bash", "/opt/x/a", "workingDir")
    assert [(part.command, part.decision) for part in question.parts] == [
        ("cat /opt/x/a", "ask"),
        ("make", "ask"),
    ]
    assert [update["type"] for update in question.suggestions] == ["addRules", "addDirectories"]
    assert outcome.denials == ()


async def test_an_approval_is_used_once(tmp_path: Path):
    """S4"""
    recorder = Recorder()
    channel = Answering(Permitted(), Refused(message="not again"))

    await run(tmp_path, channel, bash("make"), bash("make"), tools=(recorder.tool,))

    assert recorder.inputs == ["make"]
    assert len(channel.asked) == 2


async def test_what_nobody_answers_is_denied_and_reported(tmp_path: Path):
    recorder, channel = Recorder(), FakeChannel()

    outcome = await run(tmp_path, channel, bash("make"), tools=(recorder.tool,))

    assert recorder.inputs == []
    assert outcome.denials == (Denial("Bash", "call-1", {"command": "make"}),)
    (denied,) = channel.of(PermissionDenied)
    assert "nobody is there" in denied.message and "the rule Bash(make:*)" in denied.message
    assert channel.of(ToolFinished)[0].result.get("is_error") is True


async def test_a_refusal_may_end_the_turn(tmp_path: Path):
    recorder, channel = Recorder(), Answering(Refused(message="stop", interrupt=True))
    outcome = await run(tmp_path, channel, bash("make"), tools=(recorder.tool,))
    assert (outcome.reason, recorder.inputs) == ("aborted_tools", [])


async def test_a_denied_call_is_not_asked_about(tmp_path: Path):
    """S2"""
    recorder, channel = Recorder(), Answering(Permitted())
    for mode in ("default", "bypassPermissions", "acceptEdits"):
        outcome = await run(
            tmp_path,
            channel,
            bash("ls; make"),
            tools=(recorder.tool,),
            mode=mode,
            rules={"deny": ["Bash(make)"]},
        )
        assert len(outcome.denials) == 1
    assert (recorder.inputs, channel.questions) == ([], [])


@pytest.mark.parametrize(
    ("mode", "asked", "ran"),
    [
        ("default", 1, 1),
        ("acceptEdits", 1, 1),
        ("plan", 1, 1),
        ("dontAsk", 0, 0),
        ("bypassPermissions", 0, 1),
        ("auto", 1, 1),
        ("bubble", 1, 1),
    ],
)
async def test_the_mode_decides_who_is_asked(tmp_path: Path, mode: Mode, asked: int, ran: int):
    recorder, channel = Recorder(), Answering(Permitted())
    outcome = await run(tmp_path, channel, bash("make"), tools=(recorder.tool,), mode=mode)
    assert (len(channel.asked), len(recorder.inputs)) == (asked, ran)
    assert len(outcome.denials) == 1 - ran


async def test_ask_rules_hold_in_bypass(tmp_path: Path):
    """S2"""
    recorder, channel = Recorder(), Answering(Refused(message="no"))
    await run(
        tmp_path,
        channel,
        bash("make"),
        tools=(recorder.tool,),
        mode="bypassPermissions",
        rules={"ask": ["Bash(make)"], "allow": ["Bash"]},
    )
    assert (recorder.inputs, len(channel.asked)) == ([], 1)


async def test_a_changed_input_is_decided_from_the_start(tmp_path: Path):
    """S4"""
    recorder = Recorder()
    rules = {"allow": ["Bash(make)"], "deny": ["Bash(rm:*)"]}

    async def answered(input: dict[str, Any]) -> Outcome:
        channel = Answering(Permitted(input=input))
        return await run(tmp_path, channel, bash("npm i"), tools=(recorder.tool,), rules=rules)

    denied = await answered({"command": "ls; rm x"})
    assert (recorder.inputs, len(denied.denials)) == ([], 1)
    await answered({"command": "npm ci"})
    await answered({"command": "make"})
    assert recorder.inputs == ["npm ci", "make"]
    await answered({"nothing": 1, "command": 7})
    assert recorder.inputs[:2] == ["npm ci", "make"] and len(recorder.inputs) <= 3


async def test_a_denial_that_arrives_with_the_answer_counts(tmp_path: Path):
    """S2, S4"""
    recorder = Recorder()
    refuse: dict[str, Any] = {
        "type": "addRules",
        "behavior": "deny",
        "destination": "session",
        "rules": [{"toolName": "Bash", "ruleContent": "make"}],
    }
    outcome = await run(
        tmp_path, Answering(Permitted(updates=(refuse,))), bash("make"), tools=(recorder.tool,)
    )
    assert (recorder.inputs, len(outcome.denials)) == ([], 1)


@pytest.mark.parametrize(
    "step",
    [
        "npm run build",
        "git commit -m x && git push origin",
        "cat /opt/x/a",
        "make > out",
        "python3 x.py",
    ],
)
async def test_returning_the_suggestions_prevents_the_same_question(tmp_path: Path, step: str):
    recorder = Recorder()
    channel = Answering(lambda question: Permitted(updates=question.suggestions))
    session = make_session(mode="default")

    await run(tmp_path, channel, bash(step), bash(step), bash(step), tools=(recorder.tool,), session=session)

    assert (len(recorder.inputs), len(channel.asked)) == (3, 1)


async def test_updates_change_the_session_first_and_then_the_settings(tmp_path: Path):
    kept: list[PermissionUpdate] = []
    recorder = Recorder()
    session = make_session(mode="default")
    updates: Any = (
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addDirectories", "directories": ["/opt/x"], "destination": "userSettings"},
        {
            "type": "addRules",
            "behavior": "allow",
            "rules": [{"toolName": "Bash", "ruleContent": "make"}],
            "destination": "localSettings",
        },
    )

    async def persist(update: PermissionUpdate) -> None:
        assert session.state.mode == "acceptEdits"
        kept.append(update)

    def change(runtime: Runtime) -> Runtime:
        return with_gate(runtime, persist=persist)

    channel = Answering(Permitted(updates=updates))
    await run(tmp_path, channel, bash("npm i"), tools=(recorder.tool,), session=session, change=change)

    assert kept == list(updates[1:])
    assert [str(rule) for rule in session.state.rules] == ["Bash(make)"]
    assert recorder.contexts[0].workspace.roots == (str(tmp_path), "/opt/x")


async def test_updates_that_may_not_be_are_left_out_and_told(tmp_path: Path):
    """S5, S41"""
    recorder = Recorder()
    session = make_session(mode="default")
    updates: Any = (
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "*"}], "destination": "session"},
        {"what": "ever"},
    )

    async def persist(update: PermissionUpdate) -> None:
        raise OSError("the disk is full")

    fine: Any = {
        "type": "addRules",
        "behavior": "allow",
        "rules": [{"toolName": "Read"}],
        "destination": "userSettings",
    }
    channel = Answering(Permitted(updates=(*updates, fine)))
    await run(
        tmp_path,
        channel,
        bash("npm i"),
        tools=(recorder.tool,),
        session=session,
        change=lambda runtime: with_gate(runtime, persist=persist),
    )

    assert (session.state.mode, [str(rule) for rule in session.state.rules]) == ("default", ["Read"])
    assert len(channel.of(Noticed)) == 4
    assert recorder.inputs == ["npm i"]


async def test_the_judge_of_auto_mode_settles_doubts_but_not_those_for_a_person(tmp_path: Path):
    verdicts: list[Decision] = [Allow("fine"), Deny("no"), Ask("not sure")]
    judged: list[str] = []

    async def judge(turn: Turn, case: Case, doubt: Ask) -> Decision:
        judged.append(case.subject)
        return verdicts[len(judged) - 1]

    recorder, channel = Recorder(), Answering(Permitted())
    outcome = await run(
        tmp_path,
        channel,
        *(bash(command) for command in ("one", "two", "three", "four", "five", "cat a")),
        tools=(recorder.tool,),
        mode="auto",
        rules={"ask": ["Bash(four)"], "allow": ["Bash(five)"]},
        change=lambda runtime: with_feature(runtime, AutoModeFeature(judge)),
    )

    assert judged == ["one", "two", "three"]
    assert recorder.inputs == ["one", "three", "four", "five", "cat a"]
    assert [question.input["command"] for question in channel.asked] == ["three", "four"]
    assert len(outcome.denials) == 1


class Stand(NoHooks):
    """A hook that answers permission questions."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def listens_to(self, event: str) -> bool:
        return event == "PermissionRequest"

    async def fire(self, event: HookEvent) -> HookOutcome:
        return HookOutcome(decision=self._decision) if isinstance(event, PermissionRequest) else HookOutcome()


async def test_a_hook_may_answer_in_a_persons_place_unless_a_person_must_see_it(tmp_path: Path):
    recorder, channel = Recorder(), Answering(Refused(message="no"))

    def with_hook(decision: Decision) -> Callable[[Runtime], Runtime]:
        return lambda runtime: msgspec.structs.replace(runtime, hooks=Stand(decision))

    for command, decision in (("a", Allow("yes")), ("b", Deny("never")), ("c\x1b", Allow("yes"))):
        await run(tmp_path, channel, bash(command), tools=(recorder.tool,), change=with_hook(decision))

    assert recorder.inputs == ["a"]
    # The question goes out at the same time; the person's answer counts only where the hook's does not.
    assert [question.input["command"] for question in channel.asked] == ["a", "b", "c\x1b"]


class FakeSandbox:
    may_be_left = True

    def __init__(self) -> None:
        self.denials: list[Denials] = []

    def under(self, denials: Denials) -> "FakeSandbox":
        self.denials.append(denials)
        return self

    def covers(self, command: str) -> bool:
        return command != "excluded"


async def test_confined_commands_run_unasked_and_leaving_is_asked(tmp_path: Path):
    """S52"""
    sandbox: Any = FakeSandbox()
    kept: Sandbox = sandbox
    recorder, channel = Recorder(), Answering(Refused(message="no"))
    steps = (bash("make"), bash("excluded"), bash("make", dangerouslyDisableSandbox=True))
    await run(
        tmp_path,
        channel,
        *steps,
        tools=(recorder.tool,),
        change=lambda runtime: with_gate(runtime, sandbox=kept),
    )
    assert recorder.inputs == ["make"]
    assert recorder.contexts[0].permit.sandbox is sandbox
    assert [question.input["command"] for question in channel.asked] == ["excluded", "make"]

    asking = Answering(Refused(message="no"))
    await run(
        tmp_path,
        asking,
        bash("make"),
        tools=(recorder.tool,),
        change=lambda runtime: with_gate(runtime, sandbox=kept, sandbox_allows=False),
    )
    assert len(asking.asked) == 1


async def test_rules_that_ask_deny_inside_unless_the_call_was_approved(tmp_path: Path):
    """S2, S50"""
    sandbox: Any = FakeSandbox()
    kept: Sandbox = sandbox
    channel = Answering(Permitted())
    await run(
        tmp_path,
        channel,
        bash("make"),
        bash("curl x"),
        bash("make again"),
        rules={"ask": ["Bash(curl:*)"], "deny": ["Bash(wget:*)"]},
        tools=(Recorder().tool,),
        change=lambda runtime: with_gate(runtime, sandbox=kept),
    )
    assert [question.input["command"] for question in channel.asked] == ["curl x"]
    assert [denials.programs for denials in sandbox.denials] == [
        ("curl", "wget"),
        ("wget",),
        ("curl", "wget"),
    ]


async def test_a_tool_learns_where_its_files_led_when_it_was_let_through(tmp_path: Path):
    """S34"""
    (tmp_path / "real").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    seen: list[Mapping[str, str]] = []
    read = find_tool(next(each for each in CATALOG if each.name == "Read"))

    async def look(input: Any, ctx: ToolContext) -> ToolOutput:
        seen.append(ctx.permit.approved)
        return ToolOutput(content="", data=None)

    watched = msgspec.structs.replace(read, run=look)
    await run(tmp_path, FakeChannel(), calls("Read", file_path="link"), tools=(watched,))
    assert seen == [{f"{tmp_path}/link": f"{tmp_path}/real"}]


INPUTS: Mapping[str, dict[str, Any]] = {
    "Advisor": {},
    "Agent": {"description": "a job", "prompt": "do it"},
    "AskUserQuestion": {
        "questions": [
            {
                "question": "Which?",
                "header": "Which",
                "options": [{"label": "a", "description": "a"}, {"label": "b", "description": "b"}],
                "multiSelect": False,
            }
        ]
    },
    "Bash": {"command": "ls"},
    "BrowserAct": {"action": "click", "ref": 1},
    "BrowserNavigate": {"url": "https://example.com"},
    "BrowserRead": {"what": "text"},
    "BrowserScript": {"script": "return 1"},
    "BrowserTabs": {"action": "list"},
    "BrowserUpload": {"file_path": "a.txt", "ref": 1},
    "CronCreate": {"cron": "* * * * *", "prompt": "x"},
    "CronDelete": {"id": "x"},
    "CronList": {},
    "Edit": {"file_path": "a.txt", "old_string": "x", "new_string": "y"},
    "EndConversation": {},
    "EnterPlanMode": {},
    "EnterWorktree": {},
    "ExitPlanMode": {},
    "ExitWorktree": {"action": "keep"},
    "Glob": {"pattern": "*"},
    "Grep": {"pattern": "x"},
    "ListAgents": {},
    "LSP": {"operation": "hover", "filePath": "a.txt"},
    "Monitor": {"command": "ls", "description": "x"},
    "NotebookEdit": {"notebook_path": "a.ipynb", "new_source": "x", "cell_id": "c"},
    "PushNotification": {"message": "x"},
    "ReportFindings": {"findings": []},
    "ScheduleWakeup": {"delaySeconds": 60, "reason": "x", "prompt": "x"},
    "SendMessage": {"to": "x", "message": "x"},
    "SendUserFile": {"files": ["a.txt"]},
    "Sleep": {"seconds": 1},
    "Skill": {"skill": "greet"},
    "Read": {"file_path": "a.txt"},
    "TaskCreate": {"subject": "s", "description": "d"},
    "TaskGet": {"taskId": "1"},
    "TaskList": {},
    "TaskOutput": {"task_id": "t"},
    "TaskStop": {"task_id": "t"},
    "TaskUpdate": {"taskId": "1", "status": "completed"},
    "TodoWrite": {"todos": []},
    "WebFetch": {"url": "https://example.com", "prompt": "x"},
    "WebSearch": {"query": "abc"},
    "Write": {"file_path": "b.txt", "content": "x"},
    "Workflow": {"name": "deep-research"},
}


@pytest.mark.parametrize("name", [listing.name for listing in CATALOG])
async def test_every_tool_passes_the_gate_before_it_runs(tmp_path: Path, name: str):
    """S1"""
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [], "nbformat": 4}), encoding="utf-8")
    ran: list[str] = []
    gate: list[str] = []
    found = BuiltinToolbox(CATALOG).find(name)
    assert found is not None

    async def effect(input: Any, ctx: ToolContext) -> ToolOutput:
        ran.append(name)
        return ToolOutput(content="", data=None)

    def nothing_is_wrong(input: Any, ctx: ToolContext) -> None:
        """The second phase comes before the gate and is not what is tested."""

    def no(case: Case) -> Decision:
        gate.append(case.tool)
        return Deny("closed") if len(gate) == 1 else decide(case)

    watched = msgspec.structs.replace(found, run=effect, check=nothing_is_wrong)
    await run(
        tmp_path,
        FakeChannel(),
        calls(name, **INPUTS[name]),
        tools=(watched,),
        mode="bypassPermissions",
        change=lambda runtime: with_gate(runtime, decide=no),
    )
    # What monitors run is weighed like any other command.
    assert (gate, ran) == (["Bash" if name == "Monitor" else name], [])


@pytest.mark.parametrize(("command", "expected"), [("cat a", True), ("cat a > b", False), ("make", False)])
def test_commands_that_only_read_may_run_beside_others(command: str, expected: bool):
    call = Call(id="c", name="Bash", input={"command": command})
    assert prepare_call(BuiltinToolbox(CATALOG).find("Bash"), call) == (call, expected)


async def test_a_call_that_the_user_refused_is_not_asked_again_until_the_user_says_something(tmp_path: Path):
    recorder = Recorder()
    channel = Answering(Refused(message="not yet", stands=True), Permitted())
    session = make_session(mode="default")
    commands = "git push", "git push", "make"
    steps = [*(says(bash(each)) for each in commands), says("ok"), says(bash("git push")), says("ok")]
    runtime = make_runtime(tmp_path, steps, recorder.tool, channel=channel)

    first = await run_turn(session, Prompt(content="go", origin=TYPED), runtime)

    assert [question.input["command"] for question in channel.asked] == ["git push", "make"]
    assert [denial.tool_input["command"] for denial in first.denials] == ["git push", "git push"]
    told = [event.result["content"] for event in channel.events if isinstance(event, ToolFinished)]
    assert told[:2] == [
        "not yet",
        "The user has refused this call before and was not asked again. not yet",
    ]

    await run_turn(session, Prompt(content="do push now", origin=TYPED), runtime)

    assert [question.input["command"] for question in channel.asked] == ["git push", "make", "git push"]
    assert recorder.inputs == ["make", "git push"]
