"""Questions about changes, shown in the editor as well. The first answer decides."""

import asyncio
import os.path

import msgspec
from msgspec import Struct

from bridle.features.editors.proposals import Proposal, is_withdrawn, propose, revised, told_revision
from bridle.features.editors.session import SessionEditors
from bridle.host.first_answer import first_answer
from bridle.mcp.editor_connection import EditorConnection
from bridle.types.channel import Channel
from bridle.types.errors import McpError
from bridle.types.event import Noticed
from bridle.types.question import Answer, PermissionQuestion, Permitted, Refused

_MOST_SAVED = 8 * 1024 * 1024
_CLOSE_WITHIN = 2.0
_REJECTED = "The user rejected this change in {editor}. Stop here and wait for what they say next."
_WITHDRAWN = "The user undid all of this change in {editor}. Nothing was written. Ask what they want instead."


async def ask_beside(
    question: PermissionQuestion, channel: Channel, editors: SessionEditors, link: EditorConnection
) -> Answer:
    """The answer of the person, here or in the editor; what is open on the other side is closed then."""
    workspace = editors.context.workspace
    if question.agent_id is not None and not os.path.isabs(str(question.input.get("file_path"))):
        return await channel.ask(question)  # Agents may work in another folder.
    proposal = await asyncio.to_thread(propose, question.tool, question.input, workspace)
    if proposal is None:
        return await channel.ask(question)
    tab = _tab(proposal.path, question.call_id)
    here = channel.ask(msgspec.structs.replace(question, elsewhere=link.editor.name))
    try:
        answer: Answer | _Verdict = await first_answer(here, _show(proposal, tab, link))
    finally:
        editors.spawn(_close(tab, link))
    if not isinstance(answer, _Verdict):
        return answer
    if answer.note:
        editors.revise(question.call_id, answer.note)
    said = "Accepted" if isinstance(answer.answer, Permitted) else "Rejected"
    channel.emit(Noticed(f"{said} in {link.editor.name}: {os.path.basename(proposal.path)}"))
    return answer.answer


class _Verdict(Struct, frozen=True):
    answer: Answer
    note: str = ""
    """What the model must know about the change that is made."""


async def _show(proposal: Proposal, tab: str, link: EditorConnection) -> _Verdict | None:
    """What the user does with the change in the editor; None where they do not decide there.

    A tab that was closed, or an editor that went away, is no decision.
    """
    asked = {
        "old_file_path": proposal.path,
        "new_file_path": proposal.path,
        "new_file_contents": proposal.contents,
        "tab_name": tab,
    }
    try:
        word, *rest = await link.call("openDiff", asked, seconds=None) or ("",)
    except McpError:
        return None
    name = link.editor.name
    match word:
        case "DIFF_REJECTED":
            return _Verdict(Refused(message=_REJECTED.format(editor=name), interrupt=True))
        case "FILE_SAVED":
            saved = rest[0] if rest else proposal.contents
        case _:
            return None
    if len(saved) > _MOST_SAVED:
        return None
    if (input := revised(proposal, saved)) is None:
        return _Verdict(Permitted())
    if is_withdrawn(proposal, saved):
        return _Verdict(Refused(message=_WITHDRAWN.format(editor=name), interrupt=True))
    return _Verdict(Permitted(input=input), told_revision(proposal, saved, name))


async def _close(tab: str, link: EditorConnection) -> None:
    try:
        await link.call("close_tab", {"tab_name": tab}, seconds=_CLOSE_WITHIN)
    except McpError:
        pass  # It is closed already, or its editor is gone.


def _tab(path: str, call_id: str) -> str:
    """A name that no other tab has; editors know tabs of this kind by the signs at both ends."""
    return f"✻ [bridle] {os.path.basename(path)} ({call_id[-6:]}) ⧉"
