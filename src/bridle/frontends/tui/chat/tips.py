"""What is worth knowing about the terminal, one line at a time and each not too often."""

import os
from collections.abc import Sequence

import msgspec
from msgspec import Struct

_TIP_SECONDS = 3_600.0
_LARGEST = 100_000
_FILE = "tips.json"


class TipFacts(Struct, frozen=True, kw_only=True):
    """What decides whether a tip is of use now."""

    has_instructions: bool = True
    """The project has a CLAUDE.md."""
    runs_command: bool = False
    has_branch: bool = False
    is_planning: bool = False


class Tip(Struct, frozen=True):
    """A tip, and after how many sessions it may be shown again."""

    name: str
    text: str
    sessions: int = 10
    needs: str = ""
    """The fact without which it is of no use; with `not ` before it, the fact with which it is of none."""

    def fits(self, facts: TipFacts) -> bool:
        if not self.needs:
            return True
        fact = self.needs.removeprefix("not ")
        return bool(getattr(facts, fact)) != self.needs.startswith("not ")


_ALL = (
    Tip("init", "/init writes a CLAUDE.md with what every session should know", 5, "not has_instructions"),
    Tip("background", "ctrl+b moves a long command to the background", 5, "runs_command"),
    Tip(
        "plan",
        "shift+tab switches to plan mode: a plan first, no changes until you agree",
        10,
        "not is_planning",
    ),
    Tip("shell", "! runs a shell command, and the model sees what it printed"),
    Tip("note", "# keeps a note for later conversations"),
    Tip("files", "@ completes the names of files and folders"),
    Tip("stop", "esc stops the model; what you typed meanwhile comes back to the input"),
    Tip("rewind-key", "esc twice goes back to an earlier prompt, with the files as they were"),
    Tip("transcript", "ctrl+o shows everything: long output, thinking, the input of calls"),
    Tip("history", "ctrl+r searches what you typed before"),
    Tip("editor", "ctrl+g writes the prompt in your editor"),
    Tip("keys", "? shows the keys"),
    Tip("docs", "all documentation is in /docs"),
    Tip("lists", "/ lists commands, @ lists files"),
    Tip("btw", "/btw asks something on the side while the model works"),
    Tip("context", "/context shows what fills the window, and what could go"),
    Tip("resume", "/resume finds earlier conversations by their words"),
    Tip("rewind", "/rewind undoes changes to files, the conversation, or both"),
    Tip("diff", "/diff shows what has changed in the working tree", 10, "has_branch"),
    Tip("cost", "/cost shows what was used, by day, model and source"),
    Tip("queue", "type while the model works: it reads your message at its next step"),
)
TIPS = tuple(tip.text for tip in _ALL)


class _Shown(Struct):
    """The file: how many sessions there were, and in which each tip was shown last."""

    sessions: int = 0
    shown: dict[str, int] = {}


class TipPicker:
    """Chooses the tip that was shown longest ago, among those that fit and have rested long enough."""

    def __init__(self, folder: str, *, own: Sequence[str] = (), exclude_default: bool = False) -> None:
        self._path = os.path.join(folder, _FILE)
        mine = [Tip(f"own: {text[:80]}", text, 0) for text in own if text.strip()]
        self._tips: Sequence[Tip] = mine if exclude_default else (*mine, *_ALL)
        self._state: _Shown | None = None

    def next(self, facts: TipFacts) -> str:
        """The next tip, noted as shown; empty where none is of use."""
        state = self._state = self._state or self._read()
        fitting = [
            tip
            for tip in self._tips
            if tip.fits(facts) and state.sessions - state.shown.get(tip.name, -tip.sessions) >= tip.sessions
        ]
        if not fitting:
            return ""
        chosen = min(fitting, key=lambda tip: state.shown.get(tip.name, -1))
        state.shown.pop(chosen.name, None)
        state.shown[chosen.name] = state.sessions
        self._write(state)
        if not chosen.sessions:
            # What may be shown at any time takes its turn behind the others of the same kind.
            self._tips = [*(tip for tip in self._tips if tip is not chosen), chosen]
        return chosen.text

    def _read(self) -> _Shown:
        from bridle.host.files import read_bytes

        try:
            state = msgspec.json.decode(read_bytes(self._path, _LARGEST), type=_Shown)
        except (OSError, msgspec.DecodeError):
            state = _Shown()
        state.sessions += 1
        return state

    def _write(self, state: _Shown) -> None:
        from bridle.host.files import make_folders, write_atomic

        known = {tip.name for tip in self._tips}
        state.shown = {name: at for name, at in state.shown.items() if name in known}
        try:
            make_folders(os.path.dirname(self._path), private=True)
            write_atomic(self._path, msgspec.json.encode(state), mode=0o600)
        except OSError:
            pass  # Then a tip is shown again sooner.


def tips_from(now: float) -> tuple[str, ...]:
    """All tips, another one first every hour."""
    at = int(now // _TIP_SECONDS) % len(TIPS)
    return TIPS[at:] + TIPS[:at]


def facts_now(cwd: str, *, words: str, branch: str, mode: str) -> TipFacts:
    """What holds now; `words` say what the turn does."""
    names = ("CLAUDE.md", "AGENTS.md", os.path.join(".claude", "CLAUDE.md"))
    return TipFacts(
        has_instructions=any(os.path.exists(os.path.join(cwd, name)) for name in names),
        runs_command=words.startswith("Running"),
        has_branch=bool(branch),
        is_planning=mode == "plan",
    )
