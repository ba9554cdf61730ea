"""A Ray cluster of several nodes on this machine, on the loopback address, in a process of its own.

`python -m tests.fakes.ray_cluster 2` prints the address of the head. It takes `remove` and `add` on
standard input, and ends with it.
"""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
_ADDRESS = "127.0.0.1"
_MEMORY = 80 * 1024 * 1024
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_DEDUP_LOGS": "0"}


class RayCluster:
    """The cluster from outside."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.address = address
        self._process = process

    def remove_node(self) -> None:
        """Kill the newest node that is not the head, with all its workers."""
        self._ask("remove")

    def add_node(self) -> None:
        self._ask("add")

    def _ask(self, word: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == f"{word}\n"


@contextmanager
def ray_cluster(nodes: int, *, cpus: int = 2, env: dict[str, str] | None = None) -> Generator[RayCluster]:
    """A cluster with a head without processors and so many nodes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.ray_cluster", str(nodes), str(cpus)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **_QUIET, **(env or {})},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = process.stdout.readline().strip()
        assert address, "the cluster did not start"
        yield RayCluster(process, address)
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _serve(nodes: int, cpus: int) -> None:
    from importlib import import_module

    utils: Any = import_module("ray.cluster_utils")
    place = {"node_ip_address": _ADDRESS, "object_store_memory": _MEMORY}
    head = {**place, "num_cpus": 0, "include_dashboard": False}
    cluster = utils.Cluster(initialize_head=True, head_node_args=head)
    added = [cluster.add_node(**place, num_cpus=cpus, labels={"disk": "fast"}) for _ in range(nodes)]
    print(cluster.address, flush=True)
    try:
        for line in sys.stdin:
            if line == "remove\n":
                cluster.remove_node(added.pop(), allow_graceful=False)
            elif line == "add\n":
                added.append(cluster.add_node(**place, num_cpus=cpus))
            print(line, end="", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
