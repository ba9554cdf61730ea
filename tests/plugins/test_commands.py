import json
import sys
from pathlib import Path

import pytest

from tests.fakes.plugins import FIXTURE, git, make_repository, write_plugin
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path, BRIDLE_CREDENTIALS="file")


async def test_from_a_marketplace_to_a_plugin_and_back(program: Program):
    added = await program.run("plugin", "marketplace", "add", str(FIXTURE))
    assert (added.code, added.out) == (0, "Added the marketplace village with 3 plugins.\n")
    installed = await program.run("plugin", "install", "formatter@village")
    assert installed.code == 0 and "Installed greeter@village 1.2.0 (needed by another)." in installed.out

    listed = json.loads((await program.run("plugin", "list", "--json")).out)
    assert [(row["id"], row["version"], row["scope"], row["enabled"]) for row in listed] == [
        ("formatter@village", "0.3.0", "user", True),
        ("words@village", "2.0.0", "user", True),
        ("greeter@village", "1.2.0", "user", True),
    ]
    details = await program.run("plugin", "details", "greeter")
    assert "MCP server: bell" in details.out and "keywords: example" in details.out
    refused = await program.run("plugin", "uninstall", "words")
    assert refused.code == 1 and "required by formatter@village" in refused.err
    gone = await program.run("plugin", "uninstall", "formatter", "--prune", "-y")
    assert gone.out.count("Removed") == 3


async def test_what_is_offered_is_listed_with_json(program: Program):
    await program.run("plugin", "marketplace", "add", str(FIXTURE))

    told = json.loads((await program.run("plugin", "list", "--available", "--json")).out)

    assert told["installed"] == []
    assert [each["pluginId"] for each in told["available"]] == [
        "greeter@village",
        "words@village",
        "formatter@village",
    ]


async def test_options_are_set_shown_and_kept_secret(program: Program):
    await program.run("plugin", "marketplace", "add", str(FIXTURE))
    await program.run("plugin", "install", "greeter", "--config", "tone=cool", "-y")
    done = await program.run("plugin", "configure", "greeter", "token=s3cret")
    assert done.code == 0, done.err

    shown = await program.run("plugin", "configure", "greeter")
    assert "tone (string): cool" in shown.out and "token (string): (secret)" in shown.out
    wrong = await program.run("plugin", "configure", "greeter", "nothing=1")
    assert wrong.code == 1 and "options: tone, token" in wrong.err


async def test_plugins_are_turned_off_and_on(program: Program):
    await program.run("plugin", "marketplace", "add", str(FIXTURE))
    await program.run("plugin", "install", "formatter", "-y")

    off = await program.run("plugin", "disable", "-a")
    assert off.code == 0, off.err
    listed = json.loads((await program.run("plugin", "list", "--json")).out)
    assert [row["enabled"] for row in listed] == [False, False, False]
    await program.run("plugin", "enable", "words")
    listed = json.loads((await program.run("plugin", "list", "--json")).out)
    assert [row["enabled"] for row in listed] == [False, True, False]


async def test_a_plugin_is_begun_checked_and_marked_as_released(program: Program):
    made = await program.run("plugin", "init", "fresh", "--with", "skill,hook,agent", "--author", "A")
    assert made.code == 0, made.err
    folder = program.project / "fresh"
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["author"] == {"name": "A"}
    assert (await program.run("plugin", "init", "fresh")).code == 1

    checked = await program.run("plugin", "validate", "fresh", "--json")
    assert (checked.code, json.loads(checked.out)["valid"]) == (0, True)
    weighed = json.loads((await program.run("plugin", "eval", "fresh", "--json")).out)
    assert weighed["tokens"] > 0 and weighed["problems"] == []

    make_repository(folder)
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@example.org")
    tagged = await program.run("plugin", "tag", "fresh")
    assert tagged.out == "Tagged fresh--v0.1.0.\n"
    (folder / "new").write_text("x")
    dirty = await program.run("plugin", "tag", "fresh", "--dry-run")
    assert dirty.code == 1 and "uncommitted changes" in dirty.err


async def test_what_is_wrong_with_a_plugin_is_named_with_its_file(program: Program, tmp_path: Path):
    folder = write_plugin(tmp_path / "bad", {"name": "bad", "agents": "./nowhere", "odd": 1})
    (folder / "skills" / "s").mkdir(parents=True)
    (folder / "skills" / "s" / "SKILL.md").write_text("---\ndescription: [\n---\n")

    done = await program.run("plugin", "validate", str(folder))

    assert done.code == 1
    assert "'./nowhere' does not exist" in done.out and "SKILL.md:" in done.out
    assert "warning" in done.out and "'odd'" in done.out
    market = await program.run("plugin", "validate", str(FIXTURE))
    assert market.code == 1 and "'broken' needs" in market.out


async def test_mistakes_come_with_a_way_out(program: Program):
    for words, code, expected in (
        (("instal",), 1, "did you mean install?"),
        (("install", "x@nowhere"), 1, "marketplace add"),
        (("install", "x"), 1, "--available"),
        (("install",), 1, "missing argument <plugins>"),
        (("disable",), 1, "missing argument <plugin>, or -a"),
        (("list", "--what"), 1, "see bridle plugin list --help"),
        (("marketplace", "remove", "x"), 1, "unknown marketplace 'x'"),
        (("marketplace", "rmove", "x"), 1, "did you mean remove? See bridle plugin marketplace --help"),
        (("uninstall", "x@y"), 1, "plugin list"),
    ):
        done = await program.run("plugin", *words)
        assert (done.code, expected in done.err) == (code, True), done.err
    assert "add <source>" in (await program.run("plugin", "marketplace", "--help")).out


async def test_a_plugin_that_a_command_makes_needs_a_yes(program: Program, tmp_path: Path):
    place = tmp_path / "m" / ".claude-plugin"
    place.mkdir(parents=True)
    made = '{"name": "made"}'
    script = f"touch {tmp_path}/ran; mkdir .claude-plugin; echo '{made}' > .claude-plugin/plugin.json"
    source = {"source": "command", "command": "sh", "args": ["-c", script]}
    listed = {"name": "m", "plugins": [{"name": "made", "source": source}]}
    (place / "marketplace.json").write_text(json.dumps(listed))
    await program.run("plugin", "marketplace", "add", str(tmp_path / "m"))

    refused = await program.run("plugin", "install", "made")
    assert refused.code == 1 and "-y" in refused.err
    assert not (tmp_path / "ran").exists()
    done = await program.run("plugin", "install", "made", "-y")
    assert done.code == 0, done.err


async def test_workflows_of_a_plugin_are_begun_and_checked(program: Program):
    made = await program.run("plugin", "init", "flows", "--with", "workflow")
    assert made.code == 0, made.err
    folder = program.project / "flows" / "workflows"
    assert (await program.run("plugin", "validate", "flows")).code == 0
    (folder / "call.js").write_text("export const meta = {\n  name: f() }\n")
    head = "export const meta = { name: 'x', description: 'y' }\n"
    (folder / "syntax.mjs").write_text(f"{head}\nconst a = ;\n")

    done = await program.run("plugin", "validate", "flows")

    assert done.code == 1
    assert f"{folder / 'call.js'}: meta must be a plain literal: line 2 calls a function" in done.out
    assert f"{folder / 'syntax.mjs'}: line 3: unexpected token" in done.out
    assert "example.js" not in done.out


async def test_one_interrupt_is_enough_where_somebody_is_asked(program: Program):
    await program.run("plugin", "marketplace", "add", str(FIXTURE))
    argv = [sys.executable, "-m", "bridle", "plugin", "install", "words@village"]
    async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
        await terminal.until_text("Install? [y/N]")
        terminal.type("\x03")
        assert await terminal.ended() == 130
    assert json.loads((await program.run("plugin", "list", "--json")).out) == []
