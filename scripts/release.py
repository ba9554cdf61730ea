"""Builds what a release consists of: packages that anyone can rebuild bit for bit, a list of what is in them
(CycloneDX), an audit, checksums and a signature. Nothing is published.

    make release KEY=~/.ssh/id_ed25519

It is run by the Python of an environment with `build`, `hatchling`, `cyclonedx-bom` and `pip-audit`.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

NAMESPACE = "bridle-release"
"""What a signature is for: one made for something else does not count."""
SUMS = "SHA256SUMS"


def main(argv: Sequence[str]) -> int:
    """Build everything into a folder; the exit code is 1 when something is wrong with it."""
    wish = _read(argv)
    root, out = Path(wish.root).resolve(), Path(wish.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if left := sorted(path.name for path in out.iterdir()):
        return _fail(f"{out} is not empty ({left[0]}): remove it, or choose another folder")
    if changed := _git(root, "status", "--porcelain").decode().strip():
        return _fail(f"there are changes that are not committed:\n{changed}")
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory(prefix="release-") as given:
        work = Path(given)
        export(root, work / "source")
        packages = build(work / "source", work / "first", epoch=epoch)
        again = build(work / "source", work / "second", epoch=epoch)
        if different := [name for name in packages if packages[name] != again.get(name)]:
            return _fail(f"two builds of the same source differ: {', '.join(different)}")
        for name, data in packages.items():
            (out / name).write_bytes(data)
        wheel = next(out.glob("*.whl"))
        installed = install(wheel, work / "env")
        (out / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json").write_text(bill(installed, work / "source"))
        verdict = audit(installed)
    write_sums(out)
    if wish.key:
        sign(out, os.path.expanduser(wish.key))
    _report(out, epoch=epoch, verdict=verdict, key=wish.key)
    return 1 if verdict.startswith("FOUND") else 0


def export(root: Path, folder: Path) -> None:
    """What is committed, and nothing that lies beside it."""
    folder.mkdir()
    with tarfile.open(fileobj=BytesIO(_git(root, "archive", "--format=tar", "HEAD"))) as archive:
        # Python before 3.11.4 has no filters; what git has packed needs none.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def build(source: Path, folder: Path, *, epoch: str) -> dict[str, bytes]:
    """The packages by name; equal for equal sources, wherever and whenever they are built."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    before = os.umask(0o022)
    try:
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source), env=env)
    finally:
        os.umask(before)
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".gz", ".whl")
    }


def install(wheel: Path, folder: Path) -> Path:
    """An environment with the package and what it needs, nothing else; returns its Python."""
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(wheel))
    return python


def bill(python: Path, source: Path) -> str:
    """The packages of an environment as a CycloneDX document."""
    said = _run(
        str(Path(sys.executable).parent / "cyclonedx-py"), "environment", "--output-format", "JSON",
        "--output-reproducible", "--pyproject", str(source / "pyproject.toml"), str(python),
    )  # fmt: skip
    return json.dumps(without_places(json.loads(said)), indent=2, sort_keys=True) + "\n"


def without_places(value: Any) -> Any:
    """The document without addresses of files on the machine that made it."""
    if isinstance(value, list):
        return [without_places(each) for each in value if not _is_place(each)]
    if isinstance(value, dict):
        kept = {key: without_places(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each != [] or value[key] == []}
    return value


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and str(value.get("url", "")).startswith("file:")


def audit(python: Path) -> str:
    """One sentence about known advisories; it begins with FOUND when there are any."""
    (packages,) = (python.parents[1] / "lib").glob("python*/site-packages")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "pip-audit"), "--path", str(packages), "--format", "json",
         "--progress-spinner", "off"], capture_output=True, check=False,
    )  # fmt: skip
    return audited(done.stdout)


def audited(said: bytes) -> str:
    """What a report of pip-audit means; a package that it skipped was not audited."""
    try:
        listed = json.loads(said)["dependencies"]
    except (ValueError, KeyError, TypeError):
        listed = []
    others = [each for each in listed if each["name"] != "bridle"]
    found = [each for each in others if "skip_reason" not in each]
    if not found:
        return "not audited: pip-audit could not get its data"
    known = [
        f"{each['name']} {each['version']}: {one['id']}" for each in found for one in each.get("vulns", ())
    ]
    if known:
        return f"FOUND {'; '.join(known)}"
    skipped = f"; {len(others) - len(found)} could not be looked up" if len(found) < len(others) else ""
    return f"audited: no advisory about {len(found)} packages{skipped}"


def write_sums(folder: Path) -> None:
    """The checksum of every file, in the form that `sha256sum -c` reads."""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(SUMS))
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / SUMS).write_text("".join(lines))


def sign(folder: Path, key: str) -> None:
    """Sign the checksums with an SSH key, and look at the signature as a reader would."""
    sums = folder / SUMS
    _run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, str(sums))
    with sums.open("rb") as file:
        subprocess.run(
            ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", f"{sums}.sig"],
            stdin=file, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip


def _report(out: Path, *, epoch: str, verdict: str, key: str | None) -> None:
    print(f"in {out}, from a source of {epoch} seconds, built twice with the same result:")
    for path in sorted(out.iterdir()):
        print(f"  {path.stat().st_size:>10,}  {path.name}")
    print(verdict)
    print(f"signed with {key}" if key else "NOT SIGNED: make release KEY=~/.ssh/id_ed25519 signs it")
    print("docs/releasing.md says how anyone verifies it; nothing was published")


def _git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True).stdout


def _run(*argv: str, env: Mapping[str, str] | None = None) -> bytes:
    done = subprocess.run(argv, capture_output=True, check=False, env=env)
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout + done.stderr)
        raise SystemExit(f"{' '.join(argv[:4])} … failed with {done.returncode}")
    return done.stdout


def _fail(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 1


def _read(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build a release; nothing is published.")
    parser.add_argument("--out", required=True, help="an empty folder for it")
    parser.add_argument("--key", help="an SSH key to sign with; ssh-agent and security keys work, too")
    parser.add_argument("--root", default=str(Path(__file__).parents[1]), help="the repository")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
