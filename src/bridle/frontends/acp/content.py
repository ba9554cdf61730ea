"""Content blocks of the protocol: prompts for the model, results for the editor."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from bridle.types.block import ResultContent, UserBlock, text_block
from bridle.types.errors import UsageError
from bridle.types.origin import Origin
from bridle.types.text import encodable
from bridle.types.turn import Prompt

Json = dict[str, Any]

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PDF = "application/pdf"
_LINES = re.compile(r"L?(\d{1,9})(?:[:-]L?(\d{1,9}))?")
_MOST_BLOCKS = 1_000
_LONGEST_RESULT = 100_000


def read_prompt(blocks: object, *, uuid: str) -> Prompt:
    """The prompt that an editor sends: what the user wrote first, then what the editor put beside it.

    Raises:
        UsageError: a block is of an unknown kind, or not whole.
    """
    if not isinstance(blocks, list) or not blocks or len(blocks) > _MOST_BLOCKS:
        raise UsageError(f"prompt must be a list of 1 to {_MOST_BLOCKS:,} content blocks.")
    words: list[str] = []
    beside: list[UserBlock] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as text}:
                words.append(encodable(text))
            case {"type": "image", "data": str() as data, "mimeType": str() as kind}:
                beside.append(_image(data, kind))
            case {"type": "resource_link", "uri": str() as uri}:
                words.append(_link(uri, str(block.get("name") or "")))
            case {"type": "resource", "resource": {"uri": str() as uri} as resource}:
                words.append(_link(uri, ""))
                beside.append(_resource(uri, resource))
            case {"type": "audio"}:
                raise UsageError("Audio is not supported: send text.")
            case _:
                raise UsageError("A content block must be text, image, resource_link or resource.")
    said = "".join(words)
    origin = Origin(source="host", words=(0, len(said)) if beside else None)
    content: str | list[UserBlock] = said if not beside else [text_block(said), *beside]
    return Prompt(content=content, origin=origin, uuid=uuid)


def text_content(text: str) -> Json:
    return {"type": "text", "text": text}


def result_content(content: str | Sequence[ResultContent]) -> list[Json]:
    """What a tool gave back, as an editor shows it."""
    blocks = [text_block(content)] if isinstance(content, str) else content
    shown: list[Json] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as text} if text:
                shown.append(text_content(text[:_LONGEST_RESULT]))
            case {"type": "image", "source": {"type": "base64", "media_type": str() as kind, "data": data}}:
                shown.append({"type": "image", "mimeType": kind, "data": data})
            case _:
                pass  # The editor has no way to show it.
    return [{"type": "content", "content": each} for each in shown]


def fenced(text: str) -> Json:
    """Output of a program, as a block that keeps its lines."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return {"type": "content", "content": text_content(f"{fence}\n{text.rstrip()}\n{fence}")}


def _image(data: str, kind: str) -> UserBlock:
    if kind not in _IMAGES:
        raise UsageError(f"Images must be one of {', '.join(_IMAGES)}, not {kind[:80]}.")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _link(uri: str, name: str) -> str:
    """A file as the mention that a user would type, anything else as a link."""
    parts = urlsplit(uri) if uri.startswith("file://") else None
    if parts is None:
        return f"[{name or uri}]({uri})"
    path = unquote(parts.path)
    lines = _LINES.fullmatch(parts.fragment)
    span = "" if lines is None else f"#L{lines[1]}" + (f"-{lines[2]}" if lines[2] else "")
    return f"[{name or uri}]({uri})" if '"' in path or "\n" in path else f'@"{path}{span}"'


def _resource(uri: str, resource: Mapping[str, Any]) -> UserBlock:
    match resource:
        case {"text": str() as text}:
            return text_block(f'<context ref="{uri[:500]}">\n{encodable(text)}\n</context>')
        case {"blob": str() as data, "mimeType": str() as kind} if kind in _IMAGES:
            return _image(data, kind)
        case {"blob": str() as data, "mimeType": "application/pdf"}:
            return {"type": "document", "source": {"type": "base64", "media_type": _PDF, "data": data}}
        case _:
            raise UsageError(f"The resource {uri[:200]} has neither text nor an image or a PDF.")
