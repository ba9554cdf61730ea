import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.host.leases import PORT_COUNT, LeaseStore
from bridle.host.lock import Locked
from bridle.host.owners import Owner, birth, is_alive, this_process

_OTHER = """
import sys
from bridle.host.leases import LeaseStore
from bridle.host.owners import this_process
broker, owner = LeaseStore(sys.argv[1]), this_process("other", label="session other")
broker.lease(sys.argv[2], owner)
print(broker.ports(owner), broker.scratch(owner, sys.argv[3]), flush=True)
sys.stdin.read()
"""


def _agent(number: int) -> Owner:
    return this_process("s1", agent=f"a{number}", label=f"agent {number}")


def _start_other(folder: Path, file: Path, base: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _OTHER, str(folder), str(file), str(base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_file_belongs_to_whoever_changes_it_first(tmp_path: Path):
    broker, file = LeaseStore(str(tmp_path / "broker")), tmp_path / "a.py"

    assert broker.lease(str(file), _agent(1)) is None
    assert broker.lease(str(file), _agent(1)) is None
    held = broker.lease(str(file), _agent(2))

    assert held is not None and held.owner == _agent(1)
    assert [each.what for each in broker.leases()] == [str(file)]


def test_a_link_does_not_lead_around_a_lease(tmp_path: Path):
    broker, file = LeaseStore(str(tmp_path / "broker")), tmp_path / "a.py"
    file.touch()
    (tmp_path / "b.py").symlink_to(file)
    broker.lease(str(file), _agent(1))

    assert broker.lease(str(tmp_path / "b.py"), _agent(2)) is not None


def test_a_lease_of_whoever_handed_on_the_work_is_no_obstacle(tmp_path: Path):
    broker, file = LeaseStore(str(tmp_path / "broker")), str(tmp_path / "a.py")
    main = this_process("s1", label="session s1")
    broker.lease(file, main)

    assert broker.lease(file, _agent(1), above=(main.key,)) is None
    assert broker.lease(file, main) is not None


def test_a_lease_ends_with_the_turn_and_by_itself(tmp_path: Path):
    now = 1_000.0
    broker = LeaseStore(str(tmp_path / "broker"), clock=lambda: now)
    file, other = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    broker.lease(file, _agent(1))
    broker.lease(other, _agent(1))

    broker.release_files(_agent(1))
    assert broker.lease(file, _agent(2)) is None

    now += 121
    assert broker.lease(file, _agent(3)) is None


def test_agents_never_share_a_port(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))

    firsts = [broker.ports(_agent(number)) for number in range(40)]

    ports = {first + offset for first in firsts if first is not None for offset in range(PORT_COUNT)}
    assert len(ports) == 40 * PORT_COUNT
    assert broker.ports(_agent(3)) == firsts[3]
    broker.release(_agent(3))
    assert broker.ports(_agent(99)) == firsts[3]


def test_a_range_in_which_somebody_listens_is_left_out(tmp_path: Path):
    import socket

    broker = LeaseStore(str(tmp_path / "broker"))
    first = broker.ports(_agent(1))
    assert first is not None
    broker.release(_agent(1))
    with socket.socket() as server:
        server.bind(("127.0.0.1", first + 3))
        server.listen()
        assert broker.ports(_agent(2)) != first


def test_what_another_process_holds_is_respected_until_it_dies(tmp_path: Path):
    broker, file = LeaseStore(str(tmp_path / "broker")), tmp_path / "a.py"
    other = _start_other(tmp_path / "broker", file, tmp_path)
    try:
        assert other.stdout is not None
        port, scratch = other.stdout.readline().split()
        held = broker.lease(str(file), _agent(1))
        assert held is not None and held.owner.label == "session other"
        assert broker.ports(_agent(1)) != int(port)
        assert os.path.isdir(scratch)
    finally:
        other.kill()
        other.communicate()

    assert broker.lease(str(file), _agent(1)) is None
    assert broker.sweep() == 2
    assert not os.path.exists(scratch)


def test_a_number_that_another_process_has_by_now_is_no_owner():
    pid = os.getpid()
    assert is_alive(pid, birth(pid))
    assert not is_alive(pid, "1")


def test_a_corpse_holds_nothing():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    born = birth(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert not is_alive(child.pid, born)
    finally:
        child.wait()


def test_scratch_folders_are_private_and_go_with_their_owner(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))
    one, two = (broker.scratch(_agent(number), str(tmp_path)) for number in (1, 2))
    Path(one, "file").touch()

    assert one != two
    assert os.stat(one).st_mode & 0o777 == 0o700
    assert broker.scratch(_agent(1), str(tmp_path)) == one
    broker.release(_agent(1))
    assert not os.path.exists(one) and os.path.exists(two)
    broker.close()
    assert not os.path.exists(two)


def test_a_file_of_the_broker_that_is_broken_holds_nothing(tmp_path: Path):
    broker, file = LeaseStore(str(tmp_path / "broker")), str(tmp_path / "a.py")
    broker.lease(file, _agent(1))
    (lease,) = (tmp_path / "broker" / "leases").iterdir()
    lease.write_text("{")

    assert broker.lease(file, _agent(2)) is None


async def test_git_is_used_by_one_at_a_time_in_the_order_of_asking(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))
    order: list[int] = []
    inside = 0

    async def work(number: int) -> None:
        nonlocal inside
        async with broker.git(str(tmp_path)):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            order.append(number)
            inside -= 1

    async with asyncio.timeout(50):
        await asyncio.gather(*(work(number) for number in range(20)))
    assert order == list(range(20))


async def test_waiting_for_git_of_another_session_has_an_end(tmp_path: Path):
    one, two = LeaseStore(str(tmp_path / "broker")), LeaseStore(str(tmp_path / "broker"))
    async with one.git(str(tmp_path)):
        with pytest.raises(Locked):
            async with two.git(str(tmp_path), seconds=0.05):
                pass
        with pytest.raises(Locked):
            async with one.git(str(tmp_path), seconds=0.05):
                pass
    async with two.git(str(tmp_path), seconds=1):
        pass
