from typing import Any

import pytest

from bridle.context.conversation_text import clipped, retell
from bridle.context.tokens import weigh
from bridle.types.block import SentMessage, result_block, text_block, text_of

_TASK: SentMessage = {"role": "user", "content": "mend the roof"}
_PICTURE: Any = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def _round(number: int, result: Any = "fine", **fields: Any) -> list[SentMessage]:
    call: Any = {
        "type": "tool_use",
        "id": f"t{number}",
        "name": "Bash",
        "input": {"command": f"run {number}"},
    }
    thought: Any = {"type": "thinking", "thinking": "secret", "signature": "s"}
    words: Any = {"type": "text", "text": f"Step {number}."}
    return [
        {"role": "assistant", "content": [thought, words, call]},
        {"role": "user", "content": [result_block(f"t{number}", result, **fields)]},
    ]


def _texts(messages: list[SentMessage]) -> list[str]:
    return [text_of(message["content"]) for message in messages]


def test_calls_and_results_become_text_and_thoughts_are_left_out():
    told = retell([_TASK, *_round(1), *_round(2, "broken", is_error=True)], units=100_000)
    assert [message["role"] for message in told] == ["user", "assistant", "user", "assistant", "user"]
    assert _texts(told) == [
        "mend the roof",
        'Step 1.[call t1 of Bash] {"command":"run 1"}',
        "[result t1 of Bash]\nfine\n[end of t1]",
        'Step 2.[call t2 of Bash] {"command":"run 2"}',
        "[result t2 of Bash, failed]\nbroken\n[end of t2]",
    ]


def test_pictures_of_a_result_stay():
    told = retell([_TASK, *_round(1, [{"type": "text", "text": "a roof"}, _PICTURE])], units=100_000)
    content = told[-1]["content"]
    assert not isinstance(content, str)
    assert [block["type"] for block in content] == ["text", "image"]


@pytest.mark.parametrize("units", [2_000, 4_000, 9_000])
def test_what_does_not_fit_loses_whole_rounds_from_the_front_and_keeps_the_task(units: int):
    rounds = [message for number in range(40) for message in _round(number, "x" * 600)]
    told = retell([_TASK, *rounds], units=units)
    texts = _texts(told)
    assert texts[0].startswith("mend the roof") and "omitted" in texts[0]
    assert "[result t39 of Bash]" in texts[-1] and "[result t0 of Bash]" not in "".join(texts)
    for number in range(40):
        called, answered = f"[call t{number} of" in "".join(texts), f"[result t{number} of" in "".join(texts)
        assert called == answered
    assert sum(map(weigh, told)) <= units


def test_one_long_result_does_not_push_out_the_rest():
    told = retell([_TASK, *_round(1), *_round(2, "y" * 1_000_000)], units=20_000)
    assert "[result t1 of Bash]" in "".join(_texts(told))
    assert sum(map(weigh, told)) <= 20_000


def test_a_prompt_that_is_too_long_by_itself_is_clipped():
    told = retell([{"role": "user", "content": "mend the roof " + "z" * 1_000_000}], units=20_000)
    assert len(told) == 1 and _texts(told)[0].startswith("mend the roof")
    assert sum(map(weigh, told)) <= 20_000


def test_a_text_is_clipped_in_its_middle():
    assert clipped("short", 10) == "short"
    assert clipped("a" * 50 + "b" * 50, 20) == "a" * 10 + "\n[… 80 characters omitted …]\n" + "b" * 10


def test_a_reference_to_a_tool_is_no_picture():
    """No service takes one outside of a result."""
    reference: Any = {"type": "tool_reference", "tool_name": "Late"}
    found: Any = {"type": "tool_use", "id": "c1", "name": "ToolSearch", "input": {"query": "select:Late"}}
    result: Any = {"type": "tool_result", "tool_use_id": "c1", "content": [text_block("# Late"), reference]}
    told = retell(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [found]},
            {"role": "user", "content": [result]},
        ],
        units=100_000,
    )
    assert "# Late" in str(told) and "tool_reference" not in str(told)
