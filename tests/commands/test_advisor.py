from pathlib import Path

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


async def test_an_advisor_is_shown_chosen_and_turned_off(tmp_path: Path):
    script = [step("one"), step("two"), step("three")]
    said: list[str] = []
    async with MessagesServer(script) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            for line in ("/advisor", "hi", "/advisor opus", "/advisor", "hi", "/advisor off", "hi"):
                host.prompt(line)
                said.append((await host.result())["result"])
            await host.close()
        offered = [
            "Advisor" in [each["name"] for each in request.body["tools"]] for request in server.requests
        ]
    assert offered == [False, True, False]
    assert said == [
        "No advisor is set. Set one for this session with /advisor <model>.",
        "one",
        "Set the advisor to claude-opus-5-5.",
        "The advisor is claude-opus-5-5. Turn it off with /advisor off.",
        "two",
        "The advisor is off.",
        "three",
    ]


@pytest.mark.parametrize(
    ("name", "near"), [("opsu", "opus"), ("gpt-55", "gpt-5"), ("opnai/gpt-5", "openai/")]
)
async def test_a_model_that_nobody_knows_is_refused_with_the_nearest(tmp_path: Path, name: str, near: str):
    program = Program(tmp_path, ANTHROPIC_API_KEY="test-key")
    done = await program.run("-p", f"/advisor {name}")
    assert done.code == 1 and len(done.out.splitlines()) == 1
    assert name.partition("/")[0] in done.out and near in done.out.partition("did you mean")[2]


async def test_a_flag_with_such_a_model_ends_the_program_before_anything_is_asked(tmp_path: Path):
    done = await Program(tmp_path, ANTHROPIC_API_KEY="test-key").run("-p", "hi", "--advisor", "sonet")
    assert done.code != 0 and len(done.err.splitlines()) == 1
    assert "--advisor" in done.err and "sonnet" in done.err


async def test_a_setting_with_such_a_model_is_told_and_does_not_count(tmp_path: Path):
    program = Program(tmp_path, ANTHROPIC_API_KEY="test-key")
    done = await program.run("-p", "/advisor", "--settings", '{"advisorModel": "sonet"}')
    assert done.code == 0 and "No advisor is set" in done.out
    assert "advisorModel is ignored" in done.err and "sonnet" in done.err


async def test_a_setting_that_is_changed_in_the_session_counts(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            host.prompt("/config advisorModel=haiku")
            await host.result()
            host.prompt("hi")
            await host.result()
            await host.close()
        assert "Advisor" in [each["name"] for each in server.requests[0].body["tools"]]


async def test_models_that_are_left_out_may_not_advise(tmp_path: Path):
    program = Program(tmp_path, ANTHROPIC_API_KEY="test-key")
    done = await program.run("-p", "/advisor opus", "--settings", '{"availableModels": ["sonnet"]}')
    assert done.code == 1 and "availableModels" in done.out
