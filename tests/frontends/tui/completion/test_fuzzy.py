import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.completion.candidates import Candidates
from bridle.frontends.tui.completion.fuzzy import match
from tests.permissions.counted import counted

_MOST_CALLS = 250_000
"""About 50 ms on a slow machine."""


def _best(query: str, *texts: str) -> str:
    return Candidates(texts).search(query)[0].text


def test_letters_must_all_be_there_in_order():
    assert match("abc", "a_b_c") is not None
    assert match("acb", "abc") is None
    assert match("", "anything") is not None


def test_positions_are_those_of_the_matched_letters():
    found = match("fb", "foo/bar.py")
    assert found is not None
    assert found.positions == (0, 4)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("rend", "src/render.py", "src/reorder_end.py"),  # in a row
        ("md", "src/markdown.py", "xmd/aaa.py"),  # the name of the file
        ("fb", "foo_bar", "foobar"),  # the start of a word
        ("gc", "getConfig", "gerrc"),  # the hump of a camel
        ("sm", "src/main.py", "prism/a.py"),  # after a separator
        ("index", "index.ts", "a/very/long/way/index.ts"),  # the shorter one
    ],
)
def test_what_is_more_likely_meant_comes_first(query: str, better: str, worse: str):
    assert _best(query, worse, better) == better


def test_capital_letters_are_meant_unless_nothing_has_them():
    assert _best("README", "readme/x", "README.md") == "README.md"
    assert [hit.text for hit in Candidates(["readme", "README"]).search("README")] == ["README"]
    assert [hit.text for hit in Candidates(["readme"]).search("ReadMe")] == ["readme"]


def test_typing_on_and_going_back_give_the_same_as_starting_anew():
    texts = [f"src/{a}{b}/file_{a}.py" for a in "abcdef" for b in "uvwxyz"]
    typed = Candidates(texts)
    for query in ("f", "fi", "fil", "file_b", "fi", "a", "", "srcb"):
        assert typed.search(query) == Candidates(texts).search(query)


@given(st.text(max_size=5), st.lists(st.text(max_size=20), max_size=10))
def test_any_query_on_any_texts(query: str, texts: list[str]):
    for hit in Candidates(texts).search(query):
        assert len(hit.positions) == len(query)
        assert list(hit.positions) == sorted(set(hit.positions))
        found = "".join(hit.text[at] for at in hit.positions)
        assert found == query or found.lower() == query.lower() or not found.isascii()


def test_fifty_thousand_files_are_searched_with_bounded_work_for_each_key():
    """`make bench` measures the time."""
    chance = random.Random(4)
    words = "src test lib core engine session render markdown table index main user config parser token"
    names = words.split()

    def path() -> str:
        folders = (chance.choice(names) + str(chance.randint(0, 30)) for _ in range(chance.randint(2, 5)))
        return f"{'/'.join(folders)}/{chance.choice(names)}_{chance.choice(names)}.py"

    candidates = Candidates([path() for _ in range(50_000)])
    for query in ("rendermark", "sessmain.p", "e"):
        for size in range(1, len(query) + 1):
            with counted() as work:
                assert candidates.search(query[:size])
            assert work.calls < _MOST_CALLS
