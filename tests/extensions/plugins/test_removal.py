import json
from pathlib import Path

import pytest

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import enable, install
from bridle.extensions.plugins.names import PluginId, data_dir
from bridle.extensions.plugins.removal import prune, remove_marketplace, uninstall
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import read_installed, read_known
from bridle.types.errors import ConfigError, UsageError
from tests.fakes.plugins import PluginHome, write_market, write_plugin


def id_of(name: str) -> PluginId:
    return PluginId(name, "ring")


@pytest.fixture
async def home(tmp_path: Path) -> PluginHome:
    """`top` needs `left`, which needs `right` and is needed by it."""
    home = PluginHome(tmp_path)
    needs = {"top": ["left"], "left": ["right"], "right": ["left"], "a.b": [], "a-b": []}
    market = write_market(
        tmp_path / "ring", "ring", [{"name": name, "source": f"./{name}"} for name in needs]
    )
    for name, needed in needs.items():
        write_plugin(market / name, {"name": name, "version": "1.0.0", "dependencies": needed})
    await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))
    return home


def installed(home: PluginHome) -> list[str]:
    return [name.partition("@")[0] for name in read_installed(home.env).plugins]


async def test_plugins_that_need_each_other_can_be_turned_off_and_removed(home: PluginHome):
    await install(home.around(), [id_of("left")])
    enable(home.around(), id_of("right"), enabled=False)
    enable(home.around(), id_of("right"), enabled=True)

    gone = await uninstall(home.around(), id_of("left"), prune=True)

    assert [plugin.name for plugin in gone] == ["left", "right"]
    assert installed(home) == []


async def test_a_circle_is_still_needed_by_what_is_outside_it(home: PluginHome):
    await install(home.around(), [id_of("top")])
    with pytest.raises(UsageError, match="required by top@ring"):
        await uninstall(home.around(), id_of("left"))
    assert await prune(home.around()) == ()

    await uninstall(home.around(), id_of("top"))

    assert {plugin.name for plugin in await prune(home.around())} == {"left", "right"}


async def test_what_a_plugin_of_another_project_needs_is_not_pruned(home: PluginHome, tmp_path: Path):
    await install(home.around(), [id_of("top")])
    other = PluginHome.__new__(PluginHome)
    vars(other).update({**vars(home), "project": tmp_path})
    write_plugin(tmp_path / "ring" / "more", {"name": "more", "dependencies": ["left"]})
    catalog = tmp_path / "ring" / ".claude-plugin" / "marketplace.json"
    values = json.loads(catalog.read_text())
    catalog.write_text(
        json.dumps({**values, "plugins": [*values["plugins"], {"name": "more", "source": "./more"}]})
    )
    await install(other.around(), [id_of("more")], scope="local")

    await uninstall(home.around(), id_of("top"), prune=True)

    assert set(installed(home)) == {"left", "right", "more"}


async def test_one_of_two_scopes_can_go_though_others_need_the_plugin(home: PluginHome):
    await install(home.around(), [id_of("top")])
    await install(home.around(), [id_of("left")], scope="local")

    await uninstall(home.around(), id_of("left"), scope="local")

    assert [record.scope for record in read_installed(home.env).plugins["left@ring"]] == ["user"]


async def test_data_goes_only_with_the_last_plugin_that_has_the_folder(home: PluginHome):
    await install(home.around(), [id_of("a.b"), id_of("a-b")])
    data = Path(data_dir(home.env, id_of("a-b")))
    data.mkdir(parents=True)

    await uninstall(home.around(), id_of("a.b"))
    assert data.is_dir()
    await uninstall(home.around(), id_of("a-b"))
    assert not data.exists()


async def test_the_removal_of_a_marketplace_that_was_cut_off_can_be_repeated(home: PluginHome):
    await install(home.around(), [id_of("top")])

    def stop(step: str) -> None:
        if step == "settled":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await remove_marketplace(home.around(reached=stop), "ring")
    assert "ring" in read_known(home.env)
    await remove_marketplace(home.around(), "ring")
    assert (installed(home), "ring" in read_known(home.env)) == ([], False)


@pytest.mark.parametrize("obstacle", ["no folder", "no JSON"])
async def test_settings_that_cannot_be_changed_leave_everything_as_it_was(home: PluginHome, obstacle: str):
    place = home.project / ".claude"
    if obstacle == "no folder":
        place.write_text("in the way")
    else:
        place.mkdir()
        (place / "settings.json").write_text("{")

    with pytest.raises((ConfigError, OSError)):
        await install(home.around(), [id_of("top")], scope="project")
    assert read_installed(home.env).plugins == {} and read_installed(home.env).pending == ()
    await install(home.around(), [id_of("a.b")])  # Others are not held up by it.
    assert installed(home) == ["a.b"]


async def test_a_plugin_stays_where_its_switch_cannot_be_removed(home: PluginHome):
    await install(home.around(), [id_of("a.b")], scope="project")
    settings = home.project / ".claude" / "settings.json"
    good = settings.read_text()
    settings.write_text("{")
    with pytest.raises(ConfigError):
        await uninstall(home.around(), id_of("a.b"))
    settings.write_text(good)
    assert [each.plugin.name for each in home.load().loaded] == ["a.b"]


async def test_a_switch_turned_after_a_crash_stays_as_it_was_turned(home: PluginHome):
    def stop(step: str) -> None:
        if step == "recorded":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await install(home.around(reached=stop), [id_of("a.b")])
    assert read_installed(home.env).pending
    enable(home.around(), id_of("a.b"), enabled=False)
    await install(home.around(), [id_of("a-b")])
    assert home.settings()["enabledPlugins"] == {"a.b@ring": False, "a-b@ring": True}
