from pathlib import Path

import pytest

from tests.providers.offline.desk import Desk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("# Boats\n\nAll about boats.\n", encoding="utf-8")
    (tmp_path / "main.py").write_text("from src.boat import sail\n\nsail()\n", encoding="utf-8")
    (tmp_path / "src" / "boat.py").write_text(
        "SPEED = 4\n\n\ndef sail():\n    return SPEED  # TODO wind\n", encoding="utf-8"
    )
    (tmp_path / ".hidden.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    "prompt", ["list the python files", "find all python files", "which python files are here?", "list *.py"]
)
async def test_files_are_listed_by_kind(folder: Path, prompt: str):
    said = await Desk(folder).ask(prompt)

    assert said.endswith("2 files for `**/*.py`:\n\n- main.py\n- src/boat.py")


@pytest.mark.parametrize(
    "prompt", ["what's in this folder?", "ls", "list the files", "show me the project structure"]
)
async def test_a_folder_is_listed_without_hidden_files(folder: Path, prompt: str):
    said = await Desk(folder).ask(prompt)

    assert said.endswith("3 files for `**/*`:\n\n- README.md\n- main.py\n- src/boat.py")


async def test_hidden_files_are_told_of_where_there_are_no_others(tmp_path: Path):
    (tmp_path / ".hidden.py").touch()
    assert (await Desk(tmp_path).ask("list the files")).endswith("No files match `**/*` but hidden ones.")


async def test_a_listing_can_be_limited_to_a_folder(folder: Path):
    said = await Desk(folder).ask("list the files in src")

    assert said.endswith("1 file for `src/**/*`:\n\n- src/boat.py")


async def test_a_long_listing_is_cut(folder: Path):
    for number in range(60):
        (folder / f"note{number:02}.txt").touch()

    said = await Desk(folder).ask("list the text files")

    assert said.startswith("60 files")
    assert said.endswith("- and 35 more")


@pytest.mark.parametrize(
    "prompt", ["show README.md", "read the readme", "what is in README.md?", "cat `README.md`"]
)
async def test_a_file_is_shown(folder: Path, prompt: str):
    said = await Desk(folder).ask(prompt)

    assert said.endswith("README.md, 3 lines:\n\n```\n# Boats\n\nAll about boats.\n```")


async def test_a_file_named_without_its_folder_is_found(folder: Path):
    desk = Desk(folder)

    said = await desk.ask("show boat.py")

    assert said.startswith("src/boat.py, 5 lines")


async def test_a_missing_file_is_said_to_be_missing(folder: Path):
    said = await Desk(folder).ask("show ship.py")

    assert said == "No file named ship.py here."


async def test_a_long_file_is_shown_in_part(folder: Path):
    (folder / "long.txt").write_text("\n".join(["x" * 500] * 500), encoding="utf-8")

    said = await Desk(folder).ask("show long.txt")

    assert "… 460 more lines" in said
    assert len(said) < 7_000


@pytest.mark.parametrize(
    "prompt",
    [
        "where is sail defined?",
        "find where sail is defined",
        "find the definition of sail",
        "find the function sail",
    ],
)
async def test_a_definition_is_found(folder: Path, prompt: str):
    said = await Desk(folder).ask(prompt)

    assert said.endswith("Definitions of sail: 1 line in 1 file.\n\n```\nsrc/boat.py:4:def sail():\n```")


@pytest.mark.parametrize(
    "prompt",
    ["search for TODO in src", "grep TODO in src", "find TODO in src", 'look for "TODO" in the folder src'],
)
async def test_text_is_searched_for_in_a_folder(folder: Path, prompt: str):
    said = await Desk(folder).ask(prompt)

    assert said.endswith("1 line in 1 file.\n\n```\nsrc/boat.py:5:    return SPEED  # TODO wind\n```")


async def test_a_search_takes_its_text_literally(folder: Path):
    said = await Desk(folder).ask('search for "sail("')

    assert "2 lines in 2 files" in said


async def test_a_search_without_a_match_says_so(folder: Path):
    said = await Desk(folder).ask("search for submarine")

    assert said == "No matches for 'submarine'."


async def test_lines_are_counted(folder: Path):
    said = await Desk(folder).ask("how many lines are in src/boat.py?")

    assert said == "src/boat.py has 5 lines."


async def test_the_functions_of_a_file_are_listed(folder: Path):
    said = await Desk(folder).ask("list the functions in src/boat.py")

    assert "src/boat.py:4:def sail():" in said


async def test_a_command_in_backquotes_is_run(folder: Path):
    desk = Desk(folder)

    said = await desk.ask("run `echo ahoy`")

    assert desk.commands() == ["echo ahoy"]
    assert said == "It succeeded:\n\n```\nahoy\n```"


async def test_a_command_that_stands_alone_is_run(folder: Path):
    desk = Desk(folder)

    await desk.ask("run echo ahoy")

    assert desk.commands() == ["echo ahoy"]


@pytest.mark.parametrize("prompt", ["run a linter", "run ls and tell me what is there", "run your checks"])
async def test_a_sentence_is_no_command(folder: Path, prompt: str):
    desk = Desk(folder)

    await desk.ask(prompt)

    assert desk.commands() == []


async def test_a_denied_command_names_the_rule_that_allows_it(folder: Path):
    desk = Desk(folder, refuse=lambda name, input: "Permission denied by nobody")

    said = await desk.ask("run `make boats`")

    assert '--allowedTools "Bash(make boats)"' in said


async def test_the_shell_stands_in_where_search_tools_are_not_offered(folder: Path):
    desk = Desk(folder, tools=("Bash", "Read"))

    listed = await desk.ask("list the python files")
    searched = await desk.ask("search for TODO in src")

    assert listed.endswith("- main.py\n- src/boat.py")
    assert "src/boat.py:5:    return SPEED  # TODO wind" in searched


async def test_a_missing_tool_is_named(folder: Path):
    said = await Desk(folder, tools=("Edit",)).ask("show README.md")

    assert "This needs the Read tool" in said


async def test_what_was_done_is_summed_up(folder: Path):
    desk = Desk(folder)
    await desk.ask("show README.md")

    said = await desk.ask("summarize the conversation so far")

    assert said == "Asked: show README.md\nRead: README.md"
