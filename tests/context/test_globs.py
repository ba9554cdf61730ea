import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.context.globs import matches
from tests.permissions.counted import calls
from tests.tables import table


@table(
    ("pattern", "path", "expected"),
    [
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("**/*.md", "README.md", True),
        ("**/*.md", "a/b/README.md", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src/**/*.py", "lib/src/a.py", False),
        ("src/**", "src/a/b", True),
        ("src/", "src/a/b", True),
        ("src/*", "src/a/b", False),
        ("./src/*.ts", "src/a.ts", True),
        ("src/*.{ts,tsx}", "src/a.tsx", True),
        ("src/*.{ts,tsx}", "src/a.js", False),
        ("{src,lib}/**/*.{a,b}", "lib/x/y.b", True),
        ("a{b,c{d,e}}", "ace", True),
        ("a{b,c{d,e}}", "ad", False),
        ("file?.txt", "file1.txt", True),
        ("file?.txt", "file/.txt", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("**", "any/thing", True),
        ("**/x/**/y", "x/y", True),
        ("/home/*/CLAUDE.md", "/home/ada/CLAUDE.md", True),
        ("a{b", "a{b", True),
        ("A.md", "a.md", False),
        ("", "a", False),
    ],
)
def test_a_pattern_matches_the_whole_path(pattern: str, path: str, expected: bool):
    assert matches(pattern, path) is expected


@given(st.text(alphabet="ab*?{},/[]!.", max_size=40), st.text(alphabet="ab/.", max_size=40))
def test_no_pattern_raises(pattern: str, path: str):
    assert matches(pattern, path) in (True, False)


@pytest.mark.parametrize(
    "pattern", ["**/" * 200 + "x", "*a" * 100 + "b", "{a,b}" * 100, "{" * 500 + "a,b" + "}" * 500]
)
def test_no_pattern_is_much_work(pattern: str):
    path = "/".join(["a" * 200] * 50)
    assert calls(lambda: matches(pattern, path)) < 100_000
