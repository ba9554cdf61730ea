"""What a failed exchange with the Messages API means, in a sentence that says what to do."""

import re
import time
from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode as from_json

from bridle.host.http.client import HttpFault
from bridle.host.secrets import SECRETS
from bridle.types.errors import ApiErrorKind, ProviderError, StreamBroken

NO_CREDENTIAL = (
    "No credential for the model service: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, "
    "run `bridle auth login`, or try `--model offline`, which needs none."
)
_QUOTED = 400
"""Characters of a service's own words that an error repeats."""
_PASSING = frozenset({401, 408, 409, 429})
"""Statuses below 500 that are worth another try."""


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, model: str, url: str) -> ProviderError:
    """The error for a response that is not an answer."""
    kind, words = _read(body)
    retryable = status in _PASSING or status >= 500
    match headers.get("x-should-retry"):
        case "true":
            retryable = True
        case "false":
            retryable = False
        case _:
            pass
    return ProviderError(
        _sentence(status, words, model=model, url=url),
        kind=_kind(status, kind, words),
        status=status,
        retryable=retryable,
        retry_after=retry_after(headers),
        error_type=kind,
        request_id=request_id(headers),
    )


def unreachable(fault: HttpFault, *, url: str) -> ProviderError:
    """The error for a service that gave no response at all."""
    match fault.reason:
        case "connect":
            text = f"{fault} Check ANTHROPIC_BASE_URL (now {url}) and your network."
        case "tls" | "proxy" | "size":
            return ProviderError(str(fault))
        case "idle" | "broken":
            text = f"{url} did not answer: {fault} Try again, or check ANTHROPIC_BASE_URL."
    return ProviderError(text, retryable=True)


def broken(fault: HttpFault, *, request_id: str | None) -> StreamBroken:
    """The error for an answer that stopped before its end."""
    hint = " Raise CLAUDE_STREAM_IDLE_TIMEOUT_MS if it is only slow." if fault.reason == "idle" else ""
    text = f"The answer stopped in the middle: {fault}{hint}"
    return StreamBroken(text, retryable=True, request_id=request_id)


def request_id(headers: Mapping[str, str]) -> str | None:
    return headers.get("request-id") or headers.get("x-request-id")


def _read(body: bytes) -> tuple[str | None, str]:
    """The error's type and words, from whatever a service or a gateway may send; without the user's key."""
    kind, words = _words(body)
    return None if kind is None else SECRETS.hide(kind), SECRETS.hide(words)[:_QUOTED]


def _words(body: bytes) -> tuple[str | None, str]:
    try:
        value: Any = from_json(body)
    except (DecodeError, UnicodeDecodeError):
        return None, plain(body)
    error: Any = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return None, str(error)
    kind = error.get("type")
    words = error.get("message") or error.get("detail") or ""
    return kind if isinstance(kind, str) else None, str(words)


def plain(body: bytes) -> str:
    """The start of a page's title or text, tags left out."""
    text = body[:20_000].decode("utf-8", "replace")
    if "<" in text:
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title[1] if title else re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(text.split())[:_QUOTED]


def _sentence(status: int, words: str, *, model: str, url: str) -> str:
    said = f" The service said: {words}" if words else ""
    if _kind(status, None, words) == "billing_error":
        advice = "add credit there, or choose another model with --model or --fallback-model"
        return f"The quota or credit at the service is used up ({status}): {advice}.{said}"
    match status:
        case 400 if _is_too_long(words):
            advice = "compact the conversation, or choose a model with a larger window"
            return f"The prompt is too long for {model} (400): {advice}.{said}"
        case _ if status < 500 and re.search(NO_TOOLS, words.lower()):
            advice = "choose another model, or switch tool calling on in its server"
            return f"{model} cannot call tools as it is served ({status}): {advice}.{said}"
        case 401:
            advice = "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to a valid one"
            return f"The service did not accept the credential (401): {advice}.{said}"
        case 403:
            return f"The service does not allow this (403): check what your key may use.{said}"
        case 404:
            advice = f"choose another with --model, or check ANTHROPIC_BASE_URL (now {url})"
            from bridle.providers.nearest import alike

            return f"The service has no model {model!r} (404): {alike(model)}{advice}.{said}"
        case 413:
            return f"The request is too large (413): compact the conversation or attach less.{said}"
        case 429:
            return f"The service limits the rate of requests (429): wait a while, then try again.{said}"
        case 529:
            return f"The service is overloaded (529): try again later, or use another model.{said}"
        case _ if status >= 500:
            return f"The service failed ({status}): try again later.{said}"
        case _ if 300 <= status < 400:
            return f"The service moved ({status}): set ANTHROPIC_BASE_URL to its new address.{said}"
        case _:
            return f"The service refused the request ({status}).{said}"


def _kind(status: int, error_type: str | None, words: str) -> ApiErrorKind:
    lowered = words.lower()
    if status == 402 or error_type == "billing_error" or "credit balance" in lowered:
        return "billing_error"
    match status:
        case 401 | 403:
            return "authentication_failed"
        case 404:
            return "model_not_found"
        case 413:
            return "invalid_request"
        case 429:
            return "rate_limit"
        case 400 if _is_too_long(words):
            return "invalid_request"
        case _:
            return "server_error" if status >= 500 else "unknown"


def _is_too_long(words: str) -> bool:
    return "too long" in words.lower() or "context limit" in words.lower()


NO_TOOLS = (
    r"(does not|doesn't|not) support(ed)? (tools?|functions?)|"
    r"tool(s| use| calling| choice)?[^.]{0,40}not supported|"
    r"enable-auto-tool-choice|no endpoints found that support tool|tools param requires --jinja"
)
"""How services say that a model cannot call tools, in lower case; compiled when one has said no."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait at least, from either of the two headers and either of their forms."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    if given is None:
        return None
    if (seconds := _number(given)) is not None:
        return seconds
    from email.utils import parsedate_to_datetime  # Dates are rare here, and the module is not small.

    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None
