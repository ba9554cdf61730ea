import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.config.load import Config, load
from bridle.config.sandboxing import make_sandbox, read_policy, sandbox_for_programs
from bridle.host.sandbox.policy import Policy
from bridle.types.errors import ConfigError
from bridle.types.question import Answer, NetworkQuestion, Refused


class Files:
    """Settings files of every source."""

    def __init__(self, base: Path) -> None:
        self.project = base / "project"
        self.home = base / "home"
        self.managed = base / "managed"
        self.env = {"HOME": str(self.home), "TMPDIR": "/tmp"}

    def write(self, source: str, sandbox: Mapping[str, Any], **more: Any) -> None:
        path = {
            "user": self.home / ".claude/settings.json",
            "project": self.project / ".claude/settings.json",
            "managed": self.managed / "managed-settings.json",
        }[source]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode({"sandbox": sandbox, **more}))

    def load(self, *, trusted: bool = True) -> Config:
        self.project.mkdir(exist_ok=True)
        return load(
            cwd=str(self.project),
            env=self.env,
            flag=None,
            setting_sources=None,
            managed_dir=str(self.managed),
            trusted=trusted,
        )

    def policy(self, *, trusted: bool = True) -> Policy:
        return read_policy(self.load(trusted=trusted), cwd=str(self.project), env=self.env).policy


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _refuse(question: NetworkQuestion) -> Answer:
    del question
    return Refused(message="no")


def test_paths_are_relative_to_where_they_were_written(files: Files):
    files.write("user", {"filesystem": {"allowWrite": ["mine/", "~/home/**", "/abs", "bad/*"]}})
    files.write("project", {"filesystem": {"allowWrite": ["./build"], "denyRead": [".env"]}})
    policy = files.policy()
    home, project = str(files.home), str(files.project)
    assert policy.writable == (f"{home}/.claude/mine", f"{home}/home", "/abs", f"{project}/build")
    assert policy.unreadable == (f"{project}/.env",)


def test_own_configuration_is_never_writable(files: Files):
    never = files.policy().never_writable
    assert {f"{files.home}/.claude", f"{files.home}/.claude.json", str(files.managed)} <= set(never)


def test_read_lists_know_wildcards(files: Files):
    files.project.mkdir()
    (files.project / "a.pem").write_text("")
    (files.project / ".b.pem").write_text("")
    files.write("project", {"filesystem": {"denyRead": ["*.pem"]}})
    assert {os.path.basename(path) for path in files.policy().unreadable} == {"a.pem", ".b.pem"}


def test_untrusted_folder_narrows_but_does_not_widen(files: Files):
    files.write(
        "project",
        {
            "filesystem": {"allowWrite": ["/"], "allowRead": ["/"], "denyWrite": ["x"], "denyRead": ["y"]},
            "network": {"allowedDomains": ["evil.example"], "deniedDomains": ["good.example"]},
        },
    )
    policy = files.policy(trusted=False)
    assert policy.writable == policy.readable_again == policy.network.allowed == ()
    assert policy.network.denied == ("good.example",)
    assert f"{files.project}/x" in policy.never_writable
    assert policy.unreadable == (f"{files.project}/y",)


def test_missing_list_of_domains_asks_and_an_empty_one_allows_nothing(files: Files):
    files.write("user", {"enabled": True})
    assert (files.policy().network.mode, files.policy().network.strict) == ("proxy", False)
    files.write("user", {"network": {"allowedDomains": []}})
    assert (files.policy().network.mode, files.policy().network.strict) == ("off", True)
    files.write("user", {"network": {"allowedDomains": ["a.example"], "strictAllowlist": True}})
    assert (files.policy().network.mode, files.policy().network.strict) == ("proxy", True)


def test_rules_for_fetching_say_what_may_be_reached(files: Files):
    rules = {
        "allow": ["WebFetch(domain:a.example)", "WebFetch", "Read"],
        "deny": ["WebFetch(domain:b.example)"],
    }
    files.write("user", {"network": {"allowedDomains": ["c.example"]}}, permissions=rules)
    network = files.policy().network
    assert (network.allowed, network.denied) == (("c.example", "a.example"), ("b.example",))
    files.write("user", {"enabled": True}, permissions=rules)
    assert files.policy().network.allowed == ("a.example",)
    files.write("user", {"network": {"allowedDomains": []}}, permissions=rules)
    assert (files.policy().network.mode, files.policy().network.allowed) == ("off", ())


def test_rules_for_fetching_of_an_untrusted_folder_open_nothing(files: Files):
    rules = {"allow": ["WebFetch(domain:a.example)"], "deny": ["WebFetch(domain:b.example)"]}
    files.write("project", {}, permissions=rules)
    network = files.policy(trusted=False).network
    assert (network.allowed, network.denied) == ((), ("b.example",))


def test_files_with_credentials_are_hidden_relative_to_where_they_were_named(files: Files):
    files.write("user", {"credentials": {"files": [{"path": "~/.netrc", "mode": "deny"}]}})
    files.write("project", {"credentials": {"files": [{"path": "./token", "mode": "deny"}]}})
    assert set(files.policy().unreadable) == {f"{files.home}/.netrc", f"{files.project}/token"}


def test_what_is_not_supported_is_told_in_one_line_each(files: Files):
    files.write(
        "user",
        {
            "credentials": {
                "files": [{"path": "~/.netrc", "mode": "mask"}],
                "envVars": [{"name": "TOKEN", "mode": "mask"}, {"name": "KEY", "mode": "deny"}],
                "allowPlaintextInject": True,
                "awsPairs": [{"a": "b"}],
                "sigv4": {"streaming": "passthrough"},
            },
            "network": {"tlsTerminate": {"caCertPath": "/x", "caKeyPath": "/y"}},
        },
    )
    wish = read_policy(files.load(), cwd=str(files.project), env={**files.env, "HTTPS_PROXY": "socks5://h:1"})
    told = "\n".join(wish.problems)
    for key in (
        "~/.netrc",
        "TOKEN",
        "allowPlaintextInject",
        "awsPairs",
        "sigv4",
        "tlsTerminate",
        "HTTPS_PROXY",
    ):
        assert told.count(key) == 1, told
    assert wish.policy.hidden_variables == ("TOKEN", "KEY")
    assert wish.policy.unreadable == (f"{files.home}/.netrc",)


def test_managed_domains_can_be_the_only_ones(files: Files):
    files.write("managed", {"network": {"allowManagedDomainsOnly": True, "allowedDomains": ["good.example"]}})
    files.write("user", {"network": {"allowedDomains": ["other.example"]}})
    network = files.policy().network
    assert (network.allowed, network.strict) == (("good.example",), True)


def test_managed_reading_can_be_the_only_one(files: Files):
    files.write("managed", {"filesystem": {"allowManagedReadPathsOnly": True, "allowRead": ["/managed"]}})
    files.write("user", {"filesystem": {"allowRead": ["/mine"]}})
    assert files.policy().readable_again == ("/managed",)


async def _make(files: Files, **options: Any) -> Any:
    warnings: list[str] = []
    sandbox = await make_sandbox(
        files.load(),
        cwd=str(files.project),
        env=files.env,
        roots=lambda: (str(files.project),),
        ask=_refuse,
        warn=warnings.append,
        **options,
    )
    return sandbox, warnings


async def test_sandbox_is_off_unless_it_is_turned_on(files: Files):
    assert await _make(files) == (None, [])
    files.write("user", {"enabled": False})
    assert await _make(files) == (None, [])


async def test_required_sandbox_that_is_missing_stops_the_start(files: Files):
    files.write("user", {"enabled": True, "failIfUnavailable": True})
    before = set(os.listdir("/tmp"))
    with pytest.raises(ConfigError):
        await _make(files, platform="plan9")
    assert not [name for name in set(os.listdir("/tmp")) - before if name.startswith("bridle-")]


async def test_missing_sandbox_is_said_once(files: Files):
    files.write("user", {"enabled": True})
    sandbox, warnings = await _make(files, platform="plan9")
    await sandbox.close()
    assert len(warnings) == 1
    assert "plan9" in warnings[0]


async def test_broken_helper_is_passed_over(files: Files):
    files.managed.mkdir(parents=True)
    (files.managed / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (files.managed / "bwrap").chmod(0o755)
    files.write(
        "managed", {"enabled": True, "failIfUnavailable": True, "bwrapPath": str(files.managed / "bwrap")}
    )
    sandbox, warnings = await _make(files)
    assert sandbox.confine(("/bin/true",), cwd="/", env={}).argv[0] != str(files.managed / "bwrap")
    await sandbox.close()
    assert warnings == []


async def test_programs_share_the_sandbox_only_when_its_scope_says_so(files: Files):
    files.write("user", {"enabled": True})
    sandbox, _ = await _make(files)
    assert sandbox_for_programs(files.load(), sandbox) is None
    files.write("user", {"enabled": True, "scope": "all"})
    assert sandbox_for_programs(files.load(), sandbox) is sandbox
    await sandbox.close()
