import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from bridle.config.edit import set_value
from bridle.config.live_config import LiveConfig
from bridle.config.problems import Problem
from tests.config.folders import Folders


class Stopped(Exception):
    """There is nothing left to happen."""


class FakeClock:
    """At each look something happens; when nothing is left the watching ends."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self.happenings = list(happenings)

    async def sleep(self, seconds: float) -> None:
        if seconds < 1:
            return  # The pause in which a file settles.
        if not self.happenings:
            raise Stopped
        self.happenings.pop(0)()


class Follower:
    """A session that follows its settings."""

    def __init__(self, folders: Folders, *, flag: str | None = None) -> None:
        self.models: list[str | None] = []
        self.problems: list[Problem] = []
        self.live = LiveConfig(
            folders.load(flag=flag),
            lambda config: self.models.append(config.settings.model),
            self.problems.append,
        )

    async def follow(self, *happenings: Callable[[], object]) -> None:
        async with asyncio.timeout(50):
            try:
                await self.live.run(interval=1, sleep=FakeClock(*happenings).sleep)
            except Stopped:
                return


async def test_a_change_of_any_file_reaches_the_session(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"})
    follower = Follower(folders)
    await follower.follow(
        lambda: folders.write(user={"model": "bb"}),
        lambda: None,
        lambda: folders.write(local={"model": "ccc"}),
        folders.files["local"].unlink,
        lambda: folders.write(managed={"model": "dddd"}),
    )
    assert follower.models == ["bb", "ccc", "bb", "dddd"]
    assert follower.live.current.settings.model == "dddd"


async def test_a_new_part_of_the_managed_settings_is_noticed(tmp_path: Path):
    folders = Folders(tmp_path)
    part = folders.managed / "managed-settings.d" / "10.json"

    def add() -> None:
        part.parent.mkdir()
        part.write_text('{"model": "a"}')

    follower = Follower(folders)
    await follower.follow(add, lambda: part.write_text('{"model": "bb"}'))
    assert follower.models == ["a", "bb"]


async def test_a_broken_file_keeps_its_last_good_value_and_is_told_once(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a", "permissions": {"deny": ["Bash"]}})
    follower = Follower(folders)
    await follower.follow(
        lambda: folders.write(user='{"model": '),
        lambda: None,
        lambda: folders.write(local={"model": "bb"}),
        lambda: folders.write(user={"model": "good", "permissions": {"deny": ["Bash"]}}),
        folders.files["local"].unlink,
    )
    assert follower.models == ["bb", "good"]
    assert [(each.file, each.broken) for each in follower.problems] == [(str(folders.files["user"]), True)]


async def test_while_a_file_is_broken_its_rules_stay_in_force(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(project={"permissions": {"deny": ["Bash"]}})
    follower = Follower(folders)
    await follower.follow(lambda: folders.write(project="{"), lambda: folders.write(user={"model": "a"}))
    permissions = follower.live.current.settings.permissions
    assert permissions is not None and permissions.deny == ("Bash",)


async def test_our_own_writes_are_not_announced(tmp_path: Path):
    folders = Folders(tmp_path)
    follower = Follower(folders)

    def write() -> None:
        set_value(str(folders.files["user"]), ("model",), "mine")
        assert follower.live.refresh().settings.model == "mine"

    await follower.follow(write, lambda: None)
    assert follower.models == []


async def test_a_write_that_changes_no_value_is_not_announced(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"})
    follower = Follower(folders)
    await follower.follow(lambda: folders.write(user=json.dumps({"model": "a"}) + "\n\n"))
    assert follower.models == []


async def test_a_wrong_value_is_told_once_and_again_only_after_it_was_mended(tmp_path: Path):
    folders = Folders(tmp_path)
    follower = Follower(folders)
    await follower.follow(
        lambda: folders.write(user={"verbose": 3}),
        lambda: folders.write(local={"model": "x"}),
        lambda: folders.write(user={"verbose": True}),
        lambda: folders.write(user={"verbose": 3}),
    )
    assert [each.key for each in follower.problems] == ["verbose", "verbose"]


async def test_a_settings_file_from_the_command_line_may_go_away_and_come_back(tmp_path: Path):
    folders = Folders(tmp_path)
    extra = folders.project / "extra.json"
    extra.write_text('{"model": "a"}')
    follower = Follower(folders, flag="extra.json")
    await follower.follow(
        extra.unlink,
        lambda: folders.write(user={"model": "user"}),
        lambda: extra.write_text("{"),
        lambda: extra.write_text('{"model": "bb"}'),
    )
    assert follower.models == [None, "user", "bb"]
    assert [each.file for each in follower.problems] == [str(extra)]
