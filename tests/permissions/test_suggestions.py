"""A question comes with the changes that would make it unnecessary, and they do."""

from pathlib import Path
from typing import Any

import pytest

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.permissions.updates import applied_to_case
from bridle.types.permission import Access, Allow, Ask, Case, Mode
from tests.permissions.cases import CWD, bash, bash_case, rules, standing
from tests.tables import table

ACCEPT = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def allow(*values: dict[str, str]) -> dict[str, Any]:
    return {"type": "addRules", "rules": list(values), "behavior": "allow", "destination": "localSettings"}


def add(*folders: str) -> dict[str, Any]:
    return {"type": "addDirectories", "directories": list(folders), "destination": "session"}


def command(content: str) -> dict[str, str]:
    return {"toolName": "Bash", "ruleContent": content}


def file_case(tool: str, path: str, mode: Mode = "default") -> Case:
    access = Access(reads=(path,)) if tool == "Read" else Access(writes=(path,))
    asked = CallRequest(
        tool=tool, input={"file_path": path}, subject=path, read_only=tool == "Read", access=access
    )
    return prepare(asked, standing(mode=mode))


def tool_case(tool: str, subject: str = "") -> Case:
    return prepare(CallRequest(tool=tool, input={}, subject=subject), standing())


@table(
    ("case", "expected"),
    [
        (bash_case("npm run build"), [allow(command("npm run build:*"))]),
        (bash_case("gh pr list -L 3"), [allow(command("gh:read-only"))]),
        (
            bash_case("gh pr list && docker ps && ls"),
            [allow(command("gh:read-only"), command("docker:read-only"))],
        ),
        (bash_case("gh pr merge 1"), [allow(command("gh pr:*"))]),
        (bash_case("pytest -q tests"), [allow(command("pytest:*"))]),
        (bash_case("git commit -m x && git push"), [allow(command("git commit:*"), command("git push:*"))]),
        (bash_case("git push a && git push b"), [allow(command("git push:*"))]),
        (bash_case("python3 x.py"), [allow(command("python3 x.py"))]),
        (bash_case("cat a && npm test"), [allow(command("npm test:*"))]),
        (bash_case("cat /opt/x/a"), [add("/opt/x")]),
        (bash_case("cat /srv"), [add("/srv")]),
        (bash_case("echo x > out"), [ACCEPT]),
        (bash_case("npm test > out"), [allow(command("npm test:*")), ACCEPT]),
        (file_case("Edit", f"{CWD}/a"), [ACCEPT]),
        (file_case("Write", "/opt/x/a"), [add("/opt/x"), ACCEPT]),
        (file_case("Read", "/opt/x/a"), [add("/opt/x")]),
        (file_case("Edit", "/opt/x/a", mode="acceptEdits"), [add("/opt/x")]),
        (
            tool_case("WebFetch", "domain:x.org"),
            [allow({"toolName": "WebFetch", "ruleContent": "domain:x.org"})],
        ),
        (tool_case("Skill", "review"), [allow({"toolName": "Skill", "ruleContent": "review"})]),
        (tool_case("mcp__a__b"), [allow({"toolName": "mcp__a__b"})]),
    ],
)
def test_the_suggestions_fit_the_call_and_prevent_the_question(case: Case, expected: list[Any]):
    doubt = decide(case)
    assert isinstance(doubt, Ask)
    assert list(doubt.suggestions) == expected
    assert isinstance(decide(applied_to_case(case, doubt.suggestions)), Allow)


@pytest.mark.parametrize(
    "case",
    [
        bash_case("make", rules(ask=("Bash(make)",))),
        bash_case("make\x1b"),
        bash_case("echo x > .git/config"),
        bash_case("echo x > $OUT"),
        bash_case("make", input={"dangerouslyDisableSandbox": True}),
        file_case("Edit", f"{CWD}/.git/config"),
        tool_case("Skill", "\n"),
    ],
)
def test_nothing_is_suggested_where_nothing_would_help(case: Case):
    doubt = decide(case)
    assert isinstance(doubt, Ask) and doubt.suggestions == ()


def test_at_most_five_rules_are_kept_and_the_rest_holds_for_the_session():
    case = bash_case(" && ".join(f"tool{number} x" for number in range(12)))
    doubt = decide(case)
    assert isinstance(doubt, Ask)
    kept, passing = doubt.suggestions
    assert (len(kept.get("rules") or ()), kept["destination"]) == (5, "localSettings")
    assert (len(passing.get("rules") or ()), passing["destination"]) == (7, "session")
    assert isinstance(decide(applied_to_case(case, doubt.suggestions)), Allow)


def test_the_folder_of_a_link_is_the_one_it_leads_to(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "far").mkdir()
    (tmp_path / "project/link").symlink_to(tmp_path / "far/file")
    doubt = bash("cat link", cwd=str(tmp_path / "project"))
    assert isinstance(doubt, Ask) and list(doubt.suggestions) == [add(str(tmp_path / "far"))]


@pytest.mark.parametrize(
    "command", ["find . -name '*.pyc' -delete", "rm -rf *.pyc", "find . -name \\*.o -exec touch {} +"]
)
def test_a_star_in_a_command_without_a_good_prefix_means_itself(command: str):
    case = bash_case(command)
    doubt = decide(case)
    assert isinstance(doubt, Ask) and doubt.suggestions
    after = applied_to_case(case, doubt.suggestions)
    assert isinstance(decide(after), Allow)
    other = applied_to_case(bash_case(command.replace("*", "**")), doubt.suggestions)
    assert isinstance(decide(other), Ask)
