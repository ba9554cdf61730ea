"""Models that a gateway lists."""

from pathlib import Path

from bridle.providers import gateway
from bridle.types.command import Shows
from tests.fakes.commanded import Commanded
from tests.fakes.json_server import JsonServer
from tests.fakes.program import Program

_LISTED = {"data": [{"id": "claude-house-1"}, {"id": "gpt-x"}, {"id": "Anthropic/claude-2"}]}


def env_of(server: JsonServer, folder: Path, **more: str) -> dict[str, str]:
    wanted = {"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1", "CLAUDE_CONFIG_DIR": str(folder)}
    return {**wanted, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_AUTH_TOKEN": "t", **more}


async def test_a_gateway_is_asked_with_the_users_token_and_its_answer_kept(tmp_path: Path):
    async with JsonServer({"/v1/models": _LISTED}) as server:
        env = env_of(server, tmp_path)
        assert gateway.known_models(env) == ()
        assert await gateway.refresh(env) == ("claude-house-1", "Anthropic/claude-2")
        (asked,) = server.asked
        assert (asked.path, asked.headers["authorization"]) == ("/v1/models?limit=1000", "Bearer t")
        assert gateway.known_models(env) == ("claude-house-1", "Anthropic/claude-2")
        assert gateway.known_models({**env, "ANTHROPIC_BASE_URL": "http://elsewhere"}) == ()


async def test_a_gateway_that_does_not_answer_leaves_what_is_known(tmp_path: Path):
    async with JsonServer({"/v1/models": _LISTED}) as server:
        env = env_of(server, tmp_path)
        await gateway.refresh(env)
        for answer in ((500, {}), {"data": "nothing"}, (404, {})):
            server.answers["/v1/models"] = answer
            assert await gateway.refresh(env) == ("claude-house-1", "Anthropic/claude-2")


async def test_nobody_is_asked_unless_the_user_wants_it(tmp_path: Path):
    async with JsonServer({"/v1/models": _LISTED}) as server:
        assert await gateway.refresh({"ANTHROPIC_BASE_URL": server.url}) == ()
        assert await gateway.refresh(env_of(server, tmp_path, ANTHROPIC_BASE_URL="")) == ()
        assert server.asked == []


async def test_the_models_of_a_gateway_are_offered_by_the_program_and_the_command(tmp_path: Path):
    async with JsonServer({"/v1/models": _LISTED}) as server:
        program = Program(tmp_path, **env_of(server, tmp_path / "home"))
        listed = await program.run("models")
        assert "claude-house-1" in listed.out and "gpt-x" not in listed.out
        commanded = Commanded(tmp_path, env=env_of(server, tmp_path / "home"))
        shown = await commanded.run("/model")
        assert isinstance(shown, Shows) and "claude-house-1" in shown.text
