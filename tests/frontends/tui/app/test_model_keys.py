"""Which model a session starts with, by the keys that there are."""

from pathlib import Path
from typing import Any

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
