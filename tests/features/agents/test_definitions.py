"""Whom a session knows, which tools each gets, and how it is set up."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.assignment import Assignment
from bridle.engine.feature import Feature
from bridle.engine.turn import Turn
from bridle.features.agents.builtin import BUILTIN
from bridle.features.agents.definitions import read_agents
from bridle.features.agents.memory import memory_folder, memory_prompt
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.agents.tools import AgentPosition, AgentToolbox, select
from bridle.providers.scripted import calls, says
from bridle.tools.deferred_toolbox import DeferredToolbox
from bridle.tools.toolbox import OPT_IN, Deferral, choose
from bridle.types.agent import AgentDefinition, AgentSource
from bridle.types.permission import Mode
from tests.fakes.agents import echo, team
from tests.fakes.engine import FakeToolbox
from tests.fakes.features import with_feature

_TOOLS = (
    "Agent", "AskUserQuestion", "Bash", "Edit", "ExitPlanMode", "Read", "TaskCreate", "TaskOutput", "Write",
    "mcp__docs__find",
)  # fmt: skip


def _agent(name: str = "a", source: AgentSource = "user", **more: Any) -> AgentDefinition:
    return AgentDefinition(name=name, description="d", text="p", source=source, **more)


class ModeWatcher(Feature):
    """Remembers the mode in which each agent takes its steps."""

    name = "mode_watcher"

    def __init__(self) -> None:
        self.modes: list[Mode] = []

    def begin_turn(self, turn: Turn) -> None:
        if turn.session.agent_id is not None:
            self.modes.append(turn.session.state.mode)

    def for_agent(self, work: Assignment) -> Feature:
        del work
        return self


def _kept(definition: AgentDefinition, **position: Any) -> list[str]:
    takes = select(definition, AgentPosition(**position)).takes
    return [name for name in _TOOLS if takes(name)]


def test_later_sources_win_and_keep_the_place_of_the_first():
    sources: tuple[AgentSource, ...] = ("managed", "flag", "project", "user", "plugin")
    found = [_agent("Explore", source) for source in sources]
    for winner in sources:
        agents = Agents(AgentRegistry(AgentSetup(found=lambda: found), {}))
        names = [each.name for each in agents.definitions()]
        assert names == [each.name for each in BUILTIN]
        chosen = agents.find("Explore")
        assert chosen is not None and chosen.source == winner
        found.pop(0)


def test_built_in_agents_can_be_turned_off():
    def names(env: dict[str, str], **setup: Any) -> set[str]:
        return {each.name for each in Agents(AgentRegistry(AgentSetup(**setup), env)).definitions()}

    off = {"CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1"}
    assert names(off) == set()
    assert len(names(off, interactive=True)) == len(BUILTIN)
    assert not {"Explore", "Plan"} & names({"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS": "1"})
    assert "claude-code-guide" not in names({}, hosted=True)


def test_what_no_agent_may_use_is_left_out_and_server_tools_stay():
    everything = ["Agent", "Bash", "Edit", "Read", "TaskCreate", "Write", "mcp__docs__find"]
    assert _kept(_agent()) == everything
    assert _kept(_agent(tools=("*",))) == everything
    assert _kept(_agent(), may_start=False) == everything[1:]
    assert _kept(_agent(), planning=True) == sorted([*everything, "ExitPlanMode"])
    assert _kept(_agent(), background=True) == ["Bash", "Edit", "Read", "Write", "mcp__docs__find"]
    assert _kept(_agent(), main=True) == list(_TOOLS)


def test_lists_of_tools_are_read_as_rules_and_unknown_names_are_no_fault():
    some = _agent(tools=("Read", "Bash(git *)", "Nonsense", "mcp__docs"), disallowed_tools=("Bash",))
    assert _kept(some) == ["Read", "mcp__docs__find"]
    toolbox = FakeToolbox(echo)
    assert select(some, AgentPosition()).unknown(some, toolbox) == ("Read", "Bash", "Nonsense", "mcp__docs")
    assert _kept(_agent(disallowed_tools=("mcp__docs__find",)))[-1] == "Write"
    assert _kept(_agent(tools=("Task",))) == ["Agent"]
    assert _kept(_agent(tools=("Bash",), memory="user")) == ["Bash", "Edit", "Read", "Write"]


def test_a_definition_can_say_whom_it_may_start():
    selection = select(_agent(tools=("Read", "Agent(Explore, helper)")), AgentPosition())
    assert selection.agents == ("Explore", "helper")
    below = Agents(AgentRegistry(AgentSetup(), {})).below(selection.agents)
    assert [each.name for each in below.definitions()] == ["Explore"]


def test_a_toolbox_of_an_agent_hides_the_rest():
    toolbox = AgentToolbox(FakeToolbox(echo), lambda name: name != "Echo")
    assert (toolbox.names(), toolbox.definitions(), toolbox.find("Echo")) == ((), (), None)


def test_agents_are_read_from_json_with_all_their_fields():
    whole = {
        "description": "d",
        "prompt": "p",
        "tools": ["Read"],
        "disallowedTools": "Bash, Edit",
        "model": " INHERIT ",
        "effort": "high",
        "permissionMode": "plan",
        "maxTurns": 3,
        "skills": ["s"],
        "mcpServers": ["docs", {"own": {"command": "x"}}],
        "hooks": {"Stop": []},
        "memory": "project",
        "background": True,
        "isolation": "worktree",
        "color": "red",
        "initialPrompt": "go",
        "omitClaudeMd": True,
        "criticalSystemReminder_EXPERIMENTAL": "remember",
        "autoCompactWindow": 1000,
        "unknown": 1,
    }
    (agent,), problems = read_agents({"one": whole}, "flag")
    assert problems == ()
    assert agent == AgentDefinition(
        name="one",
        description="d",
        text="p",
        source="flag",
        tools=("Read",),
        disallowed_tools=("Bash", "Edit"),
        model="inherit",
        effort="high",
        permission_mode="plan",
        max_turns=3,
        skills=("s",),
        mcp_servers=("docs", {"own": {"command": "x"}}),
        hooks={"Stop": []},
        memory="project",
        background=True,
        isolation="worktree",
        color="red",
        initial_prompt="go",
        omit_instructions=True,
        reminder="remember",
        auto_compact_window=1000,
    )


@pytest.mark.parametrize(
    "value", [{"description": "", "prompt": "p"}, {"description": "d"}, {"prompt": "p"}, [], "x", None]
)
def test_a_broken_definition_costs_only_itself_and_is_named(value: Any):
    agents, problems = read_agents({"good": {"description": "d", "prompt": "p"}, "bad": value}, "host")
    assert [agent.name for agent in agents] == ["good"]
    assert len(problems) == 1 and "'bad'" in problems[0]


def test_optional_fields_of_the_wrong_kind_are_left_out():
    (agent,), problems = read_agents(
        {"one": {"description": "d", "prompt": "p", "tools": 3, "memory": "moon", "effort": []}}, "flag"
    )
    assert (problems, agent.tools, agent.memory, agent.effort) == ((), None, None, None)


def _in_full(name: str, parent: str) -> str:
    del parent
    return f"full-{name}"


async def _started(tmp_path: Path, definition: AgentDefinition, call: dict[str, Any], **more: Any) -> Any:
    """The first request of an agent."""
    given = {"description": "d", "prompt": "<job>", "subagent_type": "a", "run_in_background": False, **call}
    scripts = {"main": [says(calls("Agent", **given)), says("ok")], "job": [says("report")]}
    async with team(tmp_path, scripts, echo, agents=[definition], **more) as made:
        await made.prompt()
        return made


@pytest.mark.parametrize(
    ("call", "own", "env", "model"),
    [
        ({"model": "opus"}, "haiku", {"CLAUDE_CODE_SUBAGENT_MODEL": "sonnet"}, "full-opus"),
        ({}, "haiku", {"CLAUDE_CODE_SUBAGENT_MODEL": "sonnet"}, "full-haiku"),
        ({}, "inherit", {"CLAUDE_CODE_SUBAGENT_MODEL": "sonnet"}, "model-a"),
        ({}, None, {"CLAUDE_CODE_SUBAGENT_MODEL": "sonnet"}, "full-sonnet"),
        ({}, None, {}, "model-a"),
        (
            {"model": "opus"},
            "haiku",
            {"CLAUDE_CODE_SUBAGENT_MODEL": "sonnet", "CLAUDE_CODE_SUBAGENT_MODEL_FORCE": "1"},
            "full-sonnet",
        ),
    ],
)
async def test_the_model_is_chosen_by_call_definition_variable_and_parent(
    tmp_path: Path, call: dict[str, Any], own: str | None, env: dict[str, str], model: str
):
    made = await _started(tmp_path, _agent(model=own), call, env=env, resolve_model=_in_full)
    assert made.models.requests("job")[0].model == model


@pytest.mark.parametrize(
    ("current", "wanted", "mode"),
    [
        ("default", "acceptEdits", "acceptEdits"),
        ("default", None, "default"),
        ("default", "bypassPermissions", "default"),
        ("bypassPermissions", "plan", "bypassPermissions"),
        ("acceptEdits", "dontAsk", "acceptEdits"),
        ("default", "dontAsk", "dontAsk"),
    ],
)
async def test_an_agent_never_gets_a_mode_that_the_session_may_not_have(
    tmp_path: Path, current: Mode, wanted: Mode | None, mode: Mode
):
    given = {"description": "d", "prompt": "<job>", "subagent_type": "a", "run_in_background": False}
    scripts = {"main": [says(calls("Agent", **given)), says("ok")], "job": [says("report")]}
    seen = ModeWatcher()
    agents = [_agent(permission_mode=wanted)]
    async with team(tmp_path, scripts, agents=agents, change=lambda it: with_feature(it, seen)) as made:
        made.session.swap(mode=current)
        await made.prompt()
    assert seen.modes == [mode]


async def _skill(name: str) -> str | None:
    return "The skill." if name == "known" else None


async def test_skills_reminder_and_appended_text_reach_the_agent(tmp_path: Path):
    definition = _agent(skills=("known", "unknown"), reminder="Do not forget.")
    made = await _started(
        tmp_path,
        definition,
        {},
        skill=_skill,
        appended="At the end.",
    )
    request = made.models.requests("job")[0]
    assert request.system[0]["text"] == "p\n\nAt the end."
    text = json.dumps(request.messages)
    assert "The skill." in text and "Do not forget." in text


def test_memory_lives_in_three_places_and_the_newest_notes_are_in_the_prompt(tmp_path: Path):
    env = {"HOME": str(tmp_path)}
    where = [memory_folder("plug:a", scope, cwd="/w", env=env) for scope in ("user", "project", "local")]
    assert where == [
        f"{tmp_path}/.claude/agent-memory/plug-a/",
        "/w/.claude/agent-memory/plug-a/",
        "/w/.claude/agent-memory-local/plug-a/",
    ]
    definition = _agent(memory="user")
    first = memory_prompt(definition, cwd="/w", env=env)
    assert "Persistent Agent Memory" in first and "none yet" in first
    Path(where[0].replace("plug-a", "a"), "MEMORY.md").write_text("line\n" * 300 + "hidden")
    second = memory_prompt(definition, cwd="/w", env=env)
    assert "line" in second and "hidden" not in second and "truncated" in second
    assert memory_prompt(_agent(), cwd="/w", env=env) == ""


def test_no_name_leads_out_of_the_memory_folder(tmp_path: Path):
    for name in ("../../etc", "..", "a/b", "."):
        folder = memory_folder(name, "project", cwd=str(tmp_path), env={})
        assert Path(folder).resolve().parent == tmp_path / ".claude" / "agent-memory"


def test_listing_has_one_line_for_each_agent():
    host = Agents(AgentRegistry(AgentSetup(), {}))
    assert host.take_from_host({"mine": {"description": "two\nlines", "prompt": "p"}, "bad": 3}) != ()
    listing = host.listing()
    assert listing is not None
    assert "- mine: two lines" in listing
    assert "statusline-setup" not in listing
    assert len(listing.splitlines()) == len([each for each in BUILTIN if each.listed]) + 2
    assert msgspec.json.encode(listing).isascii()


_LOOKS = ["Bash", "CallTool", "Glob", "Grep", "Read", "ToolSearch"]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize(
    ("name", "listed", "later"),
    [
        ("Explore", _LOOKS, {"WebFetch", "WebSearch"}),
        ("Plan", _LOOKS, {"WebFetch", "WebSearch"}),
        ("verification", sorted([*_LOOKS, "TaskStop"]), {"WebFetch", "WebSearch"}),
        ("claude-code-guide", ["Glob", "Grep", "Read", "WebFetch", "WebSearch"], set[str]()),
        ("statusline-setup", ["Bash", "Edit", "Read", "Write"], set[str]()),
    ],
)
def test_a_built_in_agent_has_only_tools_that_it_can_use(
    name: str, listed: list[str], later: set[str], background: bool
):
    definition = next(each for each in BUILTIN if each.name == name)
    toolbox = _offered(definition, background=background)
    assert [each["name"] for each in toolbox.definitions()] == listed
    assert set(toolbox.names()) - set(listed) == later
    assert toolbox.find("Edit") is None or name == "statusline-setup"


@pytest.mark.parametrize("background", [False, True])
def test_no_agent_has_tools_whose_effect_only_the_main_thread_or_a_person_sees(background: bool):
    names = set(_offered(BUILTIN[0], background=background).names())
    assert not names & {
        "AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EndConversation", "EnterPlanMode",
        "ExitPlanMode", "Monitor", "ScheduleWakeup", "TaskOutput", "Workflow",
    }  # fmt: skip
    assert {"Bash", "Edit", "Read", "Write", "NotebookEdit", "WebFetch"} <= names


def _offered(definition: AgentDefinition, *, background: bool) -> AgentToolbox:
    """What an agent has of all the tools that a terminal has, where rare ones are loaded on demand."""
    own = choose(with_person=True, absent=lambda: OPT_IN | {"LSP", "TodoWrite"})
    box = DeferredToolbox(own, tuple, deferral=Deferral(when="always"), window=lambda: 200_000)
    return AgentToolbox(box, select(definition, AgentPosition(background=background)).takes)


def test_an_agent_that_cannot_search_gets_all_its_tools():
    own = choose(base=("Read", "WebFetch", "NotebookEdit"))
    box = DeferredToolbox(own, tuple, deferral=Deferral(when="always"), window=lambda: 200_000)
    some = AgentToolbox(box, select(_agent(tools=("Read", "WebFetch")), AgentPosition()).takes)
    assert [each["name"] for each in some.definitions()] == ["Read", "WebFetch"]
    assert some.definitions()[1].get("input_schema") and some.find("CallTool") is None
    searching = AgentToolbox(
        box, select(_agent(tools=("Read", "WebFetch", "ToolSearch")), AgentPosition()).takes
    )
    assert [each["name"] for each in searching.definitions()] == ["CallTool", "Read", "ToolSearch"]
    box.load("WebFetch")
    assert [each["name"] for each in some.definitions()] == ["Read", "WebFetch"]
