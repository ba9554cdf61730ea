"""`bridle bundle`: one file that installs bridle where there is no network."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.fakes.program import Program


async def test_a_bundle_installs_bridle_without_network(tmp_path: Path):
    program = Program(tmp_path)
    made = await program.run("bundle", "-o", "b.pyz")
    assert made.code == 0, made.err
    bundle = program.project / "b.pyz"
    home = tmp_path / "there"
    home.mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    alone: list[str] = []
    if shutil.which("unshare") and subprocess.run(["unshare", "-Urn", "true"], check=False).returncode == 0:
        alone = ["unshare", "-Urn"]
    done = subprocess.run(
        [*alone, sys.executable, str(bundle)], env=env, capture_output=True, text=True, check=False
    )
    command = home / ".local" / "bin" / "bridle"
    assert (done.returncode, str(command) in done.stdout) == (0, True), done.stderr
    asked = subprocess.run(
        [*alone, str(command), "-p", "--model", "offline", "what is bridle"],
        env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (asked.returncode, "offline planner" in asked.stdout) == (0, True), asked.stderr

    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(tmp_path / "other.pyz", "w") as new:
        new.writestr("__main__.py", old.read("__main__.py"))
        new.writestr("bundle.json", '{"version": "1", "python": [3, 1], "platform": "any"}')
    other = subprocess.run(
        [sys.executable, str(tmp_path / "other.pyz")], env=env, capture_output=True, text=True, check=False
    )
    assert (other.returncode, "this bundle is for Python 3.1" in other.stderr) == (1, True)
    wrong = await program.run("bundle", "--extras", "nothing")
    assert (wrong.code, "There is no extra 'nothing'" in wrong.err) == (1, True)
