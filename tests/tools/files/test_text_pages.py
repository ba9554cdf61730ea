"""A page of a text is the same, in however many pieces the text comes."""

from hypothesis import given
from hypothesis import strategies as st

from bridle.tools.files.text_pages import LONGEST_LINE, cut_page

_LINES = st.lists(
    st.one_of(
        st.text("ab \r", max_size=5),
        st.sampled_from(["x" * LONGEST_LINE, "x" * (LONGEST_LINE + 1), "x" * LONGEST_LINE + "\r"]),
    ),
    max_size=12,
)


@given(
    lines=_LINES,
    ended=st.booleans(),
    start=st.integers(1, 14),
    limit=st.integers(1, 14),
    most_chars=st.one_of(st.integers(1, 60), st.integers(1, 9_000)),
    size=st.integers(1, 3_000),
)
def test_a_page_does_not_depend_on_how_the_text_is_cut(
    *, lines: list[str], ended: bool, start: int, limit: int, most_chars: int, size: int
):
    text = "\n".join(lines) + "\n" * ended
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    whole = cut_page((text,), start=start, limit=limit, most_chars=most_chars)

    assert whole == cut_page(pieces, start=start, limit=limit, most_chars=most_chars)
