import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import enable, install, update
from bridle.extensions.plugins.names import PluginId, data_dir
from bridle.extensions.plugins.options import read_options
from bridle.extensions.plugins.removal import prune, remove_marketplace, uninstall
from bridle.extensions.plugins.report import installed_plugins, is_changed, known_marketplaces
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import read_installed
from bridle.types.errors import ConfigError, UsageError
from tests.fakes.file_server import FileServer
from tests.fakes.plugins import PluginHome, make_repository, write_market, write_plugin

GREETER = PluginId("greeter", "village")
WORDS = PluginId("words", "village")
FORMATTER = PluginId("formatter", "village")


@pytest.fixture
async def home(tmp_path: Path) -> PluginHome:
    home = PluginHome(tmp_path)
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    return home


def names(home: PluginHome) -> list[str]:
    return sorted(each.plugin.name for each in home.load().loaded)


def bump(home: PluginHome, version: str) -> None:
    file = home.market / "plugins" / "greeter" / ".claude-plugin" / "plugin.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))


async def test_a_plugin_is_installed_with_what_it_needs(home: PluginHome):
    changes = await install(home.around(), [FORMATTER])

    assert [(each.plugin.name, each.version, each.automatic) for each in changes] == [
        ("formatter", "0.3.0", False),
        ("words", "2.0.0", True),
        ("greeter", "1.2.0", True),
    ]
    assert names(home) == ["formatter", "greeter", "words"]
    assert home.settings()["enabledPlugins"] == {str(id): True for id in (FORMATTER, WORDS, GREETER)}
    assert not (home.plugins / ".staging").exists()


async def test_project_and_local_plugins_count_only_in_their_project(home: PluginHome, tmp_path: Path):
    await install(home.around(), [GREETER], scope="project")
    await install(home.around(), [WORDS], scope="local")
    assert home.settings("project")["enabledPlugins"] == {"greeter@village": True}
    assert home.settings("local")["enabledPlugins"] == {"words@village": True}
    assert names(home) == ["greeter", "words"]

    home.project = tmp_path / "other"
    home.project.mkdir()
    assert names(home) == []


async def test_nothing_of_a_project_counts_until_it_is_trusted(home: PluginHome):
    """S40"""
    await install(home.around(), [GREETER], scope="project")
    await install(home.around(), [WORDS])

    assert [each.plugin.name for each in home.load(trusted=False).loaded] == ["words"]


async def test_who_does_not_agree_gets_nothing(home: PluginHome):
    with pytest.raises(UsageError):
        await install(home.around(), [GREETER], agree=lambda _: False)

    assert names(home) == [] and home.settings() == {}
    assert not (home.plugins / "cache").exists()


async def test_an_update_takes_new_content_and_leaves_the_same_alone(home: PluginHome):
    await install(home.around(), [GREETER])
    assert await update(home.around(), GREETER) == ()

    bump(home, "1.3.0")
    (row,) = installed_plugins(home.around(), home.config(), home.load())
    assert (row.version, row.offered) == ("1.2.0", "1.3.0")
    (change,) = await update(home.around(), GREETER)

    assert (change.before, change.version) == ("1.2.0", "1.3.0")
    assert home.load().loaded[0].manifest.version == "1.3.0"
    assert (home.plugins / "cache" / "village" / "greeter" / "1.2.0").is_dir()
    await prune(home.around())
    assert os.listdir(home.plugins / "cache" / "village" / "greeter") == ["1.3.0"]


async def test_another_content_of_the_same_version_gets_a_folder_of_its_own(home: PluginHome):
    await install(home.around(), [WORDS])
    (home.market / "plugins" / "words" / "skills" / "count" / "SKILL.md").write_text("changed")

    await update(home.around(), WORDS)
    home.as_fetched()

    folder = Path(home.load().loaded[0].folder)
    assert folder.name.startswith("2.0.0-")
    assert (folder / "skills" / "count" / "SKILL.md").read_text() == "changed"


async def test_a_renamed_plugin_is_taken_over_with_its_switch(home: PluginHome):
    await install(home.around(), [GREETER])
    enable(home.around(), GREETER, enabled=False)
    list_file = home.market / ".claude-plugin" / "marketplace.json"
    market = json.loads(list_file.read_text())
    market["plugins"][0]["name"] = "welcomer"
    market["renames"] = {"greeter": "welcomer"}
    list_file.write_text(json.dumps(market))
    manifest = home.market / "plugins" / "greeter" / ".claude-plugin" / "plugin.json"
    manifest.write_text(json.dumps({"name": "welcomer", "version": "2.0.0"}))

    (change,) = await update(home.around(), GREETER)

    assert str(change.plugin) == "welcomer@village"
    assert list(read_installed(home.env).plugins) == ["welcomer@village"]
    assert home.settings()["enabledPlugins"] == {"welcomer@village": False}


async def test_what_others_need_is_neither_removed_nor_turned_off(home: PluginHome):
    await install(home.around(), [FORMATTER])

    with pytest.raises(UsageError):
        await uninstall(home.around(), WORDS)
    with pytest.raises(UsageError):
        enable(home.around(), WORDS, enabled=False)

    await uninstall(home.around(), FORMATTER)
    assert await prune(home.around(), dry_run=True) == (WORDS, GREETER)
    assert await prune(home.around()) == (WORDS, GREETER)
    assert names(home) == []


async def test_data_and_options_go_with_the_last_scope_unless_they_are_kept(home: PluginHome):
    await install(home.around(), [GREETER], options={"token": "s3cret", "tone": "cold"})
    await install(home.around(), [GREETER], scope="project")
    home.load()
    data = Path(data_dir(home.env, GREETER))
    (data / "kept").write_text("x")

    await uninstall(home.around(), GREETER, scope="project")
    assert data.is_dir()
    await uninstall(home.around(), GREETER, keep_data=True)
    assert data.is_dir()
    await install(home.around(), [GREETER])
    await uninstall(home.around(), GREETER)
    assert not data.exists()
    assert home.settings().get("pluginConfigs", {}) == {}


async def test_secrets_stay_out_of_the_settings_and_of_what_the_model_reads(home: PluginHome):
    await install(home.around(), [GREETER], options={"token": "s3cret", "tone": "cold"})

    (loaded,) = home.load().loaded

    assert "s3cret" not in json.dumps(home.settings())
    secrets = home.home / ".claude" / "bridle" / "plugin-secrets.json"
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert loaded.options.values == {"tone": "cold", "token": "s3cret"}
    assert [root.options for root in loaded.roots("skills")] == [{"tone": "cold"}]
    assert loaded.variables()["CLAUDE_PLUGIN_OPTION_TOKEN"] == "s3cret"


async def test_a_dependency_of_another_version_or_marketplace_is_refused(home: PluginHome, tmp_path: Path):
    bump(home, "2.0.0")
    with pytest.raises(ConfigError, match="requires greeter@village"):
        await install(home.around(), [FORMATTER])

    write_plugin(tmp_path / "m" / "p", {"name": "p", "dependencies": ["words@village"]})
    market = write_market(tmp_path / "m", "town", [{"name": "p", "source": "./p"}])
    await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))
    with pytest.raises(ConfigError, match="allowCrossMarketplaceDependenciesOn"):
        await install(home.around(), [PluginId("p", "town")])
    assert names(home) == []

    write_market(
        market, "town", [{"name": "p", "source": "./p"}], allowCrossMarketplaceDependenciesOn=["village"]
    )
    await install(home.around(), [PluginId("p", "town")])
    assert names(home) == ["p", "words"]


async def test_plugins_that_need_each_other_are_installed_together(home: PluginHome, tmp_path: Path):
    for name, other in (("a", "b"), ("b", "a")):
        write_plugin(tmp_path / "m" / name, {"name": name, "dependencies": [other]})
    market = write_market(tmp_path / "m", "town", [{"name": each, "source": f"./{each}"} for each in "ab"])
    await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))

    await install(home.around(), [PluginId("a", "town")])

    assert names(home) == ["a", "b"]


async def test_two_plugins_of_one_name_do_not_get_along(home: PluginHome, tmp_path: Path):
    write_plugin(tmp_path / "m" / "w", {"name": "words"})
    market = write_market(tmp_path / "m", "town", [{"name": "words", "source": "./w"}])
    await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))
    await install(home.around(), [WORDS])

    with pytest.raises(ConfigError):
        await install(home.around(), [PluginId("words", "town")])


async def test_a_marketplace_that_vanished_is_used_from_its_last_copy(home: PluginHome, tmp_path: Path):
    remote = tmp_path / "remote"
    shutil.copytree(home.market, remote)
    make_repository(remote)
    await remove_marketplace(home.around(), "village")
    await marketplaces.add(home.around(), parse_source(f"file://{remote}", cwd="/"))
    shutil.rmtree(remote)

    renewed = await marketplaces.update(home.around(), "village")
    await install(home.around(), [GREETER])

    assert renewed.stale and not renewed.changed
    assert names(home) == ["greeter"]


async def test_a_folder_that_vanished_is_still_listed_and_what_is_installed_works(home: PluginHome):
    await install(home.around(), [GREETER])
    shutil.rmtree(home.market)

    (row,) = known_marketplaces(home.around())

    assert row.plugins == 3
    assert names(home) == ["greeter"]
    with pytest.raises(ConfigError):
        await install(home.around(), [WORDS])


async def test_a_marketplace_is_a_list_at_an_address_too(home: PluginHome, tmp_path: Path):
    plugin = write_plugin(tmp_path / "src", {"name": "far", "version": "1.0.0"})
    make_repository(plugin)
    listed = {
        "name": "far-away",
        "plugins": [
            {"name": "far", "source": {"source": "url", "url": f"file://{plugin}"}},
            {"name": "near", "source": "./near"},
        ],
    }
    async with FileServer({"/m.json": json.dumps(listed).encode()}) as server:
        found = await marketplaces.add(home.around(), parse_source(f"{server.url}/m.json", cwd="/"))

    assert list(found.offers) == ["far"] and len(found.faults) == 1
    await install(home.around(), [PluginId("far", "far-away")])
    assert names(home) == ["far"]


async def test_removing_a_marketplace_removes_its_plugins(home: PluginHome):
    await install(home.around(), [GREETER])

    assert await remove_marketplace(home.around(), "village") == (GREETER,)

    assert names(home) == [] and known_marketplaces(home.around()) == ()
    assert home.market.is_dir()


async def test_a_name_that_is_taken_is_not_given_to_another_source(home: PluginHome, tmp_path: Path):
    other = write_market(tmp_path / "m", "village", [])

    with pytest.raises(ConfigError):
        await marketplaces.add(home.around(), parse_source(str(other), cwd="/"))


async def test_marketplaces_of_settings_are_fetched_when_they_are_used(home: PluginHome, tmp_path: Path):
    write_plugin(tmp_path / "m" / "p", {"name": "p"})
    market = write_market(tmp_path / "m", "town", [{"name": "p", "source": "./p"}])
    extra = {"town": {"source": {"source": "directory", "path": str(market)}}}
    (home.home / ".claude" / "settings.json").write_text(json.dumps({"extraKnownMarketplaces": extra}))

    await install(home.around(), [PluginId("p", "town")])

    assert names(home) == ["p"]


async def test_management_blocks_what_is_installed_already(home: PluginHome):
    await install(home.around(), [GREETER])
    (home.managed / "managed-settings.json").write_text('{"strictKnownMarketplaces": []}')

    loaded = home.load()

    assert loaded.loaded == ()
    assert [each.type for each in loaded.faults] == ["blocked-by-policy"]
    with pytest.raises(ConfigError):
        await install(home.around(), [WORDS])


async def test_changed_files_are_noticed(home: PluginHome):
    await install(home.around(), [GREETER])
    (record,) = read_installed(home.env).plugins[str(GREETER)]
    assert not is_changed(record)

    (Path(record.install_path) / "bin" / "bell").write_text("#!/bin/sh\nevil\n")

    assert is_changed(record)


_KILLED = """
import asyncio, os, sys, json
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.fakes.plugins import PluginHome
from bridle.extensions.plugins.installation import install, update
from bridle.extensions.plugins.removal import uninstall
from bridle.extensions.plugins.names import PluginId

home = PluginHome.__new__(PluginHome)
for name, value in json.loads(sys.argv[2]).items():
    setattr(home, name, Path(value) if isinstance(value, str) else value)
left = [int(sys.argv[4])]

def reached(step):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)

act = {"install": install, "uninstall": uninstall, "update": update}[sys.argv[3]]
plugin = PluginId("formatter" if act is install else "greeter", "village")
asyncio.run(act(home.around(reached=reached), [plugin] if act is install else plugin))
"""


def run_and_kill(home: PluginHome, action: str, step: int) -> int:
    words = killed_words(home, action, step)
    return subprocess.run(words, timeout=60, check=False, capture_output=True).returncode


def killed_words(home: PluginHome, action: str, step: int) -> tuple[str, ...]:
    facts: dict[str, Any] = {
        "home": str(home.home),
        "project": str(home.project),
        "managed": str(home.managed),
        "market": str(home.market),
        "env": home.env,
    }
    root = str(Path(__file__).parents[3])
    return (sys.executable, "-c", _KILLED, root, json.dumps(facts), action, str(step))


@pytest.mark.parametrize("step", range(9))
async def test_a_kill_during_an_installation_leaves_the_old_state_or_the_new_one(home: PluginHome, step: int):
    code = await asyncio.to_thread(run_and_kill, home, "install", step)
    found = home.load()

    assert code in (0, 9)
    assert sorted(each.plugin.name for each in found.loaded) in ([], ["formatter", "greeter", "words"])
    assert {each.type for each in found.faults} <= {"lsp-config-invalid"}
    await install(home.around(), [FORMATTER])
    assert names(home) == ["formatter", "greeter", "words"]
    assert not (home.plugins / ".staging").exists()


async def test_a_kill_from_outside_at_any_time_leaves_the_old_state_or_the_new_one(home: PluginHome):
    """Twenty points of time, spread over what an installation takes on this machine."""
    whole = await _installing_for(home, None)
    assert whole is not None
    for point in range(20):
        await uninstall_all(home)
        await _installing_for(home, whole * (point + 1) / 20)
        found = home.load()
        assert sorted(each.plugin.name for each in found.loaded) in ([], ["formatter", "greeter", "words"])
        assert {each.type for each in found.faults} <= {"lsp-config-invalid"}
    await install(home.around(), [FORMATTER])
    assert names(home) == ["formatter", "greeter", "words"]


async def uninstall_all(home: PluginHome) -> None:
    for plugin in (FORMATTER, WORDS, GREETER):
        if str(plugin) in read_installed(home.env).plugins:
            await uninstall(home.around(), plugin)


async def _installing_for(home: PluginHome, seconds: float | None) -> float | None:
    """Install, and kill the process after so many seconds; how long it took when it was let finish."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    process = await asyncio.create_subprocess_exec(
        *killed_words(home, "install", 10_000),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60 if seconds is None else seconds):
            assert await process.wait() == 0
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return loop.time() - began


@pytest.mark.parametrize("step", range(3))
async def test_a_kill_during_a_removal_or_an_update_leaves_one_of_the_states(home: PluginHome, step: int):
    await install(home.around(), [GREETER])
    bump(home, "1.3.0")
    await asyncio.to_thread(run_and_kill, home, "update", step)
    (loaded,) = home.load().loaded
    assert loaded.manifest.version in ("1.2.0", "1.3.0")

    await asyncio.to_thread(run_and_kill, home, "uninstall", step)
    found = home.load()
    assert len(found.loaded) <= 1
    assert {each.type for each in found.faults} <= {"lsp-config-invalid"}


async def test_two_processes_do_not_change_plugins_at_once(home: PluginHome):
    await asyncio.gather(install(home.around(), [GREETER]), install(home.around(), [WORDS]))

    assert names(home) == ["greeter", "words"]


async def test_options_have_types_limits_and_defaults(home: PluginHome):
    from bridle.extensions.plugins.options import check_option
    from bridle.extensions.plugins.plugin import OptionField

    fields = {
        "n": OptionField(type="number", min=1, max=5, required=True),
        "b": OptionField(type="boolean"),
        "l": OptionField(multiple=True),
        "d": OptionField(type="directory"),
        "s": OptionField(default="x"),
    }
    assert check_option(fields, "n", "3") == 3
    assert check_option(fields, "b", "yes") is True
    assert check_option(fields, "l", "a, b") == ["a", "b"]
    assert check_option(fields, "d", str(home.home)) == str(home.home)
    wrong = (("n", "9"), ("n", "x"), ("n", "nan"), ("b", "maybe"), ("d", "/nowhere/at/all"), ("?", ""))
    for key, text in (*wrong, ("s", "\udcff")):
        with pytest.raises(UsageError):
            check_option(fields, key, text)
    options = read_options(home.env, GREETER, fields, {"l": ["a", "b"]})
    assert (options.values, options.missing) == ({"l": "a,b", "s": "x"}, ("n",))


async def test_more_plugins_are_installed_at_once_than_may_depend_on_each_other(tmp_path: Path):
    home = PluginHome(tmp_path)
    many = [f"many-{number}" for number in range(60)]
    for name in many:
        write_plugin(home.market / "plugins" / name, {"name": name, "version": "1.0.0"})
    catalog = home.market / ".claude-plugin" / "marketplace.json"
    offers = [{"name": name, "source": f"./plugins/{name}"} for name in many]
    catalog.write_text(json.dumps({**json.loads(catalog.read_text()), "plugins": offers}))
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    await install(home.around(), [PluginId(name, "village") for name in many])
    assert names(home) == sorted(many)
