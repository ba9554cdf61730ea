"""The programs of `make compat`, pinned, each with the probe that it must pass."""

from typing import Literal

from msgspec import Struct

Group = Literal[
    "transcripts and usage", "SDKs", "editors (ACP)", "wrappers", "configuration writers", "hooks"
]


class Probe(Struct, frozen=True, kw_only=True):
    """What is run, and what its output must match; `{…}` are facts of the conversation that was had before."""

    argv: tuple[str, ...]
    expects: str
    """A regular expression; braces of facts are filled in first."""
    driver: str = ""
    """A script of this folder that is run instead, with `argv` behind it."""
    setup: tuple[tuple[str, ...], ...] = ()
    """Commands of the program that are run before."""
    in_init: bool = False
    """The output is the init message of a session that is started afterwards."""


class Program(Struct, frozen=True, kw_only=True):
    name: str
    version: str
    source: Literal["npm", "pypi"]
    group: Group
    probe: Probe
    extra: tuple[str, ...] = ()
    """Packages that are installed with it."""

    @property
    def folder(self) -> str:
        joint = "_" if self.source == "npm" else "__"
        return f"{self.source}/{self.name.replace('/', '_').replace('@', '_')}{joint}{self.version}"


def _npm(name: str, version: str, group: Group, probe: Probe, *extra: str) -> Program:
    return Program(name=name, version=version, source="npm", group=group, probe=probe, extra=extra)


def _pypi(name: str, version: str, group: Group, probe: Probe, *extra: str) -> Program:
    return Program(name=name, version=version, source="pypi", group=group, probe=probe, extra=extra)


_USAGE: Group = "transcripts and usage"
_DAILY = Probe(
    argv=("ccusage", "daily", "--json", "--offline"), expects='"totals"[^}]*"outputTokens": {output},'
)
_TRANSCRIPT = "{transcript}"
_NODE_SDK = Probe(
    argv=("@anthropic-ai/claude-agent-sdk",), driver="node_sdk.mjs", expects="result: It said hi"
)
_OLD_NODE_SDK = Probe(
    argv=("@anthropic-ai/claude-code",), driver="node_sdk.mjs", expects="result: It said hi"
)
_PY_SDK = Probe(
    argv=("claude_agent_sdk", "ClaudeAgentOptions"), driver="py_sdk.py", expects="result: It said hi"
)
_ACP = Probe(argv=("claude-agent-acp",), driver="acp.py", expects="chunk: It said [\\s\\S]*stop: end_turn")

_NODE_LIBRARY = "node_library.mjs"
_REFUSED = "with_hook.py"

PROGRAMS: tuple[Program, ...] = (
    _npm("ccusage", "20.0.24", _USAGE, _DAILY),
    _npm("ccusage", "18.0.11", _USAGE, _DAILY),
    _npm("ccundo", "1.1.1", _USAGE, Probe(argv=("ccundo", "list", "--all"), expects="new\\.txt")),
    _pypi("claude-monitor", "4.0.0", _USAGE, Probe(argv=("claude-monitor", "--once", "--output", "json"), expects="{total}")),
    _pypi("cctrack", "0.11.0", _USAGE, Probe(argv=("cctrack", "--days", "3650"), expects="{output}|{total}")),
    _pypi("claude-code-log", "1.7.0", _USAGE, Probe(argv=("claude-code-log", "--format", "md", "-o", "{out}", _TRANSCRIPT), expects="Successfully converted")),
    _pypi("claude-code-transcripts", "0.6", _USAGE, Probe(argv=("claude-code-transcripts", "json", _TRANSCRIPT, "-o", "{out}"), expects="\\(2 prompts")),
    _pypi("claude-conversation-extractor", "1.1.2", _USAGE, Probe(argv=("claude-extract", "--list"), expects="hi #bash")),
    _pypi("claude-history", "0.8.0", _USAGE, Probe(argv=("claude-history", "projects"), expects="project")),
    _pypi("claude-code-sessions", "0.16.5", _USAGE, Probe(argv=("claude-code-sessions", "list"), expects="{session8}")),
    _pypi("cozempic", "1.8.39", _USAGE, Probe(argv=("cozempic", "list"), expects="{session8}")),
    _pypi("claude-cost", "0.2.0", _USAGE, Probe(argv=("claude-cost", "export", "{out}"), expects="Exported 1 sessions")),
    _pypi("claude-code-tools", "1.30.2", _USAGE, Probe(argv=("aichat", "info", "{session}", "--json"), expects='"user_message_count": 2')),
    _pypi("claude-log-viewer", "1.0.2", _USAGE, Probe(argv=("claude-log-tools", "sessions"), expects="{session8}")),
    _pypi("sniffly", "0.1.5", _USAGE, Probe(argv=("sniffly", _TRANSCRIPT), driver="py_library.py", expects='"assistant": 5, "user": 5')),
    _npm("@anthropic-ai/claude-agent-sdk", "0.1.0", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.1.30", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.1.77", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.2.50", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.2.141", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.3.200", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.3.325", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-code", "1.0.128", "SDKs", _OLD_NODE_SDK),
    _pypi("claude-code-sdk", "0.0.25", "SDKs", Probe(argv=("claude_code_sdk", "ClaudeCodeOptions"), driver="py_sdk.py", expects="result: It said hi")),
    _pypi("claude-agent-sdk", "0.1.0", "SDKs", _PY_SDK),
    _pypi("claude-agent-sdk", "0.1.48", "SDKs", _PY_SDK),
    _pypi("claude-agent-sdk", "0.2.182", "SDKs", _PY_SDK),
    _npm("@agentclientprotocol/claude-agent-acp", "0.99.1", "editors (ACP)", _ACP),
    _npm("@agentclientprotocol/claude-agent-acp", "0.49.0", "editors (ACP)", _ACP),
    _npm("@zed-industries/claude-code-acp", "0.16.2", "editors (ACP)", Probe(argv=("claude-code-acp",), driver="acp.py", expects=_ACP.expects)),
    _npm("acpx", "0.19.1", "editors (ACP)", Probe(argv=("acpx", "--format", "text", "claude", "exec", "hi #bash"), expects="It said hi[\\s\\S]*end_turn")),
    _npm("ai-sdk-provider-claude-code", "4.1.0", "wrappers", Probe(argv=("ai-sdk-provider-claude-code",), driver=_NODE_LIBRARY, expects="It said hi"), "ai@7"),
    _npm("@instantlyeasy/claude-code-sdk-ts", "0.3.3", "wrappers", Probe(argv=("@instantlyeasy/claude-code-sdk-ts",), driver=_NODE_LIBRARY, expects="It said hi")),
    _pypi("langchain-claude-code", "0.1.0", "wrappers", Probe(argv=("langchain",), driver="py_library.py", expects="said: [\\s\\S]*It said hi")),
    _pypi("claude-cli-sdk", "0.2.1", "wrappers", Probe(argv=("claude_cli_sdk",), driver="py_library.py", expects="said: .*A title")),
    _pypi("llm-claude-cli", "0.1.3", "wrappers", Probe(argv=("llm", "-m", "claude-cli", "hi #bash"), expects="It said hi"), "llm"),
    _pypi("llm-claude-code", "0.0.3", "wrappers", Probe(argv=("llm", "-m", "claude-code", "hello"), expects="A title"), "llm"),
    _pypi("claude-tap", "0.1.146", "wrappers", Probe(argv=("claude-tap", "--tap-no-open", "--", "-p", "hi #bash", "--allowedTools", "Bash"), expects="API calls: 2")),
    _npm("ralphy-cli", "4.7.2", "wrappers", Probe(argv=("ralphy", "--claude", "--max-retries", "1", "--no-tests", "--no-lint", "hi #bash"), expects="It said hi")),
    _npm("@steipete/claude-code-mcp", "1.10.12", "wrappers", Probe(argv=("claude-code-mcp",), driver="mcp_call.py", expects="It said hi")),
    _npm("cc-sdd", "3.0.2", "configuration writers", Probe(argv=(), setup=(("cc-sdd", "--claude", "--yes"),), in_init=True, expects='"kiro[:-]spec-init"')),
    _npm("@fission-ai/openspec", "1.13.2", "configuration writers", Probe(argv=(), setup=(("openspec", "init", "--tools", "claude", "."),), in_init=True, expects="opsx:|openspec")),
    _pypi("superclaude", "4.3.0", "configuration writers", Probe(argv=(), setup=(("superclaude", "install"),), in_init=True, expects='"sc:|"[^"]*research')),
    _npm("get-shit-done-cc", "1.32.0", "configuration writers", Probe(argv=(), setup=(("get-shit-done-cc", "--claude", "--local"),), in_init=True, expects="gsd")),
    _npm("bmad-method", "6.12.0", "configuration writers", Probe(argv=(), setup=(("bmad-method", "install", "-y", "--directory", ".", "--modules", "core", "--tools", "claude-code"),), in_init=True, expects="bmad-help")),
    _npm("add-mcp", "2.4.0", "configuration writers", Probe(argv=(), setup=(("add-mcp", "-a", "claude-code", "-y", "-g", "--name", "thing", "https://127.0.0.1:9/mcp"),), in_init=True, expects='"name":"thing"')),
    _npm("cc-safety-net", "2.4.5", "hooks", Probe(argv=("cc-safety-net", "hook", "--claude-code"), driver=_REFUSED, expects="reset --hard[\\s\\S]*(?i:blocked|safety net)[\\s\\S]*It was not run")),
    _pypi("nah", "0.11.0", "hooks", Probe(argv=(), setup=(("nah", "install", "claude"),), driver=_REFUSED, expects="nah[\\s\\S]*It was not run")),
    _pypi("cchooks", "0.1.5", "hooks", Probe(argv=("python", "{here}/cchooks_hook.py"), driver=_REFUSED, expects="Refused by cchooks[\\s\\S]*It was not run")),
)  # fmt: skip
