"""Measures many MCP servers with many tools: when a prompt could be taken, when all are connected, the cost.

`python bench/mcp.py [servers] [tools of each]`; real programs over their standard streams. Then the same as a
user has it: the first request of `bridle -p` with none and with all of them, its size and its time.
"""

import asyncio
import os
import sys
import time

import msgspec

_SERVER = """
import json, sys
count = int(sys.argv[1])
schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where."},
          "limit": {"type": "integer", "description": "How many at most."}}, "required": ["path"]}
tools = [{"name": f"tool_{n}", "description": f"Does the thing with number {n}. " * 6, "inputSchema": schema}
         for n in range(count)]
answers = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
           "serverInfo": {"name": "bench", "version": "1"}}, "tools/list": {"tools": tools}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answers.get(message["method"])
        told = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


async def main(count: int, each: int) -> None:
    """Print one line for each figure."""
    before = _resident()
    began = time.perf_counter()
    from bridle.mcp.client_requests import RequestContext
    from bridle.mcp.servers import Servers, ServersContext
    from bridle.types.question import Answer, Question, Refused
    from bridle.types.services.mcp import Server, StdioServer
    from bridle.types.tool import Tool

    async def nobody(question: Question) -> Answer:
        return Refused(message="nobody", by_person=False)

    def unread(name: str, raw: object) -> Server:
        raise AssertionError(name)

    around = ServersContext(
        cwd=os.getcwd(), env=os.environ, requests=RequestContext(roots=lambda: (), ask=nobody), read=unread
    )
    config = StdioServer(command=sys.executable, args=("-I", "-c", _SERVER, str(each)))
    servers = Servers([Server(name=f"s{n}", config=config, scope="user") for n in range(count)], around)
    _tell("ready for a prompt", f"{(time.perf_counter() - began) * 1000:.0f} ms")
    longest = 0.0
    while any(state.status == "pending" for state in servers.status()):
        paused = time.perf_counter()
        await asyncio.sleep(0.01)
        longest = max(longest, time.perf_counter() - paused - 0.01)
    _tell("all settled", f"{time.perf_counter() - began:.1f} s, CPU {time.process_time():.1f} s")
    _tell("longest hold of the loop", f"{longest * 1000:.0f} ms")
    states = [state.status for state in servers.status()]
    _tell("connected", f"{states.count('connected')} of {count}")
    built = time.perf_counter()
    tools: list[Tool] = list(servers.tools())
    _tell("tools", f"{len(tools)} in {(time.perf_counter() - built) * 1000:.0f} ms")
    definitions = [tool.own_definition() for tool in tools]
    _tell("their definitions", f"{len(msgspec.json.encode(definitions)) / 1e6:.1f} MB")
    _tell("memory", f"{_resident() - before:.0f} MB more, {_resident():.0f} MB in all")
    closed = time.perf_counter()
    await servers.close()
    _tell("closed", f"{(time.perf_counter() - closed) * 1000:.0f} ms")


def first_requests(count: int, each: int) -> None:
    """Print when the first request of a whole run arrives, and how large it is, without and with servers."""
    import json
    import subprocess
    import tempfile
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    arrived: list[tuple[float, int]] = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            arrived.append((time.perf_counter(), len(body)))
            self.send_response(400)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the figures are the output."""

    service = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    server = {"command": sys.executable, "args": ["-I", "-c", _SERVER, str(each)]}
    config = json.dumps({"mcpServers": {f"s{n}": server for n in range(count)}})
    for what, more in (("none", []), (f"{count} servers", ["--mcp-config", config])):
        for how, waits in (("not waiting", "1"), ("waiting", "0")):
            with tempfile.TemporaryDirectory() as home:
                env = {
                    **os.environ, "HOME": home, "CLAUDE_CONFIG_DIR": home, "ANTHROPIC_API_KEY": "x",
                    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{service.server_port}",
                    "MCP_CONNECTION_NONBLOCKING": waits, "NO_PROXY": "*", "MCP_CONNECT_TIMEOUT_MS": "30000",
                }  # fmt: skip
                arrived.clear()
                began = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "bridle", "-p", "hi", *more],
                    cwd=home, env=env, capture_output=True, check=False,
                )  # fmt: skip
                when, size = arrived[0]
                _tell(f"{what}, {how}", f"{(when - began) * 1000:.0f} ms, {size / 1000:.1f} KB")
    service.shutdown()


def whole_runs(tools: int) -> None:
    """Print how much memory a whole run takes with very many tools, all alike and each with its own input."""
    import json
    import subprocess
    import tempfile

    own = '{**schema, "properties": {**schema["properties"], f"p{n}": {"type": "string"}}}'
    for what, script in (("alike", _SERVER), ("each its own", _SERVER.replace(": schema}", f": {own}}}"))):
        server = {"command": sys.executable, "args": ["-I", "-c", script, str(tools)]}
        with tempfile.TemporaryDirectory() as home:
            env = {
                **os.environ, "HOME": home, "CLAUDE_CONFIG_DIR": home, "ANTHROPIC_API_KEY": "x",
                "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "0", "NO_PROXY": "*",
                "MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000", "MCP_TIMEOUT": "60000",
            }  # fmt: skip
            process = subprocess.Popen(
                [sys.executable, "-m", "bridle", "-p", "hi", "--mcp-config",
                 json.dumps({"mcpServers": {"s": server}})],
                cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
        _tell(f"{tools:,} tools, {what}", f"{usage.ru_maxrss / 1024:.0f} MB at most (aim 300)")


def _tell(what: str, figure: str) -> None:
    print(f"{what:28} {figure}", flush=True)


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] + [50, 200][len(sys.argv) - 1 :]
    asyncio.run(main(*numbers[:2]))
    first_requests(*numbers[:2])
    whole_runs(100_000)
