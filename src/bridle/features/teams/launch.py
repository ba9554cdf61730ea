"""The launch message of a teammate process: it gets at most the rights of its leader."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.config.options import SessionOptions
from bridle.engine.assignment import Assignment
from bridle.engine.turn import Turn
from bridle.features.agents.records import output_path
from bridle.features.agents.registry import AgentSetup
from bridle.features.agents.session import begin_mode
from bridle.features.agents.team import member_words
from bridle.features.teams.protocol import MemberLaunch

_HANDED_DOWN = (
    "agents", "allow_dangerously_skip_permissions", "allowed_tools", "autocompact", "ax_screen_reader",
    "bare", "betas", "debug", "disable_slash_commands", "disallowed_tools",
    "exclude_dynamic_system_prompt_sections",
    "fallback_model", "managed_settings", "max_thinking_tokens", "mcp_config", "no_session_persistence",
    "plugin_dir", "plugin_dir_no_mcp", "plugin_url", "safe_mode", "setting_sources", "settings",
    "strict_mcp_config", "thinking", "thinking_display", "tools", "verbose",
)  # fmt: skip
"""Options that say what a session may do and how; not those that say which one it is or who listens."""
OF_THE_PANE = (
    "COLORTERM", "COLUMNS", "ITERM_SESSION_ID", "LC_TERMINAL", "LC_TERMINAL_VERSION", "LINES", "TERM",
    "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE",
)  # fmt: skip
"""Variables that describe a terminal, and so are those of the pane."""
_OF_THE_LEADER = (
    "BRIDLE_BROOD", "BRIDLE_JOB", "CLAUDE_CODE_COORDINATOR_MODE", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MAX_TURNS", "CLAUDE_CODE_MESSAGING_SOCKET", "PWD",
)  # fmt: skip
_LEAST_BUDGET = 0.000001


def launch_for(options: SessionOptions, setup: AgentSetup, turn: Turn, work: Assignment) -> MemberLaunch:
    """What the process of a member needs."""
    workspace, state = turn.runtime.workspace, turn.session.state
    place = None if work.place is None else work.place.path
    return MemberLaunch(
        agent_id=work.agent_id,
        name=work.name or work.agent_id,
        team=work.team or "",
        leader=turn.session.id,
        storage=turn.runtime.records.storage,
        session_id="",
        definition=work.definition,
        prompt=work.prompt,
        cwd=place or workspace.start,
        at=place or workspace.cwd,
        origins=workspace.origins if place is None else (*workspace.origins, workspace.start),
        mode=begin_mode(turn, work.definition),
        rules=(*state.rules, *work.rules),
        options=msgspec.Raw(msgspec.json.encode(_options(options, setup, turn, work))),
        env=_variables(turn, work),
        output_file=output_path(turn.runtime, work.agent_id),
        trusted=turn.runtime.gate.trusted,
    )


def _options(options: SessionOptions, setup: AgentSetup, turn: Turn, work: Assignment) -> SessionOptions:
    handed: dict[str, Any] = {field: getattr(options, field) for field in _HANDED_DOWN}
    roots = (root for root in turn.runtime.workspace.roots[1:] if os.path.isdir(root))
    most = turn.runtime.limits.max_budget_usd
    return SessionOptions(
        **handed,
        interactive=True,
        model=work.model,
        effort=work.effort,
        permission_mode=begin_mode(turn, work.definition),
        append_system_prompt=f"{setup.appended}{member_words(work.name or '', work.team or '')}",
        add_dir=tuple(roots),
        max_turns=work.definition.max_turns,
        max_budget_usd=None if most is None else max(most - turn.session.billed_usd, _LEAST_BUDGET),
    )


def _variables(turn: Turn, work: Assignment) -> Mapping[str, str]:
    env = turn.runtime.env
    dropped = (*OF_THE_PANE, *_OF_THE_LEADER)
    return {
        **{name: value for name, value in env.items() if name not in dropped},
        "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1",
        "CLAUDE_CODE_TEAM_NAME": work.team or "",
        # The pane has the name of the member.
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
        "CLAUDE_CODE_TASK_LIST_ID": env.get("CLAUDE_CODE_TASK_LIST_ID") or turn.session.id,
    }
