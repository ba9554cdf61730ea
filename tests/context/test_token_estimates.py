"""How far estimates are from what tokenizers count, on contents of every kind."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bridle.context.image_size import picture_size
from bridle.context.text_units import text_units
from bridle.context.tokens import measure, tokens_now, units_of, weigh, weigh_block
from bridle.types.block import result_block
from bridle.types.history import History
from bridle.types.usage import Usage
from tests.tables import table

_SAMPLES: list[Any] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "token_counts.json").read_text(encoding="utf-8")
)
"""Texts with what two tokenizers count in them, of 65,000 and of 100,000 words."""
_KINDS = [sample["kind"] for sample in _SAMPLES]
_FIRST = ("prose", "instructions", "json", "code")
"""What a session begins with: a prompt, instructions, tools, and a file."""


def _sample(kind: str) -> Any:
    return next(sample for sample in _SAMPLES if sample["kind"] == kind)


@table("tokenizer", [0, 1])
@table("kind", _KINDS)
def test_after_the_first_answer_an_estimate_is_within_five_percent(kind: str, tokenizer: int):
    """A quarter of what was counted is added, of one kind, before the service counts again."""
    prompt, tools = _sample("instructions"), _sample("json")
    fixed = 3 * (text_units(prompt["text"]) + text_units(tools["text"]))
    counted = 3 * (prompt["counts"][tokenizer] + tools["counts"][tokenizer])
    history = History()
    for first in _FIRST:
        history.add({"role": "user", "content": _sample(first)["text"]})
        counted += _sample(first)["counts"][tokenizer] + 4
    answer: Any = {"role": "assistant", "content": _sample("prose")["text"]}
    written = _sample("prose")["counts"][tokenizer]
    measured = measure(Usage(input=counted, output=written), answer, fixed=fixed, asked=units_of(history))
    history.add(answer)
    truth = counted + written
    added, each = _sample(kind), _sample(kind)["counts"][tokenizer]
    for number in range(max(1, round(truth / 4 / each))):
        history.add({"role": "user", "content": [result_block(f"c{number}", added["text"])]})
        truth += each + 4

    assert abs(tokens_now(history, measured, fixed=fixed) - truth) <= 0.05 * truth


@table("kind", _KINDS)
def test_a_text_on_its_own_is_estimated_to_a_third(kind: str):
    sample = _sample(kind)
    for counted in sample["counts"]:
        assert text_units(sample["text"]) / 4 == pytest.approx(counted, rel=0.33)


@table("format", ["png", "jpeg", "gif", "webp"])
@table("size", [(750, 100), (64, 48), (1_200, 900)])
def test_a_picture_takes_room_by_its_size(format: str, size: tuple[int, int]):
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, format)
    data = base64.b64encode(file.getvalue()).decode()
    assert picture_size(data) == size
    source = {"type": "base64", "media_type": f"image/{format}", "data": data}
    assert weigh_block({"type": "image", "source": source}) == round(size[0] * size[1] / 750 * 4)


def test_a_picture_that_cannot_be_read_counts_as_a_large_one():
    for source in ({"type": "base64", "data": "AAAA"}, {"type": "url", "url": "https://e.org/a.png"}, None):
        assert weigh_block({"type": "image", "source": source}) == 6_400


@given(st.text(max_size=6_000))
def test_every_text_has_a_weight(text: str):
    assert text_units(text) >= 0
    assert weigh({"role": "user", "content": text}) >= 16


@given(st.text(max_size=200))
def test_no_head_of_a_picture_is_trouble(data: str):
    picture_size(data)
