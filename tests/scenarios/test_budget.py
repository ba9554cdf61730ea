"""Limits that hold over agents, processes and crashes."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.subcommands.parser import run_subcommand
from bridle.engine.loop import run_turn
from bridle.features.budgets.ledger import Ledger, Refusal
from bridle.features.budgets.metered_provider import MeteredProvider, source_of
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.types.block import AssistantMessage
from bridle.types.budget import Budgets, Charge, Limit, Payer
from bridle.types.errors import CommandLineError, OverBudget
from bridle.types.history import History
from bridle.types.model import Completed, ModelEvent, ModelRequest, Started
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import facts, make_runtime, make_session
from tests.fakes.forked import python

PAYER = Payer(run="r1", project="/p")
_WORKER = """
import asyncio, sys
from tests.scenarios.test_budget import spend_all
asyncio.run(spend_all(sys.argv[1], sys.argv[2]))
"""


class FixedProvider:
    """Every answer costs two cents: a thousand tokens in, a thousand out, at ten dollars a million."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        message: AssistantMessage = {
            "id": "m", "type": "message", "role": "assistant", "model": request.model, "content": [],
            "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1_000, "output_tokens": 1_000},
        }  # fmt: skip
        yield Started(message, b"")
        await asyncio.sleep(0)
        yield Completed(message, b"")

    async def close(self) -> None:
        pass


def _metered(path: str, budgets: Budgets, agent: str = "main") -> MeteredProvider:
    payer = Payer(run="r1", project="/p", agent=agent)
    return MeteredProvider(FixedProvider(), path=path, payer=payer, facts=facts, budgets=budgets)


async def _call(provider: MeteredProvider) -> None:
    history = History.of({"role": "user", "content": "x" * 4_000})
    async for _ in provider.stream(ModelRequest(model="model-a", history=history, max_tokens=2_000)):
        pass


async def spend_all(path: str, agent: str) -> None:
    """Call until there is nothing left."""
    provider = _metered(path, {"day": Limit(usd=1.0)}, agent)
    try:
        while True:
            await _call(provider)
    except OverBudget:
        pass


def _reservation() -> float:
    return (1_150 + 2_000) / 100_000 + 0.001


def test_twenty_processes_under_one_cap_exceed_it_by_one_reservation_at_most(tmp_path: Path):
    path = str(tmp_path / "usage.db")
    line = [python(__name__), "-c", _WORKER, path]
    workers = [subprocess.Popen([*line, f"agent-{number}"]) for number in range(20)]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 20

    used = Ledger(path).used("day", PAYER)

    assert 1.0 - 0.02 <= used.usd <= 1.0 + _reservation()
    assert sum(row.usd for row in Ledger(path).totals("agent")) == pytest.approx(used.usd)


async def test_twenty_agents_in_one_process_share_the_cap_of_their_run(tmp_path: Path):
    path = str(tmp_path / "usage.db")
    whole = _metered(path, {"run": Limit(usd=1.0)})

    async def work(agent: str) -> None:
        mine = whole.charged_to(agent)
        with pytest.raises(OverBudget):
            while True:
                await _call(mine)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(work(f"a{number}"))

    assert 1.0 - 0.02 <= Ledger(path).used("run", PAYER).usd <= 1.0 + _reservation()


@pytest.mark.parametrize(
    ("limit", "calls_made"),
    [(Limit(calls=3), 3), (Limit(tokens=6_000), 3), (Limit(usd=0.05), 3), (Limit(seconds=1e-9), 1)],
)
async def test_every_unit_can_be_limited(tmp_path: Path, limit: Limit, calls_made: int):
    provider = _metered(str(tmp_path / "usage.db"), {"project": limit})
    made = 0
    with pytest.raises(OverBudget):
        while True:
            await _call(provider)
            made += 1
    assert made == calls_made


def test_what_a_dead_process_held_is_given_back(tmp_path: Path):
    path = str(tmp_path / "usage.db")
    code = (
        "import os, sys\nfrom bridle.features.budgets.ledger import Ledger\n"
        "from bridle.types.budget import Charge, Limit, Payer\n"
        "p = Payer(run='r1', project='/p')\n"
        "assert Ledger(sys.argv[1]).reserve(p, Charge(usd=0.9), {'day': Limit(usd=1.0)}) == 1\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9

    answer = Ledger(path).reserve(PAYER, Charge(usd=0.5), {"day": Limit(usd=1.0)})

    assert isinstance(answer, int)


def test_what_the_living_hold_is_not_given_away(tmp_path: Path):
    spending = Ledger(str(tmp_path / "usage.db"))
    held = spending.reserve(PAYER, Charge(usd=0.9), {"day": Limit(usd=1.0)})
    assert isinstance(held, int)

    refused = spending.reserve(PAYER, Charge(usd=0.5), {"day": Limit(usd=1.0)})
    assert isinstance(refused, Refusal) and not refused.spent

    spending.settle(held, PAYER, None)
    assert isinstance(spending.reserve(PAYER, Charge(usd=0.5), {"day": Limit(usd=1.0)}), int)


async def test_a_turn_over_budget_ends_with_the_limit_as_its_reason(tmp_path: Path):
    provider = _metered(str(tmp_path / "usage.db"), {"run": Limit(calls=1)})
    await _call(provider)
    runtime = make_runtime(tmp_path, provider)

    outcome = await run_turn(make_session(), Prompt(content="hi", origin=TYPED), runtime)

    assert (outcome.subtype, outcome.reason) == ("error_max_budget_usd", "budget_exhausted")
    assert "has used its budget" in outcome.errors[0]


async def test_calls_are_charged_to_the_tool_whose_result_they_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    path = str(tmp_path / "usage.db")
    script = ScriptedProvider([says(calls("Read", file_path=str(tmp_path / "a.txt"))), says("Done.")])
    provider = MeteredProvider(script, path=path, payer=PAYER, facts=facts, budgets={})
    await run_turn(make_session(), Prompt(content="hi", origin=TYPED), make_runtime(tmp_path, provider, READ))

    assert sorted(row.key for row in Ledger(path).totals("tool")) == ["Read", "prompt"]


@pytest.mark.parametrize(
    ("name", "input", "source"),
    [
        ("mcp__github__search", {}, "MCP server github"),
        ("Skill", {"skill": "review"}, "skill review"),
        ("Bash", {"command": "ls"}, "Bash"),
    ],
)
def test_servers_and_skills_are_told_apart(name: str, input: dict[str, Any], source: str):
    history = History.of(
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": name, "input": input}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
    )
    assert source_of(history) == source


async def test_usage_is_shown_from_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    await _call(_metered(str(tmp_path / "bridle" / "usage.db"), {}))

    assert run_subcommand(["usage", "--by", "model"], env) == 0
    assert "model-a" in (shown := capsys.readouterr().out) and "$0.02" in shown
    assert run_subcommand(["usage", "--by", "agent", "--json"], env) == 0
    assert '"key": "main"' in capsys.readouterr().out
    with pytest.raises(CommandLineError, match="--by takes one of day, model"):
        run_subcommand(["usage", "--by", "weather"], env)


def test_usage_is_read_from_transcripts_where_there_is_no_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "projects" / "-home-me-app"
    folder.mkdir(parents=True)
    row = (
        '{"type":"assistant","uuid":"u","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/me/app","message":'
        '{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x"}],'
        '"usage":{"input_tokens":100000,"output_tokens":0}}}\n'
    )
    (folder / "s.jsonl").write_text(row + row + "not json\n")

    assert run_subcommand(["usage"], {"CLAUDE_CONFIG_DIR": str(tmp_path)}) == 0

    shown = capsys.readouterr().out
    assert "2026-01-02" in shown and "$0.30" in shown
