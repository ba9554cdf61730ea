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
    Tip("init", "/init writes a CLAUDE.md that every session reads", 5, "not has_instructions"),
    Tip("background", "ctrl+b moves a long command to the background", 5, "runs_command"),
    Tip(
        "plan",
        "shift+tab switches to plan mode: nothing changes until you approve a plan",
        10,
        "not is_planning",
    ),
    Tip("shell", "! runs a shell command and shows its output to the model"),
    Tip("note", "# saves a note for later conversations"),
    Tip("files", "@ completes file and folder names"),
    Tip("stop", "esc stops the model and puts queued messages back in the input"),
    Tip("rewind-key", "esc twice rewinds to an earlier prompt, files included"),
    Tip("transcript", "ctrl+o shows everything: long output, thinking, tool input"),
    Tip("history", "ctrl+r searches your earlier prompts"),
    Tip("editor", "ctrl+g opens the prompt in your editor"),
    Tip("keys", "? shows the keys"),
    Tip("docs", "the documentation opens with /docs"),
    Tip("lists", "/ lists commands, @ lists files"),
    Tip("btw", "/btw asks a side question while the model works"),
    Tip("context", "/context shows what fills the context window"),
    Tip("resume", "/resume searches earlier conversations"),
    Tip("rewind", "/rewind undoes changes to files, the conversation, or both"),
    Tip("diff", "/diff shows what has changed in the working tree", 10, "has_branch"),
    Tip("cost", "/cost shows usage by day, model and source"),
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
