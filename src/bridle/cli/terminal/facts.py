"""The session facts for commands that write rows of the screen."""

import os.path
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.cli.terminal.appearance import model_name
from bridle.cli.terminal.git_location import repository_of, worktree_of
from bridle.engine.runtime import Runtime
from bridle.frontends.tui.render.call import AgentProgress
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.event import ConversationReset, Event, LimitChanged, TurnStarted
from bridle.types.services.fast_mode import FAST_MODE
from bridle.types.turn import Outcome
from bridle.types.usage import Usage
from bridle.types.workspace import EnteredWorktree
from bridle.version import COMPATIBLE_WITH

_MUCH = 200_000
_SHOWN_LIMITS = ("five_hour", "seven_day")


class SessionFacts:
    """Follows the events of a session, and knows its state."""

    def __init__(self, setup: Setup, session: Session, *, runtime: Callable[[], Runtime | None]) -> None:
        self._setup, self._session, self._runtime = setup, session, runtime
        self._prompt_id = ""
        self._limits: dict[str, dict[str, Any]] = {}
        self.vim: Callable[[], str | None] = lambda: None
        """The mode of the input, where it is edited as in vim."""

    def take(self, event: Event) -> None:
        match event:
            case TurnStarted(uuid=uuid):
                self._prompt_id = uuid
            case LimitChanged(info=info):
                self._note_limit(info)
            case ConversationReset():
                self._prompt_id = ""
            case _:
                pass  # Other events change nothing here.

    def finish(self, outcome: Outcome | None) -> None:
        """The facts are read on demand."""

    def status(self) -> Mapping[str, Any]:
        """For the command of the status line."""
        setup, session, runtime = self._setup, self._session, self._runtime()
        state = session.state
        thinking = state.thinking
        window = 0 if runtime is None else runtime.facts(state.model).context_window
        usage = _last_usage(session)
        effort = None if runtime is None else runtime.asking.effort
        mode = self.vim()
        return {
            **self.place(),
            "model": {"id": state.model, "display_name": model_name(state.model)},
            "version": COMPATIBLE_WITH,
            "output_style": {"name": setup.config.settings.output_style or "default"},
            "cost": self._cost(),
            "context_window": _window(usage, window),
            "exceeds_200k_tokens": usage is not None and usage.context + usage.output > _MUCH,
            "fast_mode": _is_fast(runtime),
            "thinking": {"enabled": thinking is None or thinking.mode != "disabled"},
            **_given("effort", effort and {"level": effort}),
            **_given("rate_limits", self._limits),
            **_given("session_name", session.title),
            **_given("prompt_id", self._prompt_id),
            **_given("vim", mode and {"mode": mode}),
            **_given("agent", setup.agent and {"name": setup.agent.name}),
            **_given("worktree", None if runtime is None else _visit(runtime.workspace.worktree)),
        }

    def agents(self, running: Sequence[AgentProgress], columns: int) -> Mapping[str, Any]:
        """For the command that writes the rows of agents."""
        now = time.time()
        place = self.place()
        tasks = [
            {
                "id": each.id,
                "name": each.name,
                "type": "local_agent",
                "status": "running" if each.state == "running" else each.state,
                "description": each.description,
                "startTime": round((now - each.seconds) * 1000),
                "tokenCount": each.tokens,
                "toolUseCount": each.calls,
                "cwd": place["cwd"],
            }
            for each in running
        ]
        return {**place, "columns": columns, "tasks": tasks}

    def place(self) -> dict[str, Any]:
        """Which session this is, and where it works."""
        setup, runtime = self._setup, self._runtime()
        cwd = setup.cwd if runtime is None else runtime.workspace.cwd
        roots = () if runtime is None else runtime.workspace.roots[1:]
        return {
            "session_id": self._session.id,
            "transcript_path": (None if runtime is None else runtime.records.transcript) or "",
            "cwd": cwd,
            "workspace": {
                "current_dir": cwd,
                "project_dir": setup.cwd if runtime is None else runtime.workspace.start,
                "added_dirs": list(roots),
                **_given("git_worktree", worktree_of(cwd)),
                **_given("repo", repository_of(cwd)),
            },
        }

    def _cost(self) -> Mapping[str, Any]:
        work = self._session.work
        return {
            "total_cost_usd": self._session.total_cost_usd,
            "total_duration_ms": work.open_ms,
            "total_api_duration_ms": work.api_ms,
            "total_lines_added": work.lines_added,
            "total_lines_removed": work.lines_removed,
        }

    def _note_limit(self, info: Mapping[str, Any]) -> None:
        kind, share = info.get("rateLimitType"), info.get("utilization")
        if kind in _SHOWN_LIMITS and isinstance(share, float):
            self._limits[kind] = {
                "used_percentage": round(share * 100, 1),
                **_given("resets_at", info.get("resetsAt")),
            }


def _is_fast(runtime: Runtime | None) -> bool:
    fast = None if runtime is None else runtime.features.find(FAST_MODE)
    return fast is not None and fast.state == "on"


def _window(usage: Usage | None, size: int) -> Mapping[str, Any]:
    taken = 0 if usage is None else usage.context
    used = min(100, round(taken * 100 / size)) if size else 0
    return {
        "total_input_tokens": taken,
        "total_output_tokens": 0 if usage is None else usage.output,
        "context_window_size": size,
        "used_percentage": used,
        "remaining_percentage": 100 - used,
        "current_usage": None
        if usage is None
        else {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
            "cache_read_input_tokens": usage.cache_read,
        },
    }


def _last_usage(session: Session) -> Usage | None:
    """What the newest answer was counted with."""
    for entry in reversed(session.entries):
        if entry["type"] == "assistant" and (usage := entry["message"].get("usage")):
            return Usage.from_api(usage)
    return None


def _visit(visit: EnteredWorktree | None) -> Mapping[str, Any] | None:
    if visit is None:
        return None
    return {
        "name": os.path.basename(visit.path),
        "path": visit.path,
        "original_cwd": visit.cwd,
        **_given("branch", visit.branch),
    }


def _given(name: str, value: Any) -> dict[str, Any]:
    """A field that is there only when there is something to say."""
    return {name: value} if value else {}
