"""S2, S11, S14: a denied name in the words of a program that may run them is asked about."""

import pytest

from bridle.types.permission import Allow, Ask
from tests.permissions.cases import bash, rules

DENIED = rules(deny=("Bash(curl:*)", "Bash(git push:*)", "Bash(rm -rf:*)", "Bash(dd*)"))


@pytest.mark.parametrize(
    "command",
    [
        "odd-runner curl x",
        "odd-runner --with=curl x",
        "odd-runner -xcurl",
        "odd-runner --hook '/usr/bin/curl x'",
        "odd-runner 'a; curl x'",
        "odd-runner 'a\\ncurl x'",
        "odd-runner @curl",
        "odd-runner cu''rl",
        "odd-runner 'cu\"\"rl'",
        "odd-runner 'git -C . push'",
        "odd-runner git push",
        "odd-runner 'rm x -rf'",
        "odd-runner ddrescue",
        "ODD=curl odd-runner",
        "c=curl; odd-runner $c",
        "c=cu; odd-runner --with=${c}rl",
        "for c in curl; do odd-runner $c; done",
        "echo curl | odd-runner",
        "echo curl > x; odd-runner x",
        "{ echo curl; } > x; odd-runner x",
        "cat > x <<E; odd-runner x\ncurl\nE",
        "odd-runner <<E\ncurl\nE",
        "cp /usr/bin/curl x; ./x y",
        "ln -s /usr/bin/curl x && ./x y",
        "cat /usr/bin/curl > x; ./x y",
        "odd-runner <<< curl",
        "odd-runner $(echo curl)",
        "echo 'a:;curl' | make --f -",
        "echo 'a:;curl' | make -f /dev/stdin",
        "echo 'a:;curl' > x; make -f x",
        "echo curl > conftest.py; pytest",
        "echo curl | pip install -r /dev/stdin",
        "odd-runner `echo curl`",
        "f() { echo curl; }; f | odd-runner",
        "set sh -c 'c - ; curl ';\"$@\"/",
        "apt-get -oAPT::Update::Pre-Invoke::%=curl update",
        "apt-get -o curl install x",
        "git -c odd.key=curl commit -m x",
        "git commit --odd=curl -m x",
        "git commit --odd curl",
        "git clone odd::curl",
        "pip install --config curl",
        "make CC=curl",
        "make --ev='a\t:;cu\\\nrl'",
        "odd-runner 'cu\\\n  rl'",
    ],
)
def test_a_denied_name_that_may_be_run_asks(command: str):
    for mode in ("bypassPermissions", "default"):
        decision = bash(command, (*DENIED, *rules(allow=("Bash",))), mode)
        assert not isinstance(decision, Allow), (mode, decision)
        assert not isinstance(decision, Ask) or decision.needs_person


@pytest.mark.parametrize(
    "command",
    [
        "odd-runner x",
        "odd-runner curly libcurl curl.py curl-config --curl src/curl/x",
        "odd-runner push",
        "odd-runner rm x",
        "grep -rn curl src",
        "rg 'curl x' && odd-runner",
        "ls curl; odd-runner",
        "cp curl other",
        "mkdir curl && odd-runner",
        "echo curl | wc -l",
        "cat > notes.md <<E\nuse curl\nE",
        "c=curl; echo $c",
        "git commit -m 'use curl, then git push'",
        "git commit -am 'use curl'",
        "git commit -m \"$(cat <<'E'\nuse curl\nE\n)\"",
        "echo 'use curl' | git commit -F -",
        "git log --grep=curl",
        "git log --grep curl",
        "git add curl",
        "gh pr create --title 'fix curl' --body 'use curl'",
        "pip install curl",
        "npm install -D curl@1.2",
        "apt-get install -y curl",
        "brew install curl",
        "pytest -k curl",
        "make curl",
        "mkdir curl",
        "man curl",
        "which curl",
        "command -v curl",
        "[ -x /usr/bin/curl ] && echo yes",
    ],
)
def test_a_denied_name_that_is_only_a_word_does_not_ask(command: str):
    """S20"""
    assert isinstance(bash(command, DENIED, "bypassPermissions"), Allow)


def test_an_exact_rule_settles_a_name():
    """S20: the person who wrote it has seen the text."""
    weighed = (*DENIED, *rules(allow=("Bash(odd-runner --with=curl)",)))

    assert isinstance(bash("odd-runner --with=curl", weighed), Allow)
    assert isinstance(bash("odd-runner --with=curl x", weighed), Ask)


def test_without_a_rule_by_command_a_name_is_a_word():
    """S20"""
    assert isinstance(bash("odd-runner curl", rules(deny=("Read(curl)",)), "bypassPermissions"), Allow)


def test_the_reason_names_the_rule():
    decision = bash("odd-runner curl", DENIED, "bypassPermissions")

    assert decision.reason == ("it mentions a command that rule Bash(curl:*) covers, and it may run it")
