import asyncio
import os
import random
import signal
import subprocess
from pathlib import Path

from tests.fakes.confined import FakePlace
from tests.fakes.processes import eventually


async def test_exit_codes_and_signals_come_through(place: FakePlace):
    assert (await place.bash("exit 7")).code == 7
    assert (await place.bash("kill -TERM $$")).code == 128 + signal.SIGTERM
    assert (await place.bash("kill -KILL $$")).code == 128 + signal.SIGKILL
    assert (await place.run("/nowhere/at-all")).code == 127
    assert (await place.run("/etc/passwd")).code == 126


async def test_signals_are_set_as_usual_again(place: FakePlace):
    said = await place.bash("yes | head -1; grep -E '^Sig(Ign|Blk)' /proc/self/status | tr -d '\\t'")
    status = Path("/proc/self/status").read_text()
    (ignored,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn")]
    # Whoever started the tests may ignore signals; Python adds two, and a command can always be interrupted.
    reset = sum(1 << number - 1 for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ))
    usual = ignored & ~reset
    assert said.output.splitlines() == ["y", "SigBlk:0000000000000000", f"SigIgn:{usual:016x}"]


async def test_other_processes_are_neither_seen_nor_reached(place: FakePlace):
    other = subprocess.Popen(
        ["/bin/sleep", "60"], user=place.person.uid, group=place.person.uid, extra_groups=[], cwd="/"
    )
    try:
        said = await place.bash(f"kill -9 {other.pid}; ls -d /proc/{other.pid}; ls -d /proc/[0-9]* | wc -l")
        assert int(said.output.splitlines()[-1]) < 10
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_landlock_alone_keeps_signals_and_memory_inside(narrow: FakePlace):
    other = subprocess.Popen(
        ["/bin/sleep", "60"], user=narrow.person.uid, group=narrow.person.uid, extra_groups=[], cwd="/"
    )
    try:
        said = await narrow.bash(f"kill -9 {other.pid} || cat /proc/{other.pid}/environ || echo refused")
        assert said.output.splitlines()[-1] == "refused"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


_TOUCH_OTHERS = """
import os
def works(act, *arguments):
    try:
        act(*arguments)
        return True
    except OSError:
        return False
for pid in (name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()):
    base = f"/proc/{pid}/"
    print(pid, [name for name, act, *arguments in (
        ("environment", lambda: open(base + "environ").read()),
        ("memory", open, base + "mem", "rb"),
        ("writing", open, base + "mem", "r+b"),
        ("place", os.readlink, base + "cwd"),
        ("root", os.listdir, base + "root/"),
        ("output", os.open, base + "fd/1", 0),
    ) if works(act, *arguments)])
"""


async def test_holders_of_the_walls_cannot_be_read_or_changed(place: FakePlace):
    said = await place.python(_TOUCH_OTHERS)
    assert said.output
    assert {line.partition(" ")[2] for line in said.output.splitlines()} == {"[]"}


async def test_what_a_command_leaves_ends_with_its_group_even_as_a_daemon(place: FakePlace):
    sandbox = place.open()
    marker = place.project / "pids"
    nap = f"sleep {random.randrange(10**8, 10**9)}"
    script = f"setsid {nap}1 & (setsid nohup {nap}2 &) ; sleep 0.05; echo ok > {marker.name}"
    confined = sandbox.confine(
        ("/bin/bash", "-c", script), cwd=str(place.project), env={"PATH": "/usr/bin:/bin"}
    )
    place.give(Path(place.private.folder))
    process = await asyncio.create_subprocess_exec(
        *confined.argv,
        env=dict(confined.env),
        cwd="/",
        stdin=subprocess.DEVNULL,
        user=place.person.uid,
        group=place.person.uid,
        extra_groups=[],
        start_new_session=True,
    )
    async with asyncio.timeout(50):
        assert await process.wait() == 0
    assert marker.exists()
    left = _running(nap)
    assert len(left) == 2
    os.killpg(process.pid, signal.SIGKILL)
    await eventually(lambda: not any(os.path.isdir(f"/proc/{pid}") for pid in left))


def _running(text: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if line.startswith(text):
                found.append(int(entry.name))
    return found


async def test_only_the_descriptors_that_were_named_are_open(place: FakePlace):
    named, other = os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(other, True)
    try:
        said = await place.run("/bin/ls", "/proc/self/fd", keep=(named,))
    finally:
        os.close(named)
        os.close(other)
    # ls opens one more to read the folder.
    assert len(said.output.split()) == 5
    assert str(named) in said.output.split()


async def test_command_does_not_run_when_the_session_is_gone(place: FakePlace):
    sandbox = place.open()
    confined = sandbox.confine(("/bin/echo", "ran"), cwd=str(place.project), env={})
    place.give(Path(place.private.folder))
    socket_path = Path(place.private.socket_path)
    socket_path.unlink()
    done = await asyncio.to_thread(
        subprocess.run,
        confined.argv,
        capture_output=True,
        text=True,
        user=place.person.uid,
        group=place.person.uid,
        extra_groups=[],
        cwd="/",
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (125, "")
    assert "did not run" in done.stderr
