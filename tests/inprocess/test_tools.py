import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from bridle.providers.scripted import calls, says
from bridle.sdk import (
    CLIConnectionError,
    Options,
    SystemMessage,
    ToolAnnotations,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)
from bridle.sdk.tools import full_name, json_schema
from tests.inprocess.scene import Scene, of


@tool("add", "Add two numbers", {"a": float, "b": float})
async def add(args: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{args['a'] + args['b']}"}]}


@tool("fail", "Fail in one of two ways", {"how": str})
async def fail(args: Any) -> dict[str, Any]:
    if args["how"] == "raise":
        raise ValueError("it broke")
    return {"content": [{"type": "text", "text": "it said no"}], "is_error": True}


CALC = create_sdk_mcp_server("calculator", "1.2.3", [add, fail])


def results(messages: list[Any]) -> list[ToolResultBlock]:
    return [
        block
        for message in of(messages, UserMessage)
        if isinstance(message.content, list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


async def test_a_function_is_a_tool_of_the_model(tmp_path: Path):
    scene = Scene(tmp_path, says(calls("mcp__calc__add", a=1.5, b=2)), says("3.5"))
    messages = await scene.ask(mcp_servers={"calc": CALC}, allowed_tools=["mcp__calc__add"])
    assert results(messages) == [ToolResultBlock("call-1", [{"type": "text", "text": "3.5"}], None)]
    definition: Any
    (definition,) = [each for each in scene.model.requests[0].tools if each["name"] == "mcp__calc__add"]
    assert definition["description"] == "Add two numbers"
    assert definition["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }
    assert of(messages, SystemMessage)[0].data["mcp_servers"] == [
        {"name": "calc", "status": "connected", "source": "sdk"}
    ]


async def test_tools_need_no_server_around_them(tmp_path: Path):
    scene = Scene(tmp_path, says(calls("mcp__tools__add", a=1, b=1)), says("2"))
    messages = await scene.ask(custom_tools=[add], allowed_tools=["mcp__tools"])
    assert results(messages)[0].content == [{"type": "text", "text": "2"}]


async def test_faults_are_results_that_the_model_can_read(tmp_path: Path):
    script = [
        says(calls("mcp__calc__fail", how="say")),
        says(calls("mcp__calc__fail", how="raise")),
        says(calls("mcp__calc__add", a="one", b=2)),
        says(calls("mcp__calc__add", a=1)),
        says(calls("mcp__calc__none")),
        says("enough"),
    ]
    messages = await Scene(tmp_path, *script).ask(mcp_servers={"calc": CALC}, allowed_tools=["mcp__calc__*"])
    found = results(messages)
    assert all(result.is_error for result in found)
    pieces = ("it said no", "it broke", "Input validation", "required", "No such tool")
    for piece, result in zip(pieces, found, strict=True):
        assert piece in str(result.content)


async def test_tools_of_the_program_need_permission_too(tmp_path: Path):
    reads = ToolAnnotations(readOnlyHint=True)

    @tool("peek", "Peek", {}, annotations=reads)
    async def peek(args: Any) -> dict[str, Any]:
        return {"content": []}

    server = create_sdk_mcp_server("s", tools=[peek])
    messages = await Scene(tmp_path, says(calls("mcp__s__peek")), says("no")).ask(mcp_servers={"s": server})
    assert results(messages)[0].is_error


async def test_a_denied_tool_is_not_offered(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    await scene.ask(mcp_servers={"calc": CALC}, disallowed_tools=["mcp__calc__fail"])
    offered = [each["name"] for each in scene.model.requests[0].tools]
    assert "mcp__calc__add" in offered and "mcp__calc__fail" not in offered


async def test_tools_that_only_read_run_beside_each_other(tmp_path: Path):
    together = asyncio.Barrier(3)

    @tool("meet", "Meet", {}, annotations=ToolAnnotations(read_only_hint=True))
    async def meet(args: Any) -> dict[str, Any]:
        async with asyncio.timeout(50):
            await together.wait()
        return {"content": [{"type": "text", "text": "met"}]}

    scene = Scene(tmp_path, says(*(calls("mcp__tools__meet") for _ in range(3))), says("all"))
    messages = await scene.ask(custom_tools=[meet], allowed_tools=["mcp__tools__meet"])
    assert [result.is_error for result in results(messages)] == [None, None, None]


async def test_images_and_resources_reach_the_model(tmp_path: Path):
    @tool("show", "Show", {})
    async def show(args: Any) -> dict[str, Any]:
        return {
            "content": [
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "resource_link", "name": "n", "uri": "file:///x"},
                {"type": "resource", "resource": {"uri": "u", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "u", "blob": "AAAA"}},
                {"type": "hologram"},
            ]
        }

    scene = Scene(tmp_path, says(calls("mcp__tools__show")), says("seen"))
    messages = await scene.ask(custom_tools=[show], allowed_tools=["mcp__tools"])
    assert results(messages)[0].content == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "text", "text": "n\nfile:///x"},
        {"type": "text", "text": "inside"},
    ]


async def test_an_interrupt_cancels_the_function(tmp_path: Path):
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @tool("hang", "Hang", {})
    async def hang(args: Any) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return {}

    scene = Scene(tmp_path, says(calls("mcp__tools__hang")), says("never"))
    task = asyncio.create_task(scene.ask(custom_tools=[hang], allowed_tools=["mcp__tools"]))
    async with asyncio.timeout(50):
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cancelled.wait()


async def test_a_server_of_another_make_is_refused_with_a_way_out(tmp_path: Path):
    with pytest.raises(CLIConnectionError, match="create_sdk_mcp_server"):
        await Scene(tmp_path).ask(mcp_servers={"x": {"type": "sdk", "name": "x", "instance": object()}})


class Inner(TypedDict):
    deep: bool


class Shape(TypedDict):
    name: Annotated[str, "A name"]
    count: NotRequired[int]
    inner: Inner
    many: list[int]
    either: str | int
    maybe: float | None
    word: Literal["a", "b"]


def test_types_become_json_schemas():
    assert json_schema(Shape) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A name"},
            "count": {"type": "integer"},
            "inner": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]},
            "many": {"type": "array", "items": {"type": "integer"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "maybe": {"type": "number"},
            "word": {"enum": ["a", "b"]},
        },
        "required": ["either", "inner", "many", "maybe", "name", "word"],
    }
    own = {"type": "object", "properties": {"x": {"type": "string", "minLength": 2}}}
    assert json_schema(own) is own
    assert full_name("my server", "do it!") == "mcp__my_server__do_it_"


def test_options_can_be_copied_with_changes():
    options = Options(model="a", allowed_tools=["Read"])
    changed = options.replace(model="b")
    assert (options.model, changed.model, changed.allowed_tools) == ("a", "b", ["Read"])
