"""The page of `/export --html`: a conversation with its calls folded and its agents inside them."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.commands.pages.call_view import call_view
from bridle.commands.pages.code import code_block
from bridle.commands.pages.html import Html, el, join, shown, text
from bridle.commands.pages.images import image
from bridle.commands.pages.page import whole_page
from bridle.commands.wording import counted
from bridle.transcripts.reader import load
from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry

_DEEPEST = 4
"""Agents of agents are shown down to here."""
_COMPACTED = "The conversation was compacted here."


class Export(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    title: str
    entries: Sequence[ConversationEntry]
    agents: str | None = None
    """The folder with the transcripts of its agents."""
    facts: tuple[str, ...] = ()
    """A few words each: the folder, the model, the cost."""


def conversation_page(exported: Export) -> str:
    """The whole page."""
    parts = list(_conversation(exported.entries, exported.agents, depth=0))
    asked = sum(_is_prompt(entry) for entry in exported.entries)
    facts = " · ".join((*exported.facts, counted(asked, "prompt")))
    head = (el("h1", exported.title), el("p", facts, class_="lead"))
    return whole_page(exported.title, join((*head, *parts)))


def _conversation(entries: Sequence[ConversationEntry], agents: str | None, *, depth: int) -> Iterator[Html]:
    results = _results(entries)
    for entry in entries:
        if entry["type"] == "system":
            if entry["subtype"] == "compact_boundary":
                yield el("p", _COMPACTED, class_="notice")
            continue
        if entry["type"] == "user":
            yield from _said_by_user(entry, is_task=depth > 0)
            continue
        for block in _blocks(entry["message"]["content"]):
            match block:
                case {"type": "text", "text": str() as words} if words.strip():
                    yield el("div", markdown_html(words), class_="answer")
                case {"type": "thinking", "thinking": str() as words} if words.strip():
                    thought = el("div", el("div", words, class_="thinking"), class_="inside")
                    yield el("details", el("summary", "Thinking"), thought, class_="call")
                case {"type": "tool_use", "id": str() as id, "name": str(), "input": dict()}:
                    result, data = results.get(id, (None, None))
                    inside = _agent(data, agents, depth=depth)
                    yield call_view(block, result, data, nested=inside)
                case _:
                    pass


def _said_by_user(entry: Any, *, is_task: bool) -> Iterator[Html]:
    if entry.get("isMeta") or "toolUseResult" in entry:
        return
    if entry.get("isCompactSummary"):
        summary = el("div", markdown_html(text_of(entry["message"]["content"])), class_="inside")
        yield el("details", el("summary", "Summary of the conversation so far"), summary, class_="call")
        return
    blocks = _blocks(entry["message"]["content"])
    words = "\n\n".join(block["text"] for block in blocks if block.get("type") == "text").strip()
    images = [shown for block in blocks if (shown := image(block)) is not None]
    if words or images:
        label = el("b", "Task\n") if is_task else None
        yield el("div", label, words, *images, class_="prompt")


def _agent(data: Any, agents: str | None, *, depth: int) -> Html | None:
    """The conversation of the agent that a call started."""
    identity = data.get("agentId") if isinstance(data, dict) else None
    if agents is None or not isinstance(identity, str) or depth >= _DEEPEST:
        return None
    path = os.path.join(agents, f"agent-{os.path.basename(identity)}.jsonl")
    try:
        entries = load(path, sidechain=True).entries
    except OSError:
        return None
    return el("div", *_conversation(entries, agents, depth=depth + 1), class_="nested")


def _results(entries: Sequence[ConversationEntry]) -> Mapping[str, tuple[Any, Any]]:
    """The result of each call, with its structured form."""
    found: dict[str, tuple[Any, Any]] = {}
    for entry in entries:
        if entry["type"] != "user":
            continue
        for block in _blocks(entry["message"]["content"]):
            if block.get("type") == "tool_result":
                found[str(block.get("tool_use_id"))] = (block, entry.get("toolUseResult"))
    return found


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_prompt(entry: ConversationEntry) -> bool:
    if entry["type"] != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    return "toolUseResult" not in entry and bool(text_of(entry["message"]["content"]).strip())


def markdown_html(markdown: str) -> Html:
    """A text in Markdown, rendered."""
    return Html(_renderer().render(shown(markdown)))


def _renderer() -> Any:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    reader.enable(["table", "strikethrough"])
    renderer: Any = reader.renderer
    rules: dict[str, Any] = {
        "fence": _fence,
        "code_block": _fence,
        "image": _image,
        "link_open": _link,
        "table_open": _table_open,
        "table_close": _table_close,
    }
    renderer.rules.update(rules)
    return reader


def _fence(tokens: Any, at: int, *_: Any) -> str:
    language = tokens[at].info.split()
    return code_block(tokens[at].content, language[0] if language else "")


def _image(tokens: Any, at: int, *_: Any) -> str:
    """Nothing is fetched when a page is opened: an image elsewhere is a link to it."""
    address = str(tokens[at].attrs.get("src", ""))
    return el("a", tokens[at].content or address, href=address, rel="noreferrer noopener")


def _link(tokens: Any, at: int, *_: Any) -> str:
    address = str(tokens[at].attrs.get("href", ""))
    return f'<a href="{text(address)}" rel="noreferrer noopener">'


def _table_open(*_: Any) -> str:
    return '<div class="scroll"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"
