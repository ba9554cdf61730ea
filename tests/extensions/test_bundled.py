import os
import re
from pathlib import Path

import pytest

from bridle.cli.flags import SUBCOMMANDS
from bridle.extensions.bundled_files import extract, has_files
from bridle.extensions.index import Index
from bridle.extensions.roots import BUNDLED
from bridle.extensions.skills import SkillCatalog
from bridle.frontends.tui.keymap.defaults import ACTIONS, DEFAULTS

_EXPECTED = {
    "batch", "claude-api", "code-review", "commit", "dataviz", "debug", "doctor",
    "fewer-permission-prompts", "init", "keybindings", "loop", "plugin-authoring", "remember", "run",
    "run-skill-generator", "security-review", "simplify", "skill-doctor", "skillify", "stuck",
    "update-config", "verify",
}  # fmt: skip


def catalog(tmp_path: Path) -> SkillCatalog:
    return SkillCatalog(Index(str(tmp_path / "index")), lambda: [BUNDLED])


def test_every_bundled_skill_loads_without_a_problem(tmp_path: Path):
    found = catalog(tmp_path)
    assert set(found.all()) == _EXPECTED
    assert found.problems == ()
    for skill in found.all().values():
        assert 20 < len(skill.description) < 150, skill.name
        assert 500 < len(skill.read()) < 4_000, skill.name


def test_bundled_skills_have_second_names(tmp_path: Path):
    found = catalog(tmp_path)
    review = found.find("review")
    assert review is not None and review.name == "code-review"


def test_no_bundled_skill_runs_commands_when_it_is_loaded(tmp_path: Path):
    for skill in catalog(tmp_path).all().values():
        assert "!`" not in skill.read() and "```!" not in skill.read(), skill.name


def test_files_are_copied_once_for_the_owner_alone(tmp_path: Path):
    folder = os.path.join(BUNDLED.path, "verify")
    target = tmp_path / "out" / "verify"
    assert extract(folder, str(target)) == str(target)
    file = target / "ways.md"
    assert (file.stat().st_mode & 0o777, target.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not (target / "SKILL.md").exists()
    file.chmod(0o600)
    file.write_text("changed")
    assert extract(folder, str(target)) == str(target)
    assert file.read_text() == "changed"


def test_link_in_the_way_is_not_followed(tmp_path: Path):
    victim = tmp_path / "victim"
    target = tmp_path / "verify"
    target.mkdir()
    (target / "ways.md").symlink_to(victim)
    extract(os.path.join(BUNDLED.path, "verify"), str(target))
    assert not victim.exists()


def test_folder_that_cannot_be_written_gives_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    assert extract(os.path.join(BUNDLED.path, "verify"), str(tmp_path / "file" / "verify")) is None


@pytest.mark.parametrize(("name", "has"), [("verify", True), ("commit", False)])
def test_only_skills_with_files_need_a_folder(name: str, has: bool):
    assert has_files(os.path.join(BUNDLED.path, name)) is has


def test_every_action_that_a_key_can_have_is_told():
    listed = (Path(BUNDLED.path) / "keybindings" / "actions.md").read_text()
    assert set(re.findall(r"`(\w+:\w+)`", listed)) == ACTIONS
    for context, keys in DEFAULTS.items():
        (line,) = [line for line in listed.splitlines() if line.startswith(f"**{context}**: ")]
        parts = dict(part.split(" ", 1) for part in line.partition(": ")[2].removesuffix(".").split("; "))
        told = {key: action.strip("`") for action, listed in parts.items() for key in listed.split(", ")}
        assert told == keys, context


def test_programs_that_skills_name_can_be_run():
    texts = [file.read_text() for file in Path(BUNDLED.path).rglob("*.md")]
    named = {word for text in texts for word in re.findall(r"`bridle ([a-z][a-z-]+)", text)}
    assert {"config", "doctor", "hooks", "mcp", "plugin", "policy"} <= named
    assert named <= set(SUBCOMMANDS)
