import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.mcp.approvals import candidates, decide, remember_toggle
from bridle.mcp.background_calls import patience_of
from bridle.mcp.client_requests import ChannelMessage
from bridle.mcp.commands import assign, is_skill, server_commands
from bridle.mcp.discovery_cache import DiscoveryCache
from bridle.mcp.forms import Field, Option, fields_of, problem_with, problems_with, value_of
from bridle.types.command import Asks, Says
from bridle.types.errors import ToolError
from bridle.types.services.mcp import HttpServer, Prompt, PromptArgument, Resource, SdkServer, Server
from tests.fakes.mcp_http import INITIALIZED, Asked, FakeEndpoint, Reply, usual
from tests.fakes.mcp_session import QUICK, connected, everything, plain
from tests.fakes.processes import eventually
from tests.fakes.tool_context import FakeTasks, make_context


async def test_prompt_of_a_server_is_a_command():
    async with asyncio.timeout(50), connected(everything()) as servers:
        await eventually(servers.prompts)
        (command,) = [each for each in server_commands(servers) if each.source == "mcp"]
        asked = await command.run("Ada", None)
        lacking = await command.run("", None)
    assert command.name.startswith("mcp__s__")
    assert isinstance(asked, Asks) and "Ada" in json.dumps(asked.content)
    assert asked.shown == f"/{command.name} Ada"
    assert isinstance(lacking, Says) and lacking.is_error and f"/{command.name} <" in lacking.text


def test_arguments_are_taken_by_their_place_and_the_rest_belongs_to_the_last():
    prompt = Prompt(
        server="s",
        name="p",
        command="mcp__s__p",
        arguments=(PromptArgument(name="a", required=True), PromptArgument(name="b", required=True)),
    )
    assert assign(prompt, '"one two" three four') == ({"a": "one two", "b": "three four"}, ())
    assert assign(prompt, "it's") == ({"a": "it's"}, ("b",))


def test_skills_are_told_by_their_address():
    def named(uri: str, *, template: bool = False) -> bool:
        return is_skill(Resource(server="s", uri=uri, name="n", template=template))

    assert named("skill://review/SKILL.md")
    assert not named("skill://review/notes.md")
    assert not named("skill://{name}/SKILL.md", template=True)


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "size": {
            "type": "string",
            "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        },
        "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 1},
        "sure": {"type": "boolean", "default": True},
        "deep": {"type": "object"},
    },
    "required": ["name"],
}


def test_fields_of_a_form_come_from_its_schema():
    fields = {field.name: field for field in fields_of(FORM)}
    assert list(fields) == ["name", "mail", "age", "size", "tags", "sure"]
    assert fields["name"].title == "Your name" and fields["name"].required
    assert fields["size"].options == (Option("s", "Small"), Option("l", "Large"))
    assert fields["sure"].default is True


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("name", "Ada", "A"), ("mail", "a@b.example", "a@b"), ("age", 7, 151), ("age", 7, 1.5),
        ("size", "s", "m"), ("tags", ["x"], ["x", "y"]), ("tags", [], ["z"]), ("sure", False, "no"),
    ],
)  # fmt: skip
def test_values_are_checked_before_they_are_sent(name: str, good: Any, bad: Any):
    field = next(field for field in fields_of(FORM) if field.name == name)
    assert problem_with(field, good) is None
    assert problem_with(field, bad) is not None


def test_what_is_missing_is_named():
    assert list(problems_with(fields_of(FORM), {"age": "x"})) == ["name", "age"]


def test_typed_text_becomes_the_value_of_its_field():
    def typed(kind: Any, text: str) -> Any:
        return value_of(Field(name="n", kind=kind, title="N"), text)

    assert (typed("integer", " 7 "), typed("number", "1.5"), typed("switch", "no")) == (7, 1.5, False)
    assert (typed("choices", "a, b"), typed("integer", "x"), typed("text", " a ")) == (["a", "b"], "x", " a ")


async def test_call_that_takes_long_goes_on_in_the_background(tmp_path: Path):
    tasks = FakeTasks()
    env = {"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "1"}
    async with asyncio.timeout(50), connected(everything(), env=env) as servers:
        slow = next(tool for tool in servers.tools() if tool.name == "mcp__s__slow")
        output = await slow.run({"steps": 12}, make_context(tmp_path, tasks=tasks))
        (task,) = tasks.all()
        assert task.status == "running"
        await eventually(lambda: tasks.tasks[task.id].status != "running")
    done = tasks.tasks[task.id]
    assert output.data == {"backgroundTaskId": task.id, "outputFile": task.output_file}
    assert (done.status, done.kind) == ("completed", "mcp_call")
    assert Path(task.output_file).read_text() == done.result


def test_patience_with_calls_comes_from_a_variable():
    assert patience_of({}) == 120.0
    assert patience_of({"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0"}) is None
    assert patience_of({"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "soon"}) == 120.0


async def test_tools_of_the_host_keep_their_names_where_that_is_asked_for():
    async def host(server: str, message: Mapping[str, Any]) -> Any:
        results = {"initialize": INITIALIZED, "tools/list": {"tools": [{"name": "add"}]}}
        return {"jsonrpc": "2.0", "id": message.get("id"), "result": results.get(message["method"], {})}

    server = Server(name="calc", config=SdkServer(name="calc"), scope="dynamic")
    env = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1"}
    async with asyncio.timeout(50), connected(server, plain(), exchange=host, env=env) as servers:
        names = [tool.name for tool in servers.tools()]
    assert "add" in names and "mcp__s2__echo" in names


async def test_host_is_not_asked_for_what_its_manifest_says():
    asked: list[str] = []

    async def host(server: str, message: Mapping[str, Any]) -> Any:
        asked.append(message["method"])
        return {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": []}}

    manifest = {"initializeResult": INITIALIZED, "toolsListResult": {"tools": [{"name": "add"}]}}
    async with asyncio.timeout(50), connected(exchange=host) as servers:
        servers.add_sdk(["calc"], configs={"calc": {"timeout": 5000}}, manifests={"calc": manifest})
        await servers.settle()
        await servers.call("calc", "add", {})
        (state,) = servers.status()
    assert state.config == SdkServer(name="calc", timeout=5000.0)
    assert asked == ["tools/call"]


async def test_waiting_for_servers_ends_when_they_are_ready(tmp_path: Path):
    timing = msgspec.structs.replace(QUICK, first_turn=0.0)
    async with asyncio.timeout(50), connected(plain(), timing=timing) as servers:
        wait = next(tool for tool in servers.tools() if tool.name == "WaitForMcpServers")
        output = await wait.run(msgspec.convert({"servers": ["s"]}, wait.input), make_context(tmp_path))
        assert output.data == {"servers": {"s": "connected"}}
        with pytest.raises(ToolError):
            await wait.run(msgspec.convert({"servers": ["nobody"]}, wait.input), make_context(tmp_path))


async def test_resources_are_listed_folder_by_folder(tmp_path: Path):
    def answer(asked: Asked) -> Reply | None:
        listed = [{"uri": f"file:///a/{name}", "name": name} for name in ("x.txt", "b/y.txt", "b/z.txt")]
        results = {
            "initialize": {**INITIALIZED, "capabilities": {"resources": {}}},
            "resources/list": {"resources": listed},
            "resources/templates/list": {"resourceTemplates": []},
        }
        if asked.rpc in results:
            return Reply({"jsonrpc": "2.0", "id": asked.message["id"], "result": results[asked.rpc]})
        return usual(asked)

    async with (
        asyncio.timeout(50),
        FakeEndpoint(answer) as endpoint,
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        await eventually(servers.resources)
        tool = next(tool for tool in servers.tools() if tool.name == "ReadMcpResourceDirTool")
        input = msgspec.convert({"server": "s", "uri": "file:///a"}, tool.input)
        output = await tool.run(input, make_context(tmp_path))
    assert [entry["uri"] for entry in output.data] == ["file:///a/b/", "file:///a/x.txt"]


async def test_known_tools_of_a_remote_server_are_there_before_it_is(tmp_path: Path):
    env = {"MCP_DISCOVERY_CACHE": "1", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    async with (
        asyncio.timeout(50),
        FakeEndpoint(usual) as endpoint,
        connected(HttpServer(url=endpoint.url), env=env),
    ):
        pass
    server = HttpServer(url=endpoint.url)
    timing = msgspec.structs.replace(QUICK, attempts=1)
    async with asyncio.timeout(50), connected(server, env=env, waits=False, timing=timing) as servers:
        assert [tool.name for tool in servers.tools()] == ["mcp__s__echo"]
        await servers.settle()


def test_cache_forgets_what_is_too_old_or_failed_too_often(tmp_path: Path):
    server = Server(name="s", config=HttpServer(url="https://a.example"), scope="user")
    cache = DiscoveryCache(folder=str(tmp_path), strikes=2)
    cache.save(server, [{"name": "a"}])
    assert cache.find(server) == [{"name": "a"}]
    assert msgspec.structs.replace(cache, stale=-1).find(server) is None
    cache.strike(server)
    assert cache.find(server) is not None
    cache.strike(server)
    assert cache.find(server) is None


CHANNEL = """
import json, sys
able = {"tools": {}, "experimental": {"claude/channel": {}} if sys.argv[1] == "yes" else {}}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        info = {"name": "c", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": []}
        params = {"content": "hello", "meta": {"from": "x"}}
        told = {"jsonrpc": "2.0", "method": "notifications/claude/channel", "params": params}
        print(json.dumps(told), flush=True)
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize(("able", "heard"), [("yes", 1), ("no", 0)])
async def test_message_of_a_channel_is_taken_from_servers_that_are_one(able: str, heard: int):
    pushed: list[ChannelMessage] = []
    config = msgspec.structs.replace(plain(), args=("-I", "-c", CHANNEL, able))
    timing = msgspec.structs.replace(QUICK, probes=False)
    async with asyncio.timeout(50), connected(config, timing=timing, pushed=pushed.append):
        pass
    assert pushed == [ChannelMessage(server="s", content="hello", meta={"from": "x"})] * heard


def _project(tmp_path: Path) -> tuple[dict[str, str], Path, tuple[Server, ...]]:
    from bridle.config.load import load
    from bridle.config.mcp.servers import ServerSources, find_servers

    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "y", "args": ["${A}"]}}}')
    config = load(cwd=str(project), env=env, flag=None, setting_sources=None)
    wish = ServerSources(config=config, env={**env, "A": "1"}, trusted=True, attended=True)
    return env, project, find_servers(wish).servers


def test_server_of_a_project_is_approved_as_it_is_written(tmp_path: Path):
    env, project, servers = _project(tmp_path)
    (candidate,) = candidates(servers, env, str(project))
    assert candidate.definition == {"command": "y", "args": ["${A}"]}
    decide(candidate, "yes", env=env, cwd=str(project))
    _, _, after = _project(tmp_path)
    assert [server.off for server in after] == [""]
    assert candidates(after, env, str(project)) == ()


def test_server_of_a_project_that_was_refused_stays_off(tmp_path: Path):
    env, project, servers = _project(tmp_path)
    (candidate,) = candidates(servers, env, str(project))
    decide(candidate, "no", env=env, cwd=str(project))
    _, _, after = _project(tmp_path)
    assert [server.off for server in after] == ["turned off"]


def test_all_servers_of_a_project_may_be_approved_at_once(tmp_path: Path):
    env, project, servers = _project(tmp_path)
    (candidate,) = candidates(servers, env, str(project))
    decide(candidate, "all", env=env, cwd=str(project))
    settings = json.loads((project / ".claude" / "settings.local.json").read_text())
    assert settings == {"enableAllProjectMcpServers": True}


async def test_server_that_is_turned_off_stays_off_in_later_sessions(tmp_path: Path):
    env, project, servers = _project(tmp_path)
    (candidate,) = candidates(servers, env, str(project))
    decide(candidate, "yes", env=env, cwd=str(project))
    kept: list[tuple[str, bool]] = []

    def keep(name: str, enabled: bool) -> None:
        kept.append((name, enabled))

    async with asyncio.timeout(50), connected(plain(), remember=keep) as found:
        await found.toggle("s", enabled=False)
        await found.toggle("s", enabled=True)
    assert kept == [("s", False), ("s", True)]
    remember_toggle(env, str(project), "x", enabled=False)
    assert [server.off for server in _project(tmp_path)[2]] == ["turned off"]
    remember_toggle(env, str(project), "x", enabled=True)
    assert [server.off for server in _project(tmp_path)[2]] == [""]
