"""Files of other agents, of administrators and of strangers: broken, huge, deep and hostile."""

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.cli.verbs.candidates import named
from bridle.commands.imports import apply, plan_all
from bridle.config.schema import Settings
from bridle.types.errors import ConfigError
from tests.config.folders import Folders
from tests.tables import table

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)
_KEYS = ("permissions", "hooks", "env", "sandbox", "mcpServers", "model", "availableModels", "policyHelper")
_BYTES: tuple[bytes, ...] = (
    b"",
    b"\0" * 100,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    '{"model":"x"}'.encode("utf-16"),
    b'"' + b"x" * 2_200_000 + b'"',
    b'{"permissions":{"allow":[' + b'"Bash",' * 20_000 + b'"Bash"]}}',
    b'{"env":{"\\ud800":"x","PATH":5}}',
    b'{"mcpServers":{"\\u001b]0;x\\u0007":{"command":"x"}, "b":{"command":{"x":1},"args":"no"}}}',
    b'[mcp_servers.a]\ncommand = [1,2]\n[mcp_servers."../../x"]\ncommand = "y"\n',
)
_FOREIGN = (
    ".codex/config.toml", ".codex/AGENTS.md", ".codex/prompts/a.md", ".gemini/settings.json",
    ".gemini/commands/a.toml", ".config/opencode/opencode.json", ".config/opencode/commands/a.md",
)  # fmt: skip


def _import_all(home: Path) -> list[str]:
    """What is brought over from a home; each step is one printable line."""
    env = {"HOME": str(home)}
    lines: list[str] = []
    for step in plan_all([], env):
        lines.append(step.summary)
        apply(step)
    return lines


@table("data", _BYTES)
def test_files_of_other_agents_never_break_an_import(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in _FOREIGN:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(data)
        lines = _import_all(home)
        assert all(line.isprintable() for line in lines)
        written = [path for path in home.rglob("*") if path.is_file()]
        kept = {home / name for name in _FOREIGN}
        # Nothing is written outside the folder of bridle and its state, whatever names the files hold.
        for path in set(written) - kept:
            assert path == home / ".claude.json" or home / ".claude" in path.parents


@given(st.dictionaries(st.sampled_from(("mcpServers", "mcp", "mcp_servers")), _JSON, max_size=2))
def test_any_json_of_another_agent_is_taken_or_left_out(values: dict[str, Any]):
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in (".gemini/settings.json", ".config/opencode/opencode.json"):
            (home / name).parent.mkdir(parents=True)
            (home / name).write_text(json.dumps(values), encoding="utf-8", errors="surrogatepass")
        _import_all(home)


def test_a_pipe_in_place_of_a_file_does_not_hang_an_import(tmp_path: Path):
    (tmp_path / ".codex").mkdir()
    os.mkfifo(tmp_path / ".codex" / "config.toml")
    os.mkfifo(tmp_path / ".codex" / "AGENTS.md")
    assert _import_all(tmp_path) == []


@table("data", _BYTES)
def test_broken_managed_files_are_reported_and_a_good_one_beside_them_counts(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        folders = Folders(Path(folder))
        folders.files["managed"].write_bytes(data)
        parts = folders.managed / "managed-settings.d"
        parts.mkdir()
        (parts / "10-good.json").write_text('{"permissions": {"deny": ["WebFetch"]}}')
        (parts / "20-bad.json").write_bytes(data)
        config = folders.load()
        permissions = config.settings.permissions
        assert permissions is not None and "WebFetch" in (permissions.deny or ())
        assert all(str(problem).isprintable() and len(str(problem)) < 2_000 for problem in config.problems)


@given(st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=4))
def test_any_json_in_a_managed_file_leaves_settings_that_can_be_used(values: dict[str, Any]):
    with tempfile.TemporaryDirectory() as folder:
        folders = Folders(Path(folder))
        text = json.dumps(values)
        folders.files["managed"].write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            config = folders.load()
        except ConfigError as error:
            # Only a helper that cannot be used keeps a session from starting.
            assert "policyHelper" in values and "\n" not in str(error)
        else:
            assert isinstance(config.settings, Settings)


@pytest.mark.parametrize("kind", ["sessions", "agents", "models", "jobs", "moon"])
async def test_names_for_a_shell_are_plain_words_whatever_files_say(tmp_path: Path, kind: str):
    env = {"HOME": str(tmp_path)}
    names = ("$(touch x)", "a b", "`id`", "; ls", "\x1b[2J", "-rf", "good-name", "x" * 300, "é")
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    for at, name in enumerate(names):
        text = f"---\nname: {json.dumps(name)}\ndescription: x\n---\nx"
        (agents / f"{at}.md").write_text(text, encoding="utf-8")
    folder = tmp_path / ".claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    for at, name in enumerate(names):
        id = f"00000000-0000-4000-8000-{at:012}"
        line = {"type": "custom-title", "customTitle": name, "sessionId": id}
        (folder / f"{id}.jsonl").write_text(json.dumps(line) + "\n[[[[\n\0", encoding="utf-8")
    state = {"bridleModels": {name: {"inputPrice": 1} for name in names}}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(state), encoding="utf-8")
    found = await asyncio.to_thread(named, kind, env)
    assert all(name.isascii() and not set(name) & set(" $`;\x1b") and name[0] != "-" for name in found)
