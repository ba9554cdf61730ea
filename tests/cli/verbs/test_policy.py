"""`bridle policy` and `bridle debug permissions`."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.verbs.debug import answer
from bridle.cli.verbs.policy import read_call
from bridle.config.load import load
from bridle.config.options import SessionOptions
from bridle.session import permission_choices
from bridle.types.errors import UsageError
from bridle.types.permission import Effect, Rule
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _settings(program: Program, name: str, **permissions: Any) -> Path:
    path = program.project / ".claude" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"permissions": permissions}, indent=2), encoding="utf-8")
    return path


def decided(tmp_path: Path, tool: str, input: dict[str, Any], **fields: Any) -> dict[str, Any]:
    (tmp_path / "project").mkdir(exist_ok=True)
    line = {
        "id": 7,
        "tool": tool,
        "input": input,
        "cwd": f"{tmp_path}/project",
        "home": str(tmp_path),
        **fields,
    }
    return answer(json.dumps(line).encode(), {})


async def test_why_names_the_rule_its_file_and_its_line(tmp_path: Path):
    program = Program(tmp_path)
    path = _settings(program, "settings.json", deny=["Read(.env)", "Bash(git push *)"])

    done = await program.run("policy", "why", "Bash(ls && git push origin)")

    assert done.code == 0
    assert done.out.startswith("deny: denied by rule Bash(git push *)\n")
    assert f"project settings, {path}:5" in done.out
    assert "* deny rule" in done.out
    told = json.loads((await program.run("policy", "why", "Bash(git push)", "--json")).out)
    assert (told["decision"], told["rule"]) == (
        "deny",
        {"rule": "Bash(git push *)", "source": "projectSettings", "file": str(path), "line": 5},
    )
    assert [check["check"] for check in told["checks"]][:2] == ["hook denial", "deny rule"]


async def test_why_takes_json_and_a_mode(tmp_path: Path):
    program = Program(tmp_path)
    call = json.dumps({"tool": "Edit", "input": {"file_path": "a.py"}})
    for mode, word in (("default", "ask"), ("acceptEdits", "allow"), ("plan", "deny"), ("manual", "ask")):
        done = await program.run("policy", "why", call, "--mode", mode)
        assert done.out.startswith(f"{word}: ")


async def test_why_refuses_what_is_no_call(tmp_path: Path):
    program = Program(tmp_path)
    wrong = {
        ("why", "Bash("): 1,
        ("why", "{"): 1,
        ("why", "Read(a)", "--mode", "x"): 1,
        ("what",): 1,
        ("why",): 1,
    }
    for words, code in wrong.items():
        done = await program.run("policy", *words)
        assert (done.code, done.out) == (code, "") and done.err.startswith("error: ")


def test_a_call_is_written_like_a_rule():
    assert read_call("Bash(a (b) c)") == ("Bash", {"command": "a (b) c"})
    assert read_call("Read(/etc/passwd)") == ("Read", {"file_path": "/etc/passwd"})
    assert read_call("WebFetch(domain:x.org)") == ("WebFetch", {"url": "https://x.org/"})
    assert read_call("mcp__a__b") == ("mcp__a__b", {})
    with pytest.raises(UsageError):
        read_call("(x)")
    assert read_call("Skill(pdf)") == ("Skill", {"skill": "pdf"})
    assert read_call("Agent(Explore)")[1]["subagent_type"] == "Explore"


async def test_lint_tells_file_and_line_and_fails(tmp_path: Path):
    program = Program(tmp_path)
    assert (await program.run("policy", "lint")).out == "0 rules, no problems\n"
    path = _settings(
        program,
        "settings.json",
        allow=["Bash(git push *)", "mcp__*", "Write(src/**)", "Nothing"],
        deny=["Bash(git *)", "Bash(x"],
    )

    done = await program.run("policy", "lint")

    assert done.code == 1
    lines = sorted(line.removeprefix(f"{path}:").partition(":")[0] for line in done.out.splitlines())
    assert lines == ["11", "4", "5", "6", "7"]


async def test_the_debug_entry_answers_line_by_line(tmp_path: Path):
    program = Program(tmp_path)
    lines = [
        {"id": "a", "tool": "Bash", "input": {"command": "ls"}, "cwd": str(program.project)},
        "not a call",
        {"id": "b", "tool": "Bash", "input": {}},
        {"id": "c", "tool": "Read", "input": {"file_path": "/etc/passwd"}, "mode": "strange"},
        {
            "id": "d",
            "tool": "Bash",
            "input": {"command": "ls; rm x"},
            "rules": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]},
        },
    ]
    _settings(program, "settings.json", deny=["Bash"])

    done = await program.run("debug", "permissions", "--json", stdin="\n".join(map(json.dumps, lines)))

    told = done.frames
    assert [each["id"] for each in told] == ["a", None, "b", "c", "d"]
    assert [each.get("decision") for each in told] == ["allow", None, None, None, "deny"]
    assert all("error" in each for each in told[1:4])
    assert told[4]["rule"] == "Bash(rm:*)"
    assert [(part["command"], part["decision"]) for part in told[4]["parts"]] == [
        ("ls", "allow"),
        ("rm x", "deny"),
    ]
    assert (done.code, (await program.run("debug", "nothing")).code) == (0, 1)


@pytest.mark.parametrize(
    ("tool", "input", "fields", "expected"),
    [
        ("Read", {"file_path": "a"}, {}, "allow"),
        ("Read", {"file_path": "~/x"}, {}, "ask"),
        ("Read", {"file_path": "~/x"}, {"rules": {"allow": ["Read(~/x)"]}}, "allow"),
        ("Read", {"file_path": "~/.claude/x"}, {"rules": {"allow": ["Read(/x)"]}}, "ask"),
        (
            "Read",
            {"file_path": "~/.claude/x"},
            {"rules": {"allow": ["Read(/x)"]}, "rules_source": "userSettings"},
            "allow",
        ),
        ("Edit", {"file_path": "a"}, {}, "ask"),
        ("Edit", {"file_path": "a"}, {"mode": "acceptEdits"}, "allow"),
        ("Write", {"file_path": "a"}, {"mode": "dontAsk"}, "deny"),
        ("Write", {"file_path": ".git/x"}, {"mode": "acceptEdits"}, "ask"),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, {"mode": "acceptEdits"}, "allow"),
        ("Glob", {"path": "/etc"}, {}, "ask"),
        ("Grep", {"path": "."}, {}, "allow"),
        ("Grep", {}, {}, "allow"),
        ("Bash", {"command": "make"}, {"rules": {"allow": ["Bash(make)"]}}, "allow"),
        ("Bash", {"command": "make"}, {"rules": {"allow": ["Bash(make)"]}, "trusted": False}, "ask"),
        (
            "Bash",
            {"command": "make"},
            {"rules": {"allow": ["Bash(make)"]}, "trusted": False, "rules_source": "userSettings"},
            "allow",
        ),
        ("Bash", {"command": "make"}, {"rules": {"deny": ["Bash(make)"]}, "trusted": False}, "deny"),
        ("Bash", {"command": "make"}, {"rules": {"allow": ["Bash(make"]}}, "ask"),
        ("Bash", {"command": "ls"}, {"shell": "fish"}, "ask"),
        ("mcp__s__t", {"a": 1}, {}, "ask"),
        ("mcp__s__t", {"a": 1}, {"rules": {"allow": ["mcp__s"]}}, "allow"),
        ("WebFetch", {"url": "https://x.org/a"}, {}, "ask"),
        ("WebFetch", {"url": "https://x.org/a"}, {"rules": {"allow": ["WebFetch(domain:x.org)"]}}, "allow"),
        ("WebFetch", {"url": "file:///etc/passwd"}, {"rules": {"allow": ["WebFetch"]}}, "deny"),
        ("WebFetch", {"url": "https://a:b@x.org/"}, {"rules": {"allow": ["WebFetch"]}}, "deny"),
        ("WebFetch", {"url": "http://169.254.169.254/"}, {"rules": {"allow": ["WebFetch"]}}, "ask"),
        (
            "WebFetch",
            {"url": "https://X.org./"},
            {"rules": {"allow": ["WebFetch(domain:x.org)"]}, "dns": {"x.org": ["93.184.216.34", "10.0.0.1"]}},
            "deny",
        ),
    ],
)
def test_the_debug_entry_decides_as_a_session_would(
    tmp_path: Path, tool: str, input: dict[str, Any], fields: dict[str, Any], expected: str
):
    told = decided(tmp_path, tool, input, **fields)
    assert (told["id"], told["decision"]) == (7, expected)


def test_more_folders_are_worked_in(tmp_path: Path):
    told = decided(tmp_path, "Read", {"file_path": "/opt/x"}, additional_directories=["/opt"])
    assert told["decision"] == "allow"
    untrusted = decided(
        tmp_path, "Read", {"file_path": "/opt/x"}, additional_directories=["/opt"], trusted=False
    )
    assert untrusted["decision"] == "ask"


@pytest.mark.parametrize(
    ("redirects", "dns", "expected"),
    [
        ([], {}, "follow"),
        (["/b", "https://www.x.org/c"], {}, "follow"),
        (["/b", "https://y.org/"], {}, "report"),
        (["https://x.org.evil.com/"], {}, "report"),
        (["ftp://x.org/"], {}, "report"),
        (["file:///etc/passwd"], {}, "report"),
        (["https://u:p@x.org/"], {}, "report"),
        (["https://x.org@y.org/"], {}, "report"),
        (["https://x.org:99999/"], {}, "report"),
        (["https://x.org:8443/"], {}, "report"),
        (["/b"], {"x.org": ["127.0.0.1"]}, "error"),
        (["/b"] * 12, {}, "error"),
    ],
)
def test_redirects_are_followed_on_one_host_only(
    tmp_path: Path, redirects: list[str], dns: dict[str, list[str]], expected: str
):
    """S45"""
    told = decided(tmp_path, "WebFetch", {"url": "https://x.org/a"}, redirects=redirects, dns=dns)
    assert told["redirect"] == expected


def test_links_on_disk_count_in_the_debug_entry(tmp_path: Path):
    """S31"""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/link").symlink_to("/etc")
    assert decided(tmp_path, "Read", {"file_path": "link/passwd"})["decision"] == "ask"
    assert decided(tmp_path, "Bash", {"command": "cat link/passwd"})["decision"] == "ask"
    denied = {"deny": ["Read(//etc/**)"]}
    assert decided(tmp_path, "Read", {"file_path": "link/passwd"}, rules=denied)["decision"] == "deny"


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'"x"', b"\xff", b'{"tool":7}', b"[" * 100_000])
def test_any_line_is_answered(text: bytes):
    assert "error" in answer(text, {})


async def test_what_a_host_agrees_to_is_written_down_and_asked_only_once(tmp_path: Path):
    input = {"command": "install -d made"}
    calls = [step({"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": input}) for n in range(2)]
    async with MessagesServer([calls[0], step("one"), calls[1], step("two")]) as server:
        program = Program(tmp_path, server.url)
        local = _settings(program, "settings.local.json", deny=["Bash(rm *)"])
        async with FakeHost(program, "--permission-prompt-tool", "stdio") as host:
            host.prompt("go")
            asked = await host.asked()
            suggested = asked["request"]["permission_suggestions"]
            host.answer(asked, {"behavior": "allow", "updatedPermissions": suggested})
            await host.result()
            host.prompt("again")
            assert (await host.result())["permission_denials"] == []
    questions = [frame for frame in host.frames if frame["type"] == "control_request"]
    assert len(questions) == 1
    assert [update["type"] for update in suggested] == ["addRules"]
    written = json.loads(local.read_text(encoding="utf-8"))["permissions"]
    assert written["deny"] == ["Bash(rm *)"]
    assert len(written["allow"]) == 1


def test_what_was_granted_outlives_a_change_of_the_settings(tmp_path: Path):
    path = tmp_path / "settings.json"
    options = SessionOptions(allowed_tools=("Read",))

    def rules_after(current: tuple[Rule, ...], **permissions: Any) -> tuple[Rule, ...]:
        path.write_text(json.dumps({"permissions": permissions}), encoding="utf-8")
        env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}
        config = load(cwd=str(tmp_path / "project"), env=env, flag=None, setting_sources=("user",))
        return permission_choices.refresh_rules(options, config, current, trusted=True)[0]

    granted = Rule(Effect.ALLOW, "Bash", "make", "localSettings")
    first = rules_after((granted,), allow=["Bash(ls)"])
    assert [str(rule) for rule in first] == ["Bash(ls)", "Read", "Bash(make)"]
    second = rules_after(first, deny=["Bash(rm *)"])
    assert [str(rule) for rule in second] == ["Bash(rm *)", "Read", "Bash(make)"]
