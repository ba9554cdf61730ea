"""The beginning of a command that a suggested rule would name."""

from bridle.permissions.shell import rule_prefix
from tests.permissions.shell.readings import last
from tests.tables import table


@table(
    ("command", "prefix"),
    [
        ("git commit -m x", "git commit"),
        ("git push origin main", "git push"),
        ("npm run build", "npm run build"),
        ("npm run build -- --watch", "npm run build"),
        ("npm install lodash", "npm install"),
        ("npm test", "npm test"),
        ("docker build .", "docker build"),
        ("docker compose up -d", "docker compose up"),
        ("cargo test --all", "cargo test"),
        ("go build ./...", "go build"),
        ("kubectl get pods", "kubectl get"),
        ("pip install x", "pip install"),
        ("make test", "make test"),
        ("make", "make"),
        ("pytest -q tests", "pytest"),
        ("mypy src", "mypy"),
        ("./gradlew build", "./gradlew"),
        ("timeout 60 pytest -q", "pytest"),
        ("CI=1 npm test", "npm test"),
        ("npm test > out.txt", "npm test"),
        ("mkdir -p a", "mkdir"),
        ("curl -s x", "curl"),
    ],
)
def test_a_rule_would_begin_with(command: str, prefix: str):
    assert rule_prefix(last(command)) == prefix


@table(
    "command",
    [
        "python3 x.py",
        "node x.js",
        "bash x.sh",
        "sh -c ls",
        "sudo ls",
        "env A=1 ls",
        "xargs -n1 rm",
        "eval ls",
        "exec ls",
        "ssh host",
        "npx tsc",
        "bunx x",
        "perl -e 1",
        "ruby x",
        "php x",
        "deno run x",
        "tsx x",
        "rm -rf x",
        "sed -i 1d x",
        "watch ls",
        "find . -delete",
        "rm -rf /",
        "$x y",
        "npm run $x",
        "npm run",
        "git -C x log",
        "ANY=1 npm test",
        "/usr/bin/python3 x",
        "python3.12 x.py",
        "x=1",
        "> out",
    ],
)
def test_no_rule_is_good_for(command: str):
    assert rule_prefix(last(command)) is None
