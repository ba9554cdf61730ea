import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.extensions.frontmatter import ParsedFrontmatter, read_front, text_of, truth, words


def read(text: str) -> ParsedFrontmatter:
    return read_front(text, file="SKILL.md")


def test_header_and_body_are_told_apart():
    front = read("---\nname: greet\ndescription: Says hello\n---\nHello\n---\nthere")
    assert front.values == {"name": "greet", "description": "Says hello"}
    assert (front.body, front.line, front.problem) == ("Hello\n---\nthere", 5, None)


@pytest.mark.parametrize("text", ["no header", "--- not alone\nx", "---\nnever: closed\n", ""])
def test_text_without_a_header_is_all_body(text: str):
    assert read(text) == ParsedFrontmatter(body=text)


def test_header_reads_lists_and_objects():
    front = read(
        "---\ntools:\n  - Read\n  - Bash(git *)\nhooks:\n  Stop: [{hooks: []}]\nwhen: 2024-01-02\n---\n"
    )
    assert front.values["tools"] == ["Read", "Bash(git *)"]
    assert front.values["hooks"] == {"Stop": [{"hooks": []}]}
    assert front.values["when"] == "2024-01-02"


def test_broken_header_leaves_the_body_and_names_the_line():
    front = read("---\nname: fine\ndescription: [never closed\n---\nThe body")
    assert front.values == {"name": "fine", "description": "[never closed"}
    assert front.body == "The body"
    assert front.problem is not None
    assert str(front.problem).startswith("SKILL.md:")
    assert front.problem.line in (3, 4)


@pytest.mark.parametrize("header", ["- a\n- b", "just words"])
def test_header_that_is_no_object_says_nothing(header: str):
    front = read(f"---\n{header}\n---\nbody")
    assert (front.values, front.body) == ({}, "body")
    assert front.problem is not None


def test_header_that_is_too_long_is_left_out():
    front = read(f"---\na: {'x' * 70_000}\n---\nbody")
    assert (front.values, front.body) == ({}, "body")
    assert front.problem is not None


def test_dangerous_yaml_is_refused():
    front = read("---\na: !!python/object/apply:os.system ['true']\n---\nbody")
    assert front.values == {}
    assert front.problem is not None


@pytest.mark.parametrize(
    "header",
    [
        "x: &a [*a]",
        "x: &a {y: *a}",
        "x: " + "[" * 100 + "]" * 100,
        "\n".join(
            ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
        ),
    ],
    ids=["list in itself", "object in itself", "deep", "bomb"],
)
def test_values_without_end_are_named_and_left_out(header: str):
    front = read(f"---\n{header}\n---\nThe body")
    assert (front.values, front.body) == ({}, "The body")
    assert "values, or endless nesting" in str(front.problem)


@pytest.mark.parametrize(
    "words",
    [
        'Use this agent when: something fails. Examples: "x" and \\n<example>user: y</example>',
        "@mention first",
        "`code` first",
        "*.md files: all of them",
        "100% sure: yes",
        "the last word is a colon:",
    ],
)
def test_words_that_yaml_takes_for_something_else_are_words(words: str):
    front = read(f"---\nname: a\ndescription: {words}\nmaxTurns: 7\ntools: [Read, Grep]\n---\nbody")
    assert front.problem is None
    assert front.values == {"name": "a", "description": words, "maxTurns": 7, "tools": ["Read", "Grep"]}


def test_a_header_that_is_broken_elsewhere_keeps_the_rest():
    front = read("---\ndescription: it is: so\nhooks: {Stop: [}\n---\nbody")
    assert front.values == {"description": "it is: so", "hooks": "{Stop: [}"}
    assert front.problem is not None


def test_numbers_that_nothing_can_keep_become_text():
    assert read("---\nx: 99999999999999999999999\n---\n").values == {"x": "99999999999999999999999"}


def test_windows_line_ends_and_byte_order_marks_do_not_matter():
    assert read("\ufeff---\r\nname: greet\r\n---\r\nHi").values == {"name": "greet"}


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("yes", True),
        ("On", True),
        (1, True),
        ("0", False),
        ("off", False),
        (False, False),
        ("maybe", None),
        (None, None),
    ],
)
def test_every_spelling_of_yes_and_no_is_understood(value: object, meant: bool | None):
    assert truth(value) is meant


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ("Read, Bash(git log, git diff), Edit", ("Read", "Bash(git log, git diff)", "Edit")),
        (["Read", "Edit"], ("Read", "Edit")),
        (None, ()),
        ({"a": 1}, ()),
        ("", ()),
    ],
)
def test_lists_may_be_lists_or_words_between_commas(value: object, listed: tuple[str, ...]):
    assert words(value) == listed


def test_numbers_are_texts_too():
    assert (text_of(3), text_of(" x "), text_of([]), text_of(None)) == ("3", "x", None, None)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True),
        st.from_regex(
            r"[A-Za-z(/<][^\n\r\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff\u2028\u2029]{0,20}", fullmatch=True
        ),
    )
)
def test_quick_reading_agrees_with_yaml(values: dict[str, str]):
    import yaml

    header = "".join(f"{key}: {value}\n" for key, value in values.items())
    quick = read(f"---\n{header}---\n")
    try:
        slow = yaml.safe_load(header) or {}
    except yaml.YAMLError:
        return
    if quick.problem is None:
        assert {key: str(value) for key, value in quick.values.items()} == {
            key: str(value) for key, value in slow.items()
        }


def test_plain_headers_need_no_yaml():
    code = (
        "import sys; from bridle.extensions.frontmatter import read_front;"
        "f = read_front('---\\ndescription: Plain words\\nuser-invocable: false\\n---\\nx', file='f');"
        "assert f.values == {'description': 'Plain words', 'user-invocable': False};"
        "assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


NOT_YAML = """\
---
name: reviewer
description: Use this agent to review. Examples:

<example>
Context: The user wrote code.
user: "Please look at it"
</example>
argument-hint: [file] [--deep]
allowed-tools: Bash(git diff:*), Read
tools: [Read, Grep]
model: sonnet
color: *red
name: another
---
Body
"""


def test_a_header_that_is_not_yaml_keeps_every_key_that_can_be_read():
    front = read_front(NOT_YAML, file="a.md")
    assert front.body == "Body\n"
    assert front.problem is not None
    assert {
        key: front.values[key] for key in ("name", "argument-hint", "allowed-tools", "model", "color")
    } == {
        "name": "reviewer",
        "argument-hint": "[file] [--deep]",
        "allowed-tools": "Bash(git diff:*), Read",
        "model": "sonnet",
        "color": "*red",
    }
    assert front.values["tools"] == ["Read", "Grep"]
    assert front.values["description"].startswith("Use this agent to review. Examples:")


@given(st.text(alphabet="ab:[]{}\n\t -*&!|>'\"#", max_size=200))
def test_no_header_is_too_odd_to_be_read(header: str):
    front = read_front(f"---\n{header}\n---\nBody", file="a.md")
    assert all(isinstance(key, str) for key in front.values)
