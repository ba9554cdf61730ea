"""Anyone can rebuild and verify a release; where its tools are missing, that is skipped."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "scripts" / "release.py"
_TOOLS = os.environ.get("BRIDLE_BUILD", "")


@pytest.fixture
def release() -> ModuleType:
    found = importlib.util.spec_from_file_location("release", _SCRIPT)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def key(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    path = tmp_path / "throw-away"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def test_signature_is_verified_as_the_page_says(release: ModuleType, tmp_path: Path, key: Path):
    out = _artifacts(release, tmp_path)
    release.sign(out, str(key))
    assert _verify(out, key, tmp_path) == 0
    assert _sums_are_right(out)


def test_changed_file_changed_list_other_key_and_other_purpose_are_refused(
    release: ModuleType, tmp_path: Path, key: Path
):
    out = _artifacts(release, tmp_path)
    release.sign(out, str(key))
    assert _verify(out, key, tmp_path, purpose="git") != 0
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    assert _verify(out, other, tmp_path) != 0
    (out / "a.whl").write_bytes(b"changed")
    assert not _sums_are_right(out)
    release.write_sums(out)
    assert _verify(out, key, tmp_path) != 0


def test_checksums_are_of_every_file_and_in_order(release: ModuleType, tmp_path: Path):
    out = _artifacts(release, tmp_path)
    digest = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in ("a.whl", "b.tar.gz")}
    assert (out / "SHA256SUMS").read_text() == "".join(f"{digest[name]}  {name}\n" for name in sorted(digest))


def test_list_of_parts_names_no_place_of_this_machine(release: ModuleType):
    one = {"type": "distribution", "url": "file:///home/me/bridle.whl"}
    other = {"type": "website", "url": "https://example.com"}
    given = {"components": [{"name": "a", "externalReferences": [one]}, {"externalReferences": [one, other]}]}
    assert release.without_places(given) == {"components": [{"name": "a"}, {"externalReferences": [other]}]}


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (b"", "not audited: pip-audit could not get its data"),
        (b'{"dependencies": []}', "not audited: pip-audit could not get its data"),
        (
            b'{"dependencies": [{"name": "a", "skip_reason": "x"}]}',
            "not audited: pip-audit could not get its data",
        ),
        (
            b'{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}',
            "audited: no advisory about 1 packages",
        ),
        (
            b'{"dependencies": [{"name": "a", "version": "1"}, {"name": "b", "skip_reason": "x"}]}',
            "audited: no advisory about 1 packages; 1 could not be looked up",
        ),
        (b'{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "P-1"}]}]}', "FOUND a 1: P-1"),
    ],
)
def test_what_was_skipped_does_not_count_as_audited(release: ModuleType, said: bytes, means: str):
    assert release.audited(said) == means


def test_only_what_is_committed_is_built(release: ModuleType, tmp_path: Path):
    root = _repository(tmp_path)
    (root / "secret.txt").write_text("not committed")
    release.export(root, tmp_path / "source")
    assert sorted(path.name for path in (tmp_path / "source").iterdir()) == ["README.md"]
    code = release.main(["--root", str(root), "--out", str(tmp_path / "out")])
    assert code == 1 and list((tmp_path / "out").iterdir()) == []


def test_folder_with_older_files_is_refused(release: ModuleType, tmp_path: Path):
    (tmp_path / "old.whl").touch()
    assert release.main(["--root", str(_ROOT), "--out", str(tmp_path)]) == 1


def test_two_builds_are_the_same_to_the_last_bit(release: ModuleType, tmp_path: Path):
    if not os.path.isdir(os.path.join(_TOOLS, "hatchling")):
        pytest.skip("BRIDLE_BUILD names no folder with the packages build and hatchling")
    code = (
        "import importlib.util, sys, hashlib, pathlib\n"
        f"spec = importlib.util.spec_from_file_location('release', {str(_SCRIPT)!r})\n"
        "release = importlib.util.module_from_spec(spec); spec.loader.exec_module(release)\n"
        "source, out = map(pathlib.Path, sys.argv[1:])\n"
        "for name, data in release.build(source, out, epoch='1700000000').items():\n"
        "    print(name, hashlib.sha256(data).hexdigest())\n"
    )
    said: list[str] = []
    for number, mode in ((1, 0o755), (2, 0o700)):
        source = tmp_path / f"source{number}"
        _small_project(source, mode)
        argv = [sys.executable, "-c", code, str(source), str(tmp_path / f"out{number}")]
        env = {**os.environ, "PYTHONPATH": _TOOLS}
        said.append(subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout)
    assert said[0].count("\n") == 2 and said[0] == said[1]


def _artifacts(release: ModuleType, tmp_path: Path) -> Path:
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.whl").write_bytes(b"a")
    (out / "b.tar.gz").write_bytes(b"b")
    release.write_sums(out)
    return out


def _sums_are_right(out: Path) -> bool:
    argv = ["sha256sum", "-c", "SHA256SUMS"]
    return subprocess.run(argv, cwd=out, capture_output=True, check=False).returncode == 0


def _verify(out: Path, key: Path, tmp_path: Path, purpose: str = "bridle-release") -> int:
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f"releases {key.with_suffix('.pub').read_text()}")
    with (out / "SHA256SUMS").open("rb") as sums:
        return subprocess.run(
            ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "releases", "-n", purpose,
             "-s", str(out / "SHA256SUMS.sig")], stdin=sums, capture_output=True, check=False,
        ).returncode  # fmt: skip


def _repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "README.md").write_text("hello")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    return root


def _small_project(folder: Path, mode: int) -> None:
    (folder / "src" / "bridle").mkdir(parents=True, mode=mode)
    shutil.copy(_ROOT / "pyproject.toml", folder)
    for name in ("README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"):
        (folder / name).write_text(name)
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text("# Docs\n")
    (folder / "man").mkdir()
    (folder / "man" / "bridle.1").write_text(".TH BRIDLE 1\n")
    sample = folder / "examples" / "broken-calculator"
    sample.mkdir(parents=True)
    (sample / "calculator.py").write_text("")
    extension = folder / "browser" / "extension"
    extension.mkdir(parents=True)
    (extension / "manifest.json").write_text("{}\n")
    (folder / "src" / "bridle" / "version.py").write_text('__version__ = "0.0.1"\n')
