"""What a prompt that was sent leads to: a turn, a shell command, a note, a slash command."""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.engine.calls.call import DeferredCall
from bridle.engine.server import Server
from bridle.engine.turn import Turn
from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.editing.attachments import Attachment, PastedImage
from bridle.frontends.tui.editing.editor import Draft
from bridle.host.paths import config_home
from bridle.host.programs import find_program
from bridle.tools.files.text_files import ImageKind
from bridle.transcripts.session import Session
from bridle.types.block import UserBlock, text_block, text_of
from bridle.types.command import Command, CommandResult, Commands
from bridle.types.errors import BridleError, ToolError
from bridle.types.ids import new_uuid
from bridle.types.origin import TYPED, Origin
from bridle.types.slash import read_slash_line
from bridle.types.turn import Prompt

_IMAGE = re.compile(r"\[Image #(\d+)\]")
_KINDS: Mapping[str, ImageKind] = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_SHELL = Origin(source="tool", who="Bash")
LEAVING = frozenset({"exit", "quit", ":q", ":q!", ":wq"})


class SessionLink(Struct, frozen=True, kw_only=True):
    """The session that the user talks to."""

    session: Session
    server: Server
    commands: Commands | None = None
    run_now: Callable[[Command, str], Awaitable[CommandResult]] | None = None
    """Runs a command beside a turn."""
    responds_to_shell: bool = True
    shell: str = "bash"
    """Which shell `!` commands are for: bash or powershell."""
    env: Mapping[str, str] = {}


def prompt_of(draft: Draft, uuid: str) -> Prompt:
    """The prompt as it goes to the engine; images stand where their placeholders were."""
    images = {number: each for number, each in draft.attachments.items() if isinstance(each, PastedImage)}
    if not images:
        return Prompt(content=draft.text, origin=TYPED, uuid=uuid)
    return Prompt(content=_blocks(draft.text, images), origin=TYPED, uuid=uuid)


def command_name(text: str) -> str | None:
    """The name of the command that a line calls; None for other text, such as a path."""
    slashed = read_slash_line(text)
    return None if slashed is None else slashed.name


async def run_shell(command: str, talk: SessionLink, live: TurnView, own_calls: set[str]) -> None:
    """Run a command that the user typed, through the model's tool and permission gate; the model sees it.

    A denial counts; a question counts as approved, because the user typed the command.
    """
    # The gate and all that it weighs: the first prompt must not wait for it.
    from bridle.engine.calls.dispatch import Call, dispatch

    call_id = f"shell_{new_uuid()}"
    live.start_call(call_id, "Bash", {"command": command}, typed=True)
    try:
        wanted = command if talk.shell == "bash" else in_powershell(command, talk.env)
    except BridleError as error:
        live.finish_call(call_id, "failed", content=str(error), data=None, seconds=0.0)
        return
    call = Call(id=call_id, name="Bash", input={"command": wanted})
    runtime = talk.server.runtime
    turn = Turn(talk.session, Prompt(content=command, origin=TYPED), runtime)
    turn.begin()
    own_calls.add(call_id)
    began = runtime.clock()
    try:
        settled = await dispatch(call, turn, is_alone=_alone)
    except asyncio.CancelledError:
        live.finish_call(call_id, "interrupted", content="", data=None, seconds=runtime.clock() - began)
        _record(talk, command, "", "interrupted by the user", responds=False)
        raise
    finally:
        own_calls.discard(call_id)
    if isinstance(settled, DeferredCall):
        live.finish_call(call_id, "denied", content="deferred by a hook", data=None, seconds=0.0)
        return
    output = settled.output
    live.finish_call(
        call_id,
        "failed" if output.is_error else "done",
        content=output.content,
        data=output.data,
        seconds=runtime.clock() - began,
    )
    out, err = _streams(output.data, text_of(output.content), failed=output.is_error)
    _record(talk, command, out, err, responds=talk.responds_to_shell)


def in_powershell(command: str, env: Mapping[str, str]) -> str:
    """The shell command that runs a command of PowerShell.

    Raises:
        BridleError: PowerShell is not installed.
    """
    import shlex

    program = find_program("pwsh", env) or find_program("powershell", env)
    if program is None:
        raise BridleError("PowerShell was not found. Install pwsh, or unset defaultShell in your settings.")
    return shlex.join([program, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command])


def memory_files(cwd: str, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Files that a note may go to: what each is for, and its path."""
    # A start needs nothing of it.
    from bridle.context.memory import quick_places

    places = quick_places(cwd, env, config_home(env))
    return [
        ("This project, for everyone", places["project"]),
        ("This project, for me", places["local"]),
        ("All my projects", places["user"]),
        ("bridle's notes on this project", places["memory"]),
    ]


async def _alone() -> bool:
    return True


def _record(talk: SessionLink, command: str, out: str, err: str, *, responds: bool) -> None:
    """Put the command and its output into the conversation, in the form that other readers recognize."""
    typed = f"<bash-input>{command}</bash-input>"
    talk.server.submit(Prompt(content=typed, origin=TYPED, query=False, verbatim=True))
    said = f"<bash-stdout>{out}</bash-stdout><bash-stderr>{err}</bash-stderr>"
    # What a command prints are not the user's words, though the user has typed the command.
    talk.server.submit(Prompt(content=said, origin=_SHELL, query=responds, verbatim=True))


def _streams(data: Any, text: str, *, failed: bool) -> tuple[str, str]:
    if isinstance(data, dict) and "stdout" in data:
        return str(data.get("stdout") or ""), str(data.get("stderr") or "")
    return ("", text) if failed else (text, "")


def _blocks(text: str, images: Mapping[int, Attachment]) -> list[UserBlock]:
    blocks: list[UserBlock] = []
    at = 0
    for found in _IMAGE.finditer(text):
        image = images.get(int(found[1]))
        if not isinstance(image, PastedImage):
            continue
        if before := text[at : found.end()].strip():
            blocks.append(text_block(before))
        blocks.append(_image(image))
        at = found.end()
    if rest := text[at:].strip():
        blocks.append(text_block(rest))
    return blocks


def _image(image: PastedImage) -> UserBlock:
    """The image at a size that models look at; a damaged one is sent as it is, and the service says so."""
    from bridle.tools.files.images import fit

    kind = _KINDS.get(image.media_type)
    try:
        if kind is not None:
            return fit(image.data, kind).block()
    except ToolError:
        pass  # The service says better than we could what is wrong with it.
    encoded = base64.b64encode(image.data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": encoded}}
