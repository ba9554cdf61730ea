"""Sessions whose model has a small window for a while."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.bedrock_server import MessagesApi
from tests.fakes.model_server import ModelServer, answer
from tests.fakes.openai_server import ChatApi
from tests.fakes.program import Program, lines, user

_SLIM = {"Bash", "Edit", "Glob", "Grep", "Read", "Write"}


async def test_prompt_and_tools_are_short_exactly_while_a_model_with_a_small_window_answers(tmp_path: Path):
    async with ModelServer(MessagesApi()) as large, ModelServer(ChatApi()) as small:
        large.script(answer("one"), answer("three"))
        small.script(answer("two"))
        own = {
            "tiny": {"dialect": "chat", "baseUrl": f"{small.url}/v1", "keyEnv": "K", "contextWindow": 8192}
        }
        program = Program(tmp_path, large.url, K="test-key")
        said = [user("first"), user("/model tiny s"), user("second"), user("/model opus s"), user("third")]
        done = await program.run(
            "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
            "--model", "opus", "--settings", json.dumps({"bridleModels": own}),
            stdin=lines(*said),
        )  # fmt: skip
        assert done.code == 0, done.err
        first, third = (asked.body for asked in large.requests)
        (second,) = (asked.body for asked in small.requests)
    names: list[set[str]] = [{tool["name"] for tool in body["tools"]} for body in (first, third)]
    assert {tool["function"]["name"] for tool in second["tools"]} == _SLIM
    assert names[0] == names[1] and names[0] > _SLIM
    assert _system(first) == _system(third)
    assert len(second["messages"][0]["content"]) < len(_system(first)) / 2


def _system(body: Any) -> str:
    return "".join(block["text"] for block in body["system"])
