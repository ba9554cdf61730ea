import json
import os
from pathlib import Path

import pytest

from bridle.extensions.agents import load_agents
from bridle.extensions.index import Index
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.plugin import fill_hooks
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import read_installed
from bridle.extensions.skills import SkillCatalog
from tests.fakes.file_clock import settle
from tests.fakes.plugins import FIXTURE, PluginHome, write_plugin

GREETER = FIXTURE / "plugins" / "greeter"
ID = PluginId("greeter", "village")


@pytest.fixture
def home(tmp_path: Path) -> PluginHome:
    return PluginHome(tmp_path)


async def _install(home: PluginHome) -> None:
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    await install(home.around(), [ID])


def test_components_have_the_name_of_their_plugin_before_them(home: PluginHome, tmp_path: Path):
    plugins = home.load(GREETER)
    index = Index(str(tmp_path / "index"))

    skills = SkillCatalog(index, lambda: (*plugins.roots("skills"), *plugins.roots("commands"))).all()
    (agent,) = load_agents(index, plugins.roots("agents")).definitions

    assert sorted(skills) == ["greeter:bye", "greeter:greet"]
    assert agent.name == "greeter:host"
    assert (agent.permission_mode, agent.hooks, agent.tools) == (None, {}, ("Read",))


def test_servers_get_folders_and_options_in_place(home: PluginHome):
    ((name, raw),) = home.load(GREETER).servers()

    assert name == "plugin:greeter:bell"
    assert (raw["command"], raw["args"]) == (f"{GREETER}/bin/bell", ["warm"])
    assert raw["env"]["CLAUDE_PLUGIN_ROOT"] == str(GREETER)
    assert os.path.isdir(raw["env"]["CLAUDE_PLUGIN_DATA"])


def test_options_never_become_part_of_a_shell_command():
    hooks = {
        "Stop": [
            {"hooks": [{"type": "command", "command": "echo ${user_config.k}"}]},
            {"hooks": [{"type": "command", "command": "echo", "args": ["${user_config.k}"]}]},
            {"hooks": [{"type": "http", "url": "http://h/${user_config.k}"}]},
        ]
    }

    shell, plain, http = (group["hooks"][0] for group in fill_hooks(hooks, options={"k": "; rm"})["Stop"])

    assert shell["command"] == "echo ${user_config.k}"
    assert (plain["args"], http["url"]) == (["; rm"], "http://h/; rm")


def test_a_folder_that_is_not_there_and_a_broken_manifest_are_named(home: PluginHome, tmp_path: Path):
    broken = tmp_path / "broken"
    (broken / ".claude-plugin").mkdir(parents=True)
    (broken / ".claude-plugin" / "plugin.json").write_text("{")

    plugins = home.load(tmp_path / "nowhere", broken, GREETER)

    assert [each.plugin.name for each in plugins.loaded] == ["greeter"]
    assert [(each.plugin, each.type) for each in plugins.faults][:2] == [
        ("nowhere", "path-not-found"),
        ("broken", "manifest-parse-error"),
    ]
    assert plugins.faults[0].frame()["path"] == str(tmp_path / "nowhere")


def test_a_plugin_among_the_skills_counts_and_a_strangers_does_not(home: PluginHome):
    write_plugin(home.home / ".claude" / "skills" / "mine", {"name": "mine"})
    write_plugin(home.project / ".claude" / "skills" / "theirs", {"name": "theirs"})

    assert [str(each.plugin) for each in home.load().loaded] == ["mine@skills-dir", "theirs@skills-dir"]
    assert [str(each.plugin) for each in home.load(trusted=False).loaded] == ["mine@skills-dir"]


@pytest.mark.parametrize("place", ["the copy", "the folder of the marketplace"])
async def test_what_a_plugin_runs_is_bound_to_what_was_agreed_to(home: PluginHome, place: str):
    await _install(home)
    (record,) = read_installed(home.env).plugins[str(ID)]
    if place == "the copy":
        home.as_fetched()
    folder = Path(record.install_path if place == "the copy" else record.bridle_source)
    file = folder / "hooks" / "hooks.json"
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}))

    plugins = home.load()

    assert plugins.loaded == ()
    assert plugins.faults[-1].type == "content-changed"


async def test_files_that_are_gone_and_plugins_that_were_never_installed_are_named(home: PluginHome):
    await _install(home)
    home.as_fetched()
    (record,) = read_installed(home.env).plugins[str(ID)]
    os.rename(record.install_path, f"{record.install_path}.away")
    settings = home.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {str(ID): True, "other@town": True, "x@y": False}}))

    plugins = home.load()

    assert [(each.plugin, each.type) for each in plugins.faults] == [
        (str(ID), "path-not-found"),
        ("other@town", "plugin-not-found"),
    ]


async def test_switches_count_from_the_nearest_settings_and_the_administrator(home: PluginHome):
    await _install(home)
    local = home.project / ".claude" / "settings.local.json"
    local.parent.mkdir()
    local.write_text(json.dumps({"enabledPlugins": {str(ID): False}}))
    assert home.load().loaded == ()
    assert len(home.load(trusted=False).loaded) == 1

    (home.managed / "managed-settings.json").write_text(json.dumps({"enabledPlugins": {str(ID): True}}))
    assert len(home.load().loaded) == 1


def test_a_plugin_without_what_it_needs_or_without_a_required_option_is_left_out(
    home: PluginHome, tmp_path: Path
):
    needy = write_plugin(tmp_path / "needy", {"name": "needy", "dependencies": ["nobody"]})
    third = write_plugin(tmp_path / "third", {"name": "third", "dependencies": ["needy"]})
    strict = write_plugin(tmp_path / "strict", {"name": "strict", "userConfig": {"k": {"required": True}}})

    plugins = home.load(needy, third, strict)

    assert plugins.loaded == ()
    assert sorted((each.plugin, each.type) for each in plugins.faults) == [
        ("needy@inline", "dependency-unsatisfied"),
        ("strict@inline", "option-missing"),
        ("third@inline", "dependency-unsatisfied"),
    ]


def test_the_second_plugin_of_a_name_does_not_count(home: PluginHome, tmp_path: Path):
    one = write_plugin(tmp_path / "one", {"name": "same", "version": "1"})
    two = write_plugin(tmp_path / "two", {"name": "same", "version": "2"})

    plugins = home.load(one, two)

    assert [each.manifest.version for each in plugins.loaded] == ["1"]
    assert [each.type for each in plugins.faults] == ["name-conflict"]


def test_a_changed_plugin_is_read_again_and_an_unchanged_one_is_not(home: PluginHome, tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p", "version": "1"})
    settle(tmp_path)
    assert home.load(folder).loaded[0].components.places == ()
    (index,) = (home.home / ".claude" / "bridle" / "index").glob("plugins-*.index")
    before = index.stat().st_mtime_ns
    home.load(folder)
    assert index.stat().st_mtime_ns == before

    (folder / "skills" / "s").mkdir(parents=True)
    (folder / "skills" / "s" / "SKILL.md").write_text("x")
    assert len(home.load(folder).loaded[0].components.places) == 1
    index.write_bytes(b"broken")
    assert len(home.load(folder).loaded[0].components.places) == 1


async def test_plugins_of_a_folder_are_read_in_place_and_from_their_copy_when_it_is_gone(home: PluginHome):
    await _install(home)
    (record,) = read_installed(home.env).plugins[str(ID)]
    source = Path(record.bridle_source)
    (agents,) = (each.folder for each in home.load().loaded)
    os.rename(source, source.with_name("away"))
    (copied,) = (each.folder for each in home.load().loaded)
    assert source.is_relative_to(home.market) and agents == str(source)
    assert copied == record.install_path
