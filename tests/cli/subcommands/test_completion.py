"""The scripts for shells complete what there is, tried in the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes.program import Program

_CASES = [
    ("bridle m", ["man", "mcp", "merge", "models"]),
    ("bridle mcp add-", ["add-from-claude-desktop", "add-json"]),
    ("bridle plugin marketplace r", ["remove", "rm"]),
    ("bridle plugins mark", ["marketplace"]),
    ("bridle plugin --js", []),
    ("bridle mcp add --trans", ["--transport"]),
    ("bridle mcp add -t ", ["http", "sse", "stdio", "ws"]),
    ("bridle mcp add --transport s", ["sse", "stdio"]),
    ("bridle usage --by m", ["model"]),
    ("bridle usage --by model --j", ["--json"]),
    ("bridle models --al", ["--all"]),
    ("bridle models chain --fall", ["--fallback-model"]),
    ("bridle completion ", ["bash", "fish", "powershell", "zsh"]),
    ("bridle doctor s", ["security"]),
    ("bridle docs key", ["keybindings"]),
    ("bridle docs --sea", ["--search"]),
    ("bridle --output-fo", ["--output-format"]),
    ("bridle -p --output-format s", ["stream-json"]),
    ("bridle --permission-mode ac", ["acceptEdits"]),
    ("bridle rc --spawn w", ["worktree"]),
    ("bridle help mc", []),
]


async def _script(tmp_path: Path, shell: str) -> Path:
    done = await Program(tmp_path).run("completion", shell)
    assert (done.code, done.err) == (0, "")
    path = tmp_path / f"completion.{shell}"
    path.write_text(done.out, encoding="utf-8")
    return path


_BASH = """
source "$1"; line=$2
read -ra COMP_WORDS <<< "$line"; [[ $line == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#line}
_bridle bridle "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


async def test_bash_completes(tmp_path: Path):
    script = await _script(tmp_path, "bash")
    for line, expected in _CASES:
        done = subprocess.run(
            ["bash", "-c", _BASH, "bash", str(script), line],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (sorted(done.stdout.split()), done.stderr) == (expected, ""), line


async def test_bash_completes_files_where_a_file_is_wanted(tmp_path: Path):
    script = await _script(tmp_path, "bash")
    (tmp_path / "fix.jsonl").touch()
    done = subprocess.run(
        ["bash", "-c", _BASH, "bash", str(script), "bridle replay fi"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["fix.jsonl"]


_ZSH = r"""
autoload -Uz compinit; compinit -u -D
source "$1"
# What would be offered is printed instead of shown.
compadd() { local -a offered=("${@:2}")
    print -rl -- ${(M)offered:#${PREFIX}*} }
_describe() { local -a offered=(${${(P)2}%%:*}); print -rl -- ${(M)offered:#${PREFIX}*} }
_files() { }
compset() { PREFIX=${PREFIX#*=} }
shift
for line in "$@"; do
    print -r -- "$line"
    (words=(${(z)line}); [[ $line == *' ' ]] && words+=("")
    CURRENT=${#words}; PREFIX=$words[CURRENT]
    _bridle | grep . | LC_ALL=C sort; print)
done
"""


async def test_zsh_completes(tmp_path: Path):
    if (zsh := shutil.which("zsh")) is None:
        pytest.skip("zsh is not installed")
    script = await _script(tmp_path, "zsh")
    done = subprocess.run(
        [zsh, "-f", "-c", _ZSH, "zsh", str(script), *(line for line, _ in _CASES)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = "".join("\n".join([line, *expected, "", ""]) for line, expected in _CASES)
    assert (done.stdout, done.stderr) == (shown, "")


async def test_fish_completes(tmp_path: Path):
    if (fish := shutil.which("fish")) is None:
        pytest.skip("fish is not installed")
    script = await _script(tmp_path, "fish")
    for line, expected in _CASES:
        command = f"source {script}; complete -C '{line}'"
        done = subprocess.run(
            [fish, "--no-config", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        offered = sorted(row.partition("\t")[0] for row in done.stdout.splitlines())
        assert offered == expected, line
