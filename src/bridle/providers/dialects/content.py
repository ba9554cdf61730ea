"""Content of the conversation taken apart for dialects that are not the Messages API."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.json import encode as to_json

from bridle.providers import catalog
from bridle.providers.dialects.messages_request import OURS
from bridle.providers.facts import Model
from bridle.types.block import TextBlock
from bridle.types.history import History
from bridle.types.model import ModelRequest, ToolDefinition
from bridle.types.on_demand import is_deferred

EMPTY = "(no content)"
_ORDER = ("low", "medium", "high", "xhigh", "max")


class Attachment(Struct, frozen=True):
    """A file in the conversation that a model may take, if it can."""

    media: str
    data: str
    """Base64, or an address when `is_url`."""
    is_url: bool = False
    title: str = "document.pdf"

    @property
    def is_image(self) -> bool:
        return self.media.startswith("image/")

    @property
    def url(self) -> str:
        return self.data if self.is_url else f"data:{self.media};base64,{self.data}"


Part = str | Attachment


def parts_of(content: Any, *, images: bool, documents: bool) -> list[Part]:
    """Text and files in order; what the model cannot take is replaced by a note that says so."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    found: list[Part] = []
    for block in content:
        match block.get("type"):
            case "text":
                if block["text"].strip():
                    found.append(block["text"])
            case "image" | "document":
                found.append(_file(block, images=images, documents=documents))
            case _:
                pass
    return found


def text_of_parts(parts: list[Part]) -> str:
    return "\n\n".join(part for part in parts if isinstance(part, str))


def result_text(block: Mapping[str, Any], parts: list[Part]) -> str:
    """The text of a call's result; dialects without a field for failure say it in words."""
    text = text_of_parts(parts) or ("see the attached files" if parts else EMPTY)
    return f"Error: {text}" if block.get("is_error") and not text.lower().startswith("error") else text


def system_text(system: tuple[TextBlock, ...]) -> str:
    return "\n\n".join(block["text"] for block in system if block["text"].strip())


def functions(tools: tuple[ToolDefinition, ...]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, description and schema of each tool that is ours to run and listed; others are a vendor's own."""
    for tool in tools:
        if "input_schema" in tool and not is_deferred(tool):
            yield tool["name"], tool.get("description", ""), tool["input_schema"]


def input_text(block: Mapping[str, Any]) -> str:
    return to_json(block["input"]).decode()


def vendor_data(block: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """What the dialect itself left in a block."""
    found: Any = (block.get(OURS) or {}).get(dialect)
    return found if isinstance(found, dict) else {}


def is_own(origin: str | None, model: str) -> bool:
    """Whether a message was written by the model that is asked, so that its reasoning may be sent back."""
    return origin is not None and catalog.normal(origin) == catalog.normal(model)


def effort_word(request: ModelRequest, model: Model) -> str | None:
    """The effort in words that the service has, None when nothing is asked for."""
    effort = request.effort
    if effort is None or effort not in _ORDER or model.top_effort not in _ORDER:
        return effort
    return _ORDER[min(_ORDER.index(effort), _ORDER.index(model.top_effort))]


def short_id(identity: str) -> str:
    """Nine letters or digits that stand for an id, the same ones every time."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", identity):
        return identity
    from hashlib import sha256  # Only one vendor wants such ids.

    return sha256(identity.encode()).hexdigest()[:9]


class Calls:
    """The calls of a conversation by id, found from its end backwards and only as far as needed."""

    def __init__(self, history: History) -> None:
        self._messages = history.messages
        self._next = len(history.messages)
        self._known: dict[str, Mapping[str, Any]] = {}

    def find(self, identity: str) -> Mapping[str, Any] | None:
        while identity not in self._known and self._next > 0:
            self._next -= 1
            message = self._messages[self._next]
            if message["role"] == "assistant" and not isinstance(message["content"], str):
                for block in message["content"]:
                    if block["type"] == "tool_use":
                        self._known[block["id"]] = block
        return self._known.get(identity)


def _file(block: Mapping[str, Any], *, images: bool, documents: bool) -> Part:
    source: Mapping[str, Any] = block.get("source") or {}
    media = str(source.get("media_type") or ("image/*" if block["type"] == "image" else "application/pdf"))
    title = str(block.get("title") or "document.pdf")
    match source.get("type"):
        case "base64" | "url" as form:
            able = images if block["type"] == "image" else documents
            if not able:
                return _note(block["type"], media, title)
            return Attachment(media, str(source.get("data") or source.get("url")), form == "url", title)
        case "text":
            return str(source.get("data", ""))
        case "content":
            inner: Any = source.get("content", "")
            return text_of_parts(parts_of(inner, images=False, documents=False)) or EMPTY
        case _:
            return _note(block["type"], media, title)


def _note(kind: str, media: str, title: str) -> str:
    if kind == "image":
        return f"[An image ({media}) was omitted: this model cannot see images.]"
    return f"[The file {title} ({media}) was omitted: this model cannot read such files.]"
