"""Tells the model under which permissions it works: once at the start, and each change in a line."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.permission import Effect, Mode, Rule
from bridle.types.workspace import Workspace

MARK = "# Permissions"
_MOST_RULES = 20
_LONGEST = 120
_LABELS = {Effect.ALLOW: "Allowed", Effect.ASK: "Asked about", Effect.DENY: "Denied"}
_CHANGES = {
    Effect.ALLOW: ("now allowed", "no longer allowed"),
    Effect.ASK: ("now needs approval", "no longer needs approval"),
    Effect.DENY: ("now denied", "no longer denied"),
}


class _Standing(Struct, frozen=True):
    """What can change."""

    mode: Mode
    rules: tuple[tuple[Effect, str], ...]
    folders: tuple[str, ...]


class PermissionNotices:
    """What one session may do, as far as the model knows."""

    def __init__(
        self,
        session: Session,
        workspace: Workspace,
        *,
        attended: bool,
        sandboxed: bool = False,
        silent: bool = False,
    ) -> None:
        self._session = session
        self._workspace = workspace
        self._attended = attended
        """A person is there to approve calls."""
        self._sandboxed = sandboxed
        """Commands run unasked inside a sandbox."""
        self._silent = silent
        """The model gets only what it must know."""
        self._known: _Standing | None = None

    def opening(self) -> str | None:
        """What holds when a conversation begins; nothing where all is as usual and a person can be asked."""
        self._known = now = self._now()
        return None if self._silent else self._described(now)

    def news(self, session: Session) -> str | None:
        """What has changed since the last notice to the model, in a line."""
        if session is not self._session or self._silent:
            return None
        now = self._now()
        before, self._known = self._known, now
        if before is None:
            return self._described_again(now)
        changes = "; ".join(self._changes(before, now)) if before != now else ""
        return f"Permissions have changed: {changes}." if changes else None

    def _now(self) -> _Standing:
        state = self._session.state
        return _Standing(state.mode, tuple(_rules(state.rules)), tuple(self._workspace.roots[1:]))

    def _described(self, now: _Standing) -> str | None:
        lines = [line for effect in Effect if (line := _listed(effect, now.rules))]
        if now.mode != "plan" and not (now.mode == "default" and self._attended):
            lines.insert(0, f"Mode {self._mode(now.mode)}.")
        return "\n".join((MARK, *lines)) if lines else None

    def _described_again(self, now: _Standing) -> str | None:
        """The notice for a resumed conversation: none if it says the same already."""
        before = _last_notice(self._session)
        present = self._described(now)
        if present is None and before is not None and now.mode != "plan":
            present = f"{MARK}\nMode {self._mode(now.mode)}; no rules."
        return None if present is None or (before is not None and present in before) else present

    def _mode(self, mode: Mode) -> str:
        match mode:
            case "bypassPermissions":
                return f"{mode}: every call runs without approval"
            case "auto":
                return f"{mode}: a reviewer decides on calls that may do harm"
            case _:
                edits = ", edits" if mode == "acceptEdits" else ""
                commands = "commands in the sandbox" if self._sandboxed else "read-only commands"
                rest = "denied" if mode == "dontAsk" else "needs approval"
                if mode != "dontAsk" and not self._attended:
                    rest = "denied (no one can approve)"
                runs = f"reads{edits} and {commands} are allowed in the working folders"
                return f"{mode}: {runs}; everything else: {rest}"

    def _changes(self, before: _Standing, now: _Standing) -> Iterator[str]:
        # Plan mode has reminders of its own.
        if now.mode not in (before.mode, "plan"):
            yield f"mode {self._mode(now.mode)}"
        for effect in Effect:
            began, ended = _CHANGES[effect]
            yield from _named(began, _missing(now.rules, before.rules, effect))
            yield from _named(ended, _missing(before.rules, now.rules, effect))
        yield from _named("new working folder", [each for each in now.folders if each not in before.folders])
        gone = [each for each in before.folders if each not in now.folders]
        yield from _named("no longer a working folder", gone)


def _missing(
    rules: Sequence[tuple[Effect, str]], others: Sequence[tuple[Effect, str]], effect: Effect
) -> list[str]:
    """The rules of one kind that others do not have."""
    return [rule[1] for rule in rules if rule[0] is effect and rule not in others]


def _rules(rules: Sequence[Rule]) -> Iterator[tuple[Effect, str]]:
    """The rules that say something about calls; a tool that is denied as a whole is not offered at all."""
    seen: set[tuple[Effect, str]] = set()
    for rule in rules:
        said = (rule.effect, _shortened(str(rule)))
        if said not in seen and not (rule.effect is Effect.DENY and rule.content is None):
            seen.add(said)
            yield said


def _listed(effect: Effect, rules: Sequence[tuple[Effect, str]]) -> str:
    return next(_named(f"{_LABELS[effect]}:", [text for kind, text in rules if kind is effect]), "")


def _named(label: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _MOST_RULES} more" if len(names) > _MOST_RULES else ""
        yield f"{label} {', '.join(names[:_MOST_RULES])}{more}"


def _last_notice(session: Session) -> str | None:
    """The newest reminder about permissions that stands in the conversation."""
    for entry in reversed(session.entries):
        if entry["type"] != "user" or not entry.get("isMeta"):
            continue
        text = text_of(entry["message"]["content"])
        if MARK in text:
            return text
    return None


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
