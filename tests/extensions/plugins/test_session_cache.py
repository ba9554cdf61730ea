"""Plugins that have not changed since the last start are not read at the next one."""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bridle.config.options import SessionOptions
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.plugin import Plugins
from bridle.extensions.plugins.removal import uninstall
from bridle.extensions.plugins.session_cache import CachedPlugins, current_plugins
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import read_installed
from bridle.session.parts.plugins import OpenPlugins, open_plugins
from bridle.session.prepare import set_up
from tests.fakes.file_clock import settle
from tests.fakes.plugins import PluginHome, write_plugin
from tests.fakes.processes import eventually

ID = PluginId("crew", "village")
HOOKS = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}})
PILOT = "---\nname: pilot\ndescription: Flies\n---\nYou fly."


@pytest.fixture
async def home(tmp_path: Path) -> PluginHome:
    home = PluginHome(tmp_path)
    write_plugin(
        home.market / "plugins" / "crew",
        {"name": "crew", "version": "1.0.0"},
        **{"agents/pilot.md": PILOT, "hooks/hooks.json": HOOKS, "skills/fly/SKILL.md": "Fly."},
    )
    catalog = home.market / ".claude-plugin" / "marketplace.json"
    values = json.loads(catalog.read_text())
    values["plugins"].append({"name": "crew", "source": "./plugins/crew"})
    catalog.write_text(json.dumps(values))
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    await install(home.around(), [ID])
    home.as_fetched()
    settle(tmp_path)
    return home


async def test_every_installation_is_an_edition_of_its_own(home: PluginHome):
    (first,) = _start(home)[0].roots("agents")
    agent = home.market / "plugins" / "crew" / "agents" / "pilot.md"
    agent.write_text(PILOT.replace("Flies", "Sails"))
    around = home.around()
    await uninstall(around, ID)
    await install(around, [ID])
    home.as_fetched()
    (second,) = _start(home)[0].roots("agents")
    assert first.path == second.path
    assert first.edition and second.edition and first.edition != second.edition


def _start(home: PluginHome) -> tuple[Plugins, CachedPlugins | None]:
    return current_plugins(home.wish())


def _remembered(home: PluginHome) -> CachedPlugins:
    settle(home.home)
    _start(home)
    _, remembered = _start(home)
    assert remembered is not None
    return remembered


def _folder(home: PluginHome) -> Path:
    (record,) = read_installed(home.env).plugins[str(ID)]
    return Path(record.install_path)


async def test_the_second_start_remembers_what_the_first_has_read(home: PluginHome):
    read, nothing = _start(home)
    again, remembered = _start(home)
    assert nothing is None and remembered is not None
    assert again == read
    assert [each.plugin for each in again.loaded] == [ID]
    assert remembered.confirm()


CHANGES: dict[str, Callable[[Path], object]] = {
    "changed": lambda folder: (folder / "hooks/hooks.json").write_text("{}"),
    "come": lambda folder: (folder / ".mcp.json").write_text("{}"),
    "moved": lambda folder: (folder / "skills/fly/SKILL.md").rename(folder / "skills/SKILL.md"),
    "gone": shutil.rmtree,
}


@pytest.mark.parametrize("change", CHANGES)
async def test_changed_files_of_a_plugin_are_noticed_soon_and_read_at_the_next_start(
    home: PluginHome, change: str
):
    remembered = _remembered(home)
    CHANGES[change](_folder(home))
    assert not remembered.confirm()
    assert _start(home)[1] is None


async def test_what_runs_is_what_the_user_agreed_to_whatever_the_files_say(home: PluginHome):
    before = _remembered(home).recalled.value
    hooks = _folder(home) / "hooks" / "hooks.json"
    hooks.write_text(HOOKS.replace("true", "false"))
    believed, remembered = _start(home)
    assert believed == before
    assert remembered is not None and not remembered.confirm()
    assert [fault.type for fault in _start(home)[0].faults] == ["content-changed"]


async def test_a_switch_that_was_turned_counts_at_once(home: PluginHome):
    _remembered(home)
    settings = home.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {str(ID): False}}))
    plugins, remembered = _start(home)
    assert (plugins.loaded, remembered) == ((), None)


async def test_another_project_and_one_that_is_not_trusted_are_other_circumstances(home: PluginHome):
    _remembered(home)
    wish = home.wish()
    elsewhere = msgspec.structs.replace(wish, cwd=str(home.home))
    strange = msgspec.structs.replace(wish, trusted=False)
    assert [current_plugins(each)[1] for each in (elsewhere, strange)] == [None, None]


async def test_a_folder_for_data_that_is_gone_is_made_again(home: PluginHome):
    data = Path(_remembered(home).recalled.value.loaded[0].data)
    shutil.rmtree(data)
    assert _start(home)[1] is None
    assert data.is_dir()


async def test_a_plugin_that_is_put_among_the_skills_counts_at_once(home: PluginHome):
    (home.home / ".claude" / "skills").mkdir()
    _remembered(home)
    write_plugin(home.home / ".claude" / "skills" / "own", {"name": "own"})
    plugins, remembered = _start(home)
    assert [each.plugin.name for each in plugins.loaded] == ["crew", "own"]
    assert remembered is None
    # Whoever writes a plugin there sees every change of it.
    write_plugin(home.home / ".claude" / "skills" / "own", {"name": "renamed"})
    assert [each.plugin.name for each in _start(home)[0].loaded] == ["crew", "renamed"]


async def test_a_skill_that_becomes_a_plugin_is_noticed_soon(home: PluginHome):
    skill = home.home / ".claude" / "skills" / "own"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("Do it.")
    _remembered(home)
    write_plugin(skill, {"name": "own"})
    _, remembered = _start(home)
    assert remembered is not None and not remembered.confirm()
    assert [each.plugin.name for each in _start(home)[0].loaded] == ["crew", "own"]


async def test_a_plugin_among_the_skills_that_is_turned_off_raises_no_alarm(home: PluginHome):
    write_plugin(home.home / ".claude" / "skills" / "own", {"name": "own"})
    off = {"enabledPlugins": {str(ID): True, "own@skills-dir": False}}
    (home.home / ".claude" / "settings.json").write_text(json.dumps(off))
    settle(home.home)
    for _ in range(2):
        plugins, remembered = _start(home)
        assert [each.plugin for each in plugins.loaded] == [ID]
        assert remembered is None or remembered.confirm()


async def test_skills_of_a_project_that_is_not_trusted_raise_no_doubt(home: PluginHome):
    write_plugin(home.project / ".claude" / "skills" / "own", {"name": "own"})
    settle(home.home)
    wish = home.wish(trusted=False)
    current_plugins(wish)
    _, remembered = current_plugins(wish)
    assert remembered is not None and remembered.confirm()


@pytest.mark.parametrize(
    "special",
    [
        {"userConfig": {"key": {"type": "string", "default": "x"}}},
        {"description": 3},
        {"number": 1 << 80},
    ],
    ids=["options", "faults", "what cannot be kept"],
)
async def test_plugins_with_options_and_with_faults_are_read_at_every_start(
    home: PluginHome, special: dict[str, object]
):
    write_plugin(_folder(home), {"name": "crew", "version": "1.0.0", **special})
    for _ in range(2):
        plugins, remembered = _start(home)
        assert remembered is None
        assert len(plugins.loaded) == 1


async def test_a_plugin_that_is_not_our_copy_is_looked_at_before_the_start(home: PluginHome, tmp_path: Path):
    elsewhere = shutil.copytree(_folder(home), tmp_path / "elsewhere")
    file = home.plugins / "installed_plugins.json"
    file.write_text(file.read_text().replace(str(_folder(home)), str(elsewhere)))
    _remembered(home)
    (elsewhere / "hooks" / "hooks.json").write_text("{}")
    plugins, remembered = _start(home)
    assert remembered is None
    assert [fault.type for fault in plugins.faults] == ["content-changed"]


async def test_flags_and_management_are_asked_at_every_start(home: PluginHome, tmp_path: Path):
    _remembered(home)
    named = home.wish(write_plugin(tmp_path / "named", {"name": "named"}))
    seeded = msgspec.structs.replace(
        home.wish(), env={**home.env, "CLAUDE_CODE_PLUGIN_SEED_DIR": str(tmp_path)}
    )
    (home.managed / "managed-settings.json").write_text(json.dumps({"strictKnownMarketplaces": []}))
    assert [current_plugins(each)[1] for each in (named, seeded, home.wish())] == [None, None, None]


def _session(home: PluginHome) -> OpenPlugins:
    setup = set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    assert setup.early is not None and setup.early.remembered is not None
    return OpenPlugins(setup, (), ())


async def test_a_session_says_that_plugins_have_changed(home: PluginHome):
    set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    setup = set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    (_folder(home) / "hooks" / "hooks.json").write_text("{}")
    said: list[str] = []
    plugins = await open_plugins(setup, warn=said.append)
    await eventually(lambda: said)
    await plugins.close()
    assert said == ["Plugin files have changed: run /reload-plugins, or restart."]


async def test_a_session_that_ends_first_tells_the_next_one(home: PluginHome):
    set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    plugins = _session(home)
    plugins.confirm_soon(pytest.fail)
    (_folder(home) / "hooks" / "hooks.json").write_text("{}")
    await plugins.close()
    setup = set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    assert setup.early is not None and setup.early.remembered is None


async def test_plugins_that_were_read_again_need_no_confirmation(home: PluginHome):
    set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    plugins = _session(home)
    (_folder(home) / "hooks" / "hooks.json").write_text("{}")
    await plugins.reload()
    plugins.confirm_soon(pytest.fail)
    await asyncio.sleep(0)
    await plugins.close()
    assert [fault["type"] for fault in plugins.faults()] == ["content-changed"]


async def test_nothing_that_reads_plugins_is_imported_for_what_is_remembered(home: PluginHome):
    set_up(SessionOptions(print_mode=True), home.env, cwd=str(home.project))
    code = (
        "import os, sys\n"
        "from bridle.config.options import SessionOptions; from bridle.session.prepare import set_up\n"
        "setup = set_up(SessionOptions(print_mode=True), os.environ)\n"
        "assert setup.early.remembered is not None\n"
        "print(*sys.modules)"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=home.project, env=home.env, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    imported = out.decode().split()
    assert "bridle.extensions.plugins.session_cache" in imported
    assert "bridle.extensions.plugins.loader" not in imported
