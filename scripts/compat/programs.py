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
    _npm("@anthropic-ai/claude-agent-sdk", "0.1.0", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.1.77", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-agent-sdk", "0.3.325", "SDKs", _NODE_SDK),
    _npm("@anthropic-ai/claude-code", "1.0.128", "SDKs", _OLD_NODE_SDK),
    _pypi("claude-code-sdk", "0.0.25", "SDKs", Probe(argv=("claude_code_sdk", "ClaudeCodeOptions"), driver="py_sdk.py", expects="result: It said hi")),
    _pypi("claude-agent-sdk", "0.1.48", "SDKs", _PY_SDK),
    _pypi("claude-agent-sdk", "0.2.182", "SDKs", _PY_SDK),
    _npm("@agentclientprotocol/claude-agent-acp", "0.99.1", "editors (ACP)", _ACP),
    _npm("@agentclientprotocol/claude-agent-acp", "0.49.0", "editors (ACP)", _ACP),
    _npm("@zed-industries/claude-code-acp", "0.16.2", "editors (ACP)", Probe(argv=("claude-code-acp",), driver="acp.py", expects=_ACP.expects)),
    _npm("@steipete/claude-code-mcp", "1.10.12", "wrappers", Probe(argv=("claude-code-mcp",), driver="mcp_call.py", expects="It said hi")),
    _npm("cc-sdd", "3.0.2", "configuration writers", Probe(argv=(), setup=(("cc-sdd", "--claude", "--yes"),), in_init=True, expects='"kiro[:-]spec-init"')),
    _npm("@fission-ai/openspec", "1.13.2", "configuration writers", Probe(argv=(), setup=(("openspec", "init", "--tools", "claude", "."),), in_init=True, expects="opsx:|openspec")),
)  # fmt: skip
