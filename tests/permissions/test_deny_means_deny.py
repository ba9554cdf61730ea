"""S2, S11, S13, S14: a rule that denies or asks reaches every command of a line, however it is spelled."""

from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask, Deny
from tests.permissions.cases import bash, rules
from tests.permissions.shell.test_corpus import ordinary
from tests.tables import table

CORPUS = Path(__file__).parent / "corpus"
DENIED = (
    "Bash(curl:*)", "Bash(touch:*)", "Bash(git push:*)", "Bash(npm publish:*)", "Bash(docker run:*)",
    "Bash(kubectl delete:*)", "Bash(cargo publish:*)", "Bash(gh pr merge:*)", "Bash(pip install:*)",
    "Bash(terraform apply:*)", "Bash(systemctl stop:*)", "Bash(aws s3 rm:*)", "Bash(yarn publish:*)",
    "Bash(pnpm publish:*)", "Bash(go run:*)", "Bash(make deploy:*)", "Bash(apt-get install:*)",
    "Bash(helm uninstall:*)", "Bash(az vm delete:*)", "Bash(gcloud compute instances delete:*)",
    "Bash(docker compose down:*)", "Bash(npm run deploy:*)", "Bash(uv publish:*)", "Bash(poetry publish:*)",
)  # fmt: skip
COMMON = ("Bash(rm:*)", "Bash(curl:*)", "Bash(git push:*)", "Bash(sudo:*)", "Bash(npm publish:*)")


def lines(name: str) -> list[str]:
    text = (CORPUS / name).read_text(encoding="utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines() if line and not line.startswith("# ")]


@table("command", lines("denied.txt"))
def test_a_denied_command_is_denied_however_it_is_run(command: str):
    """S2, S11, S13"""
    denied = rules(deny=DENIED)

    assert isinstance(bash(command, denied, "bypassPermissions"), Deny)
    assert isinstance(bash(command, (*denied, *rules(allow=("Bash",)))), Deny)


@table("command", lines("denied.txt"))
def test_a_command_to_be_asked_about_is_asked_about_however_it_is_run(command: str):
    """S2, S11, S13"""
    decision = bash(command, rules(ask=DENIED, allow=("Bash",)), "bypassPermissions")

    assert isinstance(decision, Ask)
    assert decision.needs_person


@pytest.mark.parametrize(("program", "subcommand"), [("docker", "run"), ("git", "push"), ("npm", "publish")])
def test_no_number_of_unknown_options_hides_a_subcommand(program: str, subcommand: str):
    """S2, S14"""
    weighed = rules(deny=DENIED, allow=("Bash", f"Bash({program}:*)"))
    for before, behind in ((1, 0), (12, 12), (40, 40), (700, 0), (0, 700), (350, 350)):
        command = f"{program} {'--zz x ' * before}{subcommand} {'--yy z ' * behind}end"
        kinds = Deny if len(command) < 1_000 else Deny | Ask
        assert isinstance(bash(command, weighed, "bypassPermissions"), kinds), (before, behind)


def test_no_number_of_searches_hides_a_command():
    """S2, S14"""
    for number in (1, 20, 600):
        command = "find . -exec " * number + "curl x \\;"
        assert not isinstance(bash(command, rules(deny=DENIED, allow=("Bash",))), Allow), number
    assert isinstance(bash("env find a \\; find . -exec curl x \\;", rules(deny=DENIED)), Deny)


@table("command", lines("unseen.txt"))
def test_what_cannot_be_seen_through_asks_where_a_rule_denies_by_command(command: str):
    """S2, S11, S14"""
    for weighed in (rules(deny=DENIED), rules(ask=DENIED), rules(deny=DENIED, allow=("Bash", "Bash(git:*)"))):
        decision = bash(command, weighed, "bypassPermissions")
        assert isinstance(decision, Ask), decision
        assert decision.needs_person
    assert isinstance(bash(command, rules(deny=DENIED, allow=("Bash",)), "dontAsk"), Deny)


@pytest.mark.parametrize("command", ["$x y", "eval $x", "cat f | sh", "git $x", "/usr/bin/cur? x"])
def test_what_cannot_be_seen_through_is_left_alone_where_no_rule_denies_by_command(command: str):
    """S20"""
    for weighed in (
        (),
        rules(deny=("Read(.env)", "WebFetch")),
        rules(deny=("Bash(run_in_background:true)",)),
    ):
        assert isinstance(bash(command, weighed, "bypassPermissions"), Allow)


def test_an_exact_rule_settles_what_cannot_be_seen_through():
    """S20: the person who wrote it has seen the text."""
    weighed = rules(deny=COMMON, allow=("Bash($PYTHON -m pytest)",))

    assert isinstance(bash("$PYTHON -m pytest", weighed), Allow)
    assert isinstance(bash("$PYTHON -m pytest x", weighed), Ask)


def test_an_allow_rule_is_not_widened_by_options_before_the_subcommand():
    """S12"""
    for command in ("git -C x push", "git -c a.b=c push", "npm --prefix x publish", "docker -H x run y"):
        assert isinstance(bash(command, rules(allow=DENIED)), Ask)


def test_ordinary_commands_do_not_begin_to_ask_under_common_denials():
    """S20"""
    asking = [
        each.command
        for each in ordinary()
        if isinstance(bash(each.command, rules(deny=COMMON), "bypassPermissions"), Ask)
        and isinstance(bash(each.command, (), "bypassPermissions"), Allow)
    ]

    assert asking == []


@table(
    "command",
    [
        'cd "$(git rev-parse --show-toplevel)" && make test',
        'git log --oneline "$(git merge-base HEAD main)"..HEAD',
        'git commit -m "$(cat message.txt)"',
        "git -C \"$dir\" status",
        'docker build -t "app:$(git rev-parse --short HEAD)" .',
        "docker exec $C ls",
        "docker run --rm $IMAGE",
        "ssh $HOST",
        "ssh $HOST uptime",
        "kubectl -n $NS get pods",
        "kubectl exec -it $POD -- ls",
        'python3 -c "import json,sys; print(json.load(sys.stdin)[\'name\'])"',
        "node -e \"console.log(require('./package.json').version)\"",
        "python3 -m pytest -q",
        "python3 -m json.tool < a.json",
        "python3 script.py $ARGS",
        'bash scripts/build.sh "$TARGET"',
        "source .venv/bin/activate && pytest",
        'source "$HOME/.nvm/nvm.sh" && nvm use',
        '. "$HOME/.cargo/env"; cargo test',
        '"$VIRTUAL_ENV/bin/python" -m pytest',
        "$(npm bin)/eslint src",
        "timeout $T make test",
        "nice -n $N make",
        "npx tsc --noEmit",
        "uv run pytest -q",
        "make -j$(nproc) test",
        "find . -name '*.py' -exec grep -l foo {} +",
        "find src -type f | xargs wc -l",
        "git ls-files | xargs -I{} sh -c 'wc -l \"{}\"'",
        "awk -F'|' '/a|b/ { print $2 }' f",
        "awk '$1 > 3 || $2 == \"x\" { s += $1 } END { print s }' f",
        "sed -e 's/e /x/' -e '/e/d' f",
        "for f in *.sh; do bash -n \"$f\"; done",
        "command -v node",
        "bash -c 'cd src && make'",
        'sh -c "echo $HOME"',
        "git config user.name 'A B'",
        "git -c user.name=x commit -m y",
        "make VERSION=$V build",
        "tmux ls",
        "git stash push",
        "git remote add push x",
        "npm install push",
        "git log --grep push",
        "gh pr view $N",
        'rm_tmp() { :; }; rm_tmp',
        "jq -r .push f",
        'f() { "$1" x; }; f ls',
        'g() { git "$@"; }; g status',
    ],
)  # fmt: skip
def test_everyday_commands_are_seen_through(command: str):
    """S20"""
    weighed = rules(deny=("Bash(rm:*)", "Bash(curl:*)", "Bash(git push:*)", "Bash(npm publish:*)"))

    assert isinstance(bash(command, weighed, "bypassPermissions"), Allow), command


@table("command", lines("everyday.txt"))
def test_programs_that_run_others_are_no_riddle(command: str):
    """S20"""
    weighed = rules(deny=("Bash(rm:*)", "Bash(curl:*)", "Bash(git push:*)", "Bash(npm publish:*)"))

    assert isinstance(bash(command, weighed, "bypassPermissions"), Allow), command


@table(
    ("content", "command", "is_denied"),
    [
        ("git push", "git -C . push", True),
        ("git push", "git -C . push origin", False),
        ("git push:*", "git -C . push origin", True),
        ("git push --force:*", "git -C . push --force", True),
        ("git push --force:*", "git push origin --force", False),
        ("git * --force", "git -C . push --force", True),
        ("npm test", "npm test -- x", False),
        ("rm x", "rm -f x", False),
        ("ls", "ls -la", False),
        ("curl *", "curl", True),
        ("curl*", "curlx", True),
        ("curl:*", "curlx", False),
        ("Curl:*", "curl x", False),
        ("git -C:*", "git -C . push", True),
        ("git -c a.b=c push", "git -c a.b=c push", True),
    ],
)
def test_a_rule_says_what_it_says(content: str, command: str, is_denied: bool):
    """S12"""
    decision = bash(command, rules(deny=(f"Bash({content})",)), "bypassPermissions")

    assert isinstance(decision, Deny) == is_denied


@table("count", [50, 150, 310, 450, 580, 1_000])
@table(
    "command",
    [
        ("env ", "A=1 ", "curl x"),
        ("", "nice ", "curl x"),
        ("", "timeout 5 ", "curl x"),
        ("git ", "-q ", "push"),
        ("git ", "--odd ", "push"),
        ("sudo ", "-n ", "curl x"),
        ("sudo ", "-Z ", "curl x"),
        ("", "env ", "-S 'curl x'"),
        ("", "A=1 ", "curl x"),
        ("", "eval ", "curl x"),
        ("", "true; ", "curl x"),
        ("", "xargs ", "curl x"),
        ("bash -c 'true ", "x ", "; curl x'"),
        ("for c in ", "a ", "curl; do $c x; done"),
        ("x=a; ", "x=b; ", "x=curl; $x y"),
        ("find . ", "-name x ", "-exec curl {} ;"),
    ],
)
def test_a_heap_of_words_hides_nothing(command: tuple[str, str, str], count: int):
    """S3, S11: whatever is beyond a bound asks."""
    first, again, last = command
    decision = bash(first + again * count + last, rules(deny=DENIED), "bypassPermissions")

    assert isinstance(decision, Ask | Deny)


def test_what_was_decided_before_changes_no_decision():
    """S2, S11: what is looked at is bounded for each command anew."""
    hidden, denied = """set sh -c 'c - ;cur$@l ';"$@"/""", rules(deny=DENIED)
    for unreadable in ("bash -c 'a $x $y; ((('", "bash -c 'a $x $y $z; if'", "sh -c 'a $x; `'"):
        for _ in range(100):
            bash(unreadable, denied, "bypassPermissions")

    assert isinstance(bash(hidden, denied, "bypassPermissions"), Deny)
