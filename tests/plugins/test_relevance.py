import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installing import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.relevance import suggestions
from bridle.extensions.plugins.sources import parse_source
from tests.fakes.plugins import PluginHome


async def _home(folder: Path, relevance: Any) -> PluginHome:
    home = PluginHome(folder)
    file = home.market / ".claude-plugin" / "marketplace.json"
    values = json.loads(file.read_text())
    for entry in values["plugins"]:
        if entry["name"] == "greeter":
            entry["relevance"] = relevance
    file.write_text(json.dumps(values))
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    return home


@pytest.mark.parametrize(
    ("patterns", "cwd", "suggested"),
    [
        (["**/infra/**"], "/srv/infra", True),
        (["infra/**"], "/srv/infra/network", True),
        (["/srv/*"], "/srv/infra", True),
        (["/infra/**"], "/srv/infra", False),
        (["**/infra"], "/srv/infrared", False),
        (["[", 7, ""], "/srv/infra", False),
    ],
)
async def test_plugin_is_suggested_in_the_folders_that_it_is_meant_for(
    tmp_path: Path, patterns: list[Any], cwd: str, suggested: bool
):
    home = await _home(tmp_path, {"topic": "Terraform", "signals": {"cwd": patterns}})
    told = suggestions(replace(home.around(), cwd=cwd), ["village"])
    name = "greeter@village"
    sentence = f"The plugin {name} (Terraform) is meant for this folder: /plugin install {name}"
    assert told == ((sentence,) if suggested else ())


async def test_only_marketplaces_that_management_names_suggest_anything(tmp_path: Path):
    home = await _home(tmp_path, {"signals": {"cwd": ["**"]}})
    assert suggestions(home.around(), ["elsewhere"]) == ()
    assert len(suggestions(home.around(), ["elsewhere", "village"])) == 1


@pytest.mark.parametrize("relevance", [None, [], {"signals": []}, {"signals": {"cwd": "**"}}, {"topic": "x"}])
async def test_relevance_that_makes_no_sense_suggests_nothing(tmp_path: Path, relevance: Any):
    assert suggestions((await _home(tmp_path, relevance)).around(), ["village"]) == ()


async def test_what_is_installed_is_not_suggested(tmp_path: Path):
    home = await _home(tmp_path, {"signals": {"cwd": ["**"]}})
    await install(home.around(), [PluginId("greeter", "village")])
    assert suggestions(home.around(), ["village"]) == ()
