"""S11: whenever bash really runs a denied program, the gate has not let the command pass."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.types.permission import Allow
from tests.permissions.cases import bash, rules

BASH = "/bin/bash"
_SPELLINGS = (
    ("a={}", "$a"), ("a=ev", "${{a}}il"), ("", "ev$@il"), ("", "ev${{unset}}il"), ("", "ev{{il,}}"),
    ("", "$(echo {})"), ("", "${{unset:-{}}}"), ("a=xx{}", "${{a#xx}}"), ("a=xx{}", "${{a:2}}"),
    ("a={}.q", "${{a%.q}}"), ("a=ev; a+=il", "$a"), ("a=({} q)", '"${{a[0]}}"'), ("read a <<< {}", "$a"),
    ("printf -v a {}", "$a"), ("a=EVIL", "${{a,,}}"), ("b={}; a=b", "${{!a}}"), ("set -- {} q", "$1"),
    ("", "'ev'il"), ("", 'e"vi"l'), ("", "e\\vil"), ("", "$'\\x65vil'"), ("", "$(echo $'\\145vil')"),
)  # fmt: skip
_WRAPPERS = (
    "{}", "env A=1 {}", "nice -n 1 {}", "timeout 5 {}", "eval {}", "eval '{}'", "echo q | xargs {}",
    "find . -maxdepth 0 -exec {} \\;", "command {}", "setsid -w {}", "( {} )", "if true; then {}; fi",
    "f() {{ {}; }}; f", 'f() {{ "$@"; }}; f {}', "echo $({})", "stdbuf -o L {}", "bash -c '{}'",
    "for i in 1; do {}; done", "cat <({})", "setarch -R {}",
)  # fmt: skip


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@pytest.mark.parametrize("seed", range(4))
def test_what_bash_runs_was_not_let_pass(seed: int, tmp_path: Path):
    canary, program = tmp_path / "canary", tmp_path / "bin" / "evil"
    (tmp_path / "work").mkdir()
    program.parent.mkdir()
    program.write_text(f"#!{BASH}\necho ran >> {canary}\n", encoding="utf-8")
    program.chmod(0o755)
    ran = 0
    for command in _commands(random.Random(seed)):
        weighed = bash(
            command, rules(deny=("Bash(evil:*)",)), "bypassPermissions", cwd=str(tmp_path / "work")
        )
        canary.unlink(missing_ok=True)
        _run(command, tmp_path)
        ran += canary.exists()
        assert not (canary.exists() and isinstance(weighed, Allow)), command
    assert ran > 10


def _commands(choose: random.Random) -> Iterator[str]:
    for _ in range(60):
        before, spelled = choose.choice(_SPELLINGS)
        command = choose.choice(_WRAPPERS).format(f"{spelled.format('evil')} x")
        yield f"{before.format('evil')}; {command}" if before else command


def _run(command: str, folder: Path) -> None:
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", command],
        cwd=folder / "work",
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
