import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.auto_update import auto_update, due, may_update
from bridle.extensions.plugins.installation import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import read_installed
from tests.fakes.plugins import PluginHome

WORDS = PluginId("words", "village")
GREETER = PluginId("greeter", "village")
NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
async def home(tmp_path: Path) -> PluginHome:
    home = PluginHome(tmp_path)
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    await install(home.around(), [GREETER, WORDS])
    return home


def _bump(home: PluginHome, name: str, version: str) -> None:
    file = home.market / "plugins" / name / ".claude-plugin" / "plugin.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))


def _version(home: PluginHome, plugin: PluginId) -> str:
    (record,) = read_installed(home.env).plugins[str(plugin)]
    return record.version


async def test_only_marketplaces_that_say_so_are_brought_up_to_date(home: PluginHome):
    assert due(home.around(), NOW) == ()
    marketplaces.keep_current(home.around(), "village", on=True)
    assert due(home.around(), NOW) == ("village",)
    marketplaces.keep_current(home.around(), "village", on=False)
    assert due(home.around(), NOW) == ()


async def test_settings_that_name_a_marketplace_may_keep_it_up_to_date(home: PluginHome):
    extra = {"village": {"source": {"source": "directory", "path": str(home.market)}, "autoUpdate": True}}
    settings = {**home.settings(), "extraKnownMarketplaces": extra}
    (home.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    assert due(home.around(), NOW) == ("village",)


async def test_a_marketplace_is_not_looked_at_twice_within_the_hour(home: PluginHome):
    marketplaces.keep_current(home.around(), "village", on=True)
    file = home.plugins / "known_marketplaces.json"
    known = json.loads(file.read_text())
    known["village"]["lastUpdated"] = "2029-12-31T23:30:00.000Z"
    file.write_text(json.dumps(known))
    assert due(home.around(), NOW) == ()


async def test_a_newer_text_is_installed_and_told(home: PluginHome):
    _bump(home, "greeter", "1.3.0")
    told = await auto_update(home.around(), ["village"])
    assert told == ("Updated greeter@village to 1.3.0. Use it in this session with /reload-plugins.",)
    assert _version(home, GREETER) == "1.3.0"


async def test_an_update_that_runs_something_else_waits_for_the_user(home: PluginHome):
    _bump(home, "greeter", "1.3.0")
    hooks = home.market / "plugins" / "greeter" / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace("greeted", "robbed"))
    told = await auto_update(home.around(), ["village"])
    assert told == (
        (
            "An update of greeter@village changes what it runs. Review it with: bridle plugin update "
            "greeter@village"
        ),
    )
    assert _version(home, GREETER) == "1.2.0"


async def test_a_marketplace_that_is_gone_changes_nothing(home: PluginHome):
    home.market.rename(home.market.with_name("moved"))
    assert await auto_update(home.around(), ["village"]) == ()
    assert _version(home, WORDS) == "2.0.0"


@pytest.mark.parametrize("name", ["DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"])
def test_variables_turn_updates_off_unless_they_are_forced(name: str):
    assert may_update({})
    assert not may_update({name: "1"})
    assert may_update({name: "1", "FORCE_AUTOUPDATE_PLUGINS": "1"})
