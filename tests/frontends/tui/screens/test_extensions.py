import json
from pathlib import Path
from typing import Any

from bridle.commands.queries.extensions import AgentFacts, SkillFacts
from bridle.commands.queries.memory_files import MemoryFile
from bridle.config.sources import Layer
from bridle.extensions.plugins.report import MarketplaceReport, PluginReport
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.screens.extensions.agents import ToggleAgent, agents_view
from bridle.frontends.tui.screens.extensions.hooks import HookRow, hook_rows, hooks_view
from bridle.frontends.tui.screens.extensions.mcp import (
    LogIn,
    LogOut,
    ReconnectServer,
    ServerRow,
    ToggleServer,
    mcp_view,
)
from bridle.frontends.tui.screens.extensions.memory import Memory, SetAutoMemory, memory_view
from bridle.frontends.tui.screens.extensions.plugins import (
    AddMarketplace,
    FavorPlugin,
    InstallPlugin,
    Plugins,
    RemoveMarketplace,
    RemovePlugin,
    TogglePlugin,
    UpdateMarketplace,
    UpdatePlugin,
    plugins_view,
)
from bridle.frontends.tui.screens.extensions.skills import SetVisibility, skills_view
from bridle.frontends.tui.screens.session.config import SetSetting
from bridle.hooks.table import from_layers
from bridle.types.agent import AgentDefinition
from bridle.types.services.mcp import HttpServer, ServerInfo, ServerState, StdioServer, ToolFacts
from tests.frontends.tui.screens.showing import Showing, assert_screens

_SERVERS = (
    ServerRow(
        state=ServerState(
            name="files",
            status="connected",
            scope="project",
            source="project",
            config=StdioServer(command="npx", args=("files-server", "/proj")),
            info=ServerInfo(name="files", version="2.0"),
            tools=(ToolFacts(name="read", read_only=True), ToolFacts(name="remove", destructive=True)),
            log="started\nready\n",
        ),
        costs={"read": 420, "remove": 180},
    ),
    ServerRow(
        state=ServerState(
            name="tickets",
            status="needs-auth",
            scope="user",
            source="user",
            config=HttpServer(url="https://tickets.example/mcp"),
        )
    ),
    ServerRow(
        state=ServerState(
            name="broken",
            status="failed",
            scope="user",
            source="user",
            config=StdioServer(command="nope"),
            error="nope: no such program",
        )
    ),
    ServerRow(
        state=ServerState(
            name="idle", status="disabled", scope="user", source="user", config=HttpServer(url="http://x")
        )
    ),
)
_AGENTS = (
    AgentDefinition(
        name="reviewer",
        description="Reads changes closely.",
        text="You review.",
        source="project",
        file="/proj/.claude/agents/reviewer.md",
        tools=("Read", "Grep"),
        color="blue",
        model="haiku",
    ),
    AgentDefinition(name="general", description="Does anything.", text="You work."),
)
_AGENT_ROWS = tuple(
    AgentFacts(definition=agent, prompt=agent.prompt, tokens=40, body_tokens=900) for agent in _AGENTS
)
_HOOKS = (
    HookRow(
        event="PreToolUse",
        matcher="Bash",
        kind="command",
        what="./check.sh",
        source="projectSettings",
        file="/proj/.claude/settings.json",
        line=7,
        timeout=5,
    ),
    HookRow(event="PreToolUse", matcher="", kind="http", what="http://127.0.0.1/hook", source="userSettings"),
    HookRow(
        event="Stop",
        matcher="",
        kind="command",
        what="./done.sh",
        source="projectSettings",
        objection="this folder is not trusted yet",
    ),
)
_MEMORY = Memory(
    files=(
        MemoryFile(path="/proj/CLAUDE.md", name="this project", text="# Rules\nBe kind."),
        MemoryFile(path="/proj/notes.md", name="notes", text="Ports are 8080 and up."),
        MemoryFile(path="/home/u/.claude/CLAUDE.md", name="yours", exists=False),
    ),
    automatic=True,
    folder="/home/u/.claude/projects/-work/memory",
)
_SKILLS = (
    SkillFacts(
        name="pdf", description="Works with PDF files.", source="yours", file="/s/pdf/SKILL.md", tokens=40
    ),
    SkillFacts(
        name="charts", description="Draws charts.", source="this project", tokens=90, body_tokens=2_000
    ),
    SkillFacts(name="old", description="Not used.", source="this project", visibility="off", locked=True),
)
_PLUGINS = Plugins(
    plugins=(
        PluginReport(
            id="lint@team",
            description="Checks code.",
            version="1.0",
            installed=True,
            enabled=True,
            scope="user",
        ),
        PluginReport(id="docs@team", description="Writes docs.", brings=("2 skills",)),
        PluginReport(id="bad@team", installed=True, problems=("plugin.json cannot be read",), managed=True),
    ),
    marketplaces=(MarketplaceReport(name="team", source="acme/plugins", plugins=3, updated="yesterday"),),
)


def test_screens():
    assert_screens("mcp", mcp_view(_SERVERS))
    assert_screens("agents", agents_view(_AGENT_ROWS))
    assert_screens("hooks", hooks_view(_HOOKS))
    assert_screens("memory", memory_view(_MEMORY))
    assert_screens("skills", skills_view(_SKILLS))
    assert_screens("plugins", plugins_view(_PLUGINS))


def test_a_server_is_reconnected_turned_off_and_on():
    asked: list[Any] = []
    shown = Showing(mcp_view(_SERVERS, do=asked.append))
    assert shown.selected.startswith("✓ files")
    shown.press("r", "d", "end", "e", "r")
    assert asked == [ReconnectServer("files"), ToggleServer("files", False), ToggleServer("idle", True)]


def test_login_is_offered_where_it_is_needed_and_logout_needs_a_yes():
    asked: list[Any] = []
    shown = Showing(mcp_view(_SERVERS, do=asked.append)).press("l", "o", "down", "l")
    assert asked == [LogIn("tickets")]
    web = ServerState(
        name="web", status="connected", scope="user", source="user", config=HttpServer(url="http://x")
    )
    shown = Showing(mcp_view([ServerRow(state=web)], do=asked.append)).press("o", "n", "o", "y")
    assert asked == [LogIn("tickets"), LogOut("web")]
    assert shown.closed is None


def test_a_server_shows_its_tools_their_cost_and_what_it_wrote():
    text = Showing(mcp_view(_SERVERS)).press("enter").text
    for part in ("2 tools, 600 tokens in every request", "read  420 tokens read-only", "destroys", "ready"):
        assert part in text
    assert "no such program" in Showing(mcp_view(_SERVERS)).press("down", "down", "enter").text


def test_a_server_can_be_found_by_the_name_of_its_tool():
    assert "files" in Showing(mcp_view(_SERVERS)).press("/").type("remove").selected


def test_the_state_of_servers_changes_while_the_view_is_open():
    view = mcp_view(_SERVERS[3:])
    shown = Showing(view)
    view.show(_SERVERS[:1])
    assert "connected" in shown.text


def test_an_agent_in_a_file_can_be_edited_and_a_built_in_one_not():
    asked: list[Any] = []
    Showing(agents_view(_AGENT_ROWS, do=asked.append)).press("e", "down", "e")
    assert asked == [EditFile("/proj/.claude/agents/reviewer.md")]


def test_an_agent_is_turned_off_and_on_again_by_key():
    asked: list[Any] = []
    off = AgentFacts(definition=_AGENTS[0], denied=True)
    Showing(agents_view([off, _AGENT_ROWS[1]], do=asked.append)).press("space", "down", "space")
    assert asked == [ToggleAgent(_AGENTS[0].name, True), ToggleAgent(_AGENTS[1].name, False)]


def test_an_agent_shows_its_tools_and_prompt():
    text = Showing(agents_view(_AGENT_ROWS)).press("enter").text
    assert "Read, Grep" in text
    assert "You review." in text


def test_hooks_are_reached_over_event_and_matcher():
    asked: list[Any] = []
    shown = Showing(hooks_view(_HOOKS, do=asked.append)).press("enter")
    assert "PreToolUse" in shown.text
    assert shown.selected == "Bash 1 hook"
    shown.press("enter")
    assert "PreToolUse › Bash" in shown.text
    shown.press("e", "enter")
    assert asked == [EditFile("/proj/.claude/settings.json", 7)]
    assert "/proj/.claude/settings.json:7" in shown.text
    shown.press("escape", "escape", "escape")
    assert shown.selected.startswith("PreToolUse")
    assert shown.press("escape").value is None


def test_all_hooks_are_turned_off_and_on_again_by_key():
    off = Showing(hooks_view(_HOOKS)).press("space")
    on = Showing(hooks_view(_HOOKS, disabled=True)).press("space")
    assert off.value == SetSetting("disableAllHooks", True)
    assert on.value == SetSetting("disableAllHooks", None)


def test_a_hook_that_does_not_count_says_why():
    shown = Showing(hooks_view(_HOOKS)).press("down", "enter", "enter", "enter")
    assert "this folder is not trusted yet" in shown.text


def test_an_event_without_hooks_leads_nowhere():
    shown = Showing(hooks_view(())).press("enter")
    assert shown.selected != ""
    assert shown.press("escape").value is None


def test_hooks_of_settings_files_become_rows(tmp_path: Path):
    text = json.dumps(
        {"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}]}},
        indent=1,
    )
    layer = Layer(source="projectSettings", path=str(tmp_path / "s.json"), values=json.loads(text), text=text)
    [row] = hook_rows(from_layers([layer], trusted=False))
    assert (row.event, row.matcher, row.kind, row.what) == ("PostToolUse", "Edit", "command", "fmt")
    assert row.line is not None
    assert row.objection == "this folder is not trusted yet"


def test_memory_files_open_in_the_editor_and_the_switch_switches():
    asked: list[Any] = []
    view = memory_view(_MEMORY, do=asked.append)
    shown = Showing(view).press("enter", "end", "enter")
    assert asked == [EditFile("/proj/CLAUDE.md"), SetAutoMemory(False)]
    view.show(Memory(automatic=False))
    shown.press("enter")
    assert asked[-1] == SetAutoMemory(True)


def test_skills_are_sorted_by_cost_used_hidden_and_edited():
    asked: list[Any] = []
    shown = Showing(skills_view(_SKILLS, do=asked.append))
    assert shown.selected.startswith("✓ charts")
    shown.press("home", "t", "down")
    assert shown.selected.startswith("✓ pdf")
    shown.press("e", "space", "down", "enter")
    assert asked == [EditFile("/s/pdf/SKILL.md"), SetVisibility("pdf", "name-only")]
    assert shown.press("enter").value == RunCommand("pdf")


def test_a_locked_skill_stays_as_it_is():
    asked: list[Any] = []
    shown = Showing(skills_view(_SKILLS, do=asked.append)).press("down", "space", "enter")
    assert asked == []
    assert shown.closed is None


def test_installed_plugins_are_toggled_favored_updated_and_removed():
    asked: list[Any] = []
    Showing(plugins_view(_PLUGINS, do=asked.append)).press("end", "space", "f", "u", "d", "y")
    assert asked == [
        TogglePlugin("lint@team", False),
        FavorPlugin("lint@team", True),
        UpdatePlugin("lint@team"),
        RemovePlugin("lint@team"),
    ]


def test_a_plugin_of_the_organization_cannot_be_turned_off():
    asked: list[Any] = []
    Showing(plugins_view(_PLUGINS, do=asked.append)).press("space", "d", "y")
    assert asked == []


def test_a_plugin_is_installed_where_the_user_says():
    asked: list[Any] = []
    shown = Showing(plugins_view(_PLUGINS, do=asked.append, tab=1)).press("/").type("skills").press("escape")
    assert shown.selected.startswith("docs")
    shown.press("i", "down", "enter")
    assert asked == [InstallPlugin("docs@team", "project")]


def test_marketplaces_are_added_updated_and_removed_and_problems_have_a_tab():
    asked: list[Any] = []
    shown = Showing(plugins_view(_PLUGINS, do=asked.append, tab=2))
    shown.press("a").type("acme/more").press("enter", "u", "d", "y")
    assert asked == [AddMarketplace("acme/more"), UpdateMarketplace("team"), RemoveMarketplace("team")]
    assert "plugin.json cannot be read" in shown.press("tab").text
