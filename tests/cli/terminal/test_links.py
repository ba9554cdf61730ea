"""Links fill in a prompt; they send nothing and hide nothing."""

import os
import plistlib
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from bridle.cli.terminal.links import Link, install_on_mac, read_link
from bridle.types.errors import UsageError
from tests.fakes.messages_server import step
from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle
from tests.tables import table

_OSACOMPILE = """#!/bin/sh
# Makes what osacompile makes: an application whose script is the last argument.
mkdir -p "$2/Contents"
printf '%s' "$4" > "$2/Contents/script"
printf '<plist version="1.0"><dict><key>CFBundleName</key><string>x</string></dict></plist>' \
  > "$2/Contents/Info.plist"
"""


def test_a_link_has_a_prompt_and_may_have_a_folder(tmp_path: Path):
    words = "fix the test\nand say why"
    assert read_link(f"claude-cli://open?q={quote(words)}") == Link(words)
    assert read_link(f"CLAUDE-CLI://open/?q=a+b&cwd={tmp_path}") == Link("a b", str(tmp_path))


@table(
    "link",
    [
        "claude-cli://open?q=%1b[2J",
        "claude-cli://open?q=a%E2%80%AEb",
        "claude-cli://open?q=%21rm",
        "claude-cli://open?q=+/clear",
        "claude-cli://open?q=%ff",
        "claude-cli://open?q=x&cwd=relative",
        "claude-cli://open?q=x&cwd=/no/such/folder",
        "claude-cli://open?q=x&cwd=/etc/passwd",
        "claude-cli://run?q=x",
        "claude-cli://open/other?q=x",
        "claude-cli://[?q=x",
        "claude-cli:open",
        "https://open?q=x",
        "claude-cli://open?q=" + "x" * 5_001,
        "claude-cli://open?" + "a=b&" * 1_000,
        "claude-cli://open?q=" + "x" * 100_000,
    ],
)
def test_any_other_link_is_refused_in_a_sentence(link: str):
    with pytest.raises(UsageError) as refused:
        read_link(link)
    assert len(str(refused.value)) < 200 and str(refused.value).isprintable()


async def test_a_link_opens_a_session_with_the_prompt_typed_and_not_sent(tmp_path: Path):
    link = f"claude-cli://open?q=fix%20the%20test&cwd={quote(str(tmp_path / 'project'))}"
    async with bridle(tmp_path, [step("Fixed.")], link) as terminal:
        await terminal.until_text("fix the test")
        await terminal.until_text("This prompt comes from a link.")
        assert not terminal.asked


@pytest.mark.skipif(shutil.which("xdg-mime") is None, reason="xdg-utils is missing")
async def test_the_desktop_opens_links_with_bridle_once_asked(tmp_path: Path):
    program = Program(tmp_path)
    done = await program.run("links", "install")
    entry = program.home / ".local" / "share" / "applications" / "bridle-links.desktop"
    assert done.code == 0 and "x-scheme-handler/claude-cli;" in entry.read_text()
    kept = (program.home / ".config" / "mimeapps.list").read_text()
    assert "x-scheme-handler/claude-cli=bridle-links.desktop" in kept
    assert (await program.run("links", "uninstall")).code == 0 and not entry.exists()
    assert (await program.run("links", "uninstall")).out == "bridle does not open links here.\n"


async def test_settings_may_forbid_links(tmp_path: Path):
    program = Program(tmp_path)
    (program.home / ".claude").mkdir()
    settings = '{"disableDeepLinkRegistration": "disable"}'
    (program.home / ".claude" / "settings.json").write_text(settings)
    done = await program.run("links", "install")
    assert done.code == 1 and "disableDeepLinkRegistration" in done.err
    assert not (program.home / ".local").exists()


def test_an_application_is_made_on_macos(tmp_path: Path):
    tool = tmp_path / "bin" / "osacompile"
    tool.parent.mkdir()
    tool.write_text(_OSACOMPILE)
    tool.chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    path = Path(install_on_mac(env))
    values = plistlib.loads((path / "Contents" / "Info.plist").read_bytes())
    assert values["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == ["claude-cli"]
    assert "on open location link" in (path / "Contents" / "script").read_text()
