"""Builds the documentation site from docs/ and the pages at the top of the repository: `make docs`.

The pages are copied to build/docs first, and links to other files become links to the repository, so every
link works in both places. A link that leads nowhere fails the build.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.history import read, table

ROOT = Path(__file__).parents[1]
STAGED = Path("build", "docs")
TOP = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
"""Pages at the top of the repository, and their names on the site."""

_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<after>\))")
_FENCE = re.compile(r"^(```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)


def main(argv: Sequence[str]) -> int:
    """Stage the pages and let the site generator build them; its options can be given."""
    broken = stage(ROOT, ROOT / STAGED)
    for each in broken:
        print(f"error: {each}", file=sys.stderr)
    if broken:
        return 1
    program = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [str(program), "build", "--strict", "--clean", *argv],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    said = built.stdout + built.stderr
    print(_SGR.sub("", said), end="")
    # A docstring that cannot be found is only logged by the generator.
    if built.returncode or "ERROR" in said or "WARNING" in said:
        return 1
    print(f"built {ROOT / 'build' / 'site' / 'index.html'}")
    return 0


_SGR = re.compile(r"\x1b\[[0-9;]*m")


def stage(root: Path, folder: Path) -> list[str]:
    """Copy every page into a folder with links that work there; returns the links that lead nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "docs", folder)
    urls = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    pages = [(path.relative_to(root).as_posix(), path) for path in sorted((root / "docs").rglob("*.md"))]
    pages += [(name, root / name) for name in TOP]
    broken: list[str] = []
    for name, path in pages:
        text, faults = relinked(root, name, path.read_text(encoding="utf-8"), urls["Source"])
        (folder / on_site(name)).write_text(text, encoding="utf-8")
        broken += faults
    with (folder / "decisions" / "index.md").open("a", encoding="utf-8") as file:
        file.write(decisions(folder / "decisions"))
    with (folder / "benchmarks.md").open("a", encoding="utf-8") as file:
        file.write(f"\n## Figures\n\n{table(read(root / 'bench' / 'history.jsonl'))}\n")
    return broken + unlisted(root)


def decisions(folder: Path) -> str:
    """A list of the decisions, the newest first."""
    pages = sorted(folder.glob("[0-9]*.md"), reverse=True)
    titles = [page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in pages]
    rows = [f"- [{title}]({page.name})" for page, title in zip(pages, titles, strict=True)]
    return "\n## All decisions\n\n" + "\n".join(rows) + "\n"


def unlisted(root: Path) -> list[str]:
    """Pages that the navigation does not list, and listed pages that do not exist."""
    named: list[Any] = [tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]]
    listed: set[str] = set()
    while named:
        match named.pop():
            case dict() as sections:
                named += sections.values()
            case list() as entries:
                named += entries
            case page:
                listed.add(page)
    docs = root / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | set(TOP.values())
    expected = {page for page in pages if not re.match(r"decisions/\d", page)}
    return [
        *(f"docs/{page} is not in the nav of zensical.toml" for page in sorted(expected - listed)),
        *(f"zensical.toml lists {page}, which does not exist" for page in sorted(listed - expected)),
    ]


def on_site(name: str) -> str:
    """The name of a page on the site, from its name in the repository."""
    return TOP.get(name) or name.removeprefix("docs/")


def relinked(root: Path, page: str, text: str, source: str) -> tuple[str, list[str]]:
    """A page with its links as the site needs them, and those that lead nowhere."""
    broken: list[str] = []

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if not (root / name).exists():
            broken.append(f"{page}: {target} does not exist")
            return match[0]
        if (root / name / "index.md").is_file():
            name = f"{name}/index.md"
        if name in TOP or (name.startswith("docs/") and (root / name).is_file()):
            here = posixpath.dirname(on_site(page))
            target = posixpath.relpath(on_site(name), here or ".")
        else:
            kind = "tree" if (root / name).is_dir() else "blob"
            target = f"{source}/{kind}/main/{name}"
        return f"{match['before']}{target}{match['anchor'] or ''}{match['after']}"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts), broken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
