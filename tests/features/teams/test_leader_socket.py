"""Who is let in at the socket of a team: only the process in the pane, and only once."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.engine.assignment import Assignment
from bridle.engine.turn import Turn
from bridle.features.agents.mailbox import Mailbox
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.teams.feature import Team
from bridle.features.teams.leader_socket import LeaderSocket
from bridle.features.teams.process import MemberProcess
from bridle.features.teams.protocol import Hello, MemberLaunch, ToMember, Welcome, dial, listen
from bridle.features.teams.questions import Questions
from bridle.host.panes.pane import Pane
from bridle.types.agent import AgentDefinition

_HELPER = AgentDefinition(name="helper", description="d", text="p")


def _member(folder: Path, *, pid: int) -> MemberProcess:
    work = Assignment(
        agent_id="a1", definition=_HELPER, description="d", prompt="p", call_id="c", name="ann", model="m"
    )
    box, questions = Mailbox(str(folder / "mail")), Questions(str(folder), "a1")
    member = MemberProcess(work, session_id="s2", box=box, questions=questions)
    member.pane = Pane(id="%1", pid=pid)
    member.launch = MemberLaunch(
        agent_id="a1", name="ann", team="blue", leader="s1", storage=str(folder), session_id="s2",
        definition=_HELPER, prompt="p", cwd="/", at="/", mode="default", env={"KEY": "secret"},
        output_file="o",
    )  # fmt: skip
    member.expected.set()
    return member


def _no_turn() -> Turn:
    raise AssertionError("nothing is asked of the leader")


@asynccontextmanager
async def _open(folder: Path, member: MemberProcess) -> AsyncGenerator[str]:
    agents = Agents(AgentRegistry(AgentSetup(), {}))
    leader = LeaderSocket(
        agents,
        Team(),
        _no_turn,
        {"a1": member},
        follow=lambda member, turn: None,
        forget=lambda member: None,
        keep=lambda card: None,
    )
    server = listen(str(folder / "s"), leader.attend)
    try:
        yield str(folder / "s")
    finally:
        server.stop()
        await leader.close()
        await server.close()


async def _say_hello(path: str, agent_id: str = "a1") -> ToMember | None:
    line = await dial(path)
    line.say(Hello(agent_id, os.getpid()))
    async with asyncio.timeout(50):
        said = await line.from_leader()
    await line.close()
    return said


async def test_the_process_in_the_pane_gets_its_launch(tmp_path: Path):
    member = _member(tmp_path, pid=os.getpid())
    async with _open(tmp_path, member) as path:
        assert await _say_hello(path) == Welcome(member.launch)
        assert oct(os.stat(path).st_mode & 0o777) == "0o600"


async def test_another_process_gets_nothing(tmp_path: Path):
    async with _open(tmp_path, _member(tmp_path, pid=1)) as path:
        assert await _say_hello(path) is None


async def test_a_second_one_and_an_unknown_one_get_nothing(tmp_path: Path):
    async with _open(tmp_path, _member(tmp_path, pid=os.getpid())) as path:
        first = await dial(path)
        first.say(Hello("a1", os.getpid()))
        assert isinstance(await first.from_leader(), Welcome)
        assert await _say_hello(path) is None
        assert await _say_hello(path, "a2") is None
        await first.close()
