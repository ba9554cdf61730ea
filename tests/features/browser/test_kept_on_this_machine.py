"""An administrator keeps the browser on this machine: decided before anything is asked or opened."""

import json
from pathlib import Path
from typing import Any

from bridle.config.load import load
from bridle.features.browser.feature import BrowserFeature
from bridle.types.permission import Allow, Ask, Case, Deny
from tests.fakes.features import feature_context

_TOOLS = ("BrowserNavigate", "BrowserAct", "BrowserRead", "BrowserScript", "BrowserUpload")


async def _denied(folder: Path, host: str, **managed: Any) -> list[str]:
    """The tools that are denied for a host, whatever else was decided."""
    place = folder / "managed"
    place.mkdir(exist_ok=True)
    (place / "managed-settings.json").write_text(json.dumps(managed), encoding="utf-8")
    config = load(
        cwd=str(folder), env={"HOME": str(folder)}, flag=None, setting_sources=None, managed_dir=str(place)
    )
    feature = BrowserFeature(feature_context(folder, config=config))
    turn: Any = None
    found: dict[str, None] = {}
    for tool in _TOOLS:
        case = Case(
            tool=tool, input={}, subject=f"domain:{host}", read_only=False, cwd=str(folder),
            mode="bypassPermissions",
        )  # fmt: skip
        for decision in (Ask("?"), Allow("a rule", "rule")):
            said = await feature.review(turn, case, decision)
            if isinstance(said, Deny) and host in said.reason:
                found[tool] = None
    return list(found)


async def test_nothing_is_denied_without_managed_settings(tmp_path: Path):
    assert await _denied(tmp_path, "example.com") == []


async def test_only_pages_of_this_machine_are_opened(tmp_path: Path):
    only = {"disableBrowserExternalNavigation": True}
    assert await _denied(tmp_path, "example.com", **only) == ["BrowserNavigate"]
    assert await _denied(tmp_path, "localhost.example.com", **only) == ["BrowserNavigate"]
    assert await _denied(tmp_path, "localhost", **only) == []
    assert await _denied(tmp_path, "app.localhost", **only) == []


async def test_pages_of_other_machines_are_closed_to_tools(tmp_path: Path):
    only = {"browserExternalPageTools": "disabled"}
    assert await _denied(tmp_path, "example.com", **only) == list(_TOOLS[1:])
    assert await _denied(tmp_path, "127.0.0.1", **only) == []
