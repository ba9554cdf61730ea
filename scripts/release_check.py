"""Checks before a release that tag, version, changelog and addresses agree.

python scripts/release_check.py --tag v0.1.0
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESERVED = ".example/"
"""The end of reserved addresses, which stand in until the project has public ones."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tag", required=True, help="the tag of the release, such as v0.1.0")
    parser.add_argument("--notes", action="store_true", help="print the changelog of this version")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    args = parser.parse_args(argv)
    if found := problems(args.root, args.tag):
        print("\n".join(f"error: {each}" for each in found), file=sys.stderr)
        return 1
    if args.notes:
        print(notes(args.root, args.tag.removeprefix("v")))
    return 0


def problems(root: Path, tag: str) -> list[str]:
    """What keeps this tag from being released."""
    version = written_version(root)
    found = [] if tag == f"v{version}" else [f"the tag is {tag}, the version in version.py {version}"]
    if not notes(root, version):
        found.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD` with entries")
    urls: dict[str, str] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "urls"
    ]
    if reserved := sorted(name for name, url in urls.items() if RESERVED in url):
        found.append(f"these addresses in pyproject.toml are not real yet: {', '.join(reserved)}")
    return found


def written_version(root: Path) -> str:
    text = (root / "src" / "bridle" / "version.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return match[1] if match else ""


def notes(root: Path, version: str) -> str:
    """The entries of a version in CHANGELOG.md, without its heading; empty if it has no dated section."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.compile(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$\n(.*?)(?=^## |^\[|\Z)", re.MULTILINE | re.DOTALL
    )
    match = heading.search(text)
    return match[1].strip() if match else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
