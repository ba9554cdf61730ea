"""`bridle usage`: what model calls have cost, by day, model, agent, tool or project."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.features.budgets.ledger import Ledger, UsageRow, ledger_path
from bridle.host.paths import projects_dir
from bridle.providers import catalog
from bridle.transcripts.line import decode_line
from bridle.types.usage import Usage

_MOST_ROWS = 60
_ADVISER = "bridleAdviser"
"""Marks a row that stands for an answer of the advisor, which has no line of its own in a transcript."""


def run_usage(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the table and return the exit code."""
    by = given.text("by") or "day"
    path = ledger_path(env)
    rows = Ledger(path).totals(by) if os.path.exists(path) else _from_transcripts(by, env)
    if given.on("json"):
        return say(f"{msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()}\n")
    return say(_table(by, rows))


def _table(by: str, rows: Sequence[UsageRow]) -> str:
    if not rows:
        return "Nothing was used yet.\n"
    width = max(len(by), *(len(_shown(row.key)) for row in rows[:_MOST_ROWS]))
    lines = [f"{by:<{width}}  {'cost':>10}  {'tokens':>14}  {'calls':>7}"]
    for row in rows[:_MOST_ROWS]:
        money, tokens = f"${row.usd:.2f}", f"{row.tokens:,}"
        lines.append(f"{_shown(row.key):<{width}}  {money:>10}  {tokens:>14}  {row.calls:>7}")
    if len(rows) > _MOST_ROWS:
        lines.append(f"… and {len(rows) - _MOST_ROWS} more (use --json)")
    total = sum(row.usd for row in rows)
    return "\n".join((*lines, f"{'total':<{width}}  {f'${total:.2f}':>10}")) + "\n"


def _shown(key: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in key)[:60]


def _from_transcripts(by: str, env: Mapping[str, str]) -> list[UsageRow]:
    sums: dict[str, UsageRow] = {}
    for row in _answers(env):
        message, adviser = row["message"], row.get(_ADVISER)
        usage = Usage.from_api(message.get("usage") or {})
        model = catalog.find(str(message.get("model") or ""))
        key = {
            "day": str(row.get("timestamp") or "")[:10],
            "model": model.id,
            "project": str(row.get("cwd") or ""),
            "agent": adviser or str(row.get("agentId") or "main"),
            "tool": adviser or "all",
        }[by]
        known = sums.get(key) or UsageRow(key=key, usd=0.0, tokens=0, output=0, calls=0)
        sums[key] = UsageRow(
            key=key,
            usd=known.usd + catalog.cost(model, usage),
            tokens=known.tokens + usage.context + usage.output,
            output=known.output + usage.output,
            calls=known.calls + 1,
        )
    if by == "day":
        return sorted(sums.values(), key=lambda each: each.key, reverse=True)
    return sorted(sums.values(), key=lambda each: -each.usd)


def _answers(env: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The last row of each answer in every transcript; rows of one answer share the counts."""
    for folder, _, names in os.walk(projects_dir(env)):
        for name in names:
            if name.endswith(".jsonl"):
                yield from _answers_in(os.path.join(folder, name)).values()


def _answers_in(path: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    try:
        with open(path, "rb") as file:
            for line in file:
                row = decode_line(line) if b'"assistant"' in line or b'"advice"' in line else None
                if row is None or row.get("isApiErrorMessage"):
                    continue
                if row.get("type") == "user":
                    found |= _advice(row)
                    continue
                match row.get("message") if row.get("type") == "assistant" else None:
                    case {"id": str() as id, "model": str() as model} if model != "<synthetic>":
                        found[id] = row
                    case _:
                        pass
    except OSError:
        return found  # It was deleted in the meantime.
    return found


def _advice(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The answer of an advisor that a result holds, if it does."""
    match row.get("toolUseResult"):
        case {"advice": str(), "model": str() as model, "usage": {**usage}}:
            answer = {"model": model, "usage": usage}
            return {str(row.get("uuid")): {**row, "message": answer, _ADVISER: "Advisor"}}
        case _:
            return {}
