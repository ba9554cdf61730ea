import json
from pathlib import Path

import pytest

from bridle.commands.models import model_choices
from bridle.hooks.handler import FunctionHook
from bridle.types.command import Asks, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.event import ModeChanged
from bridle.types.permission import Effect
from tests.fakes.commanded import Commanded


async def test_a_model_is_chosen_and_kept_or_chosen_for_the_session(tmp_path: Path):
    commanded = Commanded(tmp_path)
    said = await commanded.run("/model opus")
    assert said == Says("Set model to claude-opus-5-5")
    assert commanded.session.state.model == "claude-opus-5-5"
    assert json.loads(commanded.user_settings()) == {"model": "opus"}
    await commanded.run("/model haiku s")
    assert commanded.session.state.model == "claude-haiku-5-5"
    assert json.loads(commanded.user_settings()) == {"model": "opus"}
    await commanded.run("/model default")
    assert json.loads(commanded.user_settings()) == {}


async def test_only_available_models_are_chosen(tmp_path: Path):
    commanded = Commanded(tmp_path, settings='{"availableModels": ["haiku"]}')
    with pytest.raises(UsageError):
        await commanded.run("/model opus")
    shown = await commanded.run("/model")
    assert isinstance(shown, Shows) and "claude-haiku-5-5" in shown.text


async def test_available_models_may_be_patterns_families_and_own_names(tmp_path: Path):
    settings = {"availableModels": ["opus", "openai/*", "fast"], "bridleModels": {"fast": "groq/x"}}
    commanded = Commanded(tmp_path, settings=json.dumps(settings))
    for name in ("claude-opus-5", "openai/gpt-5", "fast"):
        assert isinstance(await commanded.run(f"/model {name} s"), Says)
    with pytest.raises(UsageError):
        await commanded.run("/model haiku")
    offered = {each.value for each in model_choices(commanded.context)}
    assert {"opus", "openai/gpt-5", "fast"} <= offered and not {"haiku", "openai/*"} & offered


async def test_an_unknown_vendor_is_told_and_nothing_changes(tmp_path: Path):
    commanded = Commanded(tmp_path)
    with pytest.raises(UsageError, match="Unknown vendor 'opnai': did you mean openai/gpt-5"):
        await commanded.run("/model opnai/gpt-5")
    assert commanded.session.state.model == "claude-sonnet-5-5"


async def test_models_without_a_key_are_marked_in_the_list(tmp_path: Path):
    commanded = Commanded(tmp_path, env={"OPENAI_API_KEY": "k"})
    keys = {each.value: each.key for each in model_choices(commanded.context)}
    assert (keys["opus"], keys["offline"]) == ("missing", "not needed")
    shown = await commanded.run("/model")
    assert isinstance(shown, Shows) and ", no key" in shown.text


async def test_effort_is_one_of_the_levels_of_the_model(tmp_path: Path):
    commanded = Commanded(tmp_path)
    with pytest.raises(UsageError):
        await commanded.run("/effort low")  # The model of the fake engine has no levels.
    assert await commanded.run("/effort auto") == Says("Set effort to auto.")


async def test_the_window_of_compaction_is_kept(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.run("/autocompact 150k")
    assert json.loads(commanded.user_settings()) == {"autoCompactWindow": 150_000}
    assert commanded.context.runtime.window("model-a").compact_at == 150_000
    await commanded.run("/autocompact off")
    assert not commanded.context.runtime.habits.automatic
    with pytest.raises(UsageError):
        await commanded.run("/autocompact 7")


async def test_settings_are_set_explained_and_taken_back(tmp_path: Path):
    commanded = Commanded(tmp_path)
    said = await commanded.run("/config theme=dark cleanupPeriodDays=7 permissions.defaultMode=plan")
    assert isinstance(said, Says) and "theme = dark" in said.text
    kept = json.loads(commanded.user_settings())
    assert kept == {"theme": "dark", "cleanupPeriodDays": 7, "permissions": {"defaultMode": "plan"}}
    explained = await commanded.run("/config theme")
    assert isinstance(explained, Says) and "settings.json" in explained.text
    shown = await commanded.run("/config")
    assert isinstance(shown, Shows) and "cleanupPeriodDays = 7" in shown.text
    await commanded.run("/config theme=default")
    assert "theme" not in json.loads(commanded.user_settings())
    helped = await commanded.run("/config --help")
    assert isinstance(helped, Says) and "permissions.defaultMode  (default|" in helped.text


@pytest.mark.parametrize(
    "wrong", ["thme=dark", "cleanupPeriodDays=soon", "permissions.defaultMode=wild", "=x", "a b"]
)
async def test_settings_that_cannot_be_are_refused_and_nothing_is_written(tmp_path: Path, wrong: str):
    commanded = Commanded(tmp_path)
    with pytest.raises(UsageError):
        await commanded.run(f"/config {wrong}")
    assert not (commanded.home / "settings.json").exists()


async def test_one_wrong_setting_among_several_keeps_all_from_being_written(tmp_path: Path):
    commanded = Commanded(tmp_path)
    with pytest.raises(UsageError):
        await commanded.run("/config theme=dark cleanupPeriodDays=soon")
    assert not (commanded.home / "settings.json").exists()


async def test_rules_are_added_shown_and_removed(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.run("/permissions allow Bash(npm run *) session")
    await commanded.run("/permissions deny Read(./.env) session")
    assert [(rule.effect, str(rule)) for rule in commanded.session.state.rules] == [
        (Effect.ALLOW, "Bash(npm run *)"),
        (Effect.DENY, "Read(./.env)"),
    ]
    shown = await commanded.run("/permissions")
    assert isinstance(shown, Shows) and shown.text.index("deny") < shown.text.index("allow")
    await commanded.run("/permissions remove Bash(npm run *)")
    assert [str(rule) for rule in commanded.session.state.rules] == ["Read(./.env)"]
    for wrong in ("allow", "remove Bash(nothing)", "grant Bash", "allow Bash(npm session"):
        with pytest.raises(UsageError):
            await commanded.run(f"/permissions {wrong}")


async def test_planning_switches_the_mode_and_may_begin_at_once(tmp_path: Path):
    commanded = Commanded(tmp_path)
    assert isinstance(await commanded.run("/plan"), Says)
    assert commanded.session.state.mode == "plan"
    assert commanded.channel.of(ModeChanged) == [ModeChanged("plan")]
    assert await commanded.run("/plan the move") == Asks(content="the move", shown="/plan the move")


async def test_folders_are_added_and_entered(tmp_path: Path):
    commanded = Commanded(tmp_path)
    heard: list[tuple[str, str]] = []

    def note(input: dict[str, str]) -> None:
        heard.append((input["hook_event_name"], input.get("directory") or input["new_cwd"]))

    hooks = commanded.context.hooks.open()
    hooks.add_function("DirectoryAdded", FunctionHook(function=note))
    hooks.add_function("CwdChanged", FunctionHook(function=note))
    other, inside = tmp_path / "other", commanded.project / "src"
    other.mkdir()
    inside.mkdir()
    await commanded.run(f"/add-dir {other}")
    assert commanded.context.workspace.roots == (str(commanded.project), str(other))
    await commanded.run("/cd src")
    assert commanded.context.workspace.cwd == commanded.session.cwd == str(inside)
    assert heard == [("DirectoryAdded", str(other)), ("CwdChanged", str(inside))]
    assert len(commanded.context.workspace.roots) == 2
    for wrong in ("/add-dir", "/cd nowhere"):
        with pytest.raises(UsageError):
            await commanded.run(wrong)


async def test_the_sandbox_is_switched_in_the_local_settings(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.run("/sandbox on")
    local = commanded.project / ".claude" / "settings.local.json"
    assert json.loads(local.read_text()) == {"sandbox": {"enabled": True}}
    shown = await commanded.run("/sandbox")
    assert isinstance(shown, Shows) and "off in this session" in shown.text


async def test_colors_and_themes_are_those_there_are(tmp_path: Path):
    commanded = Commanded(tmp_path, screen=True)
    await commanded.run("/color pink")
    with pytest.raises(UsageError):
        await commanded.run("/color plaid")
    (commanded.home / "themes").mkdir()
    (commanded.home / "themes" / "mine.json").write_text("{}")
    await commanded.run("/theme custom:mine")
    assert json.loads(commanded.user_settings()) == {"theme": "custom:mine"}
    with pytest.raises(UsageError):
        await commanded.run("/theme plaid")
