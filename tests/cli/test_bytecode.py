import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import bridle
from bridle.cli import bytecode
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
import sys
from bridle.cli.bytecode import use_image
use_image()
for name in sys.argv[1:]:
    __import__(name)
    module = sys.modules[name]
    print(type(module.__loader__).__name__, module.__file__, getattr(module, "ADDED", None))
"""


class _Package:
    """A copy of bridle with an image."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "bridle"
        shutil.copytree(Path(bridle.__file__).parent, self.path)
        for old in (self.path / "__pycache__").glob("*.image"):
            old.unlink()
        subprocess.run([sys.executable, *bytecode.WRITER, str(folder)], check=True)
        (self.image,) = (self.path / "__pycache__").glob("*.image")

    def shown(self, *modules: str, environment: Mapping[str, str] | None = None) -> list[str]:
        """Which loader each module comes from, its source, and what was added to it."""
        env = {**os.environ, **(environment or {})}
        code = (
            f"import sys; sys.path.insert(1, {str(self._folder)!r}); import bridle; del sys.path[1]\n{_SHOW}"
        )
        argv = [sys.executable, "-c", code, *modules]
        done = subprocess.run(argv, env=env, cwd=self._folder, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> _Package:
    return _Package(tmp_path_factory.mktemp("copy"))


def test_image_serves_modules_until_their_source_changes_and_no_longer_when_it_is_damaged(package: _Package):
    source = package.path / "types" / "text.py"

    assert package.shown("bridle.types.text") == [f"_ImageLoader {source} None"]
    source.write_text(source.read_text() + "\nADDED = 1\n")
    assert package.shown("bridle.types.text") == [f"SourceFileLoader {source} 1"]
    whole = package.image.read_bytes()
    for damaged in (b"", b"\xff" * 100, whole[:20], whole[:-1], b"\0" * 5_000):
        package.image.write_bytes(damaged)
        assert package.shown("bridle.types.text") == [f"SourceFileLoader {source} 1"]
    package.image.write_bytes(whole)


def test_start_takes_changed_modules_from_their_sources_and_the_others_from_the_image(package: _Package):
    changed = package.path / "engine" / "loop.py"
    changed.write_text(changed.read_text() + "\nADDED = 1\n")
    print_mode = package.path / "cli" / "headless" / "print_mode.py"

    shown = package.shown(
        "bridle.cli.main", "bridle.cli.headless.print_mode", "bridle.engine.loop", "bridle.engine.step"
    )

    assert shown[1:3] == [f"_ImageLoader {print_mode} None", f"SourceFileLoader {changed} 1"]
    assert shown[3].startswith("_ImageLoader ")


def test_modules_of_others_come_from_the_image_unless_python_searches_elsewhere(
    package: _Package, tmp_path: Path
):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "msgspec.py").write_text("ADDED = 'mine'\n")

    assert package.shown("msgspec")[0].startswith("_ImageLoader ")
    (shown,) = package.shown("msgspec", environment={"PYTHONPATH": str(mine)})
    assert shown == f"SourceFileLoader {mine / 'msgspec.py'} mine"
