import json
import os
import shutil
from pathlib import Path

import pytest

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.sources import parse_source
from bridle.types.errors import UsageError
from tests.fakes.plugins import PluginHome

WORDS = PluginId("words", "village")


@pytest.fixture
async def home(tmp_path: Path) -> PluginHome:
    """A user of an image whose folder of plugins was made by another user, and who has none of their own."""
    (tmp_path / "maker").mkdir()
    maker = PluginHome(tmp_path / "maker")
    await marketplaces.add(maker.around(), parse_source(str(maker.market), cwd="/"))
    await install(maker.around(), [WORDS])
    seed = tmp_path / "seed"
    shutil.copytree(maker.plugins, seed)
    (seed / "marketplaces").mkdir(exist_ok=True)
    shutil.copytree(maker.market, seed / "marketplaces" / "village")
    shutil.rmtree(tmp_path / "maker")
    (tmp_path / "user").mkdir()
    home = PluginHome(tmp_path / "user")
    home.env["CLAUDE_CODE_PLUGIN_SEED_DIR"] = os.pathsep.join((str(tmp_path / "none"), str(seed)))
    return home


def _turn_on(home: PluginHome) -> None:
    (home.home / ".claude").mkdir(exist_ok=True)
    (home.home / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {str(WORDS): True}}))


async def test_a_plugin_of_the_image_is_used_where_it_lies_once_it_is_turned_on(home: PluginHome):
    assert home.load().loaded == ()
    _turn_on(home)
    loaded = home.load()
    (words,) = loaded.loaded
    assert words.folder.endswith("/seed/cache/village/words/2.0.0")
    assert loaded.faults == ()
    assert not (home.plugins / "cache").exists()


async def test_marketplaces_of_the_image_are_known_and_can_be_installed_from(home: PluginHome):
    await install(home.around(), [PluginId("greeter", "village")])
    assert [each.plugin.name for each in home.load().loaded] == ["greeter"]


async def test_marketplaces_of_the_image_are_not_changed(home: PluginHome):
    with pytest.raises(UsageError):
        await marketplaces.update(home.around(), "village")
    with pytest.raises(UsageError):
        marketplaces.forget(home.around(), "village")
    with pytest.raises(UsageError):
        marketplaces.keep_current(home.around(), "village", on=True)


async def test_what_the_user_installed_goes_before_the_image(home: PluginHome):
    await install(home.around(), [WORDS])
    (words,) = home.load().loaded
    assert words.folder.startswith(str(home.plugins))
