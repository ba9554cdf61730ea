import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.context.markdown import find_imports, split_rule, strip_comments
from tests.permissions.counted import calls
from tests.tables import table


@table(
    ("text", "expected"),
    [
        ("See @docs/a.md and @b.md", ("docs/a.md", "b.md")),
        ("@a.md\n@a.md", ("a.md",)),
        ("- @~/notes.md", ("~/notes.md",)),
        ("@./my\\ file.md", ("./my file.md",)),
        ("mail ada@example.org", ()),
        ("in `@code.md` span", ()),
        ("``a ` @code.md``", ()),
        ("`unclosed @a.md", ("a.md",)),
        ("`a` @b.md `c`", ("b.md",)),
        ("`spans\nlines @no.md` @yes.md", ("yes.md",)),
        ("`not across\n\nparagraphs @yes.md`", ("yes.md",)),
        ("```\n@code.md\n```\n@after.md", ("after.md",)),
        ("~~~py\n@code.md\n```\n@still.md\n~~~\n@after.md", ("after.md",)),
        ("````\n```\n@code.md\n````\n@after.md", ("after.md",)),
        ("- item\n  ```sh\n  @code.md\n  ```\n@after.md", ("after.md",)),
        ("- ```\n  @code.md\n  ```", ()),
        ("> ```\n> @code.md\n> ```\n@after.md", ("after.md",)),
        ("```never closed\n@code.md", ()),
        ("``` not ` a fence\n@a.md", ("a.md",)),
        ("no imports", ()),
    ],
)
def test_imports_are_found_outside_code(text: str, expected: tuple[str, ...]):
    assert find_imports(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n<!-- gone -->\nb", "a\nb"),
        ("a\n<!-- gone\ngone\n-->\nb", "a\nb"),
        ("<!-- gone --> stays", "stays"),
        ("<!-- one --><!-- two\n--> stays", "stays"),
        ("text <!-- inline stays --> text", "text <!-- inline stays --> text"),
        ("```\n<!-- code -->\n```", "```\n<!-- code -->\n```"),
        ("<!-- ```\n@x -->\n<!-- y -->\nend", "end"),
        ("    <!-- indented code -->", "    <!-- indented code -->"),
        ("a\n<!-- never closed\nb", "a\n<!-- never closed\nb"),
        ("nothing", "nothing"),
    ],
)
def test_comments_that_begin_a_line_are_removed(text: str, expected: str):
    assert strip_comments(text) == expected


@table(
    ("header", "globs"),
    [
        ('paths: "src/**/*.ts"', ("src/**/*.ts",)),
        ("paths: **/*.py, tests/**", ("**/*.py", "tests/**")),
        ("paths: {src,lib}/**/*.ts, docs/*", ("{src,lib}/**/*.ts", "docs/*")),
        ("paths:\n  - 'a/*'\n  - **/*.b # why\n\n  - c", ("a/*", "**/*.b", "c")),
        ("paths:\n- a\nother: b\n- c", ("a",)),
        ('paths: ["a", "b/**"]', ("a", "b/**")),
        ('paths: [\n  "a",\n  b\n]', ("a", "b")),
        ("name: x\npaths : a # comment", ("a",)),
        ("paths:", ()),
        ("other: a", ()),
        ("  paths: nested", ()),
        ("", ()),
    ],
)
def test_the_header_of_a_rule_names_its_paths(header: str, globs: tuple[str, ...]):
    assert split_rule(f"---\n{header}\n---\n\nBody\n") == (globs, "Body\n")


@pytest.mark.parametrize("text", ["Body", "---\nnever closed", "", "text\n---\npaths: a\n---\n"])
def test_a_rule_without_a_header_counts_everywhere(text: str):
    assert split_rule(text) == ((), text)


@given(st.text(alphabet="ab`~<!->@\n -#", max_size=200))
def test_any_text_can_be_read(text: str):
    assert len(strip_comments(text)) <= len(text)
    assert all(word in text for word in find_imports(text))
    split_rule(f"---\npaths:{text}\n---\n{text}")


@pytest.mark.parametrize(
    "piece", ["`" * 3 + " ", "` `` ", "<!-- ", "<!-- -->", "@", "- ", " ", "> ", "{", "[,"]
)
def test_hostile_repetition_is_read_with_work_that_grows_with_the_text(piece: str):
    text = piece * 50_000

    def read() -> None:
        find_imports(strip_comments(text) + "@a")
        split_rule(f"---\npaths: {text}\n---\n")

    assert calls(read) < 3 * len(text)
