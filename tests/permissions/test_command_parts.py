"""A command may run when each of its parts may, by rule, by being harmless, or by mode."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.permissions.preparation import ReadCommand
from bridle.types.permission import Allow, Ask, Decision, Deny, Mode, Rule
from bridle.types.shell import Part, Reading
from tests.permissions.cases import CWD, bash, rules
from tests.tables import table


def reader(*parts: Part, leaves: tuple[str, ...] = (), fault: str | None = None) -> ReadCommand:
    """A reader that finds these parts in any command."""

    def read(command: str, *, cwd: str, home: str) -> Reading:
        return Reading(parts=parts, leaves=leaves, fault=fault)

    return read


def part(text: str, **facts: Any) -> Part:
    return msgspec.structs.replace(Part(text=text, allow_forms=(text,), deny_forms=(text,)), **facts)


@table(
    ("rule", "command", "covered"),
    [
        ("Bash", "anything at all", True),
        ("Bash(*)", "anything at all", True),
        ("Bash(npm run build)", "npm run build", True),
        ("Bash(npm run build)", "npm  run\tbuild", True),
        ("Bash(npm  run build)", "npm run build", True),
        ("Bash(npm run build)", "npm run build --watch", False),
        ("Bash(npm run build)", "NPM run build", False),
        ("Bash(git log:*)", "git log", True),
        ("Bash(git log:*)", "git log --oneline", True),
        ("Bash(git log:*)", "git logs", False),
        ("Bash(git log *)", "git log", True),
        ("Bash(git log *)", "git log -1", True),
        ("Bash(git log *)", "git logger", False),
        ("Bash(git log*)", "git logger", True),
        ("Bash(* --version)", "node --version", True),
        ("Bash(* --version)", "node --versions", False),
        ("Bash(git * main)", "git push origin main", True),
        ("Bash(git * main)", "git push origin dev", False),
        (r"Bash(make \*)", "make all", False),
        (r"Bash(make \*)", "make '*'", False),
        ("Bash(make:*)", "make && rm x", False),
        ("Bash(make:*)", "make; rm x", False),
        ("Bash(make:*)", "make | tee x", False),
        ("Bash(make:*)", "make $(rm x)", False),
        ("Bash(make:*)", "make\nrm x", False),
        ("Bash(make:*)", "make && make test", True),
        ("Bash(make *)", "(make a; make b)", True),
        ("Bash(make && make test)", "make && make test", True),
        ("Bash(make && make test)", "make && make tests", False),
        ("Bash(make:*)", "timeout 5 make", True),
        ("Bash(make:*)", "CI=1 make", True),
        ("Bash(make:*)", "LD_PRELOAD=x make", False),
        ("Bash(make:*)", "sudo make", False),
        ("Read", "make", False),
        ("Edit(**)", "make", False),
    ],
)
def test_a_rule_covers_commands_part_by_part(rule: str, command: str, covered: bool):
    """S10, S12, S13, S14"""
    assert isinstance(bash(command, rules(allow=(rule,))), Allow if covered else Ask)


@table(
    "command",
    [
        "rm x",
        "ls && rm x",
        "ls; rm x",
        "ls | rm x",
        "ls & rm x",
        "(rm x)",
        "{ rm x; }",
        "echo $(rm x)",
        'echo "$(rm x)"',
        "echo `rm x`",
        "if rm x; then ls; fi",
        "for a in b; do rm x; done",
        "A=1 rm x",
        "LD_PRELOAD=a rm x",
        "timeout 5 rm x",
        "sudo rm x",
        "env A=1 rm x",
        "'rm' x",
        '"rm" x',
        "r\\m x",
        "/bin/rm x",
        "ls # a\nrm x",
        "rm 'x",
        "ls " + "a" * 10_000 + "; rm x",
    ],
)
@table("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_a_denied_command_is_found_wherever_it_hides(command: str, mode: Mode):
    """S3, S11"""
    assert isinstance(bash(command, rules(allow=("Bash",), deny=("Bash(rm:*)",)), mode), Deny)
    assert isinstance(bash(command, rules(allow=("Bash",), ask=("Bash(rm:*)",)), mode), Ask)


def test_a_denied_joint_is_found_in_the_whole_text():
    weighed = rules(allow=("Bash",), deny=("Bash(curl * | sh)",))
    assert isinstance(bash("curl -s x |  sh", weighed), Deny)
    assert isinstance(bash("curl -s x | cat", weighed), Allow)


@table(
    ("command", "weighed", "mode", "expected"),
    [
        ("cat a", (), "default", Allow),
        ("cat a && ls b", (), "default", Allow),
        ("cat /etc/passwd", (), "default", Ask),
        ("cat ../x", (), "default", Ask),
        ("cat /etc/passwd", rules(allow=("Read(//etc/**)",)), "default", Allow),
        ("cat /etc/passwd", rules(allow=("Bash(cat:*)",)), "default", Ask),
        ("cat /etc/passwd", rules(allow=("Bash(cat /etc/passwd)",)), "default", Allow),
        ("cat /etc/passwd", rules(allow=("Bash",)), "default", Allow),
        ("cat < /etc/passwd", rules(allow=("Bash(cat:*)",)), "default", Ask),
        ("cat .env", rules(deny=("Read(.env)",)), "default", Deny),
        ("cat .env", rules(allow=("Bash",), deny=("Read(.env)",)), "bypassPermissions", Deny),
        ("make < .env", rules(allow=("Bash",), deny=("Read(.env)",)), "default", Deny),
        ("echo x > .env", rules(allow=("Bash",), deny=("Read(.env)",)), "default", Deny),
        ("echo x > a", rules(deny=("Edit(a)",)), "default", Deny),
        ("cat a", rules(deny=("Edit(a)",)), "default", Allow),
        ("cat .env", rules(ask=("Read(.env)",)), "bypassPermissions", Ask),
    ],
)
def test_reads_of_a_command_are_checked_like_reads(
    command: str, weighed: tuple[Rule, ...], mode: Mode, expected: type[Decision]
):
    """S15, S16, S30, S32"""
    assert isinstance(bash(command, weighed, mode), expected)


@table(
    ("command", "allow", "mode", "expected"),
    [
        ("echo x > out", (), "default", Ask),
        ("echo x > out", (), "acceptEdits", Allow),
        ("echo x > out", ("Edit(out)",), "default", Allow),
        ("echo x > out", ("Edit",), "default", Allow),
        ("echo x > out", ("Read", "Write"), "default", Ask),
        ("echo x > out", ("Bash(echo:*)",), "default", Ask),
        ("echo x >> out", ("Bash(echo:*)",), "acceptEdits", Allow),
        ("echo x > out", ("Bash(echo:*)", "Edit(out)"), "default", Allow),
        ("echo x > out", ("Bash",), "default", Allow),
        ("echo x > /tmp/out", ("Bash",), "default", Ask),
        ("echo x > /tmp/out", ("Bash", "Edit(//tmp/**)"), "default", Allow),
        ("echo x > /tmp/out", (), "acceptEdits", Ask),
        ("echo x > $OUT", ("Bash",), "acceptEdits", Ask),
        ("echo x > /dev/null", (), "default", Allow),
        ("make > /dev/null 2>&1", ("Bash(make)",), "default", Allow),
        ("echo x > .git/hooks/a", ("Bash", "Edit(**)"), "acceptEdits", Ask),
        ("echo x > .GIT/config", ("Bash", "Edit(**)"), "acceptEdits", Ask),
        ("echo x > .git/hooks/a", (), "bypassPermissions", Allow),
    ],
)
def test_redirections_are_edits_also_when_the_command_is_allowed(
    command: str, allow: tuple[str, ...], mode: Mode, expected: type[Decision]
):
    """S16, S33"""
    assert isinstance(bash(command, rules(allow=allow), mode), expected)


def test_a_redirection_through_a_link_is_an_edit_of_where_it_leads(tmp_path: Path):
    """S16, S31, S33"""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    project = tmp_path / "project"
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "hooks").symlink_to(project / ".git")
    for command in ("echo x > link/a", "echo x > hooks/pre-commit", "cat link/a"):
        assert isinstance(bash(command, mode="acceptEdits", cwd=str(project)), Ask)
    denied = rules(deny=(f"Read(/{tmp_path}/outside/**)",))
    assert isinstance(bash("cat link/a", denied, cwd=str(project)), Deny)


def test_going_back_through_a_link_ends_where_the_kernel_does(tmp_path: Path):
    """S30"""
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "project/sub").mkdir(parents=True)
    (tmp_path / "project/link").symlink_to(tmp_path / "outside/deep")
    project = str(tmp_path / "project")
    for command in ("cat link/../secret", "cat 'link'/../secret", "ls; cat ./link/../secret"):
        assert isinstance(bash(command, cwd=project), Ask)
    assert isinstance(bash("cat ../secret", cwd=f"{project}/sub", start=project), Allow)
    at_link = bash("cat ../secret", cwd=f"{project}/link", start=project)
    assert isinstance(at_link, Ask)
    denied = rules(deny=(f"Read(/{tmp_path}/outside/secret)",))
    assert isinstance(bash("cat ../secret", denied, cwd=f"{project}/link", start=project), Deny)


def test_entering_a_link_that_leads_outside_is_leaving(tmp_path: Path):
    """S17"""
    (tmp_path / "project/sub").mkdir(parents=True)
    (tmp_path / "project/link").symlink_to(tmp_path)
    weighed = rules(allow=("Bash(cd:*)", "Bash(make)"))
    assert isinstance(bash("cd sub && make", weighed, cwd=str(tmp_path / "project")), Allow)
    assert isinstance(bash("cd link && make", weighed, cwd=str(tmp_path / "project")), Ask)


def test_leaving_the_working_directories_asks():
    """S17"""
    assert isinstance(bash("cd /tmp && ls", rules(allow=("Bash(cd:*)",))), Ask)
    assert isinstance(bash("cd /tmp && ls", rules(allow=("Bash(cd:*)",)), roots=("/tmp",)), Allow)
    assert isinstance(bash("cd /tmp && ls", rules(allow=("Bash",))), Allow)
    assert isinstance(bash("cd /tmp", rules(allow=("Bash",), deny=("Cd(//tmp/**)",))), Deny)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "auto"])
def test_a_critical_removal_is_approved_by_no_rule_and_no_mode(mode: Mode):
    """S19"""
    deadly = reader(part("rm -rf /", file_command=True, writes=("/",), critical="it removes everything"))
    decision = bash("rm -rf /", rules(allow=("Bash", "Bash(rm -rf /)")), mode, reader=deadly)
    assert isinstance(decision, Ask) and decision.needs_person and decision.suggestions == ()


@table(
    ("parts", "allow", "mode", "expected"),
    [
        ((part("touch a", file_command=True, writes=(f"{CWD}/a",)),), (), "default", Ask),
        ((part("touch a", file_command=True, writes=(f"{CWD}/a",)),), (), "acceptEdits", Allow),
        ((part("touch a", file_command=True, writes=(f"{CWD}/a",)),), ("Bash(touch:*)",), "default", Allow),
        ((part("touch /x", file_command=True, writes=("/x",)),), (), "acceptEdits", Ask),
        ((part("touch /x", file_command=True, writes=("/x",)),), ("Bash(touch:*)",), "default", Allow),
        (
            (part("touch /x > y", file_command=True, writes=("/x", "/y"), redirects=("/y",)),),
            ("Bash(touch:*)",), "default", Ask,
        ),
        ((part("tee /x", writes=("/x",)),), ("Bash(tee:*)",), "default", Allow),
        ((part("echo '>'", writes=("/x",)),), ("Bash(echo:*)",), "default", Allow),
        ((part("tee .git/x", writes=(f"{CWD}/.git/x",)),), ("Bash(tee:*)",), "default", Ask),
        ((part("touch .env", file_command=True, writes=(f"{CWD}/.envrc",)),), (), "acceptEdits", Ask),
        ((part("cp /x a", file_command=True, reads=("/x",), writes=(f"{CWD}/a",)),), (), "acceptEdits", Ask),
        (
            (part("touch .git/a", file_command=True, writes=(f"{CWD}/.git/a",)),),
            ("Bash(touch:*)",), "acceptEdits", Ask,
        ),
        ((part("find . -delete", blocks_prefix=True),), ("Bash(find:*)",), "default", Ask),
        ((part("find . -delete", blocks_prefix=True),), ("Bash(find . -delete)",), "default", Allow),
        ((part("find . -delete", blocks_prefix=True),), ("Bash",), "default", Allow),
        ((part("x", harmless=True), part("y z", unclear="why")), ("Bash(y *)",), "default", Ask),
        ((part("x", harmless=True), part("y z", unclear="why")), ("Bash(y z)",), "default", Allow),
        ((part("x", harmless=True), part("y z", unclear="why")), ("Bash",), "default", Allow),
        (
            (part("y > $z", unclear="why", redirects_unclear=True),),
            ("Bash", "Bash(y > $z)"), "acceptEdits", Ask,
        ),
    ],
)  # fmt: skip
def test_file_commands_and_blocked_prefixes(
    parts: tuple[Part, ...], allow: tuple[str, ...], mode: Mode, expected: type[Decision]
):
    """S13, S16"""
    text = " && ".join(each.text for each in parts)
    assert isinstance(bash(text, rules(allow=allow), mode, reader=reader(*parts)), expected)


def test_the_decision_tells_what_is_thought_of_each_part():
    weighed = rules(allow=("Bash(make)",), deny=("Bash(rm:*)",))
    told = [(each.command, each.decision) for each in bash("cat a; make; npm i; rm x", weighed).parts]
    assert told == [("cat a", "allow"), ("make", "allow"), ("npm i", "ask"), ("rm x", "deny")]
    bypassed = bash("cat a; npm i", mode="bypassPermissions")
    assert [each.decision for each in bypassed.parts] == ["allow", "allow"]


def test_a_doubt_about_a_part_names_it():
    decision = bash("cat a && npm i", rules())
    assert isinstance(decision, Ask) and decision.reason_type == "subcommandResults"
    assert decision.reason.startswith("npm i: ")


def test_what_a_pattern_matches_is_read_too(tmp_path: Path):
    """S31"""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").touch()
    (project / "b.env").touch()
    (project / "c.md").symlink_to("/etc/passwd")

    def decided(pattern: str, *weighed: Rule) -> Decision:
        reads = part("cat", harmless=True, reads=(str(project),), globs=(f"{project}/{pattern}",))
        return bash(f"cat {pattern}", weighed, cwd=str(project), reader=reader(reads))

    assert isinstance(decided("*.txt"), Allow)
    assert isinstance(decided("*.md"), Ask)
    assert isinstance(decided("[^a].*"), Ask)
    assert isinstance(decided("*.env", *rules(deny=("Read(b.env)",))), Deny)
