import json
from pathlib import Path
from typing import Any

from bridle.commands.queries.usage_records import usage_records
from bridle.host.paths import project_dir
from bridle.transcripts.cost import Work
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _row(at: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": at, "timestamp": at, "cwd": "/p", "message": {"content": "q"}, **more}


def _sum(api: int, added: int) -> dict[str, Any]:
    return {"type": "cost-state", "totalAPIDuration": api, "totalLinesAdded": added}


def _records(tmp_path: Path, *rows: dict[str, Any]) -> list[tuple[str, Work]]:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    folder = Path(project_dir("/p", env))
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    return [(each.day.isoformat(), each.work) for each in usage_records(env).work]


def test_time_and_lines_belong_to_the_day_of_their_turn(tmp_path: Path):
    found = _records(
        tmp_path,
        _row("2026-03-01T12:00:00Z"),
        _sum(100, 3),
        _row("2026-03-05T12:00:00Z"),
        _sum(250, 3),
        _sum(250, 3),
    )
    assert found == [("2026-03-01", Work(api_ms=100, lines_added=3)), ("2026-03-05", Work(api_ms=150))]


def test_a_copy_of_a_conversation_adds_only_its_own_time_and_lines(tmp_path: Path):
    origin = {"sessionId": "o", "messageUuid": "m"}
    found = _records(
        tmp_path,
        _row("2026-03-01T12:00:00Z", forkedFrom=origin),
        _sum(100, 3),
        _row("2026-03-05T12:00:00Z"),
        _sum(130, 4),
    )
    assert found == [("2026-03-05", Work(api_ms=30, lines_added=1))]


async def test_a_copied_session_and_its_origin_sum_up_once(tmp_path: Path):
    write = {
        "type": "tool_use",
        "id": "t1",
        "name": "Write",
        "input": {"file_path": "a", "content": "1\n2\n"},
    }
    async with MessagesServer([step(write), step("ok"), step("again")]) as server:
        program = Program(tmp_path, server.url)
        first = await program.run("-p", "go", "--permission-mode", "acceptEdits", "--output-format", "json")
        kept = json.loads(first.out)["session_id"]
        await program.run("-p", "more", "--resume", kept, "--fork-session")
        table = await program.run("usage")
        rows = json.loads((await program.run("usage", "--json")).out)
    assert "in models, +2 −0 lines" in table.out
    assert sum(row["lines_added"] for row in rows) == 2
    assert sum(row["api_seconds"] for row in rows) <= sum(row["seconds"] for row in rows)
