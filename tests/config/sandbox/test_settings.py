import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.config.load import Config, load
from bridle.config.sandbox.settings import make_sandbox, read_policy, sandbox_for_programs
from bridle.host.sandbox.policy import Policy
from bridle.types.errors import ConfigError, ToolError
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


def test_masks_are_read_with_the_hosts_that_the_user_allows(files: Files):
    files.write(
        "user",
        {
            "network": {"allowedDomains": ["mine.example"], "tlsTerminate": {}},
            "credentials": {
                "files": [{"path": "~/.netrc", "mode": "mask", "extract": "password (.*)"}],
                "envVars": [
                    {"name": "TOKEN", "mode": "mask"},
                    {"name": "KEY", "mode": "mask", "injectHosts": ["a.example"]},
                    {"name": "GONE", "mode": "mask"},
                ],
                "sigv4": {"streaming": "passthrough"},
            },
        },
    )
    files.write(
        "project",
        {
            "network": {"allowedDomains": ["evil.example"], "tlsTerminate": {}},
            "credentials": {
                "envVars": [{"name": "GONE", "mode": "deny"}, {"name": "OTHER", "mode": "mask"}],
                "awsPairs": [{"accessKeyIdVar": "TOKEN", "secretAccessKeyVar": "KEY"}],
            },
        },
    )
    wish = read_policy(files.load(), cwd=str(files.project), env=files.env)
    masks = wish.masks
    assert [(v.name, v.mask.hosts) for v in masks.variables] == [
        ("TOKEN", ("mine.example",)), ("KEY", ("a.example",)),
    ]  # fmt: skip
    assert [(f.path, f.mask.extract) for f in masks.files] == [(f"{files.home}/.netrc", "password (.*)")]
    assert (masks.signing.streaming, masks.signing.presigned, masks.pairs) == ("passthrough", "deny", ())
    assert wish.policy.hidden_variables == ("GONE", "OTHER")
    assert len(wish.problems) == 1 and "OTHER" in wish.problems[0]


def test_aws_pairs_are_whole_and_stand_alone(files: Files):
    usual = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    variables = [{"name": name, "mode": "mask"} for name in (*usual, "A", "B")]
    network = {"tlsTerminate": {}}
    files.write("user", {"network": network, "credentials": {"envVars": variables}})
    assert _pairs(files) == [usual]
    files.write("user", {"network": network, "credentials": {"envVars": variables[:2]}})
    assert _pairs(files) == [(*usual[:2], None)]
    named = [{"accessKeyIdVar": "A", "secretAccessKeyVar": "B"}]
    files.write("user", {"network": network, "credentials": {"envVars": variables, "awsPairs": named}})
    assert _pairs(files) == [("A", "B", None), usual]
    for wrong in ("A", "UNKNOWN"):
        wrongly = [{"accessKeyIdVar": "A", "secretAccessKeyVar": wrong}]
        files.write("user", {"network": network, "credentials": {"envVars": variables, "awsPairs": wrongly}})
        assert _pairs(files) == [usual]
        assert "awsPairs" in "".join(_problems(files))


def _pairs(files: Files) -> list[tuple[str, str, str | None]]:
    masks = read_policy(files.load(), cwd=str(files.project), env=files.env).masks
    return [(pair.access_key, pair.secret_key, pair.session_token) for pair in masks.pairs]


def _problems(files: Files) -> tuple[str, ...]:
    return read_policy(files.load(), cwd=str(files.project), env=files.env).problems


def test_what_cannot_come_about_is_told_in_one_line_each(files: Files):
    masked: dict[str, Any] = {"envVars": [{"name": "TOKEN", "mode": "mask"}]}
    files.write("user", {"credentials": masked})
    assert [line.count("tlsTerminate") for line in _problems(files)] == [1]
    files.write("user", {"credentials": {**masked, "allowPlaintextInject": True}})
    assert _problems(files) == ()
    files.write("user", {"credentials": masked, "network": {"tlsTerminate": {}, "httpProxyPort": 1}})
    assert [line.count("httpProxyPort") for line in _problems(files)] == [1]
    entries = {"files": [{"path": "x", "mode": "mask", "extract": "("}]}
    files.write("user", {"credentials": entries, "network": {"tlsTerminate": {}}})
    assert [line.count("group") for line in _problems(files)] == [1]
    assert files.policy().unreadable == (f"{files.home}/.claude/x",)
    files.env["HTTPS_PROXY"] = "socks5://h:1"
    assert "HTTPS_PROXY" in _problems(files)[-1]


@pytest.mark.parametrize("wish", ["warn", "deny", "error"])
async def test_mask_that_does_not_fit_is_told_hidden_or_an_error(files: Files, wish: str):
    entry = {"name": "TOKEN", "mode": "mask", "extract": "secret=(.*)", "onExtractNoMatch": wish}
    settings = {"enabled": True, "credentials": {"envVars": [entry]}, "network": {"tlsTerminate": {}}}
    files.write("user", settings)
    files.env["TOKEN"] = "nothing of the kind"
    sandbox, warnings = await _make(files)
    try:
        assert "TOKEN" in "".join(warnings)
        if wish == "error":
            with pytest.raises(ToolError):
                sandbox.confine(("/bin/true",), cwd="/", env=files.env)
        else:
            confined = sandbox.confine(("/bin/true",), cwd="/", env=files.env)
            assert ("TOKEN" in confined.env) == (wish == "warn")
    finally:
        await sandbox.close()


@pytest.mark.parametrize("tls", [{"caCertPath": "/x", "caKeyPath": "/y"}, {"caCertPath": "/x"}])
async def test_authority_that_cannot_be_used_leaves_everything_masked(files: Files, tls: dict[str, str]):
    masked: dict[str, Any] = {"envVars": [{"name": "TOKEN", "mode": "mask"}]}
    files.write("user", {"enabled": True, "credentials": masked, "network": {"tlsTerminate": tls}})
    sandbox, warnings = await _make(files)
    confined = sandbox.confine(("/bin/true",), cwd="/", env={**files.env, "TOKEN": "real"})
    await sandbox.close()
    assert "tlsTerminate" in warnings[0] and len(warnings) == 1
    assert confined.env["TOKEN"].startswith("bridle_") and "SSL_CERT_FILE" not in confined.env


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
    # A short name, as sockets need it: a longer one would not be used.
    with tempfile.TemporaryDirectory(prefix="box-") as base:
        files.env["TMPDIR"] = base
        with pytest.raises(ConfigError):
            await _make(files, platform="plan9")
        assert os.listdir(base) == []


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
