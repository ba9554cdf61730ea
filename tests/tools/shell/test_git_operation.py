from typing import Any

from bridle.tools.shell.git_operation import git_operation
from tests.tables import table

_COMMIT = {"commit": {"sha": "1a2b3c4", "kind": "committed"}}
_URL = "https://github.com/a/b/pull/12"
_AMENDED = {"commit": {"sha": "1a2b3c4", "kind": "amended"}}
_PICKED = {"commit": {"sha": "1a2b3c4", "kind": "cherry-picked"}}
_REBASED = {"branch": {"ref": "origin/main", "action": "rebased"}}
_OPENED = {"pr": {"number": 12, "url": _URL, "action": "created"}}


@table(
    ("command", "output", "expected"),
    [
        ("git commit -m x", "[main (root-commit) 1a2b3c4] x\n 1 file", _COMMIT),
        ("git add . && git commit --amend", "[main 1a2b3c4] x", _AMENDED),
        ("git cherry-pick abc", "[main 1a2b3c4] x", _PICKED),
        ("git commit -m \"$(cat <<'E'\nx\nE\n)\"", "[a/b 1a2b3c4] x", _COMMIT),
        ("git push -u origin x", "To h:a\n * [new branch]      x -> x\n", {"push": {"branch": "x"}}),
        ("git push", "To h:a\n   1a..2b  main -> main\n", {"push": {"branch": "main"}}),
        ("git push", "Everything up-to-date", None),
        ("git merge topic", "Fast-forward\n a | 1 +", {"branch": {"ref": "topic", "action": "merged"}}),
        ("git rebase origin/main", "Successfully rebased.", _REBASED),
        ("gh pr create --fill", f"Creating\n{_URL}\n", _OPENED),
        ("gh pr merge 7 --squash", "", {"pr": {"number": 7, "action": "merged"}}),
        ("echo git commit", "[main 1a2b3c4] x", None),
        ("ls", "", None),
    ],
)  # fmt: skip
def test_what_was_done_is_seen(command: str, output: str, expected: dict[str, Any] | None):
    assert git_operation(command, output) == expected
