import json
from pathlib import Path
from typing import Any

import pytest

from bridle.config import approvals
from bridle.config.load import load
from bridle.config.mcp.entry import expand, read_entry
from bridle.config.mcp.locations import is_any_configured
from bridle.config.mcp.servers import (
    UNTRUSTED,
    FoundServers,
    ServerSources,
    desktop_config_path,
    find_servers,
    host_server,
    read_desktop_config,
)
from bridle.types.errors import ConfigError
from bridle.types.services.mcp import (
    HttpServer,
    IdeWebSocketServer,
    OAuthSettings,
    SdkServer,
    SseServer,
    StdioServer,
    WebSocketServer,
)
from tests.tables import table


class Place:
    """A project in a repository, a home and an administrator's folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.managed = folder / "home", folder / "project", folder / "managed"
        for path in (self.home, self.project / ".git", self.managed):
            path.mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.env = {"HOME": str(self.home), "TOKEN": "t0"}

    def write(self, path: Path, servers: Any, **more: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers, **more}, indent=2))

    def state(self, **values: Any) -> None:
        (self.home / ".claude.json").write_text(json.dumps(values))

    def settings(self, **values: Any) -> None:
        (self.home / ".claude").mkdir(exist_ok=True)
        (self.home / ".claude" / "settings.json").write_text(json.dumps(values))

    def find(
        self, *, cwd: Path | None = None, trusted: bool = True, sources: Any = None, **wish: Any
    ) -> FoundServers:
        config = load(
            cwd=str(cwd or self.project),
            env=self.env,
            flag=None,
            setting_sources=sources,
            managed_dir=str(self.managed),
            trusted=trusted,
        )
        return find_servers(ServerSources(config=config, env=self.env, trusted=trusted, **wish))

    def names(self, **wish: Any) -> dict[str, tuple[str, str]]:
        return {each.name: (each.scope, each.off) for each in self.find(**wish).servers}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _run(word: str) -> dict[str, Any]:
    return {"command": "run", "args": [word]}


def _words(found: FoundServers) -> dict[str, str]:
    return {each.name: each.config.args[0] for each in found.servers if isinstance(each.config, StdioServer)}


@pytest.mark.parametrize(
    ("raw", "config"),
    [
        ({"command": "c"}, StdioServer(command="c")),
        ({"type": "stdio", "command": "c", "args": ["a"], "env": {"K": "${TOKEN}"}, "timeout": 5},
         StdioServer(command="c", args=("a",), env={"K": "t0"}, timeout=5)),
        ({"type": "http", "url": "https://x/${TOKEN}", "headers": {"A": "Bearer ${NO:-none}"}},
         HttpServer(url="https://x/t0", headers={"A": "Bearer none"})),
        ({"type": "streamable-http", "url": "http://x", "alwaysLoad": True, "unknown": 1},
         HttpServer(url="http://x", always_load=True)),
        ({"type": "sse", "url": "https://x", "oauth": {"clientId": "i", "callbackPort": 7}},
         SseServer(url="https://x", oauth=OAuthSettings(client_id="i", callback_port=7))),
        ({"type": "ws", "url": "wss://x", "headersHelper": "h"},
         WebSocketServer(url="wss://x", headers_helper="h")),
        ({"type": "ws-ide", "url": "ws://x", "ideName": "e", "authToken": "t"},
         IdeWebSocketServer(url="ws://x", ide_name="e", auth_token="t")),
        ({"type": "sdk"}, SdkServer(name="n")),
        ({"type": "sdk", "name": "other"}, SdkServer(name="other")),
    ],
)  # fmt: skip
def test_every_kind_of_entry_is_read(raw: dict[str, Any], config: Any):
    assert read_entry("n", raw, {"TOKEN": "t0"}) == config


@table(
    ("raw", "why"),
    [
        ("text", "must be an object"),
        ({}, "needs a command"),
        ({"url": "https://x"}, 'add "type": "http"'),
        ({"type": "carrier-pigeon"}, "carrier-pigeon"),
        ({"type": 5}, "unknown type 5; use stdio, http, sse or ws"),
        ({"type": "http"}, "needs a url"),
        ({"type": "http", "url": "ftp://x"}, "ftp://x"),
        ({"type": "ws", "url": "https://x"}, "ws://"),
        ({"command": ["a"]}, "Expected `str`"),
        ({"command": "c", "args": "a"}, "args"),
        ({"command": "c", "env": {"A": 1}}, "env"),
        ({"command": "${MISSING}"}, r"\$\{MISSING\}, which is not set"),
    ],
)
def test_entry_that_cannot_be_used_says_why(raw: Any, why: str):
    with pytest.raises(ConfigError, match=why):
        read_entry("n", raw, {})


def test_variables_are_filled_in_everywhere_and_only_once():
    value = {"a": ["${A}-${B:-b}-${C:-}", 5], "b": "$A ${not a name} ${D:-${A}}"}
    assert expand(value, {"A": "${B}"}) == {"a": ["${B}-b-", 5], "b": "$A ${not a name} ${A}"}


def test_nearest_scope_wins(place: Place):
    place.state(
        mcpServers={"a": _run("user"), "b": _run("user"), "c": _run("user"), "d": _run("user")},
        projects={str(place.project): {"mcpServers": {"a": _run("local"), "b": _run("local")}}},
    )
    place.write(
        place.project / ".mcp.json", {"a": _run("project"), "c": _run("project"), "b": _run("project")}
    )
    found = place.find(flags=(json.dumps({"mcpServers": {"a": _run("flag")}}),))
    assert _words(found) == {"a": "flag", "b": "local", "c": "project", "d": "user"}
    assert {each.name: each.scope for each in found.servers} == {
        "a": "dynamic", "b": "local", "c": "project", "d": "user",
    }  # fmt: skip
    assert found.problems == ()


def test_project_files_count_up_to_the_top_of_the_repository(place: Place):
    inner = place.project / "a" / "b"
    inner.mkdir(parents=True)
    place.write(place.project.parent / ".mcp.json", {"outside": _run("x")})
    place.write(place.project / ".mcp.json", {"one": _run("top"), "two": _run("top")})
    place.write(inner / ".mcp.json", {"one": _run("near")})
    assert _words(place.find(cwd=inner)) == {"one": "near", "two": "top"}


def test_sources_that_were_not_asked_for_do_not_count(place: Place):
    place.state(mcpServers={"u": _run("x")}, projects={str(place.project): {"mcpServers": {"l": _run("x")}}})
    place.write(place.project / ".mcp.json", {"p": _run("x")})
    assert list(place.names(sources=())) == []
    assert list(place.names(sources=("user",))) == ["u"]
    assert list(place.names(sources=("project",))) == ["p"]
    assert list(place.names(sources=("local",))) == ["l"]


def test_strict_and_bare_sessions_have_only_what_the_flag_names(place: Place):
    place.state(mcpServers={"u": _run("x")})
    place.write(place.project / ".mcp.json", {"p": _run("x")})
    place.write(place.project / "more.json", {"f": _run("x")})
    assert list(place.names(flags=("more.json",), strict=True)) == ["f"]
    assert list(place.names(flags=("more.json",), discovers=False)) == ["f"]
    assert list(place.names(strict=True)) == []


def test_later_flags_win(place: Place):
    place.write(place.project / "one.json", {"a": _run("one"), "b": _run("one")})
    inline = json.dumps({"mcpServers": {"a": _run("two")}})
    assert _words(place.find(flags=("one.json", inline))) == {"a": "two", "b": "one"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere.json", "nowhere.json could not be read"),
        ("{not json", "--mcp-config"),
        ('{"servers": {}}', "mcpServers"),
        ('{"mcpServers": []}', "mcpServers"),
    ],
)
def test_flag_that_cannot_be_used_is_an_error(place: Place, value: str, why: str):
    with pytest.raises(ConfigError, match=why):
        place.find(flags=(value,))


def test_problems_name_file_line_and_server_and_the_rest_counts(place: Place):
    file = place.project / ".mcp.json"
    place.write(file, {"bad": {"url": "https://x"}, "unset": {"command": "${NOPE}"}, "good": _run("x")})
    found = place.find()
    assert [each.name for each in found.servers] == ["good"]
    assert [(each.file, each.line, each.key) for each in found.problems] == [
        (str(file), 3, "mcpServers.bad"),
        (str(file), 6, "mcpServers.unset"),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 5}', "\xff\xfe"])
def test_broken_project_file_leaves_the_others(place: Place, text: str):
    (place.project / ".mcp.json").write_text(text, encoding="latin-1")
    place.state(mcpServers={"u": _run("x")})
    found = place.find()
    assert [each.name for each in found.servers] == ["u"] and len(found.problems) == 1


def test_broken_state_file_is_told(place: Place):
    (place.home / ".claude.json").write_text("{")
    assert [each.broken for each in place.find().problems] == [True]


def test_servers_of_an_untrusted_folder_wait(place: Place):
    place.write(place.project / ".mcp.json", {"p": _run("x")})
    scope, off = place.names(trusted=False)["p"]
    assert (scope, off) == ("project", UNTRUSTED)
    assert place.names(trusted=True)["p"] == ("project", "")


def test_user_may_approve_by_name_for_all_or_none(place: Place):
    place.write(place.project / ".mcp.json", {"p": _run("x"), "q": _run("x")})
    place.settings(enabledMcpjsonServers=["p"])
    assert place.names(trusted=False)["p"][1] == "" and place.names(trusted=False)["q"][1] != ""
    place.settings(enableAllProjectMcpServers=True, disabledMcpjsonServers=["q"])
    assert place.names(trusted=False) == {"p": ("project", ""), "q": ("project", "turned off")}
    place.settings()
    place.state(projects={str(place.project): {"enabledMcpjsonServers": ["q"], "disabledMcpServers": ["p"]}})
    assert place.names(attended=True) == {"p": ("project", "turned off"), "q": ("project", "")}


def test_approval_is_bound_to_the_definition(place: Place):
    file = place.project / ".mcp.json"
    place.write(file, {"p": _run("x")})
    assert place.names(attended=True)["p"][1] == "needs your approval"
    approvals.approve(place.env, str(place.project), kind="mcp", name="p", definition=_run("x"))
    assert place.names(attended=True)["p"][1] == ""
    place.write(file, {"p": _run("changed")})
    assert place.names(attended=True)["p"][1] == "needs your approval"
    # Also where nobody can be asked, what was approved as something else does not start.
    assert place.names()["p"][1] == "needs your approval"


def test_helper_of_an_untrusted_folder_is_left_out(place: Place):
    place.write(
        place.project / ".mcp.json", {"p": {"type": "http", "url": "https://x", "headersHelper": "h"}}
    )
    place.settings(enableAllProjectMcpServers=True)
    found = place.find(trusted=False)
    assert found.servers[0].config == HttpServer(url="https://x")
    assert "headersHelper" in str(found.problems[0])
    assert place.find(trusted=True).servers[0].config == HttpServer(url="https://x", headers_helper="h")


def test_administrators_file_says_all_there_is(place: Place):
    place.write(place.managed / "managed-mcp.json", {"m": _run("x")})
    place.state(mcpServers={"u": _run("x")})
    inline = json.dumps({"mcpServers": {"f": _run("x"), "s": {"type": "sdk"}}})
    found = place.find(flags=(inline,))
    assert [(each.name, each.scope) for each in found.servers] == [("m", "managed"), ("s", "dynamic")]
    assert len(found.problems) == 1


def test_denied_servers_are_off_by_name_command_and_address(place: Place):
    place.state(
        mcpServers={
            "name": _run("x"),
            "command": _run("bad"),
            "address": {"type": "http", "url": "https://bad.example/mcp"},
            "fine": _run("fine"),
        }
    )
    place.settings(
        deniedMcpServers=[
            {"serverName": "name"},
            {"serverCommand": ["run", "bad"]},
            {"serverUrl": "https://*.example/*"},
        ]
    )
    assert {name for name, (_, off) in place.names().items() if off} == {"name", "command", "address"}


def test_only_allowed_servers_start_where_there_is_a_list(place: Place):
    place.state(
        mcpServers={"a": _run("a"), "b": _run("b"), "h": {"type": "http", "url": "https://good.example/mcp"}}
    )
    place.settings(allowedMcpServers=[])
    assert all(off for _, off in place.names().values())
    place.settings(allowedMcpServers=[{"serverName": "a"}, {"serverName": "h"}])
    assert [name for name, (_, off) in place.names().items() if not off] == ["a", "h"]
    # Once commands are listed, a name is not enough: anybody can choose a name.
    place.settings(allowedMcpServers=[{"serverName": "a"}, {"serverCommand": ["run", "b"]}])
    assert [name for name, (_, off) in place.names().items() if not off] == ["b"]
    inline = json.dumps({"mcpServers": {"s": {"type": "sdk"}}})
    place.settings(allowedMcpServers=[])
    assert place.names(flags=(inline,))["s"][1] == ""


def test_only_the_administrators_list_counts_where_they_say_so(place: Place):
    place.state(mcpServers={"a": _run("a"), "b": _run("b")})
    place.settings(allowedMcpServers=[{"serverName": "a"}])
    managed = {"allowManagedMcpServersOnly": True, "allowedMcpServers": [{"serverName": "b"}]}
    (place.managed / "managed-settings.json").write_text(json.dumps(managed))
    assert [name for name, (_, off) in place.names().items() if not off] == ["b"]


def test_flags_can_be_turned_off_by_the_administrator(place: Place):
    (place.managed / "managed-settings.json").write_text(json.dumps({"disableSideloadFlags": True}))
    with pytest.raises(ConfigError, match="disableSideloadFlags"):
        place.find(flags=('{"mcpServers": {}}',))


def test_server_of_a_plugin_is_left_out_when_it_is_there_already(place: Place):
    place.state(mcpServers={"mine": _run("same")})
    found = place.find(
        plugins=(
            ("plugin:one:dup", _run("same")),
            ("plugin:one:new", {"type": "http", "url": "https://x"}),
            ("plugin:two:new", {"type": "http", "url": "https://x", "headers": {"a": "b"}}),
            ("plugin:two:bad", {}),
        )
    )
    assert [each.name for each in found.servers] == ["mine", "plugin:one:new"]
    assert len(found.problems) == 1


def test_servers_whose_tools_could_not_be_told_apart_are_refused(place: Place):
    place.state(mcpServers={"a b": _run("x"), "a_b": _run("y")})
    found = place.find()
    assert [each.name for each in found.servers] == ["a b"]
    assert "rename" in str(found.problems[0])


def test_host_sets_servers_within_the_policy(place: Place):
    place.settings(deniedMcpServers=[{"serverName": "no"}])
    config = load(cwd=str(place.project), env=place.env, flag=None, setting_sources=None,
                  managed_dir=str(place.managed), trusted=True)  # fmt: skip
    assert host_server("yes", _run("x"), config=config, env=place.env).scope == "dynamic"
    with pytest.raises(ConfigError, match="deniedMcpServers"):
        host_server("no", _run("x"), config=config, env=place.env)
    place.write(place.managed / "managed-mcp.json", {})
    with pytest.raises(ConfigError, match="administrator"):
        host_server("yes", _run("x"), config=config, env=place.env)


def test_looking_for_servers_finds_every_place(place: Place):
    def look(cwd: Path | None = None, sources: Any = None) -> bool:
        config = load(cwd=str(cwd or place.project), env=place.env, flag=None, setting_sources=sources,
                      managed_dir=str(place.managed), trusted=True)  # fmt: skip
        return is_any_configured(config.inputs, place.env)

    assert not look()
    place.state(projects={})
    assert not look()
    place.state(mcpServers={})
    assert look() and not look(sources=())
    place.state()
    place.write(place.project / ".mcp.json", {})
    (place.project / "sub").mkdir()
    assert look() and look(cwd=place.project / "sub") and not look(sources=("user",))
    (place.project / ".mcp.json").unlink()
    place.write(place.managed / "managed-mcp.json", {})
    assert look(sources=())


def test_desktop_configuration_is_read(tmp_path: Path):
    file = Path(desktop_config_path("linux", {"HOME": str(tmp_path)}))
    assert desktop_config_path("darwin", {"HOME": "/h"}).startswith("/h/Library/")
    with pytest.raises(ConfigError):
        read_desktop_config(str(file))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"a": _run("x")}, "other": 1}))
    assert read_desktop_config(str(file)) == {"a": _run("x")}
