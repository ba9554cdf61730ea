"""Adds what a prompt mentions with `@`: files, folders, resources of servers, agents."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.permissions.gate import standing
from bridle.engine.side_calls import consult
from bridle.engine.turn import Turn
from bridle.permissions.preparation import CallRequest, prepare
from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.read import ReadInput
from bridle.types.block import ResultContent, UserBlock, text_block, text_of
from bridle.types.errors import McpError, ToolError
from bridle.types.permission import Access, Ask, Decision, Deny
from bridle.types.tool import ToolContext
from bridle.types.turn import Prompt
from bridle.types.variables import is_on

_MENTION = re.compile(r'(?:^|(?<=[\s(\[{"\']))@(?:"([^"\n]+)"|([^\s"\'`,;]+))')
_RANGE = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?$")
_RESOURCE = re.compile(r"([\w.-]+):(\S+)")
_TRAILING = ".,;:!?)]}"
_MOST_MENTIONS = 50
_MOST_CHARS = 400_000
"""Of all mentions of a prompt together."""
_MOST_LISTED = 1_000
_MOST_RESOURCE_CHARS = 100_000
_OFF = ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "CLAUDE_CODE_DISABLE_FILE_MENTIONS")


class Mention(Struct, frozen=True):
    """Something that a prompt names."""

    name: str
    first: int | None = None
    """The first line that is wanted of a file."""
    last: int | None = None


async def attach(turn: Turn, prompt: Prompt) -> Prompt:
    """The prompt with what it mentions beside it; what may not or cannot be read is left as it was typed.

    What the user did not name, but a skill, a schedule, a remote client or a pipe did, counts only where the
    model may read it unasked.
    """
    if prompt.verbatim or prompt.meta or any(is_on(turn.runtime.env, name) for name in _OFF):
        return prompt
    text = text_of(prompt.content)
    if "@" not in text:
        return prompt
    beside: list[UserBlock] = []
    left = _MOST_CHARS
    typed = _typed_names(turn.prompt)
    for mention in list(dict.fromkeys(mentions_in(text)))[:_MOST_MENTIONS]:
        found = await _found(mention, turn, typed=mention.name in typed)
        if all(block in prompt.beside for block in found):
            continue  # The skill that the prompt calls has brought it already.
        size = sum(len(str(block)) for block in found)
        if size > left:
            beside.append(
                text_block(f"<mention>{mention.name} was omitted: the mentions are too large.</mention>")
            )
            continue
        left -= size
        beside += found
    return replace(prompt, beside=(*prompt.beside, *beside)) if beside else prompt


def _typed_names(prompt: Prompt) -> set[str]:
    """What the user of this machine names with `@` in a prompt."""
    if not prompt.origin.is_own:
        return set()
    return {mention.name for mention in mentions_in(prompt.origin.own_words(text_of(prompt.content)))}


def mentions_in(text: str) -> Iterator[Mention]:
    """What a text names with `@`, in its order."""
    for match in _MENTION.finditer(text):
        name = match[1] if match[1] is not None else match[2].rstrip(_TRAILING)
        if not name:
            continue
        lines = _RANGE.search(name)
        if lines is None:
            yield Mention(name)
            continue
        first = max(1, int(lines[1]))
        yield Mention(name[: lines.start()], first, max(first, int(lines[2] or lines[1])))


async def _found(mention: Mention, turn: Turn, *, typed: bool) -> list[UserBlock]:
    path = turn.runtime.workspace.resolve(mention.name)
    is_folder = os.path.isdir(path)
    if is_folder or os.path.isfile(path):
        match _decision(path, turn, typed=typed):
            case Deny():
                return []
            case Ask() if not typed:
                why = "it is outside the session's folders, and the user did not name it"
                return [text_block(f"<mention>{mention.name} was omitted: {why}.</mention>")]
            case _:
                return _folder(mention.name, path) if is_folder else await _file(mention, path, turn)
    if (meant := turn.runtime.features.mention(mention.name)) is not None:
        return [text_block(f"<mention>{meant}</mention>")] if typed else []
    return await _resource(mention.name, turn, typed=typed)


async def _file(mention: Mention, path: str, turn: Turn) -> list[UserBlock]:
    count = None if mention.first is None or mention.last is None else mention.last - mention.first + 1
    input = ReadInput(file_path=path, offset=mention.first, limit=count)
    try:
        shown = await READ.run(input, _context(turn))
    except ToolError as error:
        return [text_block(f"<mention>{mention.name} cannot be shown: {error}</mention>")]
    lines = "" if mention.first is None else f' lines="{mention.first}-{mention.last}"'
    if isinstance(shown.content, str):
        return [text_block(f'<file path="{path}"{lines}>\n{shown.content}\n</file>')]
    return [text_block(f'<file path="{path}"{lines}>'), *map(_block, shown.content), text_block("</file>")]


def _folder(name: str, path: str) -> list[UserBlock]:
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries)
    except OSError as error:
        return [text_block(f"<mention>{name} cannot be listed: {error.strerror}</mention>")]
    more = len(names) - _MOST_LISTED
    shown = names[:_MOST_LISTED] + ([f"… and {more} more"] if more > 0 else [])
    return [text_block(f'<folder path="{path}">\n' + "\n".join(shown) + "\n</folder>")]


async def _resource(name: str, turn: Turn, *, typed: bool) -> list[UserBlock]:
    servers, match = turn.runtime.servers, _RESOURCE.fullmatch(name)
    if match is None or match[1] not in {state.name for state in servers.status()}:
        return []
    if not typed:
        why = "the user did not name it; read it with a tool if needed"
        return [text_block(f"<mention>{name} was omitted: {why}.</mention>")]
    try:
        answer = await servers.read_resource(match[1], match[2])
    except McpError as error:
        return [text_block(f"<mention>{name} cannot be read: {error}</mention>")]
    texts = "\n".join(_resource_texts(answer))[:_MOST_RESOURCE_CHARS]
    return [text_block(f'<resource server="{match[1]}" uri="{match[2]}">\n{texts}\n</resource>')]


def _resource_texts(answer: Mapping[str, Any]) -> Iterator[str]:
    contents = answer.get("contents")
    for part in contents if isinstance(contents, list) else ():
        if isinstance(part, dict):
            text = part.get("text")
            yield (
                text
                if isinstance(text, str)
                else f"({part.get('mimeType') or 'binary'} content is not shown)"
            )


def _decision(path: str, turn: Turn, *, typed: bool) -> Decision:
    """What the rules say to reading this, without a question; what the user typed needs no mode."""
    asked = CallRequest(
        tool=READ.name,
        input={"file_path": path},
        subject=path,
        read_only=True,
        access=Access(reads=(path,)),
    )
    stand = standing(turn)
    return turn.runtime.gate.decide(prepare(asked, replace(stand, mode="default") if typed else stand))


def _context(turn: Turn) -> ToolContext:
    runtime = turn.runtime
    return ToolContext(
        call_id=turn.id,
        session_id=turn.session.id,
        workspace=runtime.workspace,
        storage=runtime.records.storage,
        env=runtime.env,
        progress=lambda _: None,
        ask=runtime.channel.ask,
        consult=lambda question: consult(turn, question),
    )


def _block(block: ResultContent) -> UserBlock:
    if block["type"] == "tool_reference":
        return text_block(f"[{block['tool_name']}]")
    return block
