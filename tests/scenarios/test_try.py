import os
import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[2]


def test_make_try_repairs_the_sample_and_leaves_it_as_it_was():
    sample = _PROJECT / "examples" / "broken-calculator"
    before = {path.name: path.read_bytes() for path in sample.iterdir() if path.is_file()}
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTHROPIC", "CLAUDE"))}

    done = subprocess.run(
        ["sh", "scripts/try.sh", str(Path(sys.executable).parent)],
        cwd=_PROJECT, env=env, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout + done.stderr
    assert "not a language model" in told
    for step in ("* Read(", "* Edit(", "* Bash(", "All tests pass now"):
        assert step in told
    assert {path.name: path.read_bytes() for path in sample.iterdir() if path.is_file()} == before
