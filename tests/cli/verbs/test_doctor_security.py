"""`bridle doctor security` tells what protects this machine, and fails when something promised is missing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.commands.queries import advisories
from bridle.host.kernel_features import find_features
from bridle.host.wall.probe import describe
from bridle.permissions.broad_rules import broad
from bridle.permissions.rules import parse
from bridle.types.permission import Effect
from tests.fakes.program import Program
from tests.tables import table

_GROUPS = [
    "Kernel", "Second wall", "Sandbox", "Programs", "Trust", "Rules", "Modes", "Environment", "Files",
    "Remote control", "Gate", "Dependencies",
]  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    os.chmod(program.home, 0o700)
    (program.home / ".claude").mkdir(mode=0o700)
    return program


async def _look(program: Program, *words: str, **env: str) -> tuple[int, list[Any]]:
    done = await program.run("doctor", "security", "--json", *words, **env)
    return done.code, json.loads(done.out)


def _of(checks: list[Any], group: str) -> list[str]:
    return [f"{each['health']}: {each['text']}" for each in checks if each["group"] == group]


async def test_every_part_of_the_protection_is_told(program: Program):
    code, checks = await _look(program)
    assert list(dict.fromkeys(each["group"] for each in checks)) == _GROUPS
    assert code == int(any(each["health"] == "fault" for each in checks))
    assert all(each["remedy"] for each in checks if each["health"] != "ok")


async def test_text_has_a_line_for_each_check_and_its_fix(program: Program):
    (program.home / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(python3:*)"]}}')
    done = await program.run("doctor", "security")
    assert done.code == 0
    for group in _GROUPS:
        assert f"{group}\n" in done.out
    assert "python3 can run any program" in done.out
    assert "      name specific commands, files or hosts" in done.out


async def test_second_wall_is_what_the_kernel_offers(program: Program):
    code, checks = await _look(program)
    (line,) = _of(checks, "Second wall")
    if describe().way == "nothing":
        assert line.startswith("fault: ") and code == 1
    else:
        assert describe().way in line and code == 0


def test_features_of_the_kernel_are_tried():
    features = find_features()
    if os.path.exists("/sys/kernel/security/lsm"):
        listed = Path("/sys/kernel/security/lsm").read_text()
        assert (features.landlock > 0) == ("landlock" in listed)
    assert (features.bubblewrap is None) == (not os.path.exists("/usr/bin/bwrap"))
    assert (features.bubblewrap_version != "") == (features.bubblewrap is not None)


async def test_files_that_others_can_read_or_change_are_faults(program: Program):
    folder = program.home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True, mode=0o755)
    for name, mode in (("open.jsonl", 0o644), ("fine.jsonl", 0o600)):
        (folder / name).touch()
        os.chmod(folder / name, mode)
    settings = program.home / ".claude" / "settings.json"
    settings.write_text("{}")
    os.chmod(settings, 0o666)
    code, checks = await _look(program)
    assert code == 1
    assert sorted(_of(checks, "Files")) == [
        f"fault: {folder}/open.jsonl readable by others",
        f"fault: {settings} writable by others",
    ]


async def test_private_folder_keeps_what_is_in_it(program: Program):
    folder = program.home / ".claude" / "projects"
    folder.mkdir(mode=0o700)
    (folder / "open.jsonl").touch(mode=0o644)
    assert (await _look(program))[0] == 0


async def test_program_of_the_project_is_passed_over_and_named(program: Program):
    own = _program(program.project / ".venv" / "bin" / "git")
    code, checks = await _look(program, PATH=f"{own.parent}:{program.env['PATH']}")
    assert code == 0
    (line,) = [line for line in _of(checks, "Programs") if line.startswith("ok: git at /")]
    assert line.endswith(f"; {own} is not trusted")


async def test_program_that_anyone_can_change_is_a_fault_where_there_is_no_other(
    program: Program, tmp_path: Path
):
    shared = _program(tmp_path / "shared" / "git")
    os.chmod(shared.parent, 0o777)
    code, checks = await _look(program, PATH=str(shared.parent))
    assert code == 1
    assert f"fault: git is not used: other users or this session can change {shared}" in _of(
        checks, "Programs"
    )


async def test_keys_that_commands_would_see_are_named_without_their_values(program: Program):
    done = await program.run("doctor", "security", GITHUB_TOKEN="the-value-itself", MAX_THINKING_TOKENS="9")
    assert "GITHUB_TOKEN is visible to commands that you approve" in done.out
    assert "the-value-itself" not in done.out and "MAX_THINKING" not in done.out


async def test_modes_remote_control_and_refused_commands_are_told(program: Program):
    (program.home / ".claude" / "bridle").mkdir(mode=0o700)
    (program.home / ".claude" / "bridle" / "gate-defects.jsonl").write_text('{"a": 1}\n{"b": 2}\n')
    settings = {"permissions": {"defaultMode": "acceptEdits", "disableBypassPermissionsMode": "disable"}}
    (program.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    _, checks = await _look(program, BRIDLE_REMOTE_LISTEN="0.0.0.0:8765")
    assert _of(checks, "Modes")[:2] == [
        "ok: sessions start in acceptEdits", "ok: bypassPermissions is disabled",
    ]  # fmt: skip
    assert "listens on 0.0.0.0:8765" in _of(checks, "Remote control")[0]
    assert _of(checks, "Gate")[0].startswith("warning: 2 commands did more")


async def test_trusted_folder_shows_what_counts(program: Program):
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    _, checks = await _look(program)
    assert "is not trusted; 1 of its settings and files are inactive" in _of(checks, "Trust")[0]
    _, checks = await _look(program, BRIDLE_TRUST_FOLDER=str(program.project))
    assert any("active: permissions.allow" in line for line in _of(checks, "Trust"))


async def test_what_changed_after_approval_is_told_apart(program: Program):
    settings = program.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Bash(make)"]}}')
    assert (await program.run("trust", "-y")).code == 0
    settings.write_text('{"permissions": {"allow": ["Bash(make)", "Bash(rm *)"]}, "env": {"A": "1"}}')
    _, checks = await _look(program)
    lines = _of(checks, "Trust")
    assert lines[0].startswith("ok: ") and "is trusted" in lines[0]
    assert any(line.startswith("warning: inactive, new or changed") and "env.A" in line for line in lines)
    assert any("approved " in line for line in lines)


async def test_unknown_word_is_a_usage_error(program: Program):
    done = await program.run("doctor", "safety")
    assert done.code == 1 and "takes one of security" in done.err


@table(
    "rule",
    [
        "Bash", "Bash(*)", "Bash(python3:*)", "Bash(python3 *)", "Bash(python -c *)", "Bash(sudo *)",
        "Bash(env:*)", "Bash(npx *)", "Bash(ls*)", "Bash(/usr/bin/perl -e *)", "Edit", "Edit(//**)",
        "Read(//**)",
        "Read(~/**)", "WebFetch", "WebFetch(domain:*)",
    ],
)  # fmt: skip
def test_broad_rule_is_noticed(rule: str):
    assert broad([parse(rule, Effect.ALLOW)])


@pytest.mark.parametrize(
    "rule",
    [
        "Bash(npm run test:*)", "Bash(git status)", "Bash(ls:*)", "Bash(ls *)", "Bash(python3 -m pytest:*)",
        "Edit(src/**)", "Read(//etc/hosts)", "WebFetch(domain:example.com)", "mcp__files__read",
    ],
)  # fmt: skip
def test_narrow_rule_is_not(rule: str):
    assert broad([parse(rule, Effect.ALLOW)]) == ()
    assert broad([parse("Bash", Effect.DENY)]) == ()


def test_advisories_are_read_from_pip_audit_and_are_about_what_bridle_needs(tmp_path: Path):
    assert advisories.known(python=str(tmp_path / "python")) == "pip-audit is not installed"
    report = {
        "dependencies": [
            {"name": "h11", "version": "0.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.16"]}]},
            {"name": "not-ours", "version": "1", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]},
            {"name": "msgspec", "version": "0.20", "vulns": []},
        ]
    }
    _script(tmp_path / "pip-audit", f"#!/bin/sh\ncat <<'E'\n{json.dumps(report)}\nE\nexit 1\n")
    assert advisories.known(python=str(tmp_path / "python")) == (
        advisories.Advisory("h11", "0.1", "PYSEC-1", "pip install 'h11>=0.16'"),
    )
    skipped = '{"dependencies": [{"name": "h11", "skip_reason": "not found"}]}'
    _script(tmp_path / "pip-audit", f"#!/bin/sh\necho '{skipped}'\n")
    assert advisories.known(python=str(tmp_path / "python")) == "pip-audit could not download its data"
    _script(tmp_path / "pip-audit", "#!/bin/sh\necho no network >&2\nexit 2\n")
    assert advisories.known(python=str(tmp_path / "python")) == "pip-audit could not download its data"


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    _script(path, "#!/bin/sh\n")
    return path


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    os.chmod(path, 0o755)
