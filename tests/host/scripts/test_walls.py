import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.host.sandbox.syscall_filter import is_known, quiet_filter
from bridle.host.scripts.script import open_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls of other systems are limits alone")

_PROBE = """
import _socket, json, os, resource, signal, sys
from bridle.host.scripts.inside.child import confine

victim = sys.argv[2]
attempts = {
    "read": lambda: os.open(victim, os.O_RDONLY),
    "write": lambda: os.open(victim, os.O_WRONLY),
    "make": lambda: os.mkdir(victim + ".d"),
    "remove": lambda: os.unlink(victim),
    "list": lambda: os.listdir("/"),
    "connect": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM),
    "unix": lambda: _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM),
    "pipe": os.pipe,
    "fork": os.fork,
    "execute": lambda: os.execv("/bin/true", ["true"]),
    "kill": lambda: os.kill(os.getppid(), 0),
    "memory": lambda: bytearray(600 * 1024 * 1024),
    "more": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
}
confine(bytes.fromhex(sys.argv[1]))
refused = []
for name, attempt in attempts.items():
    try:
        if attempt() == 0 and name == "fork":
            os._exit(0)
    except (OSError, MemoryError, ValueError):
        refused.append(name)
os.write(1, json.dumps(refused).encode())
"""
_ALL = ["read", "write", "make", "remove", "list", "connect", "unix", "pipe", "fork", "execute", "kill"]


async def _refused(filter: bytes, victim: Path) -> list[str]:
    probe = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROBE, filter.hex(), str(victim), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(50):
        out, _ = await probe.communicate()
    return json.loads(out)


async def test_confined_process_reaches_nothing(tmp_path: Path):
    machine = os.uname().machine
    if not is_known(machine):
        pytest.skip("the calls of this machine are not known")
    victim = tmp_path / "victim"
    victim.write_text("x")
    assert await _refused(quiet_filter(machine), victim) == [*_ALL, "memory", "more"]
    assert victim.read_text() == "x"


async def test_limits_hold_where_calls_cannot_be_filtered(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("x")
    refused = await _refused(b"", victim)
    assert {"read", "write", "connect", "unix", "pipe", "memory", "more"} <= set(refused)


async def test_child_has_no_rights_no_variables_and_nothing_open():
    async with asyncio.timeout(50), open_script("await agent('x')") as script:
        await anext(script.events())
        child: Any = script._child
        place = Path(f"/proc/{child.process.pid}")
        lines = dict(
            line.split(":\t") for line in (place / "status").read_text().splitlines() if ":\t" in line
        )
        assert (lines["Seccomp"], lines["NoNewPrivs"], int(lines["CapEff"], 16)) == ("2", "1", 0)
        assert (place / "environ").read_text().split("\0")[0] == "TZ=UTC"
        assert "HOME=" not in (place / "environ").read_text()
        assert {each.name for each in (place / "fd").iterdir()} == {"0", "1", "2"}
        assert int(lines["VmHWM"].split()[0]) < 40_000
