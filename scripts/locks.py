"""Writes the lock files below locks/ with uv, or checks them against pyproject.toml without a network.

make lock                  # keep the versions that still fit
make lock UPGRADE=1        # take the newest versions
python scripts/locks.py check
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]


class Lock(NamedTuple):
    """One lock file: which requirements of pyproject.toml it pins."""

    name: str
    groups: Sequence[str] = ()
    has_project: bool = False
    """Whether it pins the project's own dependencies."""
    has_dependencies: bool = True
    """Whether it pins what these packages depend on."""
    follows: str = ""
    """The lock whose versions it takes, because both are installed together."""


NODE = ("locks/node", "locks/vsce", "editors/vscode")
"""Folders with a package.json and its lock."""

LOCKS = (
    Lock("dev", groups=("build", "dev"), has_project=True),
    Lock("run", groups=("build",), has_project=True, follows="dev"),
    Lock("build", groups=("build",), follows="dev"),
    Lock("docs", groups=("docs",)),
    Lock("fleet", groups=("fleet",), follows="dev"),
    Lock("lock", groups=("lock",)),
    Lock("release", groups=("release",)),
    Lock("older-sdk", groups=("older-sdk",), has_dependencies=False),
    Lock("real-model", groups=("real-model",), has_dependencies=False),
    Lock("speech", groups=("speech",), has_dependencies=False),
)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("action", choices=("check", "write"))
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    args = parser.parse_args(argv)
    if args.action == "write":
        for lock in LOCKS:
            write(args.root, lock, upgrade=args.upgrade)
    problems = check(args.root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print("Run `make lock` to write the lock files again.", file=sys.stderr)
    return 1 if problems else 0


def write(root: Path, lock: Lock, *, upgrade: bool) -> None:
    """Resolve one lock for all platforms and Python versions; no address of a package index is written."""
    path = root / "locks" / f"{lock.name}.txt"
    project = _project(root)
    argv = [
        str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--output-file", str(path),
        "--universal", "--python-version", oldest_python(project), "--generate-hashes",
        "--no-header", "--no-emit-index-url", "--no-emit-find-links",
    ]  # fmt: skip
    argv += ["pyproject.toml"] if lock.has_project else []
    argv += [word for group in lock.groups for word in ("--group", f"pyproject.toml:{group}")]
    argv += ["--constraints", f"locks/{lock.follows}.txt"] if lock.follows else []
    argv += [] if lock.has_dependencies else ["--no-deps"]
    argv += ["--upgrade"] if upgrade else []
    subprocess.run(argv, cwd=root, check=True)
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{heading(project)}\n{text}", encoding="utf-8")
    print(path.relative_to(root))


def check(root: Path) -> list[str]:
    """What pyproject.toml asks for and the lock files do not hold, or the other way round."""
    project = _project(root)
    problems: list[str] = []
    pins: dict[str, dict[str, set[str]]] = {}
    for lock in LOCKS:
        path = root / "locks" / f"{lock.name}.txt"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            problems.append(f"locks/{lock.name}.txt is missing")
            continue
        pins[lock.name] = read_pins(text)
        found = compare(text, wanted(project, lock), heading(project))
        found += _contradictions(pins[lock.name], pins.get(lock.follows, {}), lock.follows)
        problems += [f"locks/{lock.name}.txt: {each}" for each in found]
    known = {lock.name for lock in LOCKS}
    extra = sorted(path.name for path in (root / "locks").glob("*.txt") if path.stem not in known)
    listed = {group for lock in LOCKS for group in lock.groups}
    unlocked = sorted(set(project.get("dependency-groups", {})) - listed)
    return [
        *problems,
        *(f"{folder}/package-lock.json: {each}" for folder in NODE for each in check_node(root / folder)),
        *(f"locks/{name} belongs to no lock" for name in extra),
        *(f"the dependency group {group} has no lock file" for group in unlocked),
    ]


def compare(text: str, requirements: Sequence[Requirement], first_line: str) -> list[str]:
    """What is wrong with one lock file."""
    problems: list[str] = []
    if text.partition("\n")[0] != first_line:
        problems.append(f"the first line is not {first_line!r}")
    pins = read_pins(text)
    for requirement in requirements:
        versions = pins.get(canonicalize_name(requirement.name), set())
        if not versions:
            problems.append(f"{requirement.name} is missing")
        problems += [
            f"{requirement.name} {version} does not match {requirement.specifier}"
            for version in sorted(versions)
            if not requirement.specifier.contains(Version(version), prereleases=True)
        ]
    names = {canonicalize_name(each.name) for each in requirements}
    problems += [f"{name} is not in pyproject.toml any more" for name in sorted(_direct(text) - names)]
    problems += [f"{name} has no hash" for name in _without_hash(text)]
    if "://" in text or re.search(r"^-", text, re.MULTILINE):
        problems.append("it holds an address or an option of pip")
    return problems


def check_node(folder: Path) -> list[str]:
    """What is wrong with the lock of the packages for Node."""
    asked = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    is_same = all(packages[""].get(kind) == asked.get(kind) for kind in ("dependencies", "devDependencies"))
    problems = [] if is_same else ["it was written for another package.json"]
    for path, package in packages.items():
        if path and "integrity" not in package:
            problems.append(f"{path} has no hash")
        if "resolved" in package:
            problems.append(f"{path} has an address")
    return problems


def wanted(project: Mapping[str, Any], lock: Lock) -> list[Requirement]:
    """The requirements that pyproject.toml has for one lock."""
    texts: list[str] = list(project["project"]["dependencies"]) if lock.has_project else []
    for group in lock.groups:
        texts += _group(project.get("dependency-groups", {}), group)
    return [Requirement(text) for text in texts]


def heading(project: Mapping[str, Any]) -> str:
    """The first line of every lock: it changes with the oldest Python that is supported."""
    return f"# Written by `make lock` for Python {oldest_python(project)} and newer; do not edit."


def oldest_python(project: Mapping[str, Any]) -> str:
    return str(project["project"]["requires-python"]).removeprefix(">=")


def read_pins(text: str) -> dict[str, set[str]]:
    """The versions of each package; there can be several, for different platforms."""
    pins: dict[str, set[str]] = {}
    for match in _PIN.finditer(text):
        pins.setdefault(canonicalize_name(match["name"]), set()).add(match["version"])
    return pins


_PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)(?P<rest>[^\n]*)", re.MULTILINE
)


def _group(groups: Mapping[str, Any], name: str) -> list[str]:
    texts: list[str] = []
    for each in groups.get(name, ()):
        texts += [each] if isinstance(each, str) else _group(groups, each["include-group"])
    return texts


def _direct(text: str) -> set[str]:
    """The packages that were locked because pyproject.toml named them."""
    found: set[str] = set()
    current = ""
    for line in text.splitlines():
        if match := _PIN.match(line):
            current = canonicalize_name(match["name"])
        elif line.startswith("    #") and "pyproject.toml" in line:
            found.add(current)
    return found


def _without_hash(text: str) -> list[str]:
    return [match["name"] for match in _PIN.finditer(text) if not match["rest"].endswith("\\")]


def _contradictions(pins: dict[str, set[str]], others: dict[str, set[str]], name: str) -> list[str]:
    return [
        f"{package} is another version than in locks/{name}.txt"
        for package, versions in sorted(pins.items())
        if versions != others.get(package, versions)
    ]


def _project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
