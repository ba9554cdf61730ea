"""Remote control as a feature: when a session is shared, under which name, and what is said about it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from bridle.config.options import SessionOptions
from bridle.config.schema import Settings
from bridle.engine.feature import Features
from bridle.features.remote.feature import RemoteFeature, joins_hub
from bridle.types.command import Command, Says
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.services.remote import REMOTE
from tests.fakes.commanded import Commanded
from tests.fakes.engine import FakeChannel, make_runtime
from tests.fakes.features import feature_commands, feature_context, settings
from tests.tables import table


class FakeListener:
    """A program around the session that could listen; clients come when a test says so."""

    def __init__(self, problem: str = "") -> None:
        self._problem = problem
        self.address: str | None = None
        self.people: Sequence[str] = ()
        self.shown: list[str] = []
        self.name: Callable[[], str] = str
        self.hub: Literal["", "joining", "joined"] = ""
        self.waits = False
        self.on_people: Callable[[str | None], None] = print

    async def open(self, name: Callable[[], str], on_people: Callable[[str | None], None]) -> None:
        if self._problem:
            raise UsageError(self._problem)
        self.address, self.name, self.on_people = "http://127.0.0.1:8765/", name, on_people

    async def close(self) -> None:
        self.address = None

    def join(self, name: Callable[[], str], *, waits: bool) -> None:
        self.hub, self.name, self.waits = "joined", name, waits

    async def leave(self) -> None:
        self.hub = ""

    @property
    def address_with_key(self) -> str:
        return f"{self.address}#key"

    def show(self, text: str) -> None:
        self.shown.append(text)

    def changed(self) -> None:
        pass


class _World:
    def __init__(self, folder: Path, listener: FakeListener | None = None, **changes: Any) -> None:
        self.folder = folder
        self.listener = listener or FakeListener()
        self.channel = FakeChannel()
        runtime = make_runtime(folder, (), channel=self.channel)
        context = feature_context(folder, listener=self.listener, runtime=lambda: runtime, **changes)
        self.feature = RemoteFeature(context)

    async def run(self, line: str) -> Any:
        return await Commanded(self.folder, sources=self.feature.commands()).run(line)


async def test_a_session_is_shared_named_again_and_no_longer_shared(tmp_path: Path):
    world = _World(tmp_path)
    assert world.feature.reply is None and world.feature.sign == ""

    assert await world.run("/rc the  attic") == Says()
    assert world.feature.reply == ("http://127.0.0.1:8765/", "the attic")
    assert world.feature.sign == "shared" and "http://127.0.0.1:8765/#key" in world.listener.shown[-1]

    await world.run("/remote-control cellar")
    assert world.listener.name() == "cellar"

    ended = await world.run("/remote-control off")
    assert isinstance(ended, Says) and world.listener.address is None and world.feature.sign == ""
    assert "key" not in str(ended)


async def test_the_name_says_where_the_session_runs_unless_it_is_given(tmp_path: Path):
    folder = tmp_path / "attic"
    folder.mkdir()
    world = _World(folder, env={"CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX": "box"}, project=f"{folder}/")
    await world.feature.share("")
    assert world.listener.name() == "box-attic"


async def test_each_client_is_announced_once(tmp_path: Path):
    world = _World(tmp_path)
    await world.feature.share("attic")
    for who in ("Ada", None, "Ada", "Bob"):
        world.listener.on_people(who)
    world.listener.people = ("Ada", "Bob")
    said = [event.text for event in world.channel.of(Noticed)]
    assert said == ["Ada connected through remote control.", "Bob connected through remote control."]
    assert world.feature.sign == "shared, 2 connected" and "Connected: Ada, Bob." in world.feature.describe()


async def test_a_session_is_shared_from_the_start_where_the_user_says_so(tmp_path: Path):
    asked = _World(tmp_path, options=SessionOptions(remote_control="attic"))
    await asked.feature.begin()
    assert asked.listener.name() == "attic" and len(asked.listener.shown) == 1

    unasked = _World(tmp_path)
    await unasked.feature.begin()
    assert unasked.listener.address is None and unasked.listener.shown == []


async def test_what_cannot_be_shared_is_said_only_to_those_who_asked(tmp_path: Path):
    asked = _World(tmp_path, FakeListener("no port"), options=SessionOptions(remote_control=True))
    await asked.feature.begin()
    assert asked.listener.shown == ["no port"]

    always = settings(tmp_path, '{"remoteControlAtStartup": true}')
    setting = _World(tmp_path, FakeListener("no port"), config=always)
    await setting.feature.begin()
    assert setting.listener.shown == []


async def test_a_setting_forbids_sharing_also_while_the_session_runs(tmp_path: Path):
    world = _World(tmp_path)
    before, now = settings(tmp_path), settings(tmp_path, '{"disableRemoteControl": true}')
    world.feature.reconfigure(before, now)
    with pytest.raises(UsageError):
        await world.run("/remote-control")
    assert world.listener.address is None


async def test_a_session_without_a_server_around_it_cannot_be_shared(tmp_path: Path):
    commanded = Commanded(tmp_path, sources=feature_commands(tmp_path))
    for line in ("/remote-control", "/rc off"):
        with pytest.raises(UsageError):
            await commanded.run(line)


async def test_sharing_ends_with_the_session_and_agents_know_of_it(tmp_path: Path):
    world = _World(tmp_path)
    features = Features([world.feature])
    work: Any = None
    await world.feature.share("attic")
    agents = features.for_agent(work)
    assert agents.find(REMOTE) is world.feature
    await agents.close()
    assert world.listener.address is not None
    await features.close()
    assert world.listener.address is None


async def test_a_command_file_of_the_same_name_goes_before(tmp_path: Path):
    async def run(arguments: str, context: Any) -> Says:
        return Says("mine")

    own = Command(name="remote-control", description="", run=run, source="user")
    commanded = Commanded(tmp_path, sources=(*feature_commands(tmp_path), own))
    assert await commanded.run("/remote-control") == Says("mine")


async def test_a_session_joins_the_hub_where_the_user_says_so_and_leaves_it_again(tmp_path: Path):
    world = _World(tmp_path, config=settings(tmp_path, '{"bridleJoinHub": true}'))
    await world.feature.begin()
    assert world.listener.hub == "joined" and not world.listener.waits
    assert world.feature.sign == "at the hub" and world.listener.name().endswith(tmp_path.name)
    await world.run("/rc attic")
    assert world.feature.sign == "at the hub · shared" and world.listener.name() == "attic"
    await world.run("/hub off")
    assert world.feature.sign == "shared"
    await world.run("/hub")
    assert world.listener.hub == "joined" and world.listener.waits
    await world.feature.close()
    assert world.feature.sign == ""


@table(
    "options, chosen, env, joins",
    [
        ({}, {}, {}, False),
        ({"join_hub": True}, {}, {}, True),
        ({}, {"bridle_join_hub": True}, {}, True),
        ({}, {"bridle_join_hub": True}, {"BRIDLE_JOIN_HUB": "0"}, False),
        ({}, {}, {"BRIDLE_JOIN_HUB": "1"}, True),
        ({"join_hub": True}, {"disable_remote_control": True}, {"BRIDLE_JOIN_HUB": "1"}, False),
    ],
)
def test_who_decides_that_a_session_joins(
    options: dict[str, Any], chosen: dict[str, Any], env: dict[str, str], joins: bool
):
    assert joins_hub(SessionOptions(**options), Settings(**chosen), env) is joins
