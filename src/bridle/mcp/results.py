"""Results of servers as content for the model: bounded, and what is no text put where it belongs."""

import binascii
import os
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders
from bridle.host.secrets import SECRETS
from bridle.types.block import ImageBlock, ResultContent, text_block
from bridle.types.errors import ToolError
from bridle.types.text import encodable
from bridle.types.tool import ToolOutput

FitImage = Callable[[bytes, str], ImageBlock]
"""An image of a media type, made small enough to show; raises ToolError when it cannot be shown."""

_CHARS_PER_TOKEN = 4
_USUAL_TOKENS = 25_000
_MOST_CHARS = 500_000
_MOST_BLOB = 25 * 1024 * 1024
_MOST_BLOCKS = 500
_PREVIEW = 2_000
_SUFFIXES = {
    "application/json": "json", "application/pdf": "pdf", "application/zip": "zip", "audio/mpeg": "mp3",
    "audio/ogg": "ogg", "audio/wav": "wav", "image/gif": "gif", "image/jpeg": "jpg", "image/png": "png",
    "image/svg+xml": "svg", "image/webp": "webp", "text/csv": "csv", "text/html": "html",
    "text/markdown": "md", "text/plain": "txt", "video/mp4": "mp4",
}  # fmt: skip


class ResultStorage(Struct, frozen=True, kw_only=True):
    """Where results go that are no text, or too much of it."""

    storage: str
    call_id: str
    fit_image: FitImage | None

    def save(self, data: bytes, media_type: str, number: int) -> str:
        """Write to a file that only the user can read; returns a sentence that names it."""
        suffix = _SUFFIXES.get(media_type.partition(";")[0].strip().lower(), "bin")
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.call_id)[:100]
        path = os.path.join(self.storage, "tool-results", f"{safe}-{number}.{suffix}")
        try:
            make_folders(os.path.dirname(path), private=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(handle, "wb") as file:
                file.write(data)
        except OSError as error:
            return f"{len(data):,} bytes of {media_type} that could not be saved ({error.strerror})"
        return f"{len(data):,} bytes of {media_type}, saved to {path}"


def most_chars(env: Mapping[str, str], own: int | None) -> int:
    """How much text of one result the model may see: the user's limit, or what the tool says of itself."""
    given = env.get("MAX_MCP_OUTPUT_TOKENS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given) * _CHARS_PER_TOKEN
    return min(own, _MOST_CHARS) if own is not None else _USUAL_TOKENS * _CHARS_PER_TOKEN


def output_of(result: Mapping[str, Any], *, limit: int, storage: ResultStorage) -> ToolOutput:
    """A result of `tools/call` as the model reads it; as data it is the list of blocks."""
    blocks = content_of(result.get("content"), storage)
    structured = result.get("structuredContent")
    if structured is not None and not any(block["type"] == "text" for block in blocks):
        blocks.append(text_block(msgspec.json.encode(structured).decode()))
    shown = [_without_secrets(block) for block in bounded(blocks, limit=limit, storage=storage)]
    return ToolOutput(content=shown, data=shown, is_error=result.get("isError") is True)


def _without_secrets(block: ResultContent) -> ResultContent:
    """A server may repeat the key that it was given; the conversation is no place for it."""
    return text_block(SECRETS.hide(block["text"])) if block["type"] == "text" else block


def content_of(listed: Any, storage: ResultStorage) -> list[ResultContent]:
    """The blocks of a result or of a resource; what cannot be shown is described."""
    if not isinstance(listed, list):
        return []
    blocks = [
        _block(each, storage, number)
        for number, each in enumerate(listed[:_MOST_BLOCKS])
        if isinstance(each, dict)
    ]
    if len(listed) > _MOST_BLOCKS:
        blocks.append(text_block(f"[{len(listed) - _MOST_BLOCKS} more parts omitted]"))
    return blocks


def bounded(blocks: list[ResultContent], *, limit: int, storage: ResultStorage) -> list[ResultContent]:
    """The blocks with their text cut to `limit` characters in all, and the whole text in a file."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    total = sum(map(len, texts))
    if total <= limit:
        return blocks
    where = storage.save("\n\n".join(texts).encode("utf-8", "replace"), "text/plain", len(blocks))
    head = "\n\n".join(texts)[: min(_PREVIEW, limit)]
    note = (
        f"<persisted-output>\nThe output has {total:,} characters, over the limit of {limit:,}: "
        f"{where}. Read parts of it as needed.\n\nBeginning:\n{head}\n…\n</persisted-output>"
    )
    return [text_block(note), *(block for block in blocks if block["type"] != "text")]


def _block(each: Mapping[str, Any], storage: ResultStorage, number: int) -> ResultContent:
    match each:
        case {"type": "text", "text": str() as text}:
            return text_block(encodable(text))
        case {"type": "image", "data": str() as data, "mimeType": str() as media_type}:
            return _image(data, media_type, storage, number)
        case {"type": "audio", "data": str() as data, "mimeType": str() as media_type}:
            return _saved(data, media_type, storage, number, what="Audio")
        case {"type": "resource", "resource": dict() as resource}:
            return _resource(resource, storage, number)
        case {"type": "resource_link", "uri": str() as uri}:
            return text_block(_link(each, uri))
        case {"uri": str()}:
            return _resource(each, storage, number)
        case _:
            text = msgspec.json.encode(each).decode()
            return text_block(f"[A part of an unknown kind: {text[:1_000]}]")


def _resource(resource: Mapping[str, Any], storage: ResultStorage, number: int) -> ResultContent:
    uri = encodable(str(resource.get("uri", "")))[:1_000]
    media_type = resource.get("mimeType")
    kind = media_type if isinstance(media_type, str) else "application/octet-stream"
    match resource:
        case {"text": str() as text}:
            return text_block(f"[Resource {uri}]\n{encodable(text)}")
        case {"blob": str() as blob} if kind.startswith("image/"):
            return _image(blob, kind, storage, number)
        case {"blob": str() as blob}:
            return _saved(blob, kind, storage, number, what=f"Resource {uri}")
        case _:
            return text_block(f"[Resource {uri} has no content]")


def _image(data: str, media_type: str, storage: ResultStorage, number: int) -> ResultContent:
    raw = _decoded(data)
    if raw is None:
        return text_block("[Invalid image omitted]")
    if storage.fit_image is None:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    try:
        return storage.fit_image(raw, media_type)
    except ToolError as error:
        return text_block(f"[Image not shown: {error} It is {storage.save(raw, media_type, number)}]")


def _saved(data: str, media_type: str, storage: ResultStorage, number: int, *, what: str) -> ResultContent:
    raw = _decoded(data)
    if raw is None:
        return text_block(f"[{what}: cannot be decoded]")
    return text_block(f"[{what}: {storage.save(raw, media_type, number)}]")


def _decoded(data: str) -> bytes | None:
    if len(data) > _MOST_BLOB * 4 // 3:
        return None
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _link(each: Mapping[str, Any], uri: str) -> str:
    parts = [each.get("title") or each.get("name"), each.get("description"), each.get("mimeType")]
    description = "; ".join(encodable(part)[:500] for part in parts if isinstance(part, str) and part)
    return f"[Resource link {encodable(uri)[:1_000]}{': ' + description if description else ''}]"
