"""Running notes on a session, so that a compaction need not ask a model when they are up to date."""

import os
import re
import time
from collections.abc import Mapping

from bridle.context.text_units import text_units
from bridle.context.tokens import tokens_now
from bridle.engine.feature import Notes
from bridle.engine.runtime import Runtime
from bridle.engine.side_agent import EditOnly, SideAgent, copied_workspace, run_side_agent
from bridle.features.memory.past_notes import NOTES_FILE, NOTES_FOLDER, note_session
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import config_home
from bridle.transcripts.session import Session
from bridle.types.turn import Outcome
from bridle.types.workspace import FileState

_SECTIONS = {
    "Title": "Five to ten words that tell this session from others",
    "What is being done": "The work at hand, what is open, and the next step",
    "What was asked for": "The wishes and decisions of the user, in their own words",
    "Files and functions": "Which matter, and what is in them",
    "How to build and test": "Commands in their order, and how to read their output",
    "Errors and corrections": "What failed, how it was fixed, and what not to try again",
    "How the system works": "Parts, and how they fit together",
    "What was learned": "What worked and what did not",
    "Results": "Answers, tables and figures that the user asked for, word for word",
    "Log": "One short line for each step",
}
_FIRST_TOKENS = 10_000
_STEP_TOKENS = 5_000
_SECTION_TOKENS = 2_000
_MOST_TOKENS = 12_000
_LARGEST = 60_000
_MOST_STEPS = 4
_HEAD = re.compile(r"<!-- up to ([0-9a-zA-Z-]+) -->\n")
_HEADING = re.compile(r"^# .*$", re.MULTILINE)

_PROMPT = """\
This is a task of bridle and not a message of the user. Bring the notes in {{notesPath}} up to date with \
what was said since they were written, by calls of Edit on that file and nothing else; make all calls in \
one answer, then stop. Leave every heading, and the line in italics below it, exactly as it is. Below \
them, write what is needed to continue the work without having seen it: exact names, paths, commands and \
figures. Keep what still holds, correct what does not, and leave a section empty rather than fill it with \
nothing.

The notes as they are:

{{currentNotes}}"""


class SessionNotes:
    """A file beside the transcript of each conversation."""

    def __init__(self) -> None:
        self._covered: dict[str, int] = {}
        """Tokens that the notes at a place go up to."""

    def standing(self, session: Session, storage: str) -> Notes | None:
        """The notes with the entry up to which they go, if that entry is still in the conversation."""
        text, up_to = _read(notes_path(storage))
        if up_to is None or not any(entry["uuid"] == up_to for entry in session.entries):
            return None
        return Notes(text, up_to)

    async def update(self, session: Session, runtime: Runtime, outcome: Outcome) -> None:
        """Bring the notes up to date when enough was said.

        Raises:
            ToolError: the model could not be asked.
            ValueError: it has broken the notes, which stay as they were.
            OSError: they cannot be written.
        """
        del outcome
        tokens = tokens_now(session.history, session.state.measured, fixed=0)
        path = notes_path(runtime.records.storage)
        since = abs(tokens - self._covered.get(path, 0))
        compacts = runtime.habits.allowed and runtime.habits.automatic
        if not compacts or tokens < _FIRST_TOKENS or since < _STEP_TOKENS or not session.entries:
            return
        old, up_to = _read(path)
        old = old or template(runtime.env)
        last = session.entries[-1]["uuid"]
        make_folders(os.path.dirname(path), private=True)
        _write(path, old, up_to)
        await run_side_agent(session, runtime, _work(path, old, runtime))
        text, _ = _read(path)
        missing = [line for line in _HEADING.findall(old) if line not in text]
        if missing or len(text) > _LARGEST:
            _write(path, old, up_to)
            raise ValueError(
                f"the notes lack the part {missing[0]!r}" if missing else "the notes are too long"
            )
        _write(path, text, last)
        self._covered[path] = tokens
        note_session(os.path.dirname(runtime.records.storage), path, text, now=time.time())


def notes_path(storage: str) -> str:
    """Where the notes of a session are."""
    return os.path.join(storage, NOTES_FOLDER, NOTES_FILE)


def template(env: Mapping[str, str]) -> str:
    """Notes on which nothing stands yet; the user's own form where there is a file with it."""
    usual = "\n\n".join(f"# {name}\n_{meaning}_" for name, meaning in _SECTIONS.items())
    own = _own_text(env, "template.md")
    return own if own is not None and _HEADING.search(own) else usual


def size_warnings(notes: str) -> str:
    """What to shorten, one line for each section that is too long, and one for all; empty if nothing is."""
    starts = [found.start() for found in _HEADING.finditer(notes)]
    lines: list[str] = []
    for start, end in zip(starts, [*starts[1:], len(notes)], strict=True):
        tokens = text_units(notes[start:end]) // 4
        if tokens > _SECTION_TOKENS:
            heading = notes[start:end].partition("\n")[0]
            lines.append(f'- "{heading}" has about {tokens:,} tokens: shorten it to {_SECTION_TOKENS:,}.')
    if (whole := text_units(notes) // 4) > _MOST_TOKENS:
        lines.append(f"- All sections together have about {whole:,} tokens: at most {_MOST_TOKENS:,}.")
    return (
        "\n\nSections that are too long; keep the newest and what is needed most:\n" + "\n".join(lines)
        if lines
        else ""
    )


def _work(path: str, notes: str, runtime: Runtime) -> SideAgent:
    values = {"currentNotes": notes, "notesPath": path}
    asked = _own_text(runtime.env, "prompt.md") or _PROMPT
    prompt = re.sub(r"\{\{(\w+)\}\}", lambda found: values.get(found[1], found[0]), asked)
    workspace = copied_workspace(runtime.workspace)
    # The agent has the notes in its prompt, so it need not read the file before it changes it.
    written = read_bytes(path, 4 * _LARGEST).decode(errors="replace")
    workspace.files.note(path, FileState(content=written, mtime_ns=os.stat(path).st_mtime_ns))
    return SideAgent(
        purpose="notes",
        prompt=prompt + size_warnings(notes),
        guard=EditOnly(path, is_own=True),
        workspace=workspace,
        storage=runtime.records.storage,
        most_steps=_MOST_STEPS,
        mode="acceptEdits",
    )


def _own_text(env: Mapping[str, str], name: str) -> str | None:
    """A file of the user in place of what bridle has; None where there is none."""
    try:
        given = read_bytes(os.path.join(config_home(env), "session-memory", "config", name), _LARGEST)
    except OSError:
        return None
    return given.decode(errors="replace").strip() or None


def _write(path: str, text: str, up_to: str | None) -> None:
    head = "" if up_to is None else f"<!-- up to {up_to} -->\n"
    write_atomic(path, f"{head}{text}\n".encode(errors="replace"), mode=0o600)


def _read(path: str) -> tuple[str, str | None]:
    try:
        text = read_bytes(path, 4 * _LARGEST).decode(errors="replace")
    except OSError:
        return "", None
    match = _HEAD.match(text)
    return (text[match.end() :].strip(), match[1]) if match is not None else (text.strip(), None)
