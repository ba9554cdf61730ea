"""Past calls under other rules: `bridle policy replay|learn|diff|test|why`."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _tool(number: int, name: str, **input: Any) -> Any:
    return step({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input})


async def _conversation(folder: Path) -> Program:
    """Five calls: one allowed, two approved, one refused by a person, one denied by a rule."""
    calls = [
        _tool(1, "Bash", command="cat a.txt"),
        _tool(2, "Bash", command="npm test"),
        _tool(3, "Bash", command="npm test -- --watch"),
        _tool(4, "Bash", command="npm publish"),
        _tool(5, "Bash", command="touch denied.txt"),
        step("done"),
    ]
    async with MessagesServer(calls) as server:
        program = Program(folder, server.url)
        (program.project / "a.txt").write_text("one\n")
        flags = ("--permission-prompt-tool", "stdio", "--disallowedTools", "Bash(touch *)")
        async with FakeHost(program, *flags) as host:
            host.prompt("go")
            for behavior in ("allow", "allow", "deny"):
                host.answer(await host.asked(), {"behavior": behavior, "message": "no"})
            await host.result()
    return program


def _rules(program: Program, name: str, **permissions: Any) -> str:
    (program.project / name).write_text(json.dumps({"permissions": permissions}))
    return name


async def test_past_calls_are_decided_again_and_nothing_runs_or_changes(tmp_path: Path):
    program = await _conversation(tmp_path)
    before = {path: path.read_bytes() for path in program.transcripts()}
    as_it_was = json.loads((await program.run("policy", "replay", "--json")).out)
    # Only the denial of the flag is not in force any more: the command would be asked about.
    assert [(each["subject"], each["was"], each["now"]) for each in as_it_was["changed"]] == [
        ("touch denied.txt", "deny", "ask")
    ]
    assert (as_it_was["calls"], as_it_was["same"]) == (5, 4)
    new = _rules(program, "new.json", allow=["Bash(npm test:*)", "Bash(touch:*)"], deny=["Read(a.txt)"])
    told = json.loads((await program.run("policy", "replay", "--rules", new, "--json")).out)
    assert [(each["subject"], each["was"], each["now"], each["rule"]) for each in told["changed"]] == [
        ("touch denied.txt", "deny", "allow", "Bash(touch:*)"),
        ("npm test", "ask", "allow", "Bash(npm test:*)"),
        ("npm test -- --watch", "ask", "allow", "Bash(npm test:*)"),
        ("cat a.txt", "allow", "deny", "Read(a.txt)"),
    ]
    shown = await program.run("policy", "replay", "--rules", new)
    assert "now allow: 3 calls" in shown.out
    assert "1 × was deny  Bash(touch denied.txt)  rule Bash(touch:*)  [toolu_5]" in shown.out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program.project = elsewhere
    assert "0 calls of 0 sessions" in (await program.run("policy", "replay")).out
    assert "5 calls of 1 sessions" in (await program.run("policy", "replay", "--all")).out
    wrong = await program.run("policy", "replay", "--sessions", "nowhere")
    assert (wrong.code, "There is no session nowhere." in wrong.err) == (1, True)
    assert {path: path.read_bytes() for path in program.transcripts()} == before
    assert not (tmp_path / "project" / "denied.txt").exists()


async def test_why_tells_of_a_past_call_as_it_was_and_as_it_would_be(tmp_path: Path):
    program = await _conversation(tmp_path)
    approved = await program.run("policy", "why", "toolu_2")
    assert "was ask: a person answered, run" in approved.out
    assert "With the rules and files of now:\nask: npm isn't known to be read-only" in approved.out
    refused = json.loads((await program.run("policy", "why", "toolu_4", "--json")).out)
    assert refused["was"] == {"decision": "ask", "by": "user", "ran": False, "reason": "no"}
    assert (refused["tool"], refused["now"]["decision"]) == ("Bash", "ask")
    denied = await program.run("policy", "why", "toolu_5")
    assert "was deny" in denied.out


async def test_what_was_approved_becomes_the_fewest_rules_and_is_written_only_when_told(tmp_path: Path):
    program = await _conversation(tmp_path)
    settings = program.project / ".claude" / "settings.local.json"
    learned = json.loads((await program.run("policy", "learn", "--json")).out)
    assert [(each["rule"], each["answers"]) for each in learned["rules"]] == [("Bash(npm test:*)", 2)]
    shown = await program.run("policy", "learn")
    assert "1 rules would have answered 2 of them" in shown.out
    assert "Nothing was written." in shown.out
    assert not settings.exists()
    assert "no rule to propose" in (await program.run("policy", "learn", "--at-least", "5")).out
    written = await program.run("policy", "learn", "--write", "local")
    assert written.code == 0, written.err
    assert json.loads(settings.read_text())["permissions"]["allow"] == ["Bash(npm test:*)"]
    assert (await program.run("trust", "-y")).code == 0
    assert "no rule to propose" in (await program.run("policy", "learn")).out


async def test_a_rule_that_allows_what_a_person_refused_is_left_out(tmp_path: Path):
    calls = [
        _tool(1, "Bash", command="make deploy"),
        _tool(2, "Bash", command="make deploy FORCE=1"),
        step("done"),
    ]
    async with MessagesServer(calls) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--permission-prompt-tool", "stdio") as host:
            host.prompt("go")
            for behavior in ("allow", "deny"):
                host.answer(await host.asked(), {"behavior": behavior, "message": "no"})
            await host.result()
    learned = json.loads((await program.run("policy", "learn", "--json")).out)
    assert learned["rules"] == []
    (left_out,) = learned["left_out"]
    assert "it would allow Bash(make deploy FORCE=1), which you refused" in left_out


async def test_two_sets_of_rules_are_compared_by_rule_and_by_history(tmp_path: Path):
    program = await _conversation(tmp_path)
    old = _rules(program, "old.json", allow=["Bash(npm test:*)"])
    new = _rules(program, "new.json", deny=["Bash(npm test:*)"])
    compared = await program.run("policy", "diff", old, new)
    assert compared.code == 1
    assert "- allow Bash(npm test:*)\n+ deny Bash(npm test:*)\n" in compared.out
    assert "now deny: 2 calls" in compared.out
    assert (await program.run("policy", "diff", old, old)).code == 0
    project = program.project / ".claude" / "settings.json"
    project.parent.mkdir()
    project.write_text((program.project / old).read_text())
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", ".claude"), ("commit", "-qm", "one")):
        subprocess.run([*git, *command], cwd=program.project, env=program.env, check=True)
    assert "no rule differs" in (await program.run("policy", "diff", "HEAD", old)).out
    wrong = await program.run("policy", "diff", "nowhere")
    assert "nowhere is neither a settings file nor a commit" in wrong.err


async def test_expectations_are_checked_line_by_line(tmp_path: Path):
    program = Program(tmp_path)
    rules = _rules(program, "rules.json", allow=["Bash(make test)"], deny=["Read(.env)"])
    file = program.project / "policy.txt"
    file.write_text(
        "# what this project relies on\n"
        "allow Bash(make test)\n"
        "deny Read(.env)\n"
        "deny Bash(cat .env)\n"
        "\n"
        "ask Write(a.txt)\n"
        "allow [acceptEdits] Write(a.txt)\n"
        'ask {"tool": "Bash", "input": {"command": "git push"}}\n'
    )
    checked = await program.run("policy", "test", "policy.txt", "--rules", rules)
    assert (checked.code, checked.out) == (0, "6 expectations, none failed\n")
    file.write_text("allow Bash(git push)\ndeny Bash(ls)\n")
    checked = await program.run("policy", "test", "policy.txt", "--rules", rules)
    assert checked.code == 1
    assert "policy.txt:1: Bash(git push): ask, not allow: " in checked.out
    assert checked.out.endswith("2 expectations, 2 failed\n")
    for text, words in {
        "maybe Bash(ls)": "policy.txt:1: write allow, ask or deny",
        "allow [sometimes] Bash(ls)": "policy.txt:1: write allow, ask or deny",
        "": "has no expectations",
    }.items():
        file.write_text(text)
        wrong = await program.run("policy", "test", "policy.txt")
        assert (wrong.code, words in wrong.err) == (1, True), wrong
    assert "cannot be read" in (await program.run("policy", "test", "nowhere.txt")).err
    (program.project / "bad.json").write_text('{"permissions": {"allow": ["Bash("]}}')
    wrong = await program.run("policy", "replay", "--rules", "bad.json")
    assert "is not a permission rule" in wrong.err
