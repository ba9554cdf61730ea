import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bridle.config.load import load
from bridle.engine.loop import run_turn
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.installation import install
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.project_packages import dependencies
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.suggestions import Suggestion, Work, suggestions
from bridle.features.plugins.feature import PluginsFeature
from bridle.features.plugins.hints import PluginHints
from bridle.features.side_work.feature import SideWorkFeature, open_side_work
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.event import Noticed
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import feature_context, with_feature
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
    sentence = (
        f"The plugin {name} (Terraform) is meant for this folder. Install it with: /plugin install {name}"
    )
    assert told == ((Suggestion(name, sentence),) if suggested else ())


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


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        ({"filesRead": ["**/*.tf"]}, "files such as main.tf"),
        ({"filesRead": ["**/*.sql"]}, None),
        ({"cli": ["terraform"]}, "the command terraform"),
        ({"cli": ["terra"]}, None),
        ({"hosts": ["example.com"]}, "the host example.com"),
        ({"hosts": ["ample.com"]}, None),
        ({"manifestDeps": ["stripe"]}, "projects that use stripe"),
        ({"manifestDeps": ["@acme/*"]}, "projects that use @acme/core"),
        ({"manifestDeps": ["strip"]}, None),
        ({"cwd": ["**"]}, None),
        ({"cli": "terraform", "hosts": [7], "filesRead": ["["], "manifestDeps": None}, None),
    ],
)
async def test_plugin_is_suggested_for_what_a_session_does(tmp_path: Path, signals: Any, reason: str | None):
    home = await _home(tmp_path, {"signals": signals})
    work = Work(
        files=(f"{home.around().cwd}/infra/main.tf",),
        programs=("sudo", "terraform"),
        hosts=("api.example.com",),
        dependencies=lambda: frozenset({"stripe", "@acme/core"}),
    )
    name = "greeter@village"
    sentence = f"The plugin {name} is meant for {reason}. Install it with: /plugin install {name}"
    assert suggestions(home.around(), ["village"], work) == (
        () if reason is None else (Suggestion(name, sentence),)
    )


def test_dependencies_are_read_from_every_kind_of_manifest(tmp_path: Path):
    texts = {
        "package.json": '{"dependencies": {"stripe": "1"}, "devDependencies": {"@acme/core": "2"}}',
        "pyproject.toml": '[project]\ndependencies = ["msgspec>=1"]\n[tool.poetry.dependencies]\nflask = "1"',
        "requirements.txt": "requests==2 # web\n-r other.txt\n",
        "Cargo.toml": '[dependencies]\nserde = "1"\n',
        "go.mod": "module x\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n",
        "Gemfile": 'source "https://a.example"\ngem "rails", "~> 7"\n',
        "composer.json": '{"require": {"monolog/monolog": "*"}, "require-dev": []}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert dependencies(str(tmp_path)) == {
        "stripe", "@acme/core", "msgspec", "flask", "requests", "serde", "github.com/a/b", "rails",
        "monolog/monolog",
    }  # fmt: skip


def test_a_broken_manifest_names_nothing(tmp_path: Path):
    (tmp_path / "package.json").write_text("[")
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    (tmp_path / "composer.json").write_text("[1]")
    assert dependencies(str(tmp_path)) == frozenset()


async def test_plugins_that_fit_what_a_turn_did_are_told_of_once(tmp_path: Path):
    home = await _home(tmp_path, {"topic": "Terraform", "signals": {"cli": ["terraform"]}})
    channel, session = FakeChannel(), make_session()
    command = calls("Bash", command="cd infra && sudo terraform plan; curl https://example.com")
    provider = ScriptedProvider([says(command), says("Planned."), says("Again.")])
    queue = SideWorkFeature({"plugins": PluginHints(home.around(), ["village"])})
    runtime = with_feature(make_runtime(tmp_path, provider, channel=channel), queue)
    for _ in range(2):
        await run_turn(session, Prompt(content="plan", origin=TYPED), runtime)
        async with asyncio.timeout(50):
            await queue.finish()
    name = "greeter@village"
    reason = "the command terraform"
    sentence = f"The plugin {name} (Terraform) is meant for {reason}. Install it with: /plugin install {name}"
    assert [each for each in channel.events if isinstance(each, Noticed)] == [
        Noticed(sentence, level="suggestion")
    ]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, True),
        ({"spinnerTipsEnabled": False}, False),
        ({"spinnerTipsOverride": {"tips": ["x"], "excludeDefault": True}}, False),
    ],
)
async def test_a_session_at_the_terminal_looks_for_plugins_that_management_lets_be_suggested(
    tmp_path: Path, settings: dict[str, Any], told: bool
):
    home = await _home(tmp_path, {"signals": {"cli": ["terraform"]}})
    (tmp_path / "managed").mkdir(exist_ok=True)
    named = {**settings, "pluginSuggestionMarketplaces": ["village"], "promptSuggestionEnabled": False}
    (tmp_path / "managed" / "managed-settings.json").write_text(json.dumps(named))
    around = home.around()
    config = load(
        cwd=around.cwd, env=around.env, flag=None, setting_sources=None, managed_dir=str(tmp_path / "managed")
    )
    context = feature_context(
        tmp_path,
        config=config,
        env={**around.env, "BRIDLE_TITLES": "0"},
        project=around.cwd,
        interactive=True,
    )
    queue = open_side_work(context)
    assert queue is not None
    channel, session = FakeChannel(), make_session()
    provider = ScriptedProvider([says(calls("Bash", command="terraform plan")), says("Planned.")])
    runtime = make_runtime(tmp_path, provider, channel=channel)
    runtime = with_feature(runtime, PluginsFeature(context), queue)
    await run_turn(session, Prompt(content="plan", origin=TYPED), runtime)
    async with asyncio.timeout(50):
        await queue.finish()
    await queue.close()
    assert any("greeter@village" in each.text for each in channel.of(Noticed)) is told


BROKEN = {
    "package.json": "[" * 100_000,
    "Cargo.toml": "a=" + "[" * 5_000,
    "pyproject.toml": '[project]\noptional-dependencies = {a = 5, b = "x", c = ["useful"]}\n',
}


def test_manifests_of_projects_that_are_broken_or_hostile_name_nothing(tmp_path: Path):
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text)
    assert dependencies(str(tmp_path)) == {"useful"}
