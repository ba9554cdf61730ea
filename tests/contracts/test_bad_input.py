"""What users get wrong, and what services refuse: the program says it in one line with the way out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.dialects import CASES
from tests.fakes.model_server import ModelServer, Script, answer, refusal
from tests.fakes.program import Program

_SPOKEN = ("anthropic", "chat", "responses", "gemini", "converse")
_FAULTS: Mapping[str, tuple[Script, str]] = {
    "unknown model": (refusal(404, "model: x does not exist", "model_not_found"), "--model"),
    "no tool support": (refusal(400, "This model does not support tools"), "choose another model"),
    "too small a window": (
        refusal(400, "prompt is too long: 9000 tokens > 8192 maximum", "context_length_exceeded"),
        "larger window",
    ),
    "quota": (refusal(402, "You have insufficient credits", "billing_error"), "credit"),
    "limit": (refusal(429, "slow down", "rate_limit_error"), "wait"),
    "web page": (Script(body="<html><title>Welcome</title></html>"), "web page"),
    "refusal": (answer("", stop="filter"), "choose another model"),
}


def program_of(name: str, folder: Path, url: str, **changes: str) -> tuple[Program, list[str]]:
    import json

    case = CASES[name]
    env = {**case.variables(url), "CLAUDE_CODE_MAX_RETRIES": "0", **changes}
    settings = json.dumps({"bridleModels": case.entries(url)})
    return Program(folder, **env), ["-p", "hi", "--model", case.model, "--settings", settings]


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("name", _SPOKEN)
async def test_a_refusal_is_one_line_with_the_way_out(tmp_path: Path, name: str, fault: str):
    step, said = _FAULTS[fault]
    async with ModelServer(CASES[name].api()) as server:
        server.script(*[step] * 4)
        program, argv = program_of(name, tmp_path, server.url)
        done = await program.run(*argv)
    assert done.code == 1, done
    assert said in done.out and done.out.count("\n") == 1 and done.err == "", done


@pytest.mark.parametrize("name", _SPOKEN)
async def test_a_wrong_key_is_one_line_with_the_variable(tmp_path: Path, name: str):
    async with ModelServer(CASES[name].api()) as server:
        keys: Any = [key for key in CASES[name].env if key.endswith(("API_KEY", "ACCESS_KEY_ID"))]
        program, argv = program_of(name, tmp_path, server.url, **dict.fromkeys(keys, "wrong"))
        done = await program.run(*argv)
    variables = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
    assert done.code == 1 and any(each in done.out for each in variables) and done.out.count("\n") == 1, done


@pytest.mark.parametrize("name", _SPOKEN)
async def test_a_wrong_address_is_one_line_with_where_it_comes_from(tmp_path: Path, name: str):
    program, argv = program_of(name, tmp_path, "http://127.0.0.1:9")
    done = await program.run(*argv)
    assert done.code == 1 and "127.0.0.1:9" in done.out and done.out.count("\n") == 1, done
    assert "_URL" in done.out or "baseUrl" in done.out


@pytest.mark.parametrize("model", ["nosuch/model", "opnai/gpt-5"])
async def test_an_unknown_vendor_is_told_before_a_missing_key(tmp_path: Path, model: str):
    done = await Program(tmp_path).run("-p", "hi", "--model", model)
    assert done.code == 1 and "Unknown vendor" in done.err and done.err.count("\n") == 1
    assert "key" not in done.err and done.out == ""
