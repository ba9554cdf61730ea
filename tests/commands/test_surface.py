"""Every slash command of the surface is there, or it is said here why not."""

from pathlib import Path

import pytest

from bridle.commands.catalog import CATALOG
from bridle.extensions.index import Index
from bridle.extensions.roots import BUNDLED
from bridle.extensions.skills import SkillCatalog
from tests.fakes.features import feature_commands
from tests.tables import table

BUILT_IN = (
    "login", "logout", "autofix-pr", "install-github-app", "mobile", "ios", "android", "desktop", "app",
    "privacy-settings", "schedule", "routines", "ultrareview", "upgrade",
    "add-dir", "advisor", "agents", "auto-mode-setup", "autocompact", "background", "bg", "branch", "btw",
    "chrome",
    "bug", "share", "feedback", "cd", "clear", "reset", "new", "color", "compact", "config", "settings",
    "context", "copy", "cost", "stats", "usage", "diff", "effort", "exit", "quit", "export", "fast",
    "focus", "fork", "goal", "heapdump", "help", "hooks", "ide", "import", "init", "insights",
    "keybindings", "list-agents", "peers", "mcp", "memory", "model", "permissions", "allowed-tools", "plan",
    "plugin", "powerup", "recap", "release-notes", "reload-plugins", "reload-skills", "remote-control",
    "rc", "rename", "resume", "continue", "rewind", "checkpoint", "undo", "sandbox", "scroll-speed",
    "terminal-setup", "theme", "tui", "security-review", "setup-bedrock", "setup-vertex", "skills",
    "status", "statusline", "stop", "subtask", "tasks", "bashes", "team-onboarding", "voice", "workflows",
)  # fmt: skip
BUNDLED_SKILLS = (
    "batch", "claude-api", "code-review", "review", "dataviz", "debug", "doctor",
    "checkup", "fewer-permission-prompts", "loop", "proactive", "run", "run-skill-generator", "verify",
    "simplify", "plugin-authoring", "skill-doctor",
)  # fmt: skip
REFUSED = {
    "artifacts": "pages are published by the vendor",
    "design-login": "a product of the vendor",
    "design-sync": "a product of the vendor",
    "install-slack-app": "the app is the vendor's",
    "passes": "account",
    "radio": "account",
    "stickers": "account",
    "usage-credits": "account",
    "remote-env": "cloud",
    "teleport": "cloud",
    "tp": "cloud",
    "web-setup": "cloud",
    "pr-comments": "removed from the surface itself",
    "ultraplan": "removed from the surface itself",
    "vim": "removed from the surface itself",
}

NOT_YET: dict[str, str] = {}
"""Commands that say what bridle has instead."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("index")
    index = Index(str(folder))
    skills = SkillCatalog(index, lambda: (BUNDLED,)).all().values()
    listed = {name for each in (*CATALOG, *feature_commands(folder)) for name in (each.name, *each.aliases)}
    return listed | {name for skill in skills for name in (skill.name, *skill.aliases)}


@pytest.mark.parametrize("name", [*BUILT_IN, *BUNDLED_SKILLS])
def test_command_that_needs_no_vendor_is_there(name: str, known: set[str]):
    assert name in known


@table("name", REFUSED)
def test_command_of_the_vendor_is_answered_and_not_offered(name: str):
    (listing,) = [each for each in CATALOG if name in (each.name, *each.aliases)]
    assert listing.hidden
    assert listing.module == "bridle.commands.unavailable"


def test_what_is_only_a_notice_so_far_is_known_with_its_reason():
    listings = [each for each in CATALOG if each.module == "bridle.commands.unavailable"]
    notices = {name for each in listings for name in (each.name, *each.aliases)}
    assert notices & set(BUILT_IN) == set(NOT_YET)


def test_bundled_skills_have_a_short_text_and_say_when_to_use_them(tmp_path: Path):
    index = Index(str(tmp_path))
    for skill in SkillCatalog(index, lambda: (BUNDLED,)).all().values():
        assert 20 <= len(skill.description) <= 300, skill.name
        assert 200 <= len(skill.read()) <= 8_000, skill.name
