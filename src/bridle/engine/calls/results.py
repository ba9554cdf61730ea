"""Keeps tool results small: what is too long goes to a file and leaves a preview."""

import os

import msgspec

from bridle.engine.texts import EMPTY_RESULT
from bridle.host.files import make_folders, write_new
from bridle.types.block import ResultContent
from bridle.types.text import encodable_value
from bridle.types.tool import ToolOutput

_PREVIEW = 2_000
_PREVIEWED = "<persisted-output>\n"
_DEFAULT_LIMIT = 100_000


class ResultBudget:
    """Room for the results of one message; settled when a result is recorded, so nothing changes later."""

    def __init__(self, total: int) -> None:
        self._left = total

    def fit(
        self, output: ToolOutput, *, limit: int | None, call_id: str, storage: str, may_move: bool = False
    ) -> ToolOutput:
        """The output as the model will read it.

        Without a limit the tool bounds its results; they still go to a file where there is no more room for
        them, if they may be moved there."""
        length = _length(output.content)
        too_long = limit is not None and length > min(limit, _DEFAULT_LIMIT)
        no_room = (limit is not None or may_move) and length > self._left and length > _PREVIEW
        if (too_long or no_room) and not _is_preview(output.content):
            output = persist(output, call_id=call_id, storage=storage)
        self._left -= _length(output.content)
        return output


def persist(output: ToolOutput, *, call_id: str, storage: str) -> ToolOutput:
    """Save the whole result to a file that only the user can read, and return a preview that names it."""
    is_json = not isinstance(output.content, str)
    text = msgspec.json.encode(output.content).decode() if is_json else str(output.content)
    path = os.path.join(storage, "tool-results", f"{_safe(call_id)}.{'json' if is_json else 'txt'}")
    preview = _cut(text)
    try:
        _save(path, text)
    except OSError as error:
        note = f"The output has {len(text):,} characters and could not be saved ({error.strerror})."
    else:
        note = (
            f"The output has {len(text):,} characters. The full output is in {path}: read parts of it "
            "as needed."
        )
    content = f"<persisted-output>\n{note}\n\nIts beginning:\n{preview}\n…\n</persisted-output>"
    return ToolOutput(content=content, data=output.data, is_error=output.is_error)


def _is_preview(content: str | list[ResultContent]) -> bool:
    """Whether the whole is in a file already."""
    if isinstance(content, str):
        return content.startswith(_PREVIEWED)
    first = content[0] if content else None
    return first is not None and first["type"] == "text" and first["text"].startswith(_PREVIEWED)


def normalize(content: str | list[ResultContent]) -> str | list[ResultContent]:
    """Content that the API takes: not empty, and in a text that can be encoded."""
    return encodable_value(content) or EMPTY_RESULT


def _save(path: str, text: str) -> None:
    make_folders(os.path.dirname(path), private=True)
    try:
        write_new(path, text.encode(errors="replace"))
    except FileExistsError:
        pass  # The same call was saved before a resume; its content cannot differ.


def _cut(text: str) -> str:
    head = text[:_PREVIEW]
    line_end = head.rfind("\n")
    return head[:line_end] if line_end > _PREVIEW // 2 else head


def _length(content: str | list[ResultContent]) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(len(block["text"]) for block in content if block["type"] == "text")


def _safe(call_id: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in call_id)[:100]
