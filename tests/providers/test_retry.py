from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.catalog import find
from bridle.providers.retry import Retrying, chance
from bridle.providers.scripted import Line, ScriptedProvider, calls, says
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    Completed,
    FallbackStarted,
    ModelEvent,
    ModelRequest,
    Restarted,
    Started,
    Thinking,
    Waiting,
)

BROKEN = StreamBroken("cut", retryable=True)


class Clock:
    """Remembers waits instead of waiting."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def failed(status: int, *, retryable: bool = True, **fields: Any) -> ProviderError:
    return ProviderError("it failed", status=status, retryable=retryable, kind="server_error", **fields)


def overloaded(*, mid_stream: bool = False) -> ProviderError:
    if mid_stream:
        return StreamBroken("busy", kind="overloaded", error_type="overloaded_error", retryable=True)
    return failed(529, error_type="overloaded_error")


def request(**fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "primary", "max_tokens": 100, **fields}
    return ModelRequest(history=History.of({"role": "user", "content": "x"}), **given)


class Run:
    """One call through `Retrying`, with everything that came out of it."""

    def __init__(self, *lines: Line, **options: Any) -> None:
        self.script = ScriptedProvider(lines)
        self.clock = Clock()
        self.provider = Retrying(self.script, rng=lambda: 0.0, sleep=self.clock.sleep, **options)
        self.events: list[ModelEvent] = []

    async def ask(self, asked: ModelRequest | None = None) -> "Run":
        async for event in self.provider.stream(asked or request()):
            self.events += [event]
        return self

    async def fail(self) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.ask()
        return caught.value

    @property
    def kinds(self) -> list[str]:
        shown = (Started, Waiting, Restarted, FallbackStarted, Completed)
        return [type(event).__name__ for event in self.events if isinstance(event, shown)]

    @property
    def models(self) -> list[str]:
        return [asked.model for asked in self.script.requests]


async def test_a_good_answer_passes_untouched():
    run = await Run(says("Hi")).ask()
    assert run.kinds == ["Started", "Completed"]
    assert run.clock.waits == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_passing_faults_are_announced_waited_for_and_tried_again(status: int):
    run = await Run(failed(status), says("Hi")).ask()
    cause = f"{'overloaded' if status in (503, 529) else 'server error'} ({status})"
    assert run.kinds == ["Waiting", "Started", "Completed"]
    assert run.events[0] == Waiting(1, 10, 0.5, "server_error", status, cause)
    assert run.clock.waits == [0.5]
    assert run.script.requests[0].messages == run.script.requests[1].messages


async def test_connection_faults_are_tried_again():
    run = await Run(ProviderError("refused", retryable=True), says("Hi")).ask()
    assert run.events[0] == Waiting(1, 10, 0.5, "unknown", None, "request failed")


@pytest.mark.parametrize("status", [400, 403, 404, 413])
async def test_lasting_faults_are_raised_at_once(status: int):
    run = Run(failed(status, retryable=False))
    assert (await run.fail()).status == status
    assert run.clock.waits == []


async def test_a_refused_credential_is_tried_once_more():
    run = Run(failed(401), failed(401), says("never"))
    assert (await run.fail()).status == 401
    assert len(run.clock.waits) == 1


async def test_waits_double_up_to_a_limit():
    run = await Run(*[failed(500)] * 9, says("Hi")).ask()
    assert run.clock.waits == [0.5, 1, 2, 4, 8, 16, 32, 32, 32]


async def test_waits_are_spread_by_chance():
    run = Run(failed(500), says("Hi"))
    run.provider = Retrying(run.script, rng=lambda: 1.0, sleep=run.clock.sleep)
    await run.ask()
    assert run.clock.waits == [0.625]


@given(st.integers(1, 100))
def test_chance_stays_below_one(_: int):
    assert 0 <= chance() < 1


async def test_what_the_service_asks_for_is_the_least_to_wait():
    run = await Run(failed(429, retry_after=7.0), failed(429, retry_after=0.1), says("Hi")).ask()
    assert run.clock.waits == [7.0, 1.0]


async def test_a_service_that_asks_for_hours_is_not_waited_for():
    run = Run(failed(429, retry_after=7200.0), says("never"))
    assert (await run.fail()).retry_after == 7200.0
    assert run.clock.waits == []


async def test_the_last_fault_is_raised_when_the_retries_are_used_up():
    run = Run(*[failed(500)] * 4, max_retries=3)
    assert (await run.fail()).status == 500
    assert run.kinds == ["Waiting"] * 3
    assert [event.attempt for event in run.events if isinstance(event, Waiting)] == [1, 2, 3]


async def test_no_retries_means_one_try():
    run = Run(failed(500), says("never"), max_retries=0)
    await run.fail()
    assert len(run.script.requests) == 1


async def test_a_stream_that_breaks_before_a_whole_block_starts_anew():
    run = await Run(says("Half", closed=False, then=BROKEN), says("Whole")).ask()
    assert run.kinds == ["Started", "Restarted", "Waiting", "Started", "Completed"]


async def test_whole_thoughts_alone_are_worth_nothing_and_the_stream_starts_anew():
    run = await Run(says(thinking="Hm.", then=BROKEN), says("Whole")).ask()
    assert run.kinds == ["Started", "Restarted", "Waiting", "Started", "Completed"]


@pytest.mark.parametrize(
    "line",
    [
        says("Said.", then=BROKEN),
        says("Said.", calls("Read"), closed=False, then=BROKEN),
        says(calls("Read"), then=BROKEN),
        says("Said.", thinking="Hm.", then=overloaded(mid_stream=True)),
        says("Said.", then=failed(400, retryable=False)),
    ],
)
async def test_a_stream_that_breaks_after_whole_text_or_calls_is_left_to_the_caller(line: Line):
    run = Run(line, says("never"))
    error = await run.fail()
    assert isinstance(error, StreamBroken)
    assert run.kinds == ["Started"]
    assert run.clock.waits == []


async def test_an_unfinished_call_is_never_reported_as_whole():
    run = await Run(says(calls("Bash", command="rm"), closed=False, then=BROKEN), says("Ok")).ask()
    closed = [event.block["type"] for event in run.events if isinstance(event, BlockClosed)]
    assert closed == ["text"]


async def test_after_two_broken_streams_the_answer_is_asked_for_whole():
    half = says("Half", closed=False, then=BROKEN)
    run = await Run(half, half, half, says("Whole")).ask()
    assert [asked.request.stream for asked in run.script.requests] == [True, True, False, False]


async def test_whole_answers_can_be_ruled_out():
    half = says("Half", closed=False, then=BROKEN)
    run = await Run(half, half, says("Whole"), whole_answers=False).ask()
    assert [asked.request.stream for asked in run.script.requests] == [True, True, True]


async def test_three_overloads_in_a_row_bring_the_fallback():
    run = await Run(*[overloaded()] * 3, says("Hi"), fallbacks=("second", "third")).ask()
    assert run.kinds == ["Waiting", "Waiting", "FallbackStarted", "Started", "Completed"]
    assert run.models == ["primary", "primary", "primary", "second"]
    assert run.events[2] == FallbackStarted("primary", "second", "it failed")


async def test_other_faults_between_overloads_start_the_count_anew():
    run = await Run(
        overloaded(), overloaded(), failed(500), overloaded(), says("Hi"), fallbacks=("second",)
    ).ask()
    assert "FallbackStarted" not in run.kinds


async def test_the_chain_of_fallbacks_is_used_to_its_end():
    run = Run(*[overloaded()] * 20, fallbacks=("second", "third"), max_retries=2)
    await run.fail()
    assert run.models == ["primary"] * 3 + ["second"] * 3 + ["third"] * 3
    assert run.kinds.count("FallbackStarted") == 2


async def test_an_overload_after_whole_text_goes_to_the_fallback_at_once():
    run = await Run(says("Said.", then=overloaded(mid_stream=True)), says("Hi"), fallbacks=("second",)).ask()
    assert run.kinds == ["Started", "FallbackStarted", "Started", "Completed"]


async def test_a_call_that_may_be_running_is_never_voided_by_a_fallback():
    run = Run(says(calls("Bash"), then=overloaded(mid_stream=True)), says("never"), fallbacks=("second",))
    assert isinstance(await run.fail(), StreamBroken)
    assert run.kinds == ["Started"]


async def test_the_next_call_tries_the_first_model_again():
    run = Run(*[overloaded()] * 3, says("Hi"), says("Again"), fallbacks=("second",))
    await run.ask()
    await run.ask()
    assert run.models[-1] == "primary"


async def test_a_call_that_begins_with_a_fallback_goes_on_from_there():
    run = Run(*[overloaded()] * 3, says("Hi"), fallbacks=("second", "third"))
    await run.ask(request(model="second"))
    assert run.models == ["second"] * 3 + ["third"]


async def test_a_fallback_is_asked_for_no_more_than_it_can_do():
    run = Run(*[overloaded()] * 3, says("Hi"), fallbacks=("claude-opus-4-1",))
    await run.ask(
        request(model="claude-opus-5", max_tokens=128_000, thinking=Thinking("adaptive"), effort="xhigh")
    )
    asked = run.script.requests[-1].request
    assert (asked.max_tokens, asked.thinking, asked.effort) == (32_000, Thinking("enabled"), None)


async def test_closing_closes_the_provider_within():
    run = Run()
    await run.provider.close()
    assert run.script.closed


async def test_faults_that_are_not_of_the_service_are_not_retried():
    run = Run(ZeroDivisionError(), says("never"))
    with pytest.raises(ZeroDivisionError):
        await run.ask()


def out_of_reach() -> ProviderError:
    return ProviderError("nobody there", retryable=True)


def limited(**fields: Any) -> ProviderError:
    return ProviderError("slow down", kind="rate_limit", status=429, retryable=True, **fields)


@pytest.mark.parametrize("trouble", [out_of_reach(), failed(503), limited()])
async def test_a_service_that_stays_out_of_reach_or_limited_brings_the_fallback(trouble: ProviderError):
    run = await Run(*[trouble] * 3, says("Hi"), fallbacks=("second",)).ask()
    assert run.kinds == ["Waiting", "Waiting", "FallbackStarted", "Started", "Completed"]


@pytest.mark.parametrize(
    "trouble",
    [limited(retry_after=90.0), ProviderError("no credit", kind="billing_error", status=402)],
)
async def test_a_limit_that_lasts_and_a_quota_that_is_gone_bring_the_fallback_at_once(trouble: ProviderError):
    run = await Run(trouble, says("Hi"), fallbacks=("second",)).ask()
    assert run.kinds == ["FallbackStarted", "Started", "Completed"] and run.clock.waits == []


async def test_a_request_that_is_declined_without_a_word_goes_to_the_next_model():
    declined = says("", stop_reason="refusal")
    run = await Run(declined, says("Hi"), fallbacks=("second",)).ask()
    assert run.kinds[-3:] == ["FallbackStarted", "Started", "Completed"] and run.models == [
        "primary",
        "second",
    ]
    assert "Completed" not in run.kinds[:-1]
    alone = await Run(declined).ask()
    assert alone.kinds[-1] == "Completed"
    worded = await Run(says("No.", stop_reason="refusal"), fallbacks=("second",)).ask()
    assert worded.models == ["primary"]


async def test_a_fallback_that_cannot_be_asked_leaves_the_next():
    lines = [*[overloaded()] * 3, ProviderError("no key", kind="authentication_failed"), says("Hi")]
    run = await Run(*lines, fallbacks=("second", "third")).ask()
    assert run.models == ["primary"] * 3 + ["second", "third"]


async def test_a_refused_key_of_the_first_model_is_told_and_not_passed_over():
    run = Run(ProviderError("no key", kind="authentication_failed"), says("never"), fallbacks=("second",))
    assert (await run.fail()).kind == "authentication_failed"


async def test_the_notice_of_a_fallback_says_why_and_what_it_costs():
    run = await Run(*[overloaded()] * 3, says("Hi"), fallbacks=("openai/gpt-5",)).ask(
        request(model="claude-sonnet-4-5")
    )
    (fallen,) = [event for event in run.events if isinstance(event, FallbackStarted)]
    assert fallen.reason == (
        "it failed openai/gpt-5 costs $1.25 instead of $3 per million input tokens, $10 instead of $15 "
        "per million output tokens."
    )


def picture() -> Any:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


@pytest.mark.parametrize(
    ("fallback", "messages", "lack"),
    [
        ("small", [{"role": "user", "content": "x" * 80_000}], "window"),
        ("toolless", [{"role": "user", "content": "x"}], "tools"),
        ("blind", [{"role": "user", "content": [picture()]}], "image"),
    ],
)
async def test_a_model_that_cannot_take_the_request_is_passed_over(
    fallback: str, messages: list[Any], lack: str
):
    own: dict[str, Any] = {
        "small": {"contextWindow": 16_000},
        "toolless": {"capabilities": ["images"]},
        "blind": {"capabilities": ["tools"]},
    }
    run = Run(
        *[overloaded()] * 3,
        says("Hi"),
        fallbacks=(fallback, "third"),
        find=partial(find, own=own),
    )
    tool: Any = {"name": "T", "input_schema": {"type": "object"}}
    asked = ModelRequest(model="primary", history=History.of(*messages), max_tokens=100, tools=(tool,))
    await run.ask(asked)
    (fallen,) = [event for event in run.events if isinstance(event, FallbackStarted)]
    assert fallen.fallback == "third" and "Skipped" in fallen.reason and lack in fallen.reason


async def test_an_image_of_an_earlier_turn_is_no_reason_to_pass_over():
    own: dict[str, Any] = {"blind": {"capabilities": ["tools"]}}
    history = History.of(
        {"role": "user", "content": [picture()]},
        {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
        {"role": "user", "content": "And now?"},
    )
    run = Run(*[overloaded()] * 3, says("Hi"), fallbacks=("blind",), find=partial(find, own=own))
    await run.ask(ModelRequest(model="primary", history=history, max_tokens=100))
    assert run.models[-1] == "blind"


async def test_when_no_fallback_fits_the_fault_is_told_as_without():
    own: dict[str, Any] = {"small": {"contextWindow": 100}}
    run = Run(*[overloaded()] * 4, fallbacks=("small",), max_retries=3, find=partial(find, own=own))
    await run.fail()
    assert run.models == ["primary"] * 4


async def test_a_fallback_gets_no_more_than_its_window():
    own: dict[str, Any] = {"narrow": {"contextWindow": 4_000, "maxOutput": 4_000}}
    run = Run(*[overloaded()] * 3, says("Hi"), fallbacks=("narrow",), find=partial(find, own=own))
    await run.ask(ModelRequest(model="primary", history=History.of({"role": "user", "content": "x" * 8_000}),
                               max_tokens=64_000))  # fmt: skip
    assert run.script.requests[-1].request.max_tokens <= 2_100


async def test_only_an_overloaded_service_is_left_alone_for_as_long_as_the_user_allows():
    busy = await Run(*[overloaded()] * 9, says("Hi."), longest_overload_delay=90.0).ask()
    assert busy.clock.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 90.0]
    broken = await Run(*[failed(500)] * 8, says("Hi."), longest_overload_delay=90.0).ask()
    assert broken.clock.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0]
