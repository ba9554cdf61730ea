import json
from typing import Any

from bridle.host.http.client import HttpFault
from bridle.providers.refusals import refusal, reported, unreachable
from bridle.providers.vendors import find
from tests.tables import table


def refused(vendor: str, status: int, body: Any, **headers: str) -> Any:
    row = find(vendor)
    assert row is not None
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusal(status, headers, raw, model=f"{vendor}/m", vendor=row, base="http://h")


@table(
    ("vendor", "status", "body", "kind", "hint"),
    [
        ("openai", 429, {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota",
                                   "code": "insufficient_quota"}}, "billing_error", "--fallback-model"),
        ("openai", 400, {"error": {"message": "This model's maximum context length is 8192 tokens.",
                                   "code": "context_length_exceeded"}}, "invalid_request", "too long"),
        ("openai", 404, {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}},
         "model_not_found", "--model"),
        ("gemini", 400, {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                                   "status": "INVALID_ARGUMENT"}}, "authentication_failed", "GEMINI_API_KEY"),
        ("gemini", 400, [{"error": {"code": 400, "message": "The input token count (2000000) exceeds the "
                                    "maximum number of tokens allowed (1048576)."}}],
         "invalid_request", "too long"),
        ("mistral", 422, {"detail": [{"loc": ["body"], "msg": "bad"}]}, "invalid_request", "Mistral"),
        ("mistral", 400, {"object": "error", "message": "Invalid model: m", "type": "invalid_model"},
         "model_not_found", "MISTRAL_BASE_URL"),
        ("deepseek", 402, {"error": {"message": "Insufficient Balance"}}, "billing_error", "credit"),
        ("ollama", 404, {"error": "model 'm' not found, try pulling it first"}, "model_not_found",
         "ollama pull m"),
        ("ollama", 400, {"error": {"message": "registry.ollama.ai/library/m does not support tools"}},
         "invalid_request", "does not support tools here"),
        ("vllm", 400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice'},
         "invalid_request", "tool calling"),
        ("llamacpp", 400, {"error": {"code": 400, "type": "exceed_context_size_error",
                                     "message": "the request exceeds the available context size"}},
         "invalid_request", "too long"),
        ("openrouter", 404, {"error": {"message": "No endpoints found that support tool use.", "code": 404}},
         "invalid_request", "does not support tools here"),
        ("bedrock", 400, {"message": "The provided model identifier is invalid."}, "model_not_found",
         "--model"),
        ("bedrock", 400, {"message": "Input is too long for requested model."}, "invalid_request",
         "too long"),
        ("groq", 404, b"<html><title>404 Not Found</title></html>", "model_not_found", "GROQ_BASE_URL"),
        ("xai", 302, b"", "unknown", "XAI_BASE_URL"),
        ("groq", 401, {"error": {"message": "Invalid API Key", "code": "invalid_api_key"}},
         "authentication_failed", "GROQ_API_KEY"),
    ],
)  # fmt: skip
def test_what_vendors_say_is_understood(vendor: str, status: int, body: Any, kind: str, hint: str):
    error = refused(vendor, status, body)
    assert error.kind == kind and hint in str(error)
    assert not error.retryable and "\n" not in str(error)


def test_a_prompt_too_long_is_one_whatever_the_status():
    assert refused(
        "mistral", 422, {"message": "Prompt is too long: context length exceeded"}
    ).is_prompt_too_long


def test_google_says_how_long_to_wait_in_the_body():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}]
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
    error = refused("gemini", 429, body)
    assert (error.retry_after, error.kind, error.retryable) == (17.5, "rate_limit", True)


def test_amazon_names_the_error_in_a_header():
    error = refused(
        "bedrock", 429, {"message": "slow"}, **{"x-amzn-errortype": "ThrottlingException:http://x"}
    )
    assert (error.error_type, error.kind) == ("throttlingexception", "rate_limit")


def test_long_words_are_cut():
    assert len(str(refused("openai", 500, {"error": {"message": "x" * 5000}}))) < 700


def test_a_server_at_home_that_is_not_there_should_be_started():
    row = find("lmstudio")
    assert row is not None
    error = unreachable(HttpFault("Cannot connect.", "connect"), vendor=row, base="http://h")
    assert "Start LM Studio" in str(error) and "LMSTUDIO_BASE_URL" in str(error) and error.retryable


def test_faults_inside_a_stream_have_the_same_kinds():
    row = find("openrouter")
    assert row is not None
    fields: Any = {"model": "m", "vendor": row, "begun": False, "request_id": None}
    assert reported({"message": "Rate limit exceeded"}, **fields).kind == "rate_limit"
    assert reported({"message": "died", "code": 503}, **fields).kind == "overloaded"
    assert reported("odd", **fields).kind == "server_error"
    long = reported({"message": "context length exceeded", "code": "context_length_exceeded"}, **fields)
    assert long.is_prompt_too_long
