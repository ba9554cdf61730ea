"""Agents of the whole program: the budget that they share, and the prefix that caches are made of."""

import asyncio
import json
import os.path
from pathlib import Path
from typing import Any

import pytest

from bridle.features.budgets.ledger import Ledger
from tests.fakes.messages_server import MessagesServer, Received, Step, step
from tests.fakes.program import Done, Program

_CAP = 1.0
_ANSWER_TOKENS = 1_000
_ANSWER_USD = 0.03
"""A thousand tokens in and out, at no more than what a model of the middle class costs."""


def _agent(number: int, type: str = "general-purpose") -> dict[str, Any]:
    words = {"description": f"part {number}", "prompt": f"Do part {number}.", "subagent_type": type}
    return {"type": "tool_use", "id": f"call_{number}", "name": "Agent", "input": words}


def _costly(*content: Any, **options: Any) -> Step:
    usage = {"input_tokens": _ANSWER_TOKENS, "output_tokens": _ANSWER_TOKENS}
    return step(*content, message={"usage": usage}, **options)


def _looks() -> dict[str, Any]:
    return {"type": "tool_use", "id": "look", "name": "Glob", "input": {"pattern": "*.nothing"}}


async def test_twenty_agents_under_one_dollar_exceed_it_by_one_reservation_at_most(tmp_path: Path):
    """Ten agents in each of two processes, which work until the day's money is gone."""
    script = [
        _costly(*map(_agent, range(10)), when='"text":"begin"'),
        _costly(*map(_agent, range(10)), when='"text":"begin"'),
        _costly(_looks(), repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_MAX_OUTPUT_TOKENS="1000")
        (program.home / ".claude").mkdir()
        settings = {"bridleBudgets": {"day": {"usd": _CAP}}}
        (program.home / ".claude" / "settings.json").write_text(json.dumps(settings))
        both = await asyncio.gather(_worked(program), _worked(program))
        for done in both:
            assert done.result["subtype"] == "error_max_budget_usd", done.err
        spending = Ledger(os.path.join(program.home, ".claude", "bridle", "usage.db"))
        used = spending.totals("project")[0]
        shares = {row.key: row.usd for row in spending.totals("agent")}
        assert len(server.requests) == used.calls
    assert _CAP - 2 * _ANSWER_USD <= used.usd <= _CAP + 3 * _ANSWER_USD
    assert sum(shares.values()) == pytest.approx(used.usd)
    assert shares["general-purpose"] > shares["main"] > 0


async def _worked(program: Program) -> Done:
    return await program.run("-p", "begin", "--output-format", "json", "--model", "sonnet")


async def test_agents_of_one_type_share_all_but_their_task(tmp_path: Path):
    script = [
        step(_agent(1, "Explore"), _agent(2, "Explore"), when="share the work"),
        step("Both are done.", when="share the work", repeat=True),
        step("Part one.", when="Do part 1."),
        step("Part two.", when="Do part 2."),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        (program.project / "CLAUDE.md").write_text("Use tabs.\n")
        done = await program.run("-p", "share the work")
        assert set(done.out.splitlines()) == {"Both are done."}
        first, second = (request for request in server.requests if b"Do part" in _newest(request))
    same = next(at for at, (a, b) in enumerate(zip(first.raw, second.raw, strict=False)) if a != b)
    # What differs is the task itself, the last thing that is said.
    assert first.raw[same:].startswith(b"1.") and second.raw[same:].startswith(b"2.")
    assert same >= 0.9 * len(first.raw)
    for request in (first, second):
        body = request.body
        assert "cache_control" in body["system"][-1]
        assert "cache_control" in body["messages"][-1]["content"][-1]
        assert 2 <= request.raw.count(b'"cache_control"') <= 4


def _newest(request: Received) -> bytes:
    return json.dumps(request.body["messages"]).encode() if len(request.body["messages"]) == 1 else b""
