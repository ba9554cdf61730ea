import pytest

from bridle.context.prompt_switches import Switches, read_switches


def test_without_variables_everything_is_told_and_extra_directories_are_not_read():
    assert read_switches({}) == Switches(
        instructions=True, git=True, extra_directories=False, minimal_prompt=False
    )


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "instructions", False),
        ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "git", False),
        ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "extra_directories", True),
        ("CLAUDE_CODE_SIMPLE_SYSTEM_PROMPT", "minimal_prompt", True),
    ],
)
def test_each_variable_turns_its_switch(name: str, field: str, value: bool):
    assert getattr(read_switches({name: "1"}), field) is value
    assert getattr(read_switches({name: "TRUE"}), field) is value
    assert read_switches({name: "0"}) == read_switches({name: ""}) == read_switches({})
