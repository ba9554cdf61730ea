from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.features.editors.proposals import Proposal, is_withdrawn, propose, revised, told_revision
from bridle.tools.files.replacements import find_replacement, replace
from bridle.tools.files.text_files import TextFile, TextForm
from bridle.types.workspace import Workspace
from tests.fakes.tool_context import FakeTasks


def _propose(folder: Path, tool: str, **input: Any) -> Proposal | None:
    return propose(tool, input, Workspace(str(folder), tasks=FakeTasks()))


def test_edit_is_shown_as_the_file_it_makes(tmp_path: Path):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    proposal = _propose(tmp_path, "Edit", file_path="a.py", old_string="two", new_string="2")
    assert proposal is not None
    assert (proposal.path, proposal.before, proposal.contents) == (
        str(tmp_path / "a.py"), "one\ntwo\n", "one\n2\n",
    )  # fmt: skip


def test_line_ends_of_the_file_are_kept_in_what_is_shown(tmp_path: Path):
    (tmp_path / "a.py").write_bytes(b"one\r\ntwo\r\n")
    edited = _propose(tmp_path, "Edit", file_path="a.py", old_string="two", new_string="2")
    written = _propose(tmp_path, "Write", file_path="a.py", content="1\n")
    assert edited is not None and edited.contents == "one\r\n2\r\n"
    assert written is not None and written.contents == "1\r\n"
    assert revised(edited, "one\r\n2\r\n") is None and revised(edited, "one\n2\n") is None


def test_new_file_is_shown_over_nothing(tmp_path: Path):
    proposal = _propose(tmp_path, "Write", file_path="new.py", content="x\n")
    assert proposal is not None and (proposal.before, proposal.contents) == ("", "x\n")
    assert _propose(tmp_path, "Edit", file_path="new.py", old_string="", new_string="x\n") is not None


def test_change_that_cannot_be_made_is_not_shown(tmp_path: Path):
    (tmp_path / "a.py").write_text("one one\n")
    (tmp_path / "b.bin").write_bytes(b"\0" * 100)
    assert _propose(tmp_path, "Edit", file_path="a.py", old_string="one", new_string="2") is None
    assert _propose(tmp_path, "Edit", file_path="a.py", old_string="absent", new_string="2") is None
    assert _propose(tmp_path, "Edit", file_path="gone.py", old_string="x", new_string="2") is None
    assert _propose(tmp_path, "Edit", file_path="b.bin", old_string="x", new_string="2") is None
    assert _propose(tmp_path, "Edit", file_path="a.py", old_string=7, new_string="2") is None
    assert _propose(tmp_path, "Write", file_path="a.py", content=None) is None
    assert _propose(tmp_path, "Write", file_path="/dev/null", content="x") is None
    assert _propose(tmp_path, "NotebookEdit", file_path="a.py") is None


def test_last_line_that_the_editor_ended_is_no_change_of_the_user(tmp_path: Path):
    proposal = _propose(tmp_path, "Write", file_path="new.py", content="x")
    assert proposal is not None and revised(proposal, "x\n") is None


def test_version_of_the_user_becomes_the_input(tmp_path: Path):
    (tmp_path / "a.py").write_text("a\nb\nc\nb\n")
    edit = _propose(tmp_path, "Edit", file_path="a.py", old_string="a\nb", new_string="a\nB")
    write = _propose(tmp_path, "Write", file_path="a.py", content="z\n")
    assert edit is not None and write is not None
    assert revised(write, "y\n") == {"file_path": "a.py", "content": "y\n"}
    given = revised(edit, "a\nbb\nc\nb\n")
    assert given is not None and (given["old_string"], given["new_string"]) == ("a\nb\nc\n", "a\nbb\nc\n")


def test_change_that_was_taken_back_is_none(tmp_path: Path):
    (tmp_path / "a.py").write_text("a\n")
    proposal = _propose(tmp_path, "Edit", file_path="a.py", old_string="a", new_string="b")
    assert proposal is not None and is_withdrawn(proposal, "a\n") and not is_withdrawn(proposal, "c\n")


_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c", "d\n"]), max_size=8).map("".join)


@given(before=_TEXTS, after=_TEXTS, saved=_TEXTS)
def test_input_makes_the_file_what_was_saved(before: str, after: str, saved: str):
    proposal = Proposal(
        whole=False, input={"file_path": "a", "replace_all": True}, path="/a", before=before, after=after,
        contents=after,
    )  # fmt: skip
    given_input = revised(proposal, saved)
    if given_input is None or is_withdrawn(proposal, saved):
        return
    old, new = given_input["old_string"], given_input["new_string"]
    assert "replace_all" not in given_input
    if not old:
        assert before == "" and new == saved
        return
    file = TextFile(raw=before, text=before, form=TextForm(), stamp=(), mtime_ns=0)
    found = find_replacement(file, old, new, replace_all=False)
    assert found is not None and replace(file, found).text == saved


def test_model_is_told_how_the_user_changed_it_in_bounds(tmp_path: Path):
    proposal = _propose(tmp_path, "Write", file_path="new.py", content="x = 1\n")
    assert proposal is not None
    told = told_revision(proposal, "x = 2\n", "Neovim")
    assert "-x = 1" in told and "+x = 2" in told and "in Neovim" in told
    assert len(told_revision(proposal, "y\n" * 3_000, "Neovim")) < 5_000
    assert len(told_revision(proposal, "y" * 100_000, "Neovim")) < 5_000
    assert len(told_revision(proposal, "y\n" * 10_000, "Neovim")) < 500
