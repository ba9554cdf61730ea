import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.mcp.results import ResultStorage, most_chars, output_of
from bridle.types.errors import ToolError
from tests.fakes.mcp_everything_data import PIXEL

_PIXEL = base64.b64encode(PIXEL).decode()


def _output(tmp_path: Path, result: dict[str, Any], *, limit: int = 1000, fit: Any = None):
    shelf = ResultStorage(storage=str(tmp_path / "storage"), call_id="call/1", fit_image=fit)
    return output_of(result, limit=limit, storage=shelf)


def _text(tmp_path: Path, *parts: Any) -> str:
    (block,) = _output(tmp_path, {"content": list(parts)}).content
    assert not isinstance(block, str) and block["type"] == "text"
    return block["text"]


def test_text_and_errors_are_passed_on(tmp_path: Path):
    output = _output(
        tmp_path, {"content": [{"type": "text", "text": "hi", "annotations": {}}], "isError": True}
    )
    assert (output.content, output.is_error) == ([{"type": "text", "text": "hi"}], True)
    assert output.data == output.content


def test_image_becomes_a_block_that_the_api_takes(tmp_path: Path):
    output = _output(tmp_path, {"content": [{"type": "image", "data": _PIXEL, "mimeType": "image/png"}]})
    source = {"type": "base64", "media_type": "image/png", "data": _PIXEL}
    assert output.content == [{"type": "image", "source": source}]


def test_image_is_made_small_enough(tmp_path: Path):
    from bridle.session.parts.mcp_context import fit_image

    image = {"type": "image", "data": _PIXEL, "mimeType": "image/png"}
    (block,) = _output(tmp_path, {"content": [image]}, fit=fit_image).content
    assert not isinstance(block, str) and block["type"] == "image"
    with pytest.raises(ToolError):
        fit_image(b"", "image/tiff")


def test_image_that_cannot_be_shown_is_saved(tmp_path: Path):
    def refuse(data: bytes, media_type: str):
        raise ToolError("Too odd.")

    image = {"type": "image", "data": _PIXEL, "mimeType": "image/tiff"}
    (block,) = _output(tmp_path, {"content": [image]}, fit=refuse).content
    assert not isinstance(block, str) and block["type"] == "text" and "Too odd." in block["text"]
    (file,) = (tmp_path / "storage" / "tool-results").iterdir()
    assert str(file) in block["text"] and file.read_bytes() == PIXEL and file.stat().st_mode & 0o777 == 0o600


def test_sound_and_other_bytes_are_saved(tmp_path: Path):
    audio = {"type": "audio", "data": base64.b64encode(b"tone").decode(), "mimeType": "audio/wav"}
    assert "call_1-0.wav" in _text(tmp_path, audio)
    blob = {"type": "resource", "resource": {"uri": "a://b", "blob": _PIXEL, "mimeType": "application/pdf"}}
    assert "call_1-0.pdf" in _text(tmp_path, blob) and "a://b" in _text(tmp_path, blob)


def test_resources_and_links_are_text(tmp_path: Path):
    resource = {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}}
    assert _text(tmp_path, resource) == "[Resource a://b]\ninside"
    link = {"type": "resource_link", "uri": "a://c", "name": "n", "description": "d"}
    assert _text(tmp_path, link) == "[Resource link a://c: n; d]"


def test_structured_content_stands_in_for_missing_text(tmp_path: Path):
    output = _output(tmp_path, {"content": [], "structuredContent": {"a": [1]}})
    assert output.content == [{"type": "text", "text": '{"a":[1]}'}]
    both = _output(tmp_path, {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}})
    assert both.content == [{"type": "text", "text": "x"}]


def test_long_text_goes_to_a_file_and_leaves_its_beginning(tmp_path: Path):
    image = {"type": "image", "data": _PIXEL, "mimeType": "image/png"}
    parts = [{"type": "text", "text": "a" * 5000}, image, {"type": "text", "text": "b" * 5000}]
    output = _output(tmp_path, {"content": parts}, limit=9_999)
    note, kept = output.content
    assert not isinstance(note, str) and note["type"] == "text" and "10,000 characters" in note["text"]
    assert not isinstance(kept, str) and kept["type"] == "image"
    (file,) = (tmp_path / "storage" / "tool-results").iterdir()
    assert str(file) in note["text"] and file.read_text() == "a" * 5000 + "\n\n" + "b" * 5000
    assert len(_output(tmp_path, {"content": parts}, limit=10_000).content) == 3


def test_limit_comes_from_the_user_then_from_the_tool():
    assert most_chars({}, None) == 100_000
    assert most_chars({}, 300_000) == 300_000
    assert most_chars({}, 10**9) == 500_000
    assert most_chars({"MAX_MCP_OUTPUT_TOKENS": "10"}, 300_000) == 40
    assert most_chars({"MAX_MCP_OUTPUT_TOKENS": "many"}, None) == 100_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "new"])},
    optional={"text": _JSON, "data": _JSON, "mimeType": _JSON, "resource": _JSON, "uri": _JSON},
)


@given(content=_JSON | st.lists(_PART | _JSON, max_size=5), structured=_JSON)
def test_no_result_breaks_the_mapping(tmp_path_factory, content: Any, structured: Any):
    folder = tmp_path_factory.mktemp("odd")
    output = _output(folder, {"content": content, "structuredContent": structured})
    assert isinstance(output.content, list)
