from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.render.diff import (
    FileChange,
    change_between,
    change_header,
    read_hunks,
    render_hunks,
)
from bridle.frontends.tui.render.git_diff import read_unified
from bridle.frontends.tui.render.layout import fit
from bridle.frontends.tui.render.word_diff import changed_words
from bridle.frontends.tui.style.text import Line, text_of
from tests.frontends.tui.render.strategies import assert_sound, nasty_text, widths

_OLD = "import os\n\ndef f(a):\n    return a + 1\n"
_NEW = "import os\n\ndef f(a):\n    return a + 2\n    # done\n"


def _rendered(change: FileChange, width: int, limit: int | None = None) -> list[Line]:
    return [*fit([change_header(change)], width), *render_hunks(change, width, limit=limit)]


def _shown(change: FileChange, width: int = 60, limit: int | None = None) -> list[str]:
    return [text_of(line).rstrip() for line in _rendered(change, width, limit)]


def test_changes_have_numbers_signs_and_a_summary():
    assert _shown(change_between("a.py", _OLD, _NEW)) == [
        "a.py +2 −1",
        "1   import os",
        "2",
        "3   def f(a):",
        "4 -     return a + 1",
        "4 +     return a + 2",
        "5 +     # done",
    ]


def test_only_the_words_that_differ_are_marked_and_syntax_keeps_its_colors():
    added = render_hunks(change_between("a.py", _OLD, _NEW), 60)[4]
    assert [span.text for span in added if span.style.background == "added_word"] == ["2"]
    assert {span.style.background for span in added} == {"added", "added_word"}
    assert next(span.style.color for span in added if span.text == "return") == "code.keyword"


def test_lines_with_little_in_common_have_no_words_marked():
    assert changed_words("completely different text", "nothing alike, at all!") == ([], [])
    assert changed_words("a = f(x)", "a = f(x, y)") == ([], [(7, 10)])


def test_long_lines_hang_below_the_text():
    change = change_between("a.txt", "", "word " * 8 + "\n", exists=False)
    assert _shown(change, 24)[:3] == [
        "a.txt (new file) +1",
        "1 + word word word word",
        "    word word word word",
    ]


def test_beyond_the_limit_only_the_number_is_told():
    change = change_between("a", "", "x\n" * 130, exists=False)
    assert _shown(change, limit=10)[-1] == "… 120 more lines"
    assert len(_shown(change, limit=10)) == 12


def test_hunks_are_separated_and_long_context_is_folded():
    old = "".join(f"{n}\n" for n in range(40))
    new = old.replace("1\n", "one\n", 1).replace("38\n", "thirty-eight\n")
    assert any("⋯" in line for line in _shown(change_between("a", old, new)))
    lines = ["-a", "+b", *(f" {n}" for n in range(30)), "-c", "+d"]
    wide = FileChange(
        path="a", hunks=({"oldStart": 1, "oldLines": 32, "newStart": 1, "newLines": 32, "lines": lines},)
    )
    assert any("24 unchanged lines" in line for line in _shown(wide))


def test_headers_tell_what_happened_to_a_file():
    for change, title in (
        (FileChange(path="b", old_path="a", kind="renamed"), "a → b"),
        (FileChange(path="a", kind="deleted"), "a (deleted)"),
        (FileChange(path="a", kind="new"), "a (new file)"),
        (FileChange(path="a", kind="binary"), "a (binary)"),
    ):
        assert text_of(change_header(change)) == title


def test_output_of_git_is_read():
    text = (
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+hi\n"
        "diff --git a/d b/d\ndeleted file mode 100644\n"
        "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
    )
    changes = read_unified(text)
    assert [(c.path, c.kind, c.added, c.removed) for c in changes] == [
        ("x.py", "changed", 1, 1),
        ("new", "renamed", 0, 0),
        ("n", "new", 1, 0),
        ("d", "deleted", 0, 0),
        ("p.png", "binary", 0, 0),
    ]


def test_hunks_of_the_wrong_shape_are_left_out():
    good = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b", 3]}
    assert [hunk["lines"] for hunk in read_hunks([good, {"lines": []}, 4])] == [["-a", "+b"]]
    assert read_hunks("nothing") == ()


@given(nasty_text, nasty_text, widths, st.sampled_from((None, 0, 3)))
def test_any_change_fits(old: str, new: str, width: int, limit: int | None):
    assert_sound(_rendered(change_between("x.py\x1b[2J", old, new), width, limit), width)


@given(nasty_text, widths)
def test_any_text_is_read_as_a_diff(text: str, width: int):
    for change in read_unified(f"diff --git a/x b/y\n@@ -1 +1 @@\n+{text}\n-{text}"):
        assert_sound(_rendered(change, width), width)
