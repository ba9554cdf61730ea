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


_SHOW = """
from bridle.cli.bytecode import use_image
use_image()
import bridle.types.text as module
print(type(module.__loader__).__name__, module.__file__, getattr(module, "ADDED", None))
"""


def test_image_serves_modules_until_their_source_changes_and_no_longer_when_it_is_damaged(tmp_path: Path):
    package = tmp_path / "bridle"
    shutil.copytree(Path(bridle.__file__).parent, package)
    source = package / "types" / "text.py"

    def shown() -> str:
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", _SHOW], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    subprocess.run([sys.executable, "-I", package / "cli" / "bytecode.py"], check=True)
    (image,) = (package / "__pycache__").glob("*.image")
    assert shown() == f"_ImageLoader {source} None"
    source.write_text(source.read_text() + "\nADDED = 1\n")
    assert shown() == f"SourceFileLoader {source} 1"
    for damaged in (b"", b"\xff" * 100, image.read_bytes()[:20], image.read_bytes()[:-1], b"\0" * 5_000):
        image.write_bytes(damaged)
        assert shown() == f"SourceFileLoader {source} 1"
