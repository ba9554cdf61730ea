"""What a failed exchange with any vendor means, in one sentence that says the way out."""

import os.path
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import DecodeError, Struct
from msgspec.json import decode as from_json

from bridle.host.files import read_bytes
from bridle.host.http.client import HttpFault
from bridle.host.paths import config_home
from bridle.host.secrets import SECRETS
from bridle.providers.nearest import alike
from bridle.providers.vendor import Vendor, request_id
from bridle.types.errors import ApiErrorKind, ProviderError, StreamBroken

_LARGEST = 1 << 20
_QUOTED = 400
"""Characters of a service's own words that an error repeats."""


class Words(Struct, frozen=True):
    """What a service said in whatever form it says such things."""

    text: str = ""
    codes: tuple[str, ...] = ()
    """Names of the error, in lower case."""
    status: int | None = None
    wait: float | None = None

    def mention(self, pattern: str | re.Pattern[str]) -> bool:
        return re.search(pattern, f"{' '.join(self.codes)} {self.text}".lower()) is not None


def refusal(
    status: int, headers: Mapping[str, str], body: bytes, *, model: str, vendor: Vendor, base: str
) -> ProviderError:
    """The error for a response that is not an answer."""
    words = _read(body, headers.get("x-amzn-errortype", ""))
    kind, sentence, passing = _judge(status, words, model=model, vendor=vendor, base=base)
    match headers.get("x-should-retry"):
        case "true":
            passing = kind != "billing_error"
        case "false":
            passing = False
        case _:
            pass
    return ProviderError(
        _with_words(sentence, words, vendor),
        kind=kind,
        status=_plain_status(status, sentence),
        retryable=passing,
        retry_after=_retry_after(headers) if words.wait is None else words.wait,
        error_type=words.codes[0] if words.codes else None,
        request_id=request_id(headers),
    )


def reported(error: Any, *, model: str, vendor: Vendor, begun: bool, request_id: str | None) -> ProviderError:
    """The error for a fault that a service reports in the middle of its stream."""
    words = _words(error)
    status = words.status or (429 if words.mention(_RATE) else 500)
    kind, sentence, passing = _judge(status, words, model=model, vendor=vendor, base=vendor.url)
    form = StreamBroken if begun and passing else ProviderError
    return form(
        _with_words(sentence, words, vendor),
        kind=kind,
        status=_plain_status(status, sentence) if words.status or kind == "invalid_request" else None,
        retryable=passing,
        retry_after=words.wait,
        error_type=words.codes[0] if words.codes else None,
        request_id=request_id,
    )


def _with_words(sentence: str, words: Words, vendor: Vendor) -> str:
    said = f" {vendor.label} said: {words.text}" if words.text else ""
    # Some have a label that is no name, and then begins in lower case.
    return re.sub(r"(^|\. )the service", r"\1The service", sentence + said)


def unreachable(fault: HttpFault, *, vendor: Vendor, base: str) -> ProviderError:
    """The error for a service that gave no response at all."""
    cause = fault.cause or _no_answer(fault, base)
    match fault.reason:
        case "connect" if not vendor.key_needed:
            text = f"{fault} Start {vendor.label}, or set {_variable(vendor)} to its address."
        case "connect":
            text = f"{fault} Check {_variable(vendor)} (now {base}) and your network."
        case "tls" | "proxy" | "size":
            return ProviderError(str(fault), cause=cause)
        case "idle" | "broken":
            text = f"{base} did not answer: {fault} Try again, or check {_variable(vendor)}."
    return ProviderError(text, retryable=True, cause=cause)


def _no_answer(fault: HttpFault, base: str) -> str:
    host = urlsplit(base).hostname or base
    match fault.reason:
        case "idle":
            return f"no answer from {host} (timeout)"
        case "broken":
            return f"no answer from {host} (connection closed)"
        case "size":
            return f"response from {host} too large"
        case "connect" | "tls" | "proxy":
            return f"can't reach {host} ({'TLS' if fault.reason == 'tls' else fault.reason})"


def broken(fault: HttpFault, *, request_id: str | None) -> StreamBroken:
    """The error for an answer that stopped before its end."""
    hint = " If the service is slow, raise CLAUDE_STREAM_IDLE_TIMEOUT_MS." if fault.reason == "idle" else ""
    text = f"The answer was cut off: {fault}{hint}"
    cause = "answer stopped (timeout)" if fault.reason == "idle" else "answer stopped (connection lost)"
    return StreamBroken(text, retryable=True, request_id=request_id, cause=cause)


def no_key(vendor: Vendor, env: Mapping[str, str]) -> str:
    # Editors offer a login when they read the words "Please run /login".
    text = (
        f"No key for {vendor.label}. Please run /login or `bridle auth login {vendor.name}`, "
        f"or set {' or '.join(vendor.key_env)}. The model offline needs no key."
    )
    return f"{text} {NO_SUBSCRIPTION}" if vendor.is_home and has_subscription(env) else text


NO_SUBSCRIPTION = (
    "A login with a subscription (CLAUDE_CODE_OAUTH_TOKEN, .credentials.json) is not used: "
    "Anthropic allows it only in its own programs. Use an API key."
)


def has_subscription(env: Mapping[str, str]) -> bool:
    """Whether a login of Anthropic's own program is there."""
    if env.get("CLAUDE_CODE_OAUTH_TOKEN"):
        return True
    try:
        return b'"claudeAiOauth"' in read_bytes(os.path.join(config_home(env), ".credentials.json"), _LARGEST)
    except OSError:
        return False


def no_address(vendor: Vendor) -> str:
    return f"The address of {vendor.label} is not set: set {_variable(vendor)}."


def no_service(vendor: Vendor, base: str) -> str:
    return f"{base} returned a web page and is not a model service: check {_variable(vendor)}."


def _judge(
    status: int, words: Words, *, model: str, vendor: Vendor, base: str
) -> tuple[ApiErrorKind, str, bool]:
    """What it is, what to do about it, and whether it may be gone on the next try."""
    # The key of Anthropic's service may come from the user's helper, which can have another by now.
    passing = status in (408, 409, 429) or status >= 500 or (status == 401 and vendor.is_home)
    if words.mention(_TOO_LONG) and status in (400, 413, 422, 500):
        advice = "compact the conversation, or choose a model with a larger window"
        return "invalid_request", f"The prompt is too long for {model} ({status}): {advice}.", False
    if status == 402 or words.mention(_QUOTA):
        advice = "add credit, or choose another model with --model or --fallback-model"
        return (
            "billing_error",
            f"The quota or credit at {vendor.label} is used up ({status}): {advice}.",
            False,
        )
    if status in (401, 403) or words.mention(_BAD_KEY):
        return "authentication_failed", _credential(status, vendor), passing and status == 401
    if words.mention(_NO_TOOLS) and status < 500:
        advice = "choose another model, or enable tool calling on its server"
        return (
            "invalid_request",
            f"{model} does not support tools here ({status}): {advice}.",
            False,
        )
    if words.mention(_NO_MODEL) and status in (400, 404, 422):
        return "model_not_found", _unknown_model(status, model, vendor, base), False
    return _by_status(status, model=model, vendor=vendor, base=base, passing=passing)


def _plain_status(status: int, sentence: str) -> int:
    """The usual status of a prompt beyond the window, whatever this vendor gives it."""
    return 400 if "too long" in sentence and status != 413 else status


def _by_status(
    status: int, *, model: str, vendor: Vendor, base: str, passing: bool
) -> tuple[ApiErrorKind, str, bool]:
    name = vendor.label
    match status:
        case 404 | 405:
            return "model_not_found", _unknown_model(status, model, vendor, base), False
        case 413:
            advice = "compact the conversation or attach less"
            return "invalid_request", f"The request is too long for {name} (413): {advice}.", False
        case 429:
            return "rate_limit", f"{name} limits the rate of requests (429): wait, then try again.", True
        case 503 | 529:
            advice = "try again later, or use another model"
            kind = "server_error" if vendor.is_home else "overloaded"
            return kind, f"{name} is overloaded ({status}): {advice}.", True
        case _ if status >= 500:
            return "server_error", f"{name} failed ({status}): try again later.", True
        case _ if 300 <= status < 400:
            advice = f"set {_variable(vendor)} to its new address"
            return "unknown", f"{name} moved ({status}): {advice}.", False
        case _:
            kind = "unknown" if vendor.is_home else "invalid_request"
            return kind, f"{name} refused the request ({status}).", passing


def _credential(status: int, vendor: Vendor) -> str:
    names = " or ".join(vendor.key_env) or "its credentials"
    if status == 403:
        return f"{vendor.label} does not allow this (403): check the permissions of your key, or set {names}."
    return f"{vendor.label} did not accept the key ({status}): set {names} to a valid one."


def _unknown_model(status: int, model: str, vendor: Vendor, base: str) -> str:
    if vendor.name == "ollama":
        return (
            f"Ollama does not have the model {model!r} ({status}): run `ollama pull "
            f"{model.partition('/')[2]}`."
        )
    advice = f"choose another with --model, or check {_variable(vendor)} (now {base})"
    return f"{vendor.label} does not have the model {model!r} ({status}): {alike(model)}{advice}."


def _variable(vendor: Vendor) -> str:
    return vendor.url_env[0] if vendor.url_env else "baseUrl in bridleModels"


_TOO_LONG = re.compile(
    r"context.?length|context.?window|context size|context limit|"
    r"(prompt|input|request|messages?|conversation)[^.]{0,40} too long|"
    r"too many (input )?tokens|maximum (context|prompt|number of tokens)|"
    r"exceeds? the (maximum|model|limit|available|context)[^.]*token|"
    r"token count[^.]*exceeds|exceed_context_size|reduce the length|string_above_max_length"
)
_QUOTA = re.compile(
    r"insufficient_quota|insufficient[ _]balance|insufficient[ _]credit|credit balance|billing_error|"
    r"payment[ _]required|credits? (have )?(run out|exhausted)"
)
_BAD_KEY = re.compile(
    r"invalid_api_key|api key not valid|api_key_invalid|incorrect api key|invalid authentication|"
    r"authentication_error|unrecognizedclient|invalidsignature|expiredtoken|accessdenied|unauthenticated"
)
_NO_MODEL = re.compile(
    r"model_not_found|model[^.]{0,80}(does not exist|not found|is not available|not supported|is invalid)|"
    r"(invalid|unknown|no such) model|not a valid model|model identifier is invalid|on-demand throughput"
)
_NO_TOOLS = re.compile(
    r"(does not|doesn't|not) support(ed)? (tools?|functions?)|"
    r"tool(s| use| calling| choice)?[^.]{0,40}not supported|"
    r"enable-auto-tool-choice|no endpoints found that support tool|tools param requires --jinja"
)
_RATE = re.compile(r"rate.?limit|throttl|too many requests|resource_exhausted|too_many_requests")


def _read(body: bytes, amazon: str) -> Words:
    try:
        value: Any = from_json(body)
    except (DecodeError, UnicodeDecodeError):
        return Words(_page_words(body), (amazon.partition(":")[0].lower(),) if amazon else ())
    words = _words(value)
    if amazon:
        words = Words(words.text, (amazon.partition(":")[0].lower(), *words.codes), words.status, words.wait)
    return words


def _words(value: Any) -> Words:
    """From `{error: {message, type, code}}`, `{message}`, `{error: text}`, `{detail}` and lists of these."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    error: Any = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return Words(_one_line(error))
    text = error.get("message") or error.get("Message") or error.get("detail") or error.get("code") or ""
    codes = tuple(
        SECRETS.hide(code.rpartition("#")[2]).lower()
        for key in ("type", "code", "status", "__type")
        if isinstance(code := error.get(key), str) and code
    )
    status = error.get("code")
    known = status if isinstance(status, int) and 400 <= status < 600 else None
    return Words(_one_line(text), codes, known, _wait(error.get("details")))


def _page_words(body: bytes) -> str:
    """The start of a page's title or text, tags left out."""
    text = body[:20_000].decode("utf-8", "replace")
    if "<" in text:
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title[1] if title else re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return _one_line(text)


def _one_line(text: Any) -> str:
    return SECRETS.hide(" ".join(str(text).split()))[:_QUOTED]


def _wait(details: Any) -> float | None:
    """Seconds to wait at least, from Google's details of an error."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
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
