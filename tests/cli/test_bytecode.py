import os
import shutil
import subprocess
import sys
from pathlib import Path

import bridle
from tests.fakes.processes import eventually


async def test_package_without_bytecode_compiles_itself_once(tmp_path: Path):
    package = tmp_path / "bridle"
    shutil.copytree(Path(bridle.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    env = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CLAUDE_CONFIG_DIR": str(tmp_path / "h"),
    }

    subprocess.run(
        [sys.executable, "-m", "bridle", "-p", "--model", "offline", "hi"],
        env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=True,
    )  # fmt: skip

    await eventually(lambda: any((package / "types" / "__pycache__").glob("workspace.*.pyc")), seconds=60)
