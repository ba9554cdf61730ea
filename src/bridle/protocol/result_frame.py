"""The last line of a turn."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.types.ids import new_uuid
from bridle.types.turn import Outcome
from bridle.types.usage import ModelSpend, Usage

Frame = dict[str, Any]


def turn_frame(outcome: Outcome, *, session_id: str) -> Frame:
    """What a turn came to."""
    frame: Frame = {
        "type": "result",
        "subtype": outcome.subtype,
        "is_error": outcome.is_error,
        "duration_ms": outcome.duration_ms,
        "duration_api_ms": outcome.duration_api_ms,
        "num_turns": outcome.num_turns,
        "stop_reason": outcome.stop_reason,
        "session_id": session_id,
        "total_cost_usd": outcome.total_cost_usd,
        "usage": _usage(outcome.usage),
        "modelUsage": model_usages(outcome.spend),
        "permission_denials": [msgspec.to_builtins(denial) for denial in outcome.denials],
        "terminal_reason": outcome.reason,
        "fast_mode_state": "off",
        "uuid": new_uuid(),
    }
    if outcome.reason == "command":
        del frame["terminal_reason"]
    if outcome.subtype == "success":
        frame["result"] = outcome.text
        frame["api_error_status"] = outcome.api_error_status
    else:
        frame["errors"] = list(outcome.errors)
    optional: dict[str, Any] = {
        "ttft_ms": outcome.ttft_ms,
        "origin": outcome.origin,
        "user_message_uuid": outcome.prompt_uuid,
        "user_message_uuids": list(outcome.prompt_uuids) or None,
        "deferred_tool_use": outcome.deferred,
    }
    frame.update({key: value for key, value in optional.items() if value is not None})
    if outcome.structured_output is not UNSET:
        frame["structured_output"] = outcome.structured_output
    return frame


def _usage(usage: Usage) -> Frame:
    """The usage of a turn with the keys that services send for one answer."""
    counted = usage.to_api()
    return {
        **counted,
        "server_tool_use": {**counted["server_tool_use"], "web_fetch_requests": 0},
        "output_tokens_details": {"thinking_tokens": usage.thinking},
        "inference_geo": "",
        "iterations": [],
        "speed": "fast" if usage.fast else "standard",
        "fallback_credit": None,
    }


def start_failure(session_id: str, message: str) -> Frame:
    """The result of a run that could not begin."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": Usage().to_api(),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [message],
        "uuid": new_uuid(),
    }


def model_usage(spend: ModelSpend) -> Frame:
    """What one model has cost, in the words of the result."""
    usage = spend.usage
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write_5m + usage.cache_write_1h,
        "webSearchRequests": usage.web_searches,
        "costUSD": spend.usd,
        "contextWindow": spend.context_window,
        "maxOutputTokens": spend.max_output,
        "thinkingTokens": usage.thinking,
        "cacheCreationEphemeral5mInputTokens": usage.cache_write_5m,
        "cacheCreationEphemeral1hInputTokens": usage.cache_write_1h,
    }


def model_usages(spend: Mapping[str, ModelSpend]) -> Frame:
    """What each model has cost, and what is known of its name."""
    return {model: {**model_usage(each), **_named(model)} for model, each in spend.items()}


def usage_since(now: Mapping[str, ModelSpend], before: Mapping[str, ModelSpend]) -> Frame:
    """What each model has cost since an earlier moment; those that were not asked are left out."""
    more = {model: each.less(before.get(model, ModelSpend())) for model, each in now.items()}
    return model_usages({model: each for model, each in more.items() if each.usage != Usage()})


def _named(model: str) -> Frame:
    vendor, slash, _ = model.rpartition("/")
    provider = vendor if slash and vendor != "anthropic" else "firstParty"
    plain = re.sub(r"(?:-\d{8})?(?:\[1m\])?$", "", model)
    return {"canonicalModel": plain, "provider": provider, "costBasis": "list"}
