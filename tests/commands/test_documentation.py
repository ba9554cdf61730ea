"""The installed documentation: what is found in it, and that messages lead there."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bridle.commands.queries.documentation import (
    Page,
    all_sections,
    contents,
    find_page,
    newest_changes,
    pages,
    search,
    sections,
    topics,
)
from bridle.types.command import Says, Shows
from bridle.types.errors import UsageError
from tests.fakes.commanded import Commanded

_ROOT = Path(__file__).parents[2]
_SOURCE = _ROOT / "src" / "bridle"
_FILES_OF_THE_REPOSITORY = re.compile(
    r"\bdocs/[\w/-]+\.md|\b(?:README|CHANGELOG|SECURITY|CONTRIBUTING|AGENTS)\.md says|see README"
)
_OF_A_USER = ("docs/agent-onboarding.md",)
"""Pages that the model writes in the user's project."""


def test_every_page_of_docs_is_a_topic_and_so_are_changelog_and_reporting():
    files = {path.stem for path in (_ROOT / "docs").glob("*.md")}
    assert set(topics()) == files | {"changelog", "reporting"}
    assert [page.topic for page in pages()] == list(topics())
    assert all(page.title and page.text for page in pages())


@pytest.mark.parametrize(
    "wanted", ["models", "Models", " models ", "docs/models.md", "models.md", "mod"], ids=repr
)
def test_a_page_is_found_by_topic_file_name_and_beginning(wanted: str):
    assert find_page(wanted, pages()).topic == "models"


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("modles", "models"),
        ("permisions", "permissions"),
        ("keys", "keybindings"),
        ("shortcut", "keybindings"),
    ],
)
def test_an_unknown_topic_names_the_one_that_was_meant(wanted: str, meant: str):
    with pytest.raises(UsageError, match=f"did you mean .*{meant}"):
        find_page(wanted, pages())


def test_a_topic_that_begins_several_names_them():
    with pytest.raises(UsageError, match="did you mean python or python-plugins"):
        find_page("pyth", pages())


def test_without_any_page_the_error_says_so():
    with pytest.raises(UsageError, match="missing from this installation"):
        find_page("models", ())


def test_links_lead_to_commands_and_pictures_are_left_out():
    for page in pages():
        prose = re.sub(r"^```.*?^```", "", page.text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"\]\((?!https?:)[^)]*\)", prose), page.topic
    index = find_page("index", pages()).text
    assert "The terminal (`bridle docs terminal`)" in index and "![" not in index


def test_every_page_that_a_page_names_is_there():
    for page in pages():
        assert set(re.findall(r"`bridle docs ([\w-]+)`", page.text)) <= set(topics()), page.topic


def test_sections_cover_a_page_and_headings_in_code_are_none():
    page = Page(
        "x", "Title", "# Title\n\nabove\n\n```sh\n# no heading\n```\n\n## One `a`\n\nbelow\n\n### Two\nend"
    )
    found = sections(page)
    assert [(each.heading, each.line) for each in found] == [("Title", 0), ("One a", 8), ("Two", 12)]
    assert "\n".join(each.text for each in found) == page.text


def test_search_needs_every_word_and_prefers_headings():
    known = all_sections(
        (
            Page("a", "A", "# A\n\nshift and enter here"),
            Page("b", "B", "# B\n\nx\n\n## Shift+Enter\n\nenter"),
            Page("c", "C", "# C\n\nshift alone"),
        )
    )
    assert [hit.section.topic for hit in search("enter SHIFT", known)] == ["b", "a"]
    assert [hit.line for hit in search("enter", known)] == ["enter", "shift and enter here"]
    assert search("  ", known) == [] and search("absent", known) == []


def test_newest_changes_end_where_the_version_before_begins():
    text = "# Changelog\n\nIntro\n\n## [0.2.0]\n\n- new\n\n## [0.1.0]\n\n- old\n"
    assert newest_changes((Page("changelog", "Changelog", text),)) == "## [0.2.0]\n\n- new"
    assert newest_changes((Page("changelog", "Changelog", "# Changelog\n"),)) == ""
    assert newest_changes(()) == ""


async def test_the_command_shows_a_page_or_all(tmp_path: Path):
    commanded = Commanded(tmp_path)
    everything = await commanded.run("/docs")
    assert isinstance(everything, Shows) and everything.text == contents(pages())
    page = await commanded.run("/docs Keybindings")
    assert isinstance(page, Shows) and page.arguments == "keybindings" and page.text.startswith("# Keys")


async def test_the_command_answers_an_unknown_topic_with_the_topics(tmp_path: Path):
    with pytest.raises(UsageError, match=r"did you mean models\?\nTopics: agents, "):
        await Commanded(tmp_path).run("/docs modles")


async def test_release_notes_are_those_of_the_changelog(tmp_path: Path):
    shown = await Commanded(tmp_path).run("/release-notes")
    assert isinstance(shown, Shows) and (shown.view, shown.arguments) == ("docs", "changelog")
    assert "## [" in shown.text


async def test_topics_complete_the_command(tmp_path: Path):
    command = Commanded(tmp_path).context.commands.find("docs")
    assert command is not None and command.complete is not None
    assert "keybindings" in command.complete("")


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux"}, "set -s extended-keys on"),
        ({"TERM_PROGRAM": "vscode"}, "workbench.action.terminal.sendSequence"),
        ({"TERM_PROGRAM": "kitty"}, "extended-keys"),
        ({"STY": "1.pts"}, "GNU screen"),
        ({"TERMINAL_EMULATOR": "JetBrains-JediTerm"}, "JetBrains"),
    ],
)
async def test_terminal_setup_fits_the_terminal(tmp_path: Path, env: dict[str, str], words: str):
    said = await Commanded(tmp_path, env=env).run("/terminal-setup")
    assert isinstance(said, Says) and words in said.text and "ctrl+j" in said.text


def test_no_message_names_a_file_that_is_not_installed():
    assert [line for path, text in _texts() for line in _named(path, text)] == []


def test_every_topic_that_a_message_names_exists():
    named = re.compile(r"(?:bridle |/)docs ([a-z][\w-]*)")
    lost = [
        (path, topic) for path, text in _texts() for topic in named.findall(text) if topic not in topics()
    ]
    assert [each for each in lost if each[1] not in ("models`", "topic")] == []


def _named(path: str, text: str) -> Iterator[str]:
    for match in _FILES_OF_THE_REPOSITORY.finditer(text):
        if match[0] not in _OF_A_USER:
            yield f"{path}: {match[0]}"


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    return tuple(_every_text())


def _every_text() -> Iterator[tuple[str, str]]:
    """What people or models may read: strings without docstrings, prompts, skills."""
    for path in sorted(_SOURCE.rglob("*")):
        name = path.relative_to(_SOURCE).as_posix()
        if path.suffix in (".md", ".js", ".html", ".json"):
            yield name, path.read_text(encoding="utf-8")
        elif path.suffix == ".py":
            yield from ((name, text) for text in _strings(ast.parse(path.read_text(encoding="utf-8"))))


def _strings(tree: ast.AST) -> Iterator[str]:
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.value
