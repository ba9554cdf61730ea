"""Names, paths and texts come from files, models and servers: none of them may drive the terminal."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.commands.queries.context_window import Breakdown, Category
from bridle.commands.queries.context_window import Item as Part
from bridle.commands.queries.doctor import Check
from bridle.commands.queries.extensions import AgentFacts, SkillFacts
from bridle.commands.queries.memory_files import MemoryFile
from bridle.commands.queries.rules import DenialRow, FolderRow, RuleRow
from bridle.commands.queries.settings import SettingRow
from bridle.commands.queries.spending import DayCost, ModelCost
from bridle.commands.queries.usage_causes import Cause, LimitUse
from bridle.config.explain import Statement
from bridle.extensions.plugins.report import MarketplaceReport, PluginReport
from bridle.features.editors.connector import EditorRow
from bridle.frontends.tui.keymap.keymap import default_keymap
from bridle.frontends.tui.render.diff import FileChange
from bridle.frontends.tui.screens.choices.help import help_view
from bridle.frontends.tui.screens.choices.model import ModelView
from bridle.frontends.tui.screens.choices.output_style import StyleRow, styles_view
from bridle.frontends.tui.screens.conversation.export import copy_view, export_view
from bridle.frontends.tui.screens.conversation.resume import ResumeContext, ResumeView
from bridle.frontends.tui.screens.conversation.rewind import RewindPoint, RewindView
from bridle.frontends.tui.screens.conversation.transcript import TranscriptView
from bridle.frontends.tui.screens.conversation.transcript_items import passages_of
from bridle.frontends.tui.screens.extensions.agents import agents_view
from bridle.frontends.tui.screens.extensions.editors import editors_view
from bridle.frontends.tui.screens.extensions.hooks import HookRow, hooks_view
from bridle.frontends.tui.screens.extensions.mcp import ServerRow, mcp_view
from bridle.frontends.tui.screens.extensions.memory import Memory, memory_view
from bridle.frontends.tui.screens.extensions.plugins import Plugins, plugins_view
from bridle.frontends.tui.screens.extensions.sandbox import SandboxFacts, sandbox_view
from bridle.frontends.tui.screens.extensions.skills import skills_view
from bridle.frontends.tui.screens.session.config import Config, config_view
from bridle.frontends.tui.screens.session.context import context_view
from bridle.frontends.tui.screens.session.diff import DiffSource, diff_view
from bridle.frontends.tui.screens.session.doctor import doctor_view
from bridle.frontends.tui.screens.session.goal import Goal, goal_view
from bridle.frontends.tui.screens.session.permissions import (
    Permissions,
    permissions_view,
)
from bridle.frontends.tui.screens.session.pins import pins_view
from bridle.frontends.tui.screens.session.status import StatusFacts
from bridle.frontends.tui.screens.session.tasks import tasks_view
from bridle.frontends.tui.screens.session.usage import UsageFacts, usage_view
from bridle.frontends.tui.screens.workflows.agent import read_story
from bridle.frontends.tui.screens.workflows.browser import BrowserData, Saved, WorkflowBrowser
from bridle.host.editors import Editor
from bridle.transcripts.listing import SessionInfo
from bridle.types.agent import AgentDefinition
from bridle.types.command import Command, Says
from bridle.types.ledger import Ledger, Pin
from bridle.types.permission import Effect
from bridle.types.services.checkpoints import Rewound
from bridle.types.services.mcp import HttpServer, ServerInfo, ServerState, StdioServer, ToolFacts
from bridle.types.services.tasks import Task
from bridle.types.services.workflows import AgentState, AgentView, PhaseView, RunView
from bridle.types.usage import Usage
from tests.frontends.tui.render.strategies import assert_sound, nasty_text
from tests.frontends.tui.screens.offered import offered
from tests.frontends.tui.screens.showing import Showing


def _config(t: str) -> Any:
    said = (
        Statement(source="userSettings", file=t, line=None, value=t, wins=True),
        Statement(source="policySettings", file=t, line=3, value=[t], wins=False),
    )
    row = SettingRow(key=t, kind="text", value=t, source=t, file=t, choices=(t,), statements=said)
    status = StatusFacts(parts=((t, ((t, t),)),), problems=(t,))
    return config_view(Config(status=status, settings=(row,)))


def _usage(t: str) -> Any:
    use = ModelCost(model=t, usage=Usage(input=5), usd=1.0)
    return usage_view(
        UsageFacts(
            session=(use,), models=(use,), days=(DayCost(day=t, models=(use,)),),
            causes=(Cause(group=t, name=t),), limits=(LimitUse(name=t, used=1.5),),
        )
    )  # fmt: skip


def _permissions(t: str) -> Any:
    return permissions_view(
        Permissions(
            mode=t,
            rules=(RuleRow(effect=Effect.ALLOW, text=t, source=t, file=t, fault=t),),
            folders=(FolderRow(path=t, source=t),),
            denials=(DenialRow(tool=t, subject=t, rule=t),),
        )
    )


def _mcp(t: str) -> Any:
    tool = ToolFacts(name=t, description=t)
    common: dict[str, Any] = {
        "name": t,
        "scope": "user",
        "source": "user",
        "error": t,
        "log": t,
        "tools": (tool,),
    }
    program = ServerState(config=StdioServer(command=t, args=(t,)), status="connected", **common)
    web = ServerState(config=HttpServer(url=t), status="failed", info=ServerInfo(name=t, version=t), **common)
    return mcp_view([ServerRow(state=program, costs={t: 5}), ServerRow(state=web)])


def _plugins(t: str) -> Any:
    plugin = PluginReport(
        id=t, description=t, version=t, author=t, installed=True, brings=(t,), problems=(t,)
    )
    return plugins_view(
        Plugins(plugins=(plugin,), marketplaces=(MarketplaceReport(name=t, source=t, problem=t),))
    )


def _resume(t: str) -> Any:
    info = SessionInfo(
        session_id=t, summary=t, last_modified=0, first_prompt=t, git_branch=t, cwd=t, tag=t, file_size=5
    )
    said = passages_of([{"role": "user", "content": t}])
    return ResumeView([info], ResumeContext(cwd="/", now=5.0, branch=t), preview=lambda _: said)


def _transcript(t: str) -> Any:
    call = {"type": "tool_use", "id": "1", "name": t or "x", "input": {"command": t}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": t}
    said = [
        {"role": "user", "content": t},
        {"role": "assistant", "content": [{"type": "text", "text": t}, call]},
    ]
    return TranscriptView(passages_of([*said, {"role": "user", "content": [result]}]), title=t)


def _help(t: str) -> Any:
    async def run(_: str, __: Any) -> Says:
        return Says()

    command = Command(name=t, description=t, run=run, origin=t, argument_hint=t, aliases=(t,))
    return help_view([command], default_keymap(), version=t)


def _rewind(t: str) -> Any:
    change = Rewound(files_changed=(t,), skipped_links=(t,))
    return RewindView([RewindPoint(uuid="u", text=t)], now=0, changes={"u": change})


def _tasks(t: str) -> Any:
    task = Task(id=t, kind="local_bash", description=t, call_id="", command=t, output_file="", started=0)
    return tasks_view([task], read=lambda _, __: t, clock=lambda: 5.0)[0]


def _diff(t: str) -> Any:
    hunk: Any = {
        "oldStart": 1,
        "oldLines": 1,
        "newStart": 1,
        "newLines": 1,
        "lines": [f"+{t}", f"-{t}", f" {t}"],
    }
    changes = (FileChange(path=t, hunks=(hunk,)), FileChange(path=t, old_path=t, kind="renamed"))
    return diff_view([DiffSource(name=t, changes=changes), DiffSource(name=t, changes=())])


def _workflows(t: str) -> Any:
    common: dict[str, Any] = {"label": t, "phase": t, "model": t, "agent_id": t, "preview": t}
    agents = tuple(
        AgentView(number=at, state=state, **common) for at, state in enumerate(get_args(AgentState), 1)
    )
    run = RunView(
        run_id=t,
        name=t,
        description=t,
        state="failed",
        script_path=t,
        phases=(PhaseView(title=t, detail=t, failed=7),),
        agents=agents,
        logs=(t, t),
        preview=t,
    )
    saved = (Saved(name=t, description=t, path=t, source=t),)
    talk = [{"role": "user", "content": t}, {"role": "assistant", "content": t}]
    board = BrowserData(runs=(run,), saved=saved, story=read_story(t, talk), waiting=1)
    browser = WorkflowBrowser(board, clock=lambda: 5.0, taken=lambda _, __: t)
    browser.tell(Says(t))
    return browser.sheet


_VIEWS: dict[str, Callable[[str], Any]] = {
    "agents": lambda t: agents_view(
        [AgentFacts(definition=AgentDefinition(name=t, description=t, file=t, tools=(t,), model=t), prompt=t)]
    ),
    "config": _config,
    "context": lambda t: context_view(
        Breakdown(
            model=t,
            size=10,
            used=5,
            compact_at=5,
            automatic=True,
            counted=False,
            categories=(Category(id="x", name=t, tokens=5, items=(Part(name=t, tokens=1, note=t),)),),
        )
    ),
    "copy": lambda t: copy_view([f"{t}\n```{t}\n{t}\n```", t]),
    "export": lambda t: export_view(t, file=t),
    "diff": _diff,
    "doctor": lambda t: doctor_view([Check(health="fault", text=t, group=t, remedy=t)]),
    "editors": lambda t: editors_view(
        [EditorRow(editor=Editor(name=t, port=1, folders=(t,), transport="ws"), state="waiting", problem=t)]
    ),
    "goal": lambda t: goal_view(Goal(condition=t, last=t)),
    "help": _help,
    "hooks": lambda t: hooks_view(
        [HookRow(event=t, matcher=t, kind=t, what=t, source=t, owner=t, file=t, condition=t, objection=t)]
    ),
    "mcp": _mcp,
    "memory": lambda t: memory_view(
        Memory(files=(MemoryFile(path=t, name=t, group=t, text=t),), automatic=True, folder=t)
    ),
    "model": lambda t: ModelView(
        [offered(t, f"{t}x", vendor=t, capabilities=(t,), efforts=(t, "high"))], current=t, effort=t
    ),
    "permissions": _permissions,
    "pins": lambda t: pins_view(Ledger((Pin("1", t), Pin("2", t, "found")))),
    "plugins": _plugins,
    "resume": _resume,
    "rewind": _rewind,
    "sandbox": lambda t: sandbox_view(
        SandboxFacts(mode="auto", problems=(t,), locked=t, limits=((t, (t,)),))
    ),
    "skills": lambda t: skills_view([SkillFacts(name=t, description=t, source=t, file=t)]),
    "styles": lambda t: styles_view([StyleRow(name=t, description=t, source=t, text=t)], current=t),
    "tasks": _tasks,
    "transcript": _transcript,
    "usage": _usage,
    "workflows": _workflows,
}
_KEYS = (
    "enter",
    "down",
    "tab",
    "a",
    "d",
    "r",
    "s",
    "e",
    "space",
    "/",
    "ctrl+v",
    "ctrl+r",
    "right",
    "escape",
    "n",
)


@pytest.mark.parametrize("name", _VIEWS)
@settings(max_examples=30, deadline=None)
@given(nasty_text, st.integers(1, 130), st.integers(1, 40), st.lists(st.sampled_from(_KEYS), max_size=6))
def test_any_text_and_any_keys_leave_a_sound_screen(
    name: str, text: str, width: int, height: int, keys: list[str]
):
    view = _VIEWS[name](text)
    shown = Showing(view, width, height)
    for key in keys:
        view.paste(text)
        shown.press(key)
        if shown.closed is not None:
            break
        frame = shown.frame()
        assert_sound(list(frame.lines), width)
        assert len(frame.lines) <= height
    frame = shown.frame()
    assert_sound(list(frame.lines), width)
    assert len(frame.lines) <= height
