"""S3: a check that fails asks; but none of them fails, whatever it is shown."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.permissions.policy import explain
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import Access, Case
from tests.permissions.cases import bash_case, rules, standing
from tests.permissions.test_mutations import REAL, mutate
from tests.tables import table

RULES = rules(
    allow=("Bash(git *)", "Edit(src/**)", "Edit(//**)", "WebFetch(domain:a.example)"),
    ask=("Bash(rm *)", "Read(~/x)"),
    deny=("Edit(/)", "Read(../..)", "Edit(**)", "Bash(* | sh)"),
)
ODD_PATHS = ("/", "//", "/..", "/.", "/a//b/", "/" + "a/" * 3000, "/\udcff", "/.git", "/.config/git", "/~")


def _faults(case: Case) -> list[str]:
    said = (each.decision.reason for each in explain(case).opinions if each.decision is not None)
    return [reason for reason in said if "failed" in reason]


@table("command", REAL)
def test_no_check_fails_on_a_real_command(command: str):
    assert _faults(bash_case(command, RULES)) == []


@given(st.integers(min_value=0, max_value=2**32))
def test_no_check_fails_on_a_mutated_command(seed: int):
    choose = random.Random(seed)
    assert _faults(bash_case(mutate(choose.choice(REAL), choose), RULES)) == []


@table("path", ODD_PATHS)
@table("tool", ["Read", "Edit", "Write", "Grep", "NotebookEdit"])
def test_no_check_fails_on_an_odd_path(tool: str, path: str):
    reads = tool in ("Read", "Grep")
    access = Access(reads=(path,)) if reads else Access(writes=(path,))
    asked = CallRequest(tool=tool, input={"file_path": path}, subject=path, read_only=reads, access=access)
    for weighed in ((), RULES):
        assert _faults(prepare(asked, standing(weighed=weighed))) == []


@pytest.mark.parametrize("path", [path for path in ODD_PATHS if len(path) < 100 and path.isprintable()])
def test_no_check_fails_on_a_command_with_an_odd_path(path: str):
    for command in (f"rm -rf {path}", f"cat {path}", f"ls > {path}", f"cd {path} && ls", f"tee {path}"):
        assert _faults(bash_case(command, RULES)) == []
