from collections.abc import Sequence

import pytest

from bridle.host.sandbox.confinement import Confinement
from bridle.host.sandbox.policy import Network, Policy
from bridle.types.errors import ToolError
from bridle.types.sandbox import NOTHING_DENIED, Denials


class FakeWalls:
    def __init__(self, ports: tuple[int, int] | None = None) -> None:
        self.ports = ports

    def wrap(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        keep: tuple[int, ...],
        denials: Denials = NOTHING_DENIED,
        search: str = "",
    ) -> tuple[str, ...]:
        return ("wall", cwd, *map(str, keep), *argv)

    async def close(self) -> None:
        pass


def _make(
    policy: Policy | None = None, *, ports: tuple[int, int] | None = None, may_be_left: bool = True
) -> Confinement:
    return Confinement(
        policy or Policy(),
        walls=FakeWalls(ports),
        fault="",
        temporary="/t",
        proxy=None,
        excluded=("docker *",),
        ignored={"make": ("warning: Read-only",)},
        may_be_left=may_be_left,
    )


def test_nothing_runs_without_walls():
    sandbox = Confinement(Policy(), walls=None, fault="no reason", temporary="/t", proxy=None)
    with pytest.raises(ToolError, match="no reason"):
        sandbox.confine(("ls",), cwd="/", env={})


def test_commands_are_wrapped_with_their_descriptors():
    confined = _make().confine(("ls",), cwd="/x", env={}, pass_fds=(60,))
    assert (confined.argv, confined.pass_fds) == (("wall", "/x", "60", "ls"), (60,))


def test_environment_points_to_the_temporary_folder_and_hides_credentials():
    policy = Policy(hidden_variables=("TOKEN",))
    env = _make(policy).confine(("ls",), cwd="/", env={"TOKEN": "hush", "A": "b"}).env
    assert env["TMPDIR"] == "/t"
    assert env["A"] == "b"
    assert "TOKEN" not in env
    assert not [name for name in env if "proxy" in name.lower()]


def test_environment_points_to_the_proxies():
    policy = Policy(network=Network(mode="proxy", allowed=("localhost:80",)))
    env = _make(policy, ports=(1, 2)).confine(("ls",), cwd="/", env={"HTTPS_PROXY": "http://old"}).env
    assert env["HTTPS_PROXY"] == env["http_proxy"] == "http://127.0.0.1:1"
    assert env["ALL_PROXY"] == "socks5h://127.0.0.1:2"
    assert env["NO_PROXY"] == "127.0.0.1,::1"


def test_excluded_commands_are_not_covered():
    assert not _make().covers("docker ps")
    assert _make().covers("ls")


def test_failures_that_look_like_the_sandbox_are_explained():
    sandbox = _make()
    assert "dangerouslyDisableSandbox" in sandbox.annotate("x: Read-only file system", failed=True)
    assert "proxy" in sandbox.annotate("curl: (6) Could not resolve host: x", failed=True)
    assert sandbox.annotate("x: Read-only file system", failed=False) == ""
    assert sandbox.annotate("Syntax error", failed=True) == ""


def test_way_out_is_not_offered_when_there_is_none():
    sandbox = _make(may_be_left=False)
    assert "dangerously" not in sandbox.annotate("x: Permission denied", failed=True)


def test_ignored_violations_are_not_explained():
    text = "warning: Read-only file system"
    assert _make().annotate(text, failed=True, command="make all") == ""
    assert _make().annotate(text, failed=True, command="ls") != ""
