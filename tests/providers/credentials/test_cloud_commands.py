"""Commands of the settings that bring or renew the credentials of clouds."""

import json
from pathlib import Path

import pytest

from bridle.providers.connect import Providers
from bridle.providers.vendor import CloudCommands
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest
from tests.fakes.bedrock_server import CREDENTIALS, BedrockApi
from tests.fakes.model_server import ModelServer, Script, answer, refusal
from tests.fakes.program import Program

_PRINTED = {
    "Credentials": {
        "AccessKeyId": CREDENTIALS.access_key,
        "SecretAccessKey": CREDENTIALS.secret_key,
        "SessionToken": CREDENTIALS.session_token,
    }
}
_EXPIRED = refusal(403, "The security token included in the request is expired", "ExpiredTokenException")


class Cloud:
    """Bedrock behind a fake, and commands that leave a trace."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.folder = folder
        self.printed = folder / "printed.json"
        self.trace = folder / "trace"
        self.server = server
        self.env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "HOME": str(folder), "PATH": "/usr/bin:/bin"}

    def command(self, word: str, more: str = "true") -> str:
        return f"echo {word} >> {self.trace}; {more}"

    @property
    def export(self) -> str:
        return self.command("export", f"cat {self.printed}")

    @property
    def ran(self) -> list[str]:
        return self.trace.read_text().split() if self.trace.exists() else []

    async def ask(self, *steps: Script, commands: CloudCommands, times: int = 1) -> None:
        self.server.script(*steps)
        providers = Providers(self.env, {}, commands=commands)
        request = ModelRequest(
            model="bedrock/claude-opus-5",
            history=History.of({"role": "user", "content": "Hi"}),
            max_tokens=10,
        )
        try:
            for _ in range(times):
                events = [event async for event in providers.stream(request)]
                assert isinstance(events[-1], Completed)
        finally:
            await providers.close()


async def test_exported_credentials_sign_requests_and_are_kept(tmp_path: Path):
    async with ModelServer(BedrockApi()) as server:
        cloud = Cloud(tmp_path, server)
        cloud.printed.write_text(json.dumps(_PRINTED))
        await cloud.ask(answer("a"), answer("b"), commands=CloudCommands(aws_export=cloud.export), times=2)
        assert cloud.ran == ["export"]


async def test_the_form_of_a_credential_process_is_read_and_an_end_in_the_past_is_not_kept(tmp_path: Path):
    async with ModelServer(BedrockApi()) as server:
        cloud = Cloud(tmp_path, server)
        inner = {**_PRINTED["Credentials"], "Version": 1, "Expiration": "2020-01-01T00:00:00Z"}
        cloud.printed.write_text(json.dumps(inner))
        await cloud.ask(answer("a"), answer("b"), commands=CloudCommands(aws_export=cloud.export), times=2)
        assert cloud.ran == ["export", "export"]


async def test_credentials_that_ended_are_renewed_once_and_the_request_is_made_again(tmp_path: Path):
    async with ModelServer(BedrockApi()) as server:
        cloud = Cloud(tmp_path, server)
        cloud.printed.write_text(json.dumps(_PRINTED))
        both = CloudCommands(aws_export=cloud.export, aws_refresh=cloud.command("refresh"))
        await cloud.ask(_EXPIRED, answer("a"), commands=both)
        assert cloud.ran == ["export", "refresh", "export"]
        with pytest.raises(ProviderError) as caught:
            await cloud.ask(_EXPIRED, _EXPIRED, answer("a"), commands=both)
        assert caught.value.kind == "authentication_failed"


async def test_credentials_that_are_missing_are_fetched_by_the_refresh(tmp_path: Path):
    async with ModelServer(BedrockApi()) as server:
        cloud = Cloud(tmp_path, server)
        refresh = cloud.command("refresh", f"echo '{json.dumps(_PRINTED)}' > {cloud.printed}")
        both = CloudCommands(aws_export=cloud.export, aws_refresh=refresh)
        await cloud.ask(answer("a"), commands=both)
        assert cloud.ran == ["export", "refresh", "export"]


async def test_what_is_not_allowed_is_not_refreshed(tmp_path: Path):
    async with ModelServer(BedrockApi()) as server:
        cloud = Cloud(tmp_path, server)
        cloud.printed.write_text(json.dumps(_PRINTED))
        both = CloudCommands(aws_export=cloud.export, aws_refresh=cloud.command("refresh"))
        denied = refusal(403, "You don't have access to the model.", "AccessDeniedException")
        with pytest.raises(ProviderError):
            await cloud.ask(denied, answer("a"), commands=both)
        assert cloud.ran == ["export"]


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (CloudCommands(aws_export="echo no json"), "awsCredentialExport printed no credentials"),
        (CloudCommands(aws_export="echo '{}'"), "awsCredentialExport printed no credentials"),
        (CloudCommands(aws_export="echo sorry >&2; exit 3"), "failed with exit code 3: sorry"),
        (CloudCommands(aws_refresh="exit 4"), "awsAuthRefresh failed with exit code 4"),
    ],
)
async def test_a_command_that_fails_is_told_with_its_setting(
    tmp_path: Path, commands: CloudCommands, said: str
):
    async with ModelServer(BedrockApi()) as server:
        with pytest.raises(ProviderError) as caught:
            await Cloud(tmp_path, server).ask(answer("a"), commands=commands)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.kind == "authentication_failed"


async def test_googles_credentials_are_refreshed_when_there_are_none(tmp_path: Path):
    trace = tmp_path / "trace"
    env = {"ANTHROPIC_VERTEX_PROJECT_ID": "p", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    env["GOOGLE_APPLICATION_CREDENTIALS"] = str(tmp_path / "none.json")
    providers = Providers(env, {}, commands=CloudCommands(gcp_refresh=f"echo refresh >> {trace}"))
    history = History.of({"role": "user", "content": "Hi"})
    with pytest.raises(ProviderError) as caught:
        request = ModelRequest(model="vertex/claude-opus-5", history=history, max_tokens=9)
        _ = [event async for event in providers.stream(request)]
    await providers.close()
    assert caught.value.kind == "authentication_failed" and trace.read_text() == "refresh\n"


async def test_the_settings_reach_the_service(tmp_path: Path):
    async with ModelServer(BedrockApi(), [answer("Hello.")]) as server:
        program = Program(
            tmp_path,
            CLAUDE_CODE_USE_BEDROCK="1",
            ANTHROPIC_BEDROCK_BASE_URL=server.url,
            CLAUDE_CODE_MAX_RETRIES="0",
        )
        settings = {"awsCredentialExport": f"echo '{json.dumps(_PRINTED)}'"}
        done = await program.run("-p", "hi", "--model", "opus", "--settings", json.dumps(settings))
        assert (done.code, done.out) == (0, "Hello.\n")
