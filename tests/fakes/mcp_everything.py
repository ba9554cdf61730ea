"""A server on the official package that offers a little of everything.

Run as a program: `stdio`, `http <port>` or `sse <port>`; more words choose oddities.
"""

import os
import sys

import anyio
from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp_everything_data import PIXEL
from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    ListRootsRequest,
    ListRootsResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int = 7


server = MCPServer("everything", instructions="Ask for one thing at a time.", version="1.2.3")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Say the same."""
    return text


@server.tool(structured_output=False)
def picture() -> Image:
    """Show a pixel."""
    return Image(data=PIXEL, format="png")


@server.tool(structured_output=False)
def sound() -> Audio:
    """Make a noise."""
    return Audio(data=b"RIFF0000WAVE", format="wav")


@server.tool()
def parts() -> CallToolResult:
    """Answer with parts of every kind."""
    return CallToolResult(
        content=[
            TextContent(type="text", text="one"),
            EmbeddedResource(
                type="resource",
                resource=TextResourceContents(uri="memo://two", mime_type="text/plain", text="two"),
            ),
            ResourceLink(type="resource_link", uri="memo://three", name="three"),
        ],
        structured_content={"answer": 42},
    )


@server.tool()
def fail(why: str) -> str:
    """Fail on purpose."""
    raise ValueError(why)


@server.tool()
def environment(name: str) -> str:
    """Tell a variable."""
    return os.environ.get(name, "")


@server.tool()
def long(chars: int) -> str:
    """Answer with much text."""
    return "x" * chars


@server.tool()
async def slow(ctx: Context, steps: int = 3) -> str:
    """Take a while and tell how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def hang() -> str:
    """Never answer; note on standard error when it was called and when nobody waits any more."""
    print("called!", file=sys.stderr, flush=True)
    try:
        await anyio.sleep_forever()
    finally:
        print("cancelled!", file=sys.stderr, flush=True)
    return "never"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the person."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action} {getattr(answer, 'data', None)!r}"


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one more tool."""
    server.add_tool(lambda: "new", name="grown", description="Was not there before.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def whereabouts(ctx: Context) -> str:
    """List the client's folders."""
    answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
    return " ".join(str(root.uri) for root in answer.roots)


@server.tool()
def leave() -> str:
    """End at once."""
    os._exit(3)


@server.resource("memo://hello", name="hello", mime_type="text/plain")
def hello() -> str:
    """A greeting."""
    return "Hello there."


@server.resource("memo://pixel", name="pixel", mime_type="image/png")
def pixel() -> bytes:
    return PIXEL


@server.resource("memo://{name}/card", name="card")
def card(name: str) -> str:
    return f"card of {name}"


@server.prompt()
def greet(who: str, tone: str = "warm") -> str:
    """Greet somebody."""
    return f"Greet {who} in a {tone} tone."


def main(how: str, *more: str) -> None:
    match how:
        case "http":
            server.run(
                "streamable-http",
                port=int(more[0]),
                json_response="json" in more,
                stateless_http="stateless" in more,
            )
        case "sse":
            server.run("sse", port=int(more[0]))
        case _:
            server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
