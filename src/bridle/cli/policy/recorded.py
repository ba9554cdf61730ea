"""Calls that transcripts hold, and what was decided about each."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.host.paths import project_dir, projects_dir
from bridle.transcripts.permission_answers import ANSWER
from bridle.types.errors import UsageError
from bridle.types.permission import MODES, Mode

Outcome = Literal["allow", "ask", "deny", "ran"]
"""`ran` is a call of a transcript that does not say whether anyone was asked."""

_NO_APPROVER = "No one can approve it"
_BY_PERSON = ("The user doesn't want to", "The user rejected", "The user denied")
_REFUSED = "Permission to use "
_WORTH_READING = (b'"tool_use"', b'"tool_result"', b'"permissionMode"', ANSWER.encode())
_LONGEST_REASON = 300


class RecordedCall(Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    id: str
    session: str
    file: str
    at: str
    cwd: str
    tool: str
    input: Mapping[str, Any]
    mode: Mode
    was: Outcome = "ran"
    by: str = ""
    """Who or what decided: `user`, the kind of reason, or nothing where that is not recorded."""
    refused: bool = False
    """It did not run, whatever decided that."""
    reason: str = ""
    """What the model read, where the call was refused."""

    @property
    def approved(self) -> bool:
        """A person was asked and said yes."""
        return self.by == "user" and not self.refused

    @property
    def subject(self) -> str:
        """What it was about, in a line."""
        known = (self.input.get(key) for key in ("command", "file_path", "url", "path", "pattern", "skill"))
        first = next((value for value in known if isinstance(value, str)), None)
        text = first if first is not None else msgspec.json.encode(self.input).decode()
        return " ".join(text.split())

    def __str__(self) -> str:
        return f"{self.tool}({_short(self.subject)})"


def transcripts(env: Mapping[str, str], cwd: str, sessions: Iterable[str], *, every: bool) -> list[str]:
    """The files to read: those of named sessions, of every folder, or of this one; oldest first.

    Raises:
        UsageError: there is no session of a name.
    """
    root = projects_dir(env) if every or sessions else project_dir(cwd, env)
    found = list(_below(root))
    if names := tuple(sessions):
        wanted: list[str] = []
        for name in names:
            own = [path for path in found if f"/{name}" in path]
            if not own:
                raise UsageError(f"There is no session {name}. bridle --resume lists them.")
            wanted += own
        found = wanted
    return sorted(found, key=_modified)


def recorded(paths: Iterable[str]) -> Iterator[RecordedCall]:
    """The calls of transcripts, those of agents too; a line that cannot be read is passed over."""
    seen: set[str] = set()
    for path in paths:
        for call in _calls(path):
            if call.id not in seen:  # Copies of a conversation repeat its calls.
                seen.add(call.id)
                yield call


def find_call(call_id: str, env: Mapping[str, str]) -> RecordedCall | None:
    """A call by its id, in the transcripts of every folder."""
    wanted = call_id.encode()
    for path in sorted(_below(projects_dir(env)), key=_modified, reverse=True):
        try:
            with open(path, "rb") as file:
                if wanted not in file.read():
                    continue
        except OSError:
            continue
        if (found := next((each for each in _calls(path) if each.id == call_id), None)) is not None:
            return found
    return None


def _calls(path: str) -> Iterator[RecordedCall]:
    waiting: dict[str, RecordedCall] = {}
    answers: dict[str, str] = {}
    mode: Mode = "default"
    for row in _rows(path):
        if row.get("type") == ANSWER:
            answers[str(row.get("toolUseId"))] = "allow" if row.get("behavior") == "allow" else "deny"
            continue
        mode = _mode(row.get("permissionMode"), mode)
        message: Any = row.get("message")
        content: Any = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "tool_use", "id": str() as id, "name": str() as name, "input": dict() as given}:
                    waiting[id] = RecordedCall(
                        id=id,
                        session=str(row.get("sessionId", "")),
                        file=path,
                        at=str(row.get("timestamp", "")),
                        cwd=str(row.get("cwd") or "/"),
                        tool=name,
                        input=given,
                        mode=mode,
                    )
                case {"type": "tool_result", "tool_use_id": str() as id} if id in waiting:
                    text = _text(block.get("content")) if block.get("is_error") else ""
                    yield _settled(waiting.pop(id), row, text, answers.get(id))
                case _:
                    pass


def _mode(named: object, otherwise: Mode) -> Mode:
    for mode in MODES:
        if mode == named:
            return mode
    return otherwise


def _settled(begun: RecordedCall, row: Mapping[str, Any], text: str, answer: str | None) -> RecordedCall:
    """The call with what became of it; `text` is what the model read of a failed one."""
    decision: Any = row.get("permissionDecision")
    was, by, refused = _outcome(decision if isinstance(decision, dict) else {}, answer, text)
    ran: Any = row.get("ranInput")
    return replace(
        begun,
        input=ran if isinstance(ran, dict) and not refused else begun.input,
        was=was,
        by=by,
        refused=refused,
        reason=text[:_LONGEST_REASON] if refused else "",
    )


def _outcome(decision: Mapping[str, Any], answer: str | None, text: str) -> tuple[Outcome, str, bool]:
    by_user = decision.get("source") == "user" or answer is not None
    match decision.get("decision"):
        case "accept":
            return (
                ("ask", "user", False) if by_user else ("allow", str(decision.get("reasonType", "")), False)
            )
        case "reject" if by_user:
            return "ask", "user", True
        case "reject":
            return ("ask", "no one", True) if _NO_APPROVER in text else ("deny", "", True)
        case _:
            pass
    if answer is not None:
        return "ask", "user", answer == "deny"
    if text.startswith(_BY_PERSON):
        return "ask", "user", True
    if text.startswith(_REFUSED):
        return ("ask", "no one", True) if _NO_APPROVER in text else ("deny", "", True)
    return "ran", "", False


def _rows(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            for line in file:
                if not any(mark in line for mark in _WORTH_READING):
                    continue
                try:
                    row = msgspec.json.decode(line)
                except (msgspec.DecodeError, RecursionError):
                    continue
                if isinstance(row, dict):
                    yield row
    except OSError:
        return  # It went away, or is not ours to read: there is nothing of it to decide about.


def _below(folder: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        elif entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
            yield entry.path


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "\n".join(str(each.get("text", "")) for each in blocks if isinstance(each, dict))


def _short(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
