"""An administrator's program computes managed settings; without its answer nothing starts."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from bridle.config.live_config import LiveConfig
from bridle.config.load import Config, load, reload
from bridle.config.problems import Problem
from bridle.types.errors import ConfigError
from bridle.version import COMPATIBLE_WITH
from tests.config.folders import Folders
from tests.fakes.processes import is_running


def _helper(folders: Folders, script: str, **more: Any) -> Path:
    path = folders.managed / "helper"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    folders.write(managed={"model": "of-the-file", "policyHelper": {"path": str(path), **more}})
    return path


def _prints(**settings: Any) -> str:
    return f"cat <<'END'\n{json.dumps({'managedSettings': settings})}\nEND"


def test_what_the_helper_prints_is_the_only_managed_source(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "of-the-user", "language": "de"})
    _helper(folders, _prints(permissions={"deny": ["Read(/etc/**)"]}))
    config = folders.load()
    assert config.settings.model == "of-the-user" and config.settings.language == "de"
    assert config.settings.permissions is not None
    assert config.settings.permissions.deny == ("Read(/etc/**)",)
    assert [layer.path for layer in config.layers if layer.source == "policySettings"] == [
        str(folders.managed / "helper")
    ]


def test_parent_settings_do_not_count_beside_it(tmp_path: Path):
    folders = Folders(tmp_path)
    _helper(folders, _prints(language="fr", parentSettingsBehavior="merge"))
    config = load(
        cwd=str(folders.project), env=folders.env, flag=None, setting_sources=None,
        managed_dir=str(folders.managed), parent='{"availableModels": ["x"]}',
    )  # fmt: skip
    assert config.settings.language == "fr" and config.settings.available_models is None


@pytest.mark.parametrize("said", ["echo '{}'", 'echo \'{"model": "bare"}\''])
def test_a_helper_that_prints_no_settings_leaves_them_to_the_files(tmp_path: Path, said: str):
    folders = Folders(tmp_path)
    _helper(folders, said)
    assert folders.load().settings.model == "of-the-file"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no posture >&2; exit 3", "exited with 3: no posture"),
        ("exec sleep 60", "timed out after 1 s"),
        ("echo broken", "did not print JSON"),
        ("echo '[]'", "managedSettings"),
        ("echo '{\"managedSettings\": []}'", "managedSettings"),
        ("head -c 2000000 /dev/zero | tr '\\0' 'x'", "more than 1 MiB"),
        ("kill -9 $$", "exited with -9"),
    ],
)
def test_a_helper_that_fails_keeps_bridle_from_starting(tmp_path: Path, script: str, words: str):
    folders = Folders(tmp_path)
    _helper(folders, script, timeoutMs=1_000)
    with pytest.raises(ConfigError, match=words):
        folders.load()


@pytest.mark.parametrize(
    "definition",
    [
        {"path": "helper"}, {"path": "/x/../y"}, {"path": "/x/./y"}, {"timeoutMs": 2_000}, "helper", True,
        {"path": 3}, {"path": "/no/such/helper"}, {"path": "/bin/true", "refreshIntervalMs": 5_000},
    ],
)  # fmt: skip
def test_a_helper_that_cannot_be_used_keeps_bridle_from_starting(tmp_path: Path, definition: object):
    folders = Folders(tmp_path)
    folders.write(managed={"policyHelper": definition})
    with pytest.raises(ConfigError):
        folders.load()


def test_a_helper_that_may_not_be_run_keeps_bridle_from_starting(tmp_path: Path):
    folders = Folders(tmp_path)
    path = _helper(folders, "echo '{}'")
    path.chmod(stat.S_IRUSR)
    with pytest.raises(ConfigError, match="Could not start"):
        folders.load()


def test_only_managed_settings_name_a_helper(tmp_path: Path):
    folders = Folders(tmp_path)
    ran = tmp_path / "ran"
    path = tmp_path / "mine"
    path.write_text(f"#!/bin/sh\ntouch {ran}\n")
    path.chmod(0o755)
    mine = {"policyHelper": {"path": str(path)}}
    folders.write(user=mine, project=mine, local=mine)
    config = folders.load(flag=json.dumps(mine))
    assert not ran.exists() and len(config.problems) == 4
    load(
        cwd=str(folders.project), env=folders.env, flag=None, setting_sources=None,
        managed_dir=str(folders.managed), parent=json.dumps(mine),
    )  # fmt: skip
    assert not ran.exists()


def test_the_environment_of_the_user_does_not_steer_it(tmp_path: Path):
    folders = Folders(tmp_path)
    seen = tmp_path / "seen"
    _helper(folders, f"env > {seen}; pwd >> {seen}; echo $# >> {seen}; echo '{{}}'")
    own = {
        "LD_PRELOAD": "/evil.so",
        "ENV": "/evil",
        "BASH_ENV": "/evil",
        "PYTHONPATH": "/evil",
        "POLICY": "off",
    }
    folders.env.update({**own, "PATH": f"{folders.project}:/usr/bin:/bin"})
    folders.load()
    text = seen.read_text()
    assert f"CLAUDE_CODE_VERSION={COMPATIBLE_WITH}" in text and "/evil" not in text and "POLICY" not in text
    assert text.splitlines()[-2:] == ["/", "0"]


def test_what_it_leaves_running_is_ended_and_not_waited_for(tmp_path: Path):
    folders = Folders(tmp_path)
    pid = tmp_path / "pid"
    _helper(folders, f"sleep 600 & echo $! > {pid}; {_prints(language='it')}")
    assert folders.load().settings.language == "it"
    assert not is_running(int(pid.read_text()))


def test_a_change_of_other_files_does_not_run_it_again_and_a_broken_file_changes_nothing(tmp_path: Path):
    folders = Folders(tmp_path)
    runs = tmp_path / "runs"
    _helper(folders, f"echo x >> {runs}; {_prints(language='es')}")
    config = folders.load()
    folders.write(user={"model": "other"})
    config = reload(config)
    assert (config.settings.language, config.settings.model) == ("es", "other")
    folders.write(managed="{")
    config = reload(config)
    assert config.settings.language == "es" and len(config.problems) == 1
    assert runs.read_text() == "x\n"


def test_a_helper_named_later_that_fails_leaves_what_held(tmp_path: Path):
    folders = Folders(tmp_path)
    _helper(folders, _prints(language="es"))
    config = folders.load()
    folders.write(managed={"policyHelper": {"path": "/no/such/helper"}})
    config = reload(config)
    assert config.settings.language == "es" and "Could not start" in config.problems[0].message


async def test_it_runs_again_after_a_while_and_a_failure_keeps_what_it_said(tmp_path: Path):
    folders = Folders(tmp_path)
    path = _helper(folders, _prints(language="one"), refreshIntervalMs=60_000)
    told: list[str] = []
    seen: asyncio.Queue[Config] = asyncio.Queue()

    def report(problem: Problem) -> None:
        told.append(problem.message)

    live = LiveConfig(folders.load(), seen.put_nowait, report)
    path.write_text("#!/bin/sh\nexit 1\n")
    await live._ask_helper()
    assert live.refresh().settings.language == "one" and "exited with 1" in told[0]
    path.write_text(f"#!/bin/sh\n{_prints(language='two')}\n")
    await live._ask_helper()
    assert live.refresh().settings.language == "two"
