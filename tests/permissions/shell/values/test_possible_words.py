"""S10, S15: whatever variables come to hold, what runs unasked reads nothing outside and changes nothing."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.permissions.cases import reads_only

BASH = "/bin/bash"
VALUES = [
    "a.txt", "-o", "'x y.py'", "$(cat path.txt)", "$(cat code.txt)", "1", "2", "$(wc -l < a.txt)", "*",
    "src/*.py",
    "'a[$(touch HACKED)]'", "../HIDDEN", "..", "'../*'", "'a.txt ../*'", "links/*", "$(ls)", "$y", "$((x+1))",
    '"$x/$y"', '"$y"', "src", "$(nproc)", "{1..3}", "'*.py'", "$(seq 1 2)", "$(cat code.txt | wc -l)", "${y}",
    "./*", "link.py", "--files0-from=path.txt", "'w HACKED'", "$(git rev-parse HEAD)", "''", '"a.txt"',
    "b.txt",
]  # fmt: skip
SETTERS = [
    "x={v};", "x={v} y={w};", "x={v} &&", "y={v}; x={w};", "for x in {v} {w}; do {u}; done;", "(x={v});",
    "for x in {v}; do for y in {w}; do {u}; done; done;", "while read -r x; do {u}; done < path.txt;",
    "read -r x < code.txt;", "x=1; x+={v};", "false && x={v};", "x=1; ((x++));",
    "for x in {v}; do x={w}; {u}; done;",
    "cat path.txt | while read -r x y; do {u}; done;", "if [ -f a.txt ]; then x={v}; else x={w}; fi;",
    "x={v}; for y in $x; do {u}; done;", "for ((x=0; x<2; x++)); do {u}; done;",
    "IFS=/ read -r x y < path.txt;",
]  # fmt: skip
USES = [
    'cat "$x"', "cat $x", 'sort "$x"', "sort $x a.txt", 'head -n "$x" a.txt', "head -n $x a.txt",
    "echo $((x))",
    "[[ $x -gt 1 ]]", "((x > 1))", 'grep "$x" a.txt', 'grep -e "$x" a.txt', 'ls "$x"', "ls $x",
    'wc -l < "$x"',
    'sed -n "${x}p" a.txt', 'sed "s-a$x-$y-" a.txt', 'cat "src/$x"', 'cat "$x/../../HIDDEN"', 'test -f "$x"',
    'printf "%s" "$x"', 'printf %d "$x"', 'find "$x" -maxdepth 1', 'tail "$x" "$y"', 'awk "NR==$x" a.txt',
    'echo "$x"', '[ "$x" -eq 1 ]', 'uniq "$x" "$y"', "cat $x/$y", 'cat "$y"', 'strings "$x"', 'du "$x"',
    'cat < "$x"', 'ls | xargs -n1 echo "$x"', "sum=$((x + y))", '[[ -f "$x" ]]', 'tac "./$x"',
]  # fmt: skip


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20))]
)
def test_hostile_values_and_file_names_reach_nothing(seed: int, tmp_path: Path):
    project = _project(tmp_path)
    before = _seen(tmp_path)
    choose = random.Random(seed)
    ran = 0
    for _ in range(1_500):
        command = _line(choose)
        # The gate's own answer, without the words for people: see test_bulk_decisions.py.
        if not reads_only(command, cwd=str(project)):
            continue
        ran += 1
        shown = _run(command, project)
        assert b"TOPSECRET" not in shown and b"ELSEWHERE" not in shown, command
        assert _seen(tmp_path) == before, command
    assert ran > 40


def _line(choose: random.Random) -> str:
    def filled(setter: str) -> str:
        for mark, choices in (("{v}", VALUES), ("{w}", VALUES), ("{u}", USES)):
            setter = setter.replace(mark, choose.choice(choices))
        return setter

    setters = " ".join(filled(choose.choice(SETTERS)) for _ in range(choose.randint(1, 2)))
    return f"{setters} {choose.choice(USES)}"


def _project(tmp_path: Path) -> Path:
    """A folder full of traps, beside what nobody may see."""
    (tmp_path / "HIDDEN").write_text("TOPSECRET\n", encoding="utf-8")
    (tmp_path / "ELSEWHERE").write_text("TOPSECRET\n", encoding="utf-8")
    project = tmp_path / "project"
    for folder in ("src", "links", "x ..", "-o"):
        (project / folder).mkdir(parents=True)
    texts = {
        "a.txt": "a\nb\n",
        "b.txt": "b\n",
        "code.txt": "a[$(touch HACKED)]\n",
        "path.txt": f"{tmp_path}/HIDDEN\n",
        "x y.py": "x\n",
        "src/a.py": "x\n",
        "src/a .. b.py": "x\n",
        "1": "x\n",
    }
    for name, text in texts.items():
        (project / name).write_text(text, encoding="utf-8")
    os.symlink("../../HIDDEN", project / "links" / "one")
    os.symlink("../../HIDDEN", project / "src" / "2")
    os.symlink("../HIDDEN", project / "b.py")
    return project


def _run(command: str, project: Path) -> bytes:
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", command],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def _seen(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))
