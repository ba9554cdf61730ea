import json
from pathlib import Path
from typing import Any

import pytest

from bridle.extensions.plugins.components import brings, discover
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.plugin import Components
from tests.fakes.plugins import FIXTURE, write_plugin


def found(folder: Path, entry: dict[str, Any] | None = None) -> Components:
    manifest = read_manifest(str(folder), entry=entry).manifest
    assert manifest is not None
    return discover(str(folder), manifest)


def test_components_are_found_under_their_usual_names():
    folder = FIXTURE / "plugins" / "greeter"

    components = found(folder)

    assert [(each.kind, Path(each.path).name) for each in components.places] == [
        ("skills", "skills"),
        ("commands", "commands"),
        ("agents", "agents"),
        ("output-styles", "output-styles"),
        ("themes", "themes"),
    ]
    assert list(components.mcp_servers) == ["bell"]
    assert list(components.lsp_servers) == ["words"]
    assert [each.name for each in components.monitors] == ["door"]
    assert components.programs == str(folder / "bin")
    assert components.settings == {"agent": "greeter:host"}
    assert [each.type for each in components.faults] == ["lsp-config-invalid"]


def test_paths_of_the_manifest_replace_the_usual_ones_except_for_skills(tmp_path: Path):
    folder = write_plugin(
        tmp_path / "p",
        {"name": "p", "skills": "./more", "commands": ["./special/one.md"], "agents": "./people"},
        skills__a__SKILL__md="",
    )
    for name in (
        "skills/a/SKILL.md",
        "more/b/SKILL.md",
        "commands/x.md",
        "special/one.md",
        "people/a.md",
        "agents/b.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")

    places = {
        (each.kind, str(Path(each.path).relative_to(folder)), each.single) for each in found(folder).places
    }

    assert places == {
        ("skills", "skills", False),
        ("skills", "more", False),
        ("commands", "special/one.md", True),
        ("agents", "people", False),
    }


@pytest.mark.parametrize("path", ["../outside", "/etc", "./link"])
def test_a_path_that_leads_out_of_the_plugin_is_named_and_left_out(tmp_path: Path, path: str):
    (tmp_path / "outside").mkdir()
    folder = write_plugin(tmp_path / "p", {"name": "p", "commands": path})
    (folder / "link").symlink_to(tmp_path / "outside")

    components = found(folder)

    assert components.places == ()
    assert [each.type for each in components.faults] == ["component-load-failed"]


def test_hooks_of_the_usual_file_the_manifest_and_inline_add_up(tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p", "hooks": ["./extra.json", {"Stop": []}]})
    (folder / "hooks").mkdir()
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"A": []}}))
    (folder / "extra.json").write_text(json.dumps({"hooks": {"B": []}}))

    assert [each.values for each in found(folder).hooks] == [{"A": []}, {"B": []}, {"Stop": []}]


def test_a_broken_file_is_named_with_its_line_and_the_rest_works(tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p", "mcpServers": {"ok": {"command": "x"}}})
    (folder / ".mcp.json").write_text('{\n  "a": }')

    components = found(folder)

    assert list(components.mcp_servers) == ["ok"]
    (fault,) = components.faults
    assert fault.type == "mcp-config-invalid" and ".mcp.json:2" in fault.message


def test_a_manifest_that_does_not_parse_gives_no_plugin(tmp_path: Path):
    folder = tmp_path / "p"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text('{"name": "p",\n oops}')

    reading = read_manifest(str(folder))

    assert reading.manifest is None
    assert [each.type for each in reading.faults] == ["manifest-parse-error"]
    assert "plugin.json:2" in reading.faults[0].message


def test_wrong_optional_fields_are_left_out_and_named(tmp_path: Path):
    folder = write_plugin(
        tmp_path / "p",
        {"name": "p", "version": 3, "userConfig": {"a b": {}, "ok": {"type": "number"}, "no": {"type": "?"}}},
    )

    reading = read_manifest(str(folder))

    assert reading.manifest is not None
    assert (reading.manifest.version, list(reading.manifest.options)) == ("", ["ok"])
    assert len(reading.faults) == 3


def test_an_entry_that_says_all_does_not_get_along_with_a_manifest_that_names_components(tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p", "commands": "./x"})

    reading = read_manifest(str(folder), entry={"name": "p", "strict": False, "agents": "./y"})

    assert reading.manifest is None


def test_an_entry_that_lists_nothing_leaves_the_manifest_its_components(tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p", "commands": "./x"})
    (folder / "x").mkdir()

    components = found(folder, {"name": "p", "strict": False, "version": "1", "hooks": None})

    assert [(each.kind, Path(each.path).name) for each in components.places] == [("commands", "x")]


def _shared_folder(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text("Text.")
        for kind in ("commands", "agents"):
            (folder / kind).mkdir(exist_ok=True)
            (folder / kind / f"{name}.md").write_text("Text.")
        (folder / f"{name}.json").write_text(json.dumps({"mcpServers": {name: {"command": name}}}))
        (folder / f"{name}-hooks.json").write_text(json.dumps({"hooks": {"Stop": [name]}}))
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"usual": {"command": "usual"}}}))
    (folder / "hooks").mkdir()
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"Stop": ["usual"]}}))


@pytest.mark.parametrize("has_manifest", [False, True])
def test_two_entries_of_one_folder_bring_only_what_each_lists(tmp_path: Path, has_manifest: bool):
    folder = tmp_path / "p"
    if has_manifest:
        write_plugin(folder, {"name": "p"})
    _shared_folder(folder)
    for name in ("a", "b"):
        components = found(
            folder,
            {
                "name": "p",
                "strict": False,
                "skills": [f"./skills/{name}"],
                "commands": [f"./commands/{name}.md"],
                "agents": f"./agents/{name}.md",
                "hooks": f"./{name}-hooks.json",
                "mcpServers": f"./{name}.json",
            },
        )
        assert [(each.kind, Path(each.path).stem) for each in components.places] == [
            ("skills", name), ("commands", name), ("agents", name),
        ]  # fmt: skip
        assert [each.values for each in components.hooks] == [{"Stop": [name]}]
        assert list(components.mcp_servers) == [name]


def test_an_entry_adds_to_a_manifest_that_is_the_authority(tmp_path: Path):
    folder = write_plugin(tmp_path / "p", {"name": "p"})
    _shared_folder(folder)
    (folder / "extra").mkdir()

    components = found(folder, {"name": "p", "skills": ["./extra"], "mcpServers": "./a.json"})

    assert [Path(each.path).name for each in components.places if each.kind == "skills"] == [
        "skills",
        "extra",
    ]
    assert sorted(components.mcp_servers) == ["a", "usual"]
    assert brings(found(folder, {"name": "p"}))[0] == "2 skills"


def test_workflows_are_scripts_in_a_folder_or_named_one_by_one(tmp_path: Path):
    folder = write_plugin(tmp_path / "usual", {"name": "usual"})
    named = write_plugin(tmp_path / "named", {"name": "named", "workflows": ["./flows", "./one.mjs"]})
    for file in (folder / "workflows" / "a.js", named / "flows" / "b.js", named / "one.mjs", named / "x.md"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("")

    assert [(each.kind, each.single) for each in found(folder).places] == [("workflows", False)]
    assert brings(found(folder)) == ("1 workflow",)
    assert [(Path(each.path).name, each.single) for each in found(named).places] == [
        ("flows", False),
        ("one.mjs", True),
    ]
    assert brings(found(named)) == ("2 workflows",)
