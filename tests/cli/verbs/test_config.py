import json
from pathlib import Path

import pytest

from tests.fakes.program import Done, Program


def _program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    (program.home / ".claude").mkdir()
    (program.project / ".claude").mkdir()
    (program.home / ".claude" / "settings.json").write_text('{"model": "haiku", "language": "German"}')
    (program.project / ".claude" / "settings.json").write_text('{\n  "model": "opus"\n}')
    return program


async def test_explain_names_every_source_and_the_winner(tmp_path: Path):
    program = _program(tmp_path)
    done = await program.run("config", "explain", "model")
    first, *rows = done.out.splitlines()
    assert first.startswith('model = "opus"')
    assert rows[0].split()[:2] == ["*", "projectSettings"] and "settings.json:2" in rows[0]
    assert rows[1].split()[0] == "userSettings" and '"haiku"' in rows[1]
    told = json.loads((await program.run("config", "explain", "model", "--json")).out)
    assert [statement["wins"] for statement in told["statements"]] == [False, True]


async def test_explain_suggests_the_nearest_key(tmp_path: Path):
    done = await _program(tmp_path).run("config", "explain", "modle")
    assert ": did you mean model?" in done.out


async def test_get_and_list_print_json(tmp_path: Path):
    program = _program(tmp_path)
    assert (await program.run("config", "get", "model")).out == '"opus"\n'
    assert json.loads((await program.run("config", "list")).out) == {"model": "opus", "language": "German"}


async def test_set_and_unset_change_one_key_of_one_file(tmp_path: Path):
    program = _program(tmp_path)
    local = program.project / ".claude" / "settings.local.json"
    assert (
        await program.run("config", "set", "permissions.defaultMode", "plan", "--scope", "local")
    ).code == 0
    assert json.loads(local.read_text()) == {"permissions": {"defaultMode": "plan"}}
    assert (await program.run("config", "set", "cleanupPeriodDays", "10")).code == 0
    user = json.loads((program.home / ".claude" / "settings.json").read_text())
    assert user == {"model": "haiku", "language": "German", "cleanupPeriodDays": 10}
    assert (await program.run("config", "unset", "language")).code == 0
    assert "language" not in json.loads((program.home / ".claude" / "settings.json").read_text())


async def test_check_tells_what_is_wrong(tmp_path: Path):
    program = _program(tmp_path)
    assert (await program.run("config", "check")).code == 0
    (program.project / ".claude" / "settings.json").write_text('{\n  "verbose": 3\n}')
    done = await program.run("config", "check")
    assert done.code == 1 and "settings.json:2: verbose" in done.out


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        (("frob",), 1, "unknown command 'frob'; see bridle config --help"),
        (("explain",), 1, "missing argument <key>; see bridle config explain --help"),
        (("set", "model"), 1, "missing argument <value>; see bridle config set --help"),
        (("set", "verbose", "maybe"), 1, "invalid value for verbose"),
        (("set", "a..b", "1"), 1, "is not a valid key"),
        (("set", "model", "x", "--scope", "moon"), 1, "--scope takes one of"),
        (("list", "--frob"), 1, "unknown option --frob; see bridle config list --help"),
    ],
)
async def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, argv: tuple[str, ...], code: int, complaint: str
):
    done: Done = await _program(tmp_path).run("config", *argv)
    assert (done.code, done.out) == (code, "")
    assert complaint in done.err and len(done.err.splitlines()) == 1


async def test_a_negative_number_is_a_value_and_no_option(tmp_path: Path):
    program = _program(tmp_path)
    done = await program.run("config", "set", "env.OFFSET", "-1")
    assert (done.code, done.err) == (0, "")
    assert json.loads((program.home / ".claude" / "settings.json").read_text())["env"]["OFFSET"] == -1


async def test_broken_file_is_never_written_over(tmp_path: Path):
    program = _program(tmp_path)
    settings = program.home / ".claude" / "settings.json"
    settings.write_text('{"model": ')
    done = await program.run("config", "set", "language", "Dutch")
    assert done.code == 1 and str(settings) in done.err
    assert settings.read_text() == '{"model": '


async def test_a_mistyped_setting_is_not_written_and_an_unknown_one_is_named(tmp_path: Path):
    program = Program(tmp_path)
    slip = await program.run("config", "set", "modle", "opus")
    assert (slip.code, slip.err) == (1, "error: modle: unknown setting: did you mean model?\n")
    assert not (program.home / ".claude" / "settings.json").exists()
    other = await program.run("config", "set", "someOtherTool.key", "1")
    assert (other.code, other.out) == (0, "")
    assert other.err == "note: someOtherTool is not a setting of bridle; it is kept for other programs\n"
    assert json.loads((program.home / ".claude" / "settings.json").read_text()) == {
        "someOtherTool": {"key": 1}
    }
