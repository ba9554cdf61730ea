"""The first five minutes: no key leads to a menu, and every way in it to a model."""

import json
from pathlib import Path
from typing import Any

from bridle.host.paths import global_state_file
from tests.fakes.json_server import JsonServer
from tests.frontends.tui.app.session import Terminal, bridle

_NONE: dict[str, Any] = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "BRIDLE_CREDENTIALS": "file"}
_MODELS = {"/v1/models": {"data": [{"id": "m"}]}}


async def _menu(terminal: Terminal) -> None:
    await terminal.until(lambda screen: "Choose how to start" in screen.text and "to choose" in screen.text)


def _number(terminal: Terminal, words: str) -> str:
    return next(row for row in terminal.emulator.rows if words in row).strip(" ❯")[0]


async def test_without_a_key_there_is_a_menu_and_offline_works_at_once(tmp_path: Path):
    async with bridle(tmp_path, **_NONE) as terminal:
        await _menu(terminal)
        terminal.type(_number(terminal, "Try offline now"))
        await terminal.ready()
        assert "offline" in terminal.emulator.text


async def test_a_pasted_key_is_hidden_tested_saved_and_used(tmp_path: Path):
    async with (
        JsonServer(_MODELS) as server,
        bridle(tmp_path, **_NONE, GROQ_BASE_URL=f"{server.url}/v1") as terminal,
    ):
        await _menu(terminal)
        terminal.type("1")
        await terminal.until_text("(hidden)")
        terminal.type(b"\x1b[200~gsk_secret-key\n\x1b[201~")
        await terminal.until_text("vendor: Groq")
        terminal.type("\r")
        await terminal.ready()
        assert "gpt-oss-120b" in terminal.emulator.text
        assert b"gsk_secret" not in terminal.output
        saved = terminal.program.home / ".claude" / "bridle" / "credentials.json"
        assert json.loads(saved.read_text())["keys"]["groq"]["key"] == "gsk_secret-key"


async def test_a_key_that_is_refused_is_not_saved_and_the_menu_stays(tmp_path: Path):
    refused = (401, {"error": {"message": "bad key", "code": "invalid_api_key"}})
    async with (
        JsonServer({"/v1/models": refused}) as server,
        bridle(tmp_path, **_NONE, GROQ_BASE_URL=f"{server.url}/v1") as terminal,
    ):
        await _menu(terminal)
        terminal.type("1")
        await terminal.until_text("(hidden)")
        terminal.type("gsk_wrong\r")
        await terminal.until_text("did not accept the key (401)")
        assert not (terminal.program.home / ".claude" / "bridle" / "credentials.json").exists()


async def test_a_server_on_this_machine_is_found_and_kept(tmp_path: Path):
    async with (
        JsonServer(_MODELS) as server,
        bridle(tmp_path, **_NONE, LMSTUDIO_BASE_URL=f"{server.url}/v1") as terminal,
    ):
        await _menu(terminal)
        terminal.type(_number(terminal, "LM Studio"))
        await terminal.ready()
        settings = json.loads((terminal.program.home / ".claude" / "settings.json").read_text())
        assert settings["model"] == "lmstudio/m"


async def test_login_opens_the_menu_in_a_session(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("/login")
        await terminal.until(lambda screen: "Log in" in screen.text and "to choose" in screen.text)
        terminal.type(_number(terminal, "Try offline now"))
        await terminal.until_text("Set model to offline for this session")


async def test_a_home_that_cannot_be_written_is_named_and_the_folder_trusted_for_this_run(tmp_path: Path):
    async with bridle(tmp_path, trusted=False) as terminal:
        config = terminal.program.home / ".claude"
        await terminal.until(lambda screen: "trust this folder" in screen.text and "to choose" in screen.text)
        state = Path(global_state_file(terminal.program.env))
        state.unlink(missing_ok=True)
        state.mkdir()  # Root may write to any folder, but not over one.
        terminal.type("1")
        await terminal.until(lambda screen: "Can't save trust in" in screen.text, seconds=20)
        await terminal.ready()
        shown = " ".join("\n".join(terminal.emulator.everything).split())
        assert config.name in shown and "for this run only" in shown
