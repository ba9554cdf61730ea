"""Keeps documents up to date that ask for it: Markdown files with a line `# MAGIC DOC: title`."""

import os
import re

from bridle.engine.runtime import Runtime
from bridle.engine.side_agent import EditOnly, SideAgent, copied_workspace, run_side_agent
from bridle.host.files import read_bytes, write_atomic
from bridle.host.paths import config_home
from bridle.transcripts.session import Session
from bridle.types.event import Noticed
from bridle.types.turn import Outcome
from bridle.types.workspace import FileState

_HEAD = re.compile(
    r"^#[ \t]*MAGIC[ \t]+DOC:[ \t]*([^\n]+)(?:\n\s*[*_]([^\n]+?)[*_][ \t]*$)?", re.IGNORECASE | re.MULTILINE
)
_LARGEST = 60_000
_MOST = 5
_MOST_STEPS = 6

_PROMPT = """\
This is a task of bridle and not a message of the user. The document {{docPath}} ("{{docTitle}}") wants \
to be kept up to date. Bring it up to date with what this conversation has shown, by calls of Edit on that \
file and nothing else; several calls in one answer are fine. Leave its first line as it is. It says how \
things are now, without history: what the code does not show, short and precise. Correct what is wrong and \
remove what no longer holds. If there is nothing to change, answer with one word and no call.
{{customInstructions}}
The document as it is:

{{docContents}}"""


def magic_title(text: str) -> str | None:
    """The title of a document that wants to be kept up to date."""
    match = _HEAD.search(text)
    return match[1].strip() if match is not None else None


async def update_documents(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Side work: update the documents that the session has read.

    Raises:
        ToolError: the model could not be asked.
        OSError: a document cannot be written.
    """
    del outcome
    if session.state.mode == "plan" or not runtime.gate.trusted:
        return
    found = [
        (path, state)
        for path, state in runtime.workspace.files.newest()
        if path.endswith(".md") and not state.partial and magic_title(state.content) is not None
    ]
    for path, state in found[:_MOST]:
        if _is_inside(path, runtime.workspace.roots):
            await _update(path, state, session, runtime)


async def _update(path: str, state: FileState, session: Session, runtime: Runtime) -> None:
    before = read_bytes(path, _LARGEST)
    if before.decode(errors="replace").replace("\r\n", "\n") != state.content:
        return  # Another process has changed it.
    work = SideAgent(
        purpose="magic document",
        prompt=_filled(path, state.content, runtime),
        guard=EditOnly(path),
        workspace=copied_workspace(runtime.workspace),
        storage=runtime.records.storage,
        most_steps=_MOST_STEPS,
        mode="acceptEdits",
    )
    await run_side_agent(session, runtime, work)
    after = read_bytes(path, 4 * _LARGEST)
    if after == before:
        return
    text = after.decode(errors="replace").replace("\r\n", "\n")
    if len(after) > _LARGEST or magic_title(text) != magic_title(state.content):
        write_atomic(path, before)
        raise ValueError(f"{path} was left as it was: its update lost the heading or made it too long")
    runtime.workspace.files.note(path, FileState(content=text, mtime_ns=os.stat(path).st_mtime_ns))
    runtime.channel.emit(Noticed(f"{path} was updated.", "info"))


def _filled(path: str, content: str, runtime: Runtime) -> str:
    """What the agent is asked, in the user's own words where there is a file with them."""
    try:
        given = read_bytes(os.path.join(config_home(runtime.env), "magic-docs", "prompt.md"), _LARGEST)
        template = given.decode(errors="replace").strip() or _PROMPT
    except OSError:
        template = _PROMPT
    match = _HEAD.search(content)
    wish = match[2] if match is not None and match[2] else ""
    values = {
        "docContents": content,
        "docPath": path,
        "docTitle": magic_title(content) or "",
        "customInstructions": f"Its owner says: {wish}\n" if wish and template is _PROMPT else wish,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values.get(found[1], found[0]), template)


def _is_inside(path: str, roots: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(real.startswith(os.path.join(os.path.realpath(root), "")) for root in roots)
