"""Which model a session starts with, by the keys that there are."""

from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle


async def test_a_key_of_another_vendor_leads_to_its_models(tmp_path: Path):
    keys: dict[str, Any] = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "OPENAI_API_KEY": "sk-test"}
    async with bridle(tmp_path, **keys) as terminal:
        await terminal.ready()
        assert "gpt-5.6" in terminal.emulator.text and "claude" not in terminal.emulator.text
        await terminal.say("/model")
        await terminal.until_text("use and save")
        terminal.type("/gpt-5.5")
        await terminal.until_text("openai/gpt-5.5")


async def test_model_says_what_each_is_good_for_and_t_sends_a_test_call(tmp_path: Path):
    async with bridle(tmp_path, [step("ready")], size=(100, 30)) as terminal:
        await terminal.ready()
        await terminal.say("/model")
        await terminal.until(lambda screen: "everyday coding" in screen.text and "t test" in screen.text)
        terminal.type("t")
        await terminal.until_text("claude-sonnet-5-5 answered in")
        assert "it did not call the tool" in terminal.emulator.text
        assert terminal.asked[-1]["tools"][0]["name"] == "report"
        terminal.type("\x1b")
        await terminal.ready()
