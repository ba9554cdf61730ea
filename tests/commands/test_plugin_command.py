import json
from pathlib import Path

from bridle.commands.plugins import plugin_rows
from bridle.frontends.tui.views.doing import commands_for
from bridle.frontends.tui.views.plugins import InstallPlugin, TogglePlugin
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
