import json
from pathlib import Path

from bridle.commands.plugins import plugin_rows
from bridle.frontends.tui.screens.commands import commands_for
from bridle.frontends.tui.screens.extensions.plugins import FavorPlugin, InstallPlugin, TogglePlugin
from bridle.types.command import Says, Shows
from tests.fakes.commanded import Commanded
from tests.fakes.plugins import FIXTURE


async def test_plugins_are_looked_after_from_within_a_session(tmp_path: Path):
    there = Commanded(tmp_path)

    added = await there.run(f"/plugin marketplace add {FIXTURE}")
    assert isinstance(added, Says) and added.text.startswith("Added the marketplace village with 3 plugins.")
    await there.run(*commands_for(InstallPlugin("words@village", "user")))
    shown = await there.run("/plugin")

    assert isinstance(shown, Shows)
    assert (shown.view, shown.text) == ("plugins", "words@village 2.0.0 (user, on): 1 skill")
    await there.run(*commands_for(TogglePlugin("words@village", False)))
    settings = json.loads((there.home / "settings.json").read_text())
    assert settings["enabledPlugins"] == {"words@village": False}


async def test_the_view_is_told_what_is_installed_and_what_is_offered(tmp_path: Path):
    there = Commanded(tmp_path)
    await there.run(f"/plugin marketplace add {FIXTURE}")
    await there.run("/plugin install words@village")

    rows, markets = plugin_rows(there.context)

    assert [(row.id, row.installed) for row in rows] == [
        ("words@village", True),
        ("greeter@village", False),
        ("formatter@village", False),
    ]
    assert [(market.name, market.plugins, market.problem) for market in markets] == [("village", 3, "")]


async def test_favorites_come_first_and_are_kept(tmp_path: Path):
    there = Commanded(tmp_path)
    await there.run(f"/plugin marketplace add {FIXTURE}")
    await there.run("/plugin install words@village")
    await there.run("/plugin install greeter")
    (favor,) = commands_for(FavorPlugin("greeter@village", True))
    await there.run(favor)

    rows, _ = plugin_rows(Commanded(tmp_path).context)
    assert [(row.id, row.favorite) for row in rows[:2]] == [
        ("greeter@village", True),
        ("words@village", False),
    ]
    shown = await there.run("/plugin list")
    assert isinstance(shown, Shows) and shown.text.startswith("* greeter@village")
    await there.run("/plugin favorite greeter off")
    rows, _ = plugin_rows(there.context)
    assert not any(row.favorite for row in rows)


async def test_a_plugin_is_installed_from_a_marketplace_named_with_it(tmp_path: Path):
    there = Commanded(tmp_path)
    said = await there.run(f"/plugin install words --marketplace {FIXTURE}")
    assert isinstance(said, Says) and said.text.startswith("Installed words@village 2.0.0.")


async def test_a_marketplace_is_kept_up_to_date_once_the_user_says_so(tmp_path: Path):
    there = Commanded(tmp_path)
    await there.run(f"/plugin marketplace add {FIXTURE}")
    await there.run("/plugin marketplace auto-update village on")
    said = await there.run("/plugin marketplace list")
    assert isinstance(said, Says) and said.text.endswith(", auto-update")
