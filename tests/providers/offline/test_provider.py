import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.offline import OfflineProvider
from bridle.types.block import SentMessage, result_block, text_of
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    FallbackStarted,
    LimitReported,
    ModelEvent,
    Noted,
    PieceArrived,
    Repaired,
    Restarted,
    Started,
    TextArrived,
    Waiting,
)
from tests.providers.offline.desk import collect, request_for, sent


async def test_an_answer_streams_as_a_valid_sequence_of_events():
    events = await collect(request_for(History.of(user("list the python files"))))

    kinds = [type(event) for event in events if not isinstance(event, TextArrived)]
    assert kinds == [
        Started, BlockOpened, BlockClosed, BlockOpened, PieceArrived, BlockClosed, Noted, Completed
    ]  # fmt: skip
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message["stop_reason"] == "tool_use"
    assert [event.block for event in events if isinstance(event, BlockClosed)] == last.message["content"]
    assert [event.index for event in events if isinstance(event, BlockOpened)] == [0, 1]


async def test_the_wire_events_alone_rebuild_the_message():
    events = await collect(request_for(History.of(user("list the python files"))))

    wire = [json.loads(each) for each in wires(events)]
    last = events[-1]
    assert isinstance(last, Completed)
    assert rebuilt(wire) == last.message
    assert [event["type"] for event in wire[-2:]] == ["message_delta", "message_stop"]


async def test_text_arrives_word_by_word():
    events = await collect(request_for(History.of(user("what are you?"))))

    words = [event.text for event in events if isinstance(event, TextArrived)]
    last = events[-1]
    assert isinstance(last, Completed)
    assert "".join(words) == text_of(last.message["content"])
    assert max(len(word.split()) for word in words) == 1


async def test_the_same_conversation_gives_the_same_bytes_from_any_provider():
    first = await collect(request_for(one_round()))
    second = await collect(request_for(one_round()))

    assert first == second


async def test_ids_differ_from_step_to_step():
    history = History.of(user("list the python files"))
    ids: list[str] = []
    for _ in range(2):
        last = (await collect(request_for(history)))[-1]
        assert isinstance(last, Completed)
        ids += [
            last.message["id"],
            *(block["id"] for block in last.message["content"] if block["type"] == "tool_use"),
        ]
        history.add(sent(last.message))
        history.add({"role": "user", "content": [result_block(ids[1], "a.py")]})

    assert len(set(ids)) == len(ids) == 3


async def test_usage_is_estimated_from_the_length_of_the_texts():
    short = await completed(History.of(user("hello")))
    long = await completed(History.of(user("hello " + "x" * 4_000)))

    assert 900 <= long["usage"]["input_tokens"] - short["usage"]["input_tokens"] <= 1_100
    assert short["usage"]["output_tokens"] > 0


async def test_reminders_around_the_prompt_are_not_taken_for_it():
    message: SentMessage = {
        "role": "user",
        "content": [
            {"type": "text", "text": "<system-reminder>fix the failing tests</system-reminder>"},
            {"type": "text", "text": "which tools do you have?"},
        ],
    }

    answer = await completed(History.of(message))

    assert "This session has 5 tools" in text_of(answer["content"])


async def test_calls_that_the_planner_did_not_make_end_the_turn_plainly():
    history = History.of(
        user("list the python files"),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
        },
        {"role": "user", "content": [result_block("t1", "a.py")]},
    )

    answer = await completed(history)

    assert answer["stop_reason"] == "end_turn"
    assert "Ask again to start over" in text_of(answer["content"])


async def test_the_label_is_given_once_in_a_conversation():
    history = History.of(user("list the python files"))
    first = await completed(history)
    history.add(sent(first))
    history.add({"role": "user", "content": [result_block(first["content"][-1]["id"], "a.py")]})
    second = await completed(history)

    assert text_of(first["content"]).count("not a language model") == 1
    assert "not a language model" not in text_of(second["content"])


@given(st.text(max_size=200))
async def test_any_prompt_gets_an_answer(prompt: str):
    answer = await completed(History.of(user(prompt)))

    assert answer["content"]
    assert len(text_of(answer["content"])) < 7_000


def test_a_first_answer_needs_no_network_and_none_of_the_repair_code(tmp_path: Path):
    script = """
import asyncio, sys

def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "subprocess.Popen"):
        raise SystemExit(f"not allowed: {event}")

sys.addaudithook(audit)
from bridle.providers.offline import OfflineProvider
from bridle.types.history import History
from bridle.types.model import ModelRequest

async def main():
    history = History.of({"role": "user", "content": "hello"})
    request = ModelRequest(model="offline", history=history, max_tokens=100)
    async for event in OfflineProvider().stream(request):
        last = event
    print(last.message["stop_reason"])

asyncio.run(main())
print([name for name in ("difflib", "bridle.providers.offline.repair", "http.client") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )

    assert done.stdout.split("\n")[:2] == ["end_turn", "[]"], done.stderr


async def test_closing_is_harmless():
    await OfflineProvider().close()


def user(text: str) -> SentMessage:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def one_round() -> History:
    return History.of(
        user("list the python files"),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "**/*.py"}}],
        },
        {"role": "user", "content": [result_block("t1", "a.py\nb.py")]},
    )


async def completed(history: History) -> Any:
    last = (await collect(request_for(history)))[-1]
    assert isinstance(last, Completed)
    return last.message


def wires(events: list[ModelEvent]) -> list[bytes]:
    return [
        event.wire
        for event in events
        if not isinstance(event, Waiting | Restarted | FallbackStarted | LimitReported | Repaired)
    ]


def rebuilt(events: list[Any]) -> Any:
    """A message put together from stream events, as any reader of the wire would."""
    message: Any = None
    for event in events:
        match event:
            case {"type": "message_start"}:
                message = event["message"]
            case {"type": "content_block_start", "content_block": block}:
                message["content"].append(block)
            case {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "text_delta", "text": text},
            }:
                message["content"][index]["text"] += text
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": written}}:
                message["content"][index]["input"] = json.loads(written)
            case {"type": "message_delta"}:
                message |= event["delta"]
                message["usage"] |= event["usage"]
            case _:
                pass
    return message
