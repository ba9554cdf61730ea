import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bridle.commands.queries.context_window import Item, MemoryFile, context_breakdown
from bridle.commands.queries.doctor import Check, run_checks
from bridle.commands.queries.rules import rule_rows
from bridle.commands.queries.settings import setting_rows
from bridle.commands.queries.spending import cost_by_day, session_cost
from bridle.commands.queries.status import status_facts
from bridle.commands.reports import breakdown_of, scene_of, window_text
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.types.command import Command, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.permission import Effect
from tests.fakes.commanded import Commanded

_NOON = 1_760_000_000.0
"""A moment on 2025-10-09, in the middle of the day in most places."""


async def _run(arguments: str, context: object) -> Says:
    del arguments, context
    return Says()


async def test_the_window_is_taken_apart_by_what_fills_it(tmp_path: Path):
    (tmp_path / "a.txt").write_text("word " * 400)
    script = [
        says("Looking.", calls("Read", file_path=str(tmp_path / "a.txt")), usage={"input_tokens": 900}),
        says("ok", usage={"input_tokens": 2_000, "output_tokens": 100}),
    ]
    commanded = Commanded(tmp_path, script, READ)
    await commanded.prompt("look")
    skills = (Item(name="deploy", tokens=40),)
    memory = (MemoryFile(path="/p/CLAUDE.md", kind="Project", text="rule " * 40),)
    found = context_breakdown(commanded.session, commanded.server.runtime, memory=memory, skills=skills)
    parts = {category.id: category for category in found.categories}
    assert set(parts) == {"system_prompt", "system_tools", "memory_files", "skills", "messages"}
    assert found.used == sum(category.tokens for category in found.categories)
    assert found.counted and found.size == 200_000 and found.free == found.size - found.used
    assert abs(found.used - 2_100) <= 2
    assert {item.name for item in parts["messages"].items} >= {"prompts", "answers", "results of Read"}
    assert [item.name for item in parts["system_tools"].items] == ["Read"]


async def test_without_a_count_the_window_is_estimated(tmp_path: Path):
    commanded = Commanded(tmp_path)
    found = breakdown_of(commanded.context)
    assert not found.counted and [category.id for category in found.categories] == ["system_prompt"]


async def test_the_picture_of_the_window_names_every_category(tmp_path: Path):
    skill = Command(name="deploy", description="", run=_run, source="user", tokens=50)
    commanded = Commanded(tmp_path, sources=[skill])
    shown = await commanded.run("/context all")
    assert isinstance(shown, Shows) and shown.view == "context"
    assert "System prompt" in shown.text and "deploy: 50 (user)" in shown.text and "Free" in shown.text
    assert window_text(breakdown_of(commanded.context), everything=True) == shown.text


async def test_cost_is_told_by_model_and_by_day(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("hi", "there")
    (spent,) = session_cost(commanded.session)
    assert spent.model == "claude-sonnet-5-5" and spent.usd > 0
    (today,) = cost_by_day(commanded.env, days=1)
    assert (today.sessions, today.prompts) == (1, 2)
    assert today.models[0].calls == 2 and today.models[0].usage == spent.usage
    shown = await commanded.run("/cost 3")
    assert isinstance(shown, Shows) and "This session" in shown.text and today.day in shown.text
    with pytest.raises(UsageError):
        await commanded.run("/cost forever")


def test_days_leave_out_copies_old_ones_and_repeated_rows(tmp_path: Path):
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)

    def answer(day: str, **more: object) -> str:
        message = {
            "id": more.pop("id", "m1"),
            "model": "claude-haiku-4-5",
            "usage": {"output_tokens": 1_000_000},
        }
        row = {"type": "assistant", "timestamp": f"{day}T12:00:00Z", "sessionId": "s", "message": message}
        return json.dumps({**row, **more})

    rows = [
        answer("2025-10-08"),
        answer("2025-10-08"),
        answer("2025-10-09", id="m2"),
        answer("2025-10-09", id="m3", forkedFrom={"sessionId": "x"}),
        answer("2025-09-01", id="m4"),
        "broken",
    ]
    (folder / "a.jsonl").write_text("\n".join(rows))
    days = cost_by_day({"CLAUDE_CONFIG_DIR": str(tmp_path)}, days=3, now=_NOON)
    assert [day.day for day in days] == ["2025-10-07", "2025-10-08", "2025-10-09"]
    assert [round(day.usd, 2) for day in days] == [0.0, 5.0, 5.0]


async def test_insights_are_a_page_of_their_own(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one")])
    await commanded.prompt("hi")
    said = await commanded.run("/insights 2")
    assert isinstance(said, Says)
    page = (commanded.home / "usage-data" / "report.html").read_text()
    assert "claude-sonnet-5-5" in page and "Last 2 days" in page


async def test_status_names_model_folder_and_settings(tmp_path: Path):
    commanded = Commanded(tmp_path, settings='{"theme": "dark"}', env={"ANTHROPIC_API_KEY": "sk-secret"})
    facts = {fact.name: fact.value for fact in status_facts(commanded.context)}
    assert facts["Model"] == "claude-sonnet-5-5" and facts["Folder"] == str(commanded.project)
    assert facts["Auth"] == "ANTHROPIC_API_KEY" and "userSettings" in facts["Settings"]
    assert not any("sk-secret" in value for value in facts.values())


@pytest.mark.parametrize(
    ("env", "settings", "model", "told"),
    [
        ({}, {}, "claude-opus-5",
         "no key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or run `bridle auth login anthropic`"),
        ({}, {"apiKeyHelper": "echo k"}, "claude-opus-5", "apiKeyHelper"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_PROFILE": "p"}, {}, "claude-opus-5", "AWS_PROFILE"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, {"gcpAuthRefresh": "true"}, "claude-opus-5", "gcpAuthRefresh"),
        ({"OPENAI_API_KEY": "k"}, {}, "openai/gpt-5", "OPENAI_API_KEY"),
        ({}, {}, "openai/gpt-5", "no key: set OPENAI_API_KEY, or run `bridle auth login openai`"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, {}, "claude-opus-5",
         "no key: log in with `gcloud auth application-default login`"),
        ({}, {}, "ollama/qwen3:8b", "none needed"),
        ({}, {}, "offline", "none needed"),
    ],
)  # fmt: skip
async def test_status_and_doctor_tell_where_the_key_comes_from(
    tmp_path: Path, env: dict[str, str], settings: dict[str, str], model: str, told: str
):
    commanded = Commanded(tmp_path, settings=json.dumps(settings), env=env)
    commanded.session.swap(model=model)
    facts = {fact.name: fact.value for fact in status_facts(commanded.context)}
    assert facts["Auth"] == told
    (check,) = (await _checks(commanded, model=model))["Model"]
    assert check.health == ("fault" if told.startswith("no key") else "ok")
    assert told.removeprefix("no key: ") in f"{check.text} {check.remedy}" or told == "none needed"


async def _checks(commanded: Commanded, **changes: Any) -> dict[str, list[Check]]:
    scene = replace(scene_of(commanded.context), **changes)
    found: dict[str, list[Check]] = {}
    for check in await run_checks(scene):
        found.setdefault(check.group, []).append(check)
    return found


async def test_the_doctor_finds_what_is_wrong_and_says_what_to_do(tmp_path: Path):
    settings = (
        '{"theme": 7, "permissions": {"allow": ["Nope(x)", "Bash(ls)"], "deny": ["Bash"]},'
        ' "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}'
    )
    commanded = Commanded(tmp_path, settings=settings, env={"PATH": "/nowhere", "USE_BUILTIN_RIPGREP": "0"})
    (commanded.project / ".mcp.json").write_text("{")
    found = await _checks(commanded, hook_faults=lambda: ["x is not a program"])
    faulty = {group: [check for check in checks if check.health != "ok"] for group, checks in found.items()}
    assert [check.text for check in faulty["Hooks"]] == ["x is not a program"]
    assert any("theme" in check.text for check in faulty["Settings"])
    assert any("Nope" in check.text for check in faulty["Permissions"])
    # bash is taken from the folders of the system, wherever PATH leads.
    assert {"git", "ripgrep"} <= {check.text.split()[0] for check in faulty["Programs"]}
    assert faulty["Model"] and faulty["MCP servers"] and faulty["Terminal"]
    assert all(check.remedy for checks in faulty.values() for check in checks)


async def test_the_doctor_names_variables_that_have_no_effect(tmp_path: Path):
    env = {"ANTHROPIC_PROFILE": "work", "DISABLE_GROWTHBOOK": "1"}
    found = await _checks(Commanded(tmp_path, env=env))
    told = [check for check in found["Settings"] if check.health == "warning" and "no effect" in check.text]
    assert [check.text.split()[0] for check in told] == ["ANTHROPIC_PROFILE"]


async def test_the_doctor_is_content_where_all_is_well(tmp_path: Path):
    env = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "k"}
    commanded = Commanded(tmp_path, env=env)
    (commanded.project / "CLAUDE.md").write_text("Use tabs.")
    found = await _checks(commanded)
    assert not [check for checks in found.values() for check in checks if check.health == "fault"]
    assert found["Instructions"][-1].text.endswith("CLAUDE.md")


async def test_large_instructions_are_pointed_out(tmp_path: Path):
    commanded = Commanded(tmp_path)
    (commanded.project / "CLAUDE.md").write_text("word " * 10_000)
    assert "characters" in (await _checks(commanded))["Instructions"][0].text


def test_rules_are_told_with_their_source_and_what_is_wrong_with_them():
    rules = [parse("Bash(ls)", Effect.ALLOW, "userSettings"), parse("Bash", Effect.DENY, "policySettings")]
    deny, allow = rule_rows(rules)
    assert (deny.effect, deny.fault) == (Effect.DENY, "")
    assert "covers it" in allow.fault


async def test_settings_are_told_with_kind_value_and_source(tmp_path: Path):
    commanded = Commanded(tmp_path, settings='{"theme": "dark", "tui": "fullscreen"}')
    rows = {row.key: row for row in setting_rows(commanded.context.settings.config())}
    assert rows["theme"].value == "dark" and rows["theme"].source == "userSettings"
    assert rows["tui"].kind == "choice" and rows["tui"].choices == ("default", "fullscreen")
    assert rows["verbose"].kind == "switch" and rows["verbose"].source == ""
    assert rows["cleanupPeriodDays"].kind == "number" and rows["env"].kind == "table"
    assert rows["permissions.allow"].kind == "list"
    only = setting_rows(commanded.context.settings.config(), only_set=True)
    assert [row.key for row in only] == ["theme", "tui"]


async def test_help_lists_commands_and_explains_one(tmp_path: Path):
    commanded = Commanded(tmp_path)
    shown = await commanded.run("/help")
    assert isinstance(shown, Shows) and "/compact [focus]" in shown.text and "/vim" not in shown.text
    one = await commanded.run("/help /new")
    assert isinstance(one, Says) and one.text.startswith("/clear, /reset, /new")
    with pytest.raises(UsageError, match="/clear"):
        await commanded.run("/help clera")


async def test_the_diff_shows_changes_and_new_files_and_runs_nothing(tmp_path: Path):
    commanded = Commanded(tmp_path, env={"PATH": "/usr/bin:/bin"})
    outside = await commanded.run("/diff")
    assert isinstance(outside, Shows) and "Not a git repository" in outside.text
    marker = tmp_path / "ran"
    for words in (
        ["init", "-q"],
        ["config", "user.email", "a@b"],
        ["config", "user.name", "a"],
        ["config", "diff.external", f"touch {marker}"],
    ):
        subprocess.run(["git", *words], cwd=commanded.project, check=True)
    (commanded.project / "a.txt").write_text("old\n")
    subprocess.run(["git", "add", "."], cwd=commanded.project, check=True)
    subprocess.run(["git", "commit", "-qm", "one"], cwd=commanded.project, check=True)
    clean = await commanded.run("/diff")
    assert isinstance(clean, Shows) and "No changes since" in clean.text
    (commanded.project / "a.txt").write_text("new\n")
    (commanded.project / "b.txt").write_text("")
    changed = await commanded.run("/diff")
    assert isinstance(changed, Shows)
    assert "-old" in changed.text and "+new" in changed.text and "new file: b.txt" in changed.text
    assert not marker.exists()


async def test_the_doctor_names_extension_files_that_are_broken(tmp_path: Path):
    commanded = Commanded(tmp_path)
    home = Path(commanded.context.env["CLAUDE_CONFIG_DIR"])
    for name, text in {
        "skills/a/SKILL.md": "---\ndescription: [\n---\n",
        "agents/b.md": "---\nname: b\n---\n",
        "output-styles/c.md": "---\n- x\n---\n",
        "themes/d.json": "{",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    checks = [
        each for each in await run_checks(scene_of(commanded.context)) if each.group == "Extension files"
    ]
    assert [each.text.removeprefix(f"{home}/").partition(": ")[0] for each in checks] == [
        "skills/a/SKILL.md:3",
        "agents/b.md",
        "output-styles/c.md:2",
        "themes/d.json:1:2",
    ]
    assert {each.health for each in checks} == {"warning"}
