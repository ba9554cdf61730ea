import json
import os
import pty
from pathlib import Path

import pytest

from bridle.permissions.auto.rules import DEFAULTS, to_json
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program

_OWN = {"allow": ["Deploys: fine on Fridays."], "classifyAllShell": True}


def _program(folder: Path, url: str | None = None, **settings: object) -> Program:
    program = Program(folder, url)
    (program.home / ".claude").mkdir()
    (program.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    return program


def _settings(program: Program) -> object:
    return json.loads((program.home / ".claude" / "settings.json").read_text())


async def test_defaults_are_the_built_in_rules_whatever_the_settings_say(tmp_path: Path):
    done = await _program(tmp_path, autoMode=_OWN).run("auto-mode", "defaults")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == to_json(DEFAULTS)


@pytest.mark.parametrize("argv", [("--label", "lost"), ("--label=Lost",)])
async def test_label_chooses_built_in_rules(tmp_path: Path, argv: tuple[str, ...]):
    done = await Program(tmp_path).run("auto-mode", "defaults", *argv)
    chosen = json.loads(done.out)
    assert [len(rules) for rules in chosen.values()] == [0, 0, 1, 0]
    assert chosen["soft_deny"][0].startswith("Lost work: ")


async def test_config_is_the_built_in_rules_and_the_users(tmp_path: Path):
    done = await _program(tmp_path, autoMode=_OWN).run("auto-mode", "config")
    shown = json.loads(done.out)
    assert shown["allow"] == [*DEFAULTS.allow, "Deploys: fine on Fridays."]
    assert shown["hard_deny"] == list(DEFAULTS.hard_deny)
    assert shown["classifyAllShell"] is True


async def test_a_project_adds_no_rules(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(json.dumps({"autoMode": _OWN}))
    assert json.loads((await program.run("auto-mode", "config")).out)["allow"] == list(DEFAULTS.allow)


async def test_reset_removes_the_users_rules_and_nothing_else(tmp_path: Path):
    program = _program(tmp_path, autoMode=_OWN, language="German", unknown=1)
    done = await program.run("auto-mode", "reset", "-y")
    assert done.code == 0 and "settings.json" in done.out
    assert _settings(program) == {"language": "German", "unknown": 1}


async def test_reset_without_anybody_to_confirm_changes_nothing(tmp_path: Path):
    program = _program(tmp_path, autoMode=_OWN)
    done = await program.run("auto-mode", "reset")
    assert done.code == 1 and "-y" in done.err
    assert _settings(program) == {"autoMode": _OWN}


@pytest.mark.parametrize(("answer", "expected"), [(b"n\n", {"autoMode": _OWN}), (b"y\n", {})])
async def test_reset_asks_at_a_terminal(tmp_path: Path, answer: bytes, expected: object):
    program = _program(tmp_path, autoMode=_OWN)
    keyboard, terminal = pty.openpty()
    try:
        process = await program.start("auto-mode", "reset", stdin=terminal)
        os.write(keyboard, answer)
        out, _ = await process.communicate()
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert b"Remove autoMode" in out
    assert _settings(program) == expected


async def test_critique_shows_a_model_the_users_rules_and_prints_what_it_says(tmp_path: Path):
    async with MessagesServer([step("Friday is too wide.")]) as server:
        program = _program(tmp_path, server.url, autoMode=_OWN)
        done = await program.run("auto-mode", "critique")
    assert (done.code, done.out, done.err) == (0, "Friday is too wide.\n", "")
    assert "Deploys: fine on Fridays." in json.dumps(server.requests[-1].body["messages"])


async def test_critique_has_nothing_to_do_without_rules(tmp_path: Path):
    done = await Program(tmp_path).run("auto-mode", "critique")
    assert done.code == 0 and "Nothing to review" in done.out


async def test_critique_by_the_offline_model_is_refused(tmp_path: Path):
    done = await _program(tmp_path, autoMode=_OWN).run("auto-mode", "critique", "--model", "offline")
    assert done.code == 1 and "offline model cannot" in done.err


async def test_critique_that_fails_is_one_line(tmp_path: Path):
    async with MessagesServer([fault(401, "authentication_error")]) as server:
        done = await _program(tmp_path, server.url, autoMode=_OWN).run("auto-mode", "critique")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1


async def test_unknown_words_are_told_where_to_look(tmp_path: Path):
    done = await Program(tmp_path).run("auto-mode", "frobnicate")
    assert done.code == 1 and "bridle auto-mode --help" in done.err
    assert "hard_deny" in (await Program(tmp_path).run("auto-mode")).out


async def test_critique_asks_the_helper_for_the_key_and_the_service_by_its_own_name(tmp_path: Path):
    async with MessagesServer([step("Fine.")]) as server:
        own = {"apiKeyHelper": "echo from-helper", "modelOverrides": {"claude-sonnet-4-5": "house-model"}}
        program = _program(tmp_path, server.url, autoMode=_OWN, **own)
        del program.env["ANTHROPIC_API_KEY"]
        done = await program.run("auto-mode", "critique", "--model", "claude-sonnet-4-5")
    assert (done.code, done.out, done.err) == (0, "Fine.\n", "")
    assert "from-helper" in str(server.requests[-1].headers)
    assert server.requests[-1].body["model"] == "house-model"
