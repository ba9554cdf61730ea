"""Runs every client scenario of the official suite: `run.py <folder with node_modules>`."""

import os
import re
import subprocess
import sys
from pathlib import Path

_CLIENT = Path(__file__).with_name("client.py")


def main(folder: str) -> int:
    """Print a line for each scenario and return an exit code."""
    suite = [_node(folder), f"{folder}/node_modules/@modelcontextprotocol/conformance/dist/index.js"]
    failed: list[str] = []
    for name in _scenarios(suite):
        command = f"{sys.executable} {_CLIENT}"
        done = subprocess.run(
            [*suite, "client", "--command", command, "--scenario", name],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        print(f"{name:48} {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout[-2000:] + done.stderr[-2000:])
    print(f"{len(failed)} failed")
    return 1 if failed else 0


def _scenarios(suite: list[str]) -> list[str]:
    listed = subprocess.run([*suite, "list"], capture_output=True, text=True, check=True).stdout
    part = listed.partition("Client scenarios")[2].partition("Authorization server scenarios")[0]
    return re.findall(r"^  - (\S+)", part, re.MULTILINE)


def _node(folder: str) -> str:
    """The suite needs Node 22, which npm can install beside it."""
    own = f"{folder}/node_modules/.bin/node"
    return own if os.path.exists(own) else "node"


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
