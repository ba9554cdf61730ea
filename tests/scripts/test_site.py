"""Pages of the site: links are rewritten for it, and what is missing is named."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from bench.history import append, entry, read, table

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def site() -> ModuleType:
    found = importlib.util.spec_from_file_location("site_pages", _ROOT / "scripts" / "site.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_links_lead_to_pages_of_the_site_or_into_the_repository(site: ModuleType):
    page = (
        "[a](permissions.md#trust) [b](../SECURITY.md) [c](../src/bridle/version.py) [d](decisions/)\n"
        "[e](https://example.com/x.md) [f](images/edit.png) [g](#here)\n```\n[h](nothing.md)\n```\n"
    )
    assert site.relinked(_ROOT, "docs/agents.md", page, "https://host/repo") == (
        "[a](permissions.md#trust) [b](reporting.md) [c](https://host/repo/blob/main/src/bridle/version.py) "
        "[d](decisions/index.md)\n"
        "[e](https://example.com/x.md) [f](images/edit.png) [g](#here)\n```\n[h](nothing.md)\n```\n",
        [],
    )


def test_pages_at_the_top_lead_into_the_site(site: ModuleType):
    text, broken = site.relinked(
        _ROOT, "SECURITY.md", "[a](docs/security.md) [b](LICENSE) [c](src)", "https://h"
    )
    assert (text, broken) == (
        "[a](security.md) [b](https://h/blob/main/LICENSE) [c](https://h/tree/main/src)",
        [],
    )


def test_links_of_pages_in_folders_go_up(site: ModuleType):
    text, broken = site.relinked(
        _ROOT, "docs/decisions/0008-trust.md", "[a](../trust.md) [b](../sandbox.md)", "h"
    )
    assert text == "[a](../trust.md) [b](../sandbox.md)"
    assert broken == ["docs/decisions/0008-trust.md: ../trust.md does not exist"]


def test_pages_that_the_navigation_forgets_or_invents_are_named(site: ModuleType, tmp_path: Path):
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    for name in ("index.md", "new.md", "decisions/0001-one.md"):
        (tmp_path / "docs" / name).write_text("# Page\n", encoding="utf-8")
    listed = ", ".join(f'"{name}"' for name in site.TOP.values())
    (tmp_path / "zensical.toml").write_text(
        f'[project]\nnav = ["index.md", "old.md", {listed}]\n', encoding="utf-8"
    )
    assert site.unlisted(tmp_path) == [
        "docs/new.md is not in the nav of zensical.toml",
        "zensical.toml lists old.md, which does not exist",
    ]


def test_runs_of_the_bench_are_kept_and_shown_newest_first(tmp_path: Path):
    rows = [
        {
            "name": "exec to first request",
            "unit": "ms",
            "bridle": 90.0,
            "floor": 50.0,
            "ratio": 1.8,
            "aim": 2.0,
        },
        {"name": "one-shot, peak RSS", "unit": "MB", "bridle": 26.4, "floor": None, "ratio": None, "aim": 45},
    ]
    path = tmp_path / "history.jsonl"
    assert read(path) == []
    for date in ("2026-01-01", "2026-02-01"):
        append(path, {**entry(rows), "date": date, "commit": "abc", "python": "3.11.7", "load": 0.5})
    lines = table(read(path)).splitlines()
    assert lines[0].startswith(
        "| date | commit | Python | load | version | first request | one-shot CPU | memory |"
    )
    assert lines[2] == "| 2026-02-01 | abc | 3.11.7 | 0.5 |  | 90 ms (1.80×) |  | 26 MB |  |  |"
    assert len(lines) == 4
