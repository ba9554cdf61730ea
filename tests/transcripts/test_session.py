import json
from pathlib import Path
from typing import Any

import msgspec

from bridle.transcripts.cost import Work, from_note
from bridle.transcripts.line import is_uuid
from bridle.transcripts.reader import load
from bridle.transcripts.row_facts import whole_usage
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block
from bridle.types.permission import Effect, Rule
from bridle.types.usage import ModelSpend, Usage
from tests.transcripts.entries import call, message, say, text, thinking


def open_session(tmp_path: Path) -> Session:
    path = str(tmp_path / "s.jsonl")
    return Session(
        "11111111-1111-4111-8111-111111111111",
        writer=Transcript(path, warn=lambda text: None),
        cwd="/p",
        git_branch="main",
        entrypoint="sdk-cli",
        clock=lambda: 1_767_225_600.25,
    )


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "s.jsonl"
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def test_a_session_has_an_id_of_its_own():
    assert is_uuid(Session().id)
    assert Session().id != Session().id
    assert Session("s1").id == "s1"


def test_rows_have_every_field_that_a_mutual_resume_needs(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    say(session, "m", text("x"))
    prompt, answer = lines(tmp_path)
    common = {
        "isSidechain": False,
        "timestamp": "2026-01-01T00:00:00.250Z",
        "sessionId": session.id,
        "cwd": "/p",
        "version": prompt["version"],
        "gitBranch": "main",
        "userType": "external",
        "entrypoint": "sdk-cli",
    }
    assert prompt == {
        **common,
        "type": "user",
        "parentUuid": None,
        "uuid": prompt["uuid"],
        "message": {"role": "user", "content": "q"},
        "permissionMode": "default",
        "promptId": prompt["promptId"],
        "promptSource": "sdk",
        "turnOrigin": "sdk",
        "turnPosition": {"promptIndex": 0, "turnIndex": 1},
    }
    assert answer == {
        **common,
        "type": "assistant",
        "parentUuid": prompt["uuid"],
        "uuid": answer["uuid"],
        "message": {
            **message("m", text("x"), stop="end_turn"),
            "usage": whole_usage({"input_tokens": 5, "output_tokens": 7}),
            "stop_details": None,
        },
    }


def test_a_prompt_is_on_disk_when_it_has_been_said(tmp_path: Path):
    session = open_session(tmp_path)
    entry = session.say_user("q", uuid="99999999-9999-4999-8999-999999999999")
    assert lines(tmp_path) == [entry]
    assert entry["uuid"] == "99999999-9999-4999-8999-999999999999"


def test_a_uuid_that_is_taken_is_replaced(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q", uuid="same")
    assert session.say_user("again", uuid="same")["uuid"] != "same"


def test_results_carry_their_data_and_where_the_call_was(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    (row,) = say(session, "m", call("a"), stop="tool_use")
    session.say_user([result_block("a", "ok")], data=None, source=row["uuid"])
    written = lines(tmp_path)[-1]
    assert written["toolUseResult"] is None
    assert written["sourceToolAssistantUUID"] == row["uuid"]
    assert "permissionMode" not in written


def test_meta_text_and_summaries_are_marked(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("nudge", meta=True)
    session.say_user("summary", summary=True)
    nudge, summary = lines(tmp_path)
    assert nudge["isMeta"] is True
    assert summary["isCompactSummary"] is True


def test_rows_wait_for_the_end_of_their_answer_and_then_carry_it(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    emitted = message("m", thinking())
    session.say_assistant(emitted, request_id="req_1")
    session.say_assistant(message("m", text("x")))
    assert len(lines(tmp_path)) == 1
    session.finish_message("m", stop_reason="end_turn", usage={"output_tokens": 9})
    rows = lines(tmp_path)[1:]
    assert [row["message"]["stop_reason"] for row in rows] == ["end_turn", "end_turn"]
    assert [row["message"]["usage"] for row in rows] == [whole_usage({"output_tokens": 9})] * 2
    assert rows[0]["requestId"] == "req_1"
    assert emitted["stop_reason"] is None, "a message that was reported does not change"


def test_a_result_is_never_written_before_its_call(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    session.say_assistant(message("m", call("a")))
    session.say_user([result_block("a", "ok")], data="ok")
    session.say_assistant(message("m", call("b")))
    session.finish_message("m", stop_reason="tool_use", usage={})
    rows = [row for row in lines(tmp_path) if "uuid" in row]
    assert [row["type"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert {row["message"].get("stop_reason", "") for row in rows} == {"", "tool_use"}


def test_a_call_is_safe_before_its_tool_starts_and_its_row_waits_for_the_usage(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    session.say_assistant(message("m", call("a")))
    session.secure()
    session.secure()
    (_, pending) = lines(tmp_path)
    assert (pending["type"], len(pending["rows"])) == ("bridle-pending", 1)
    (entry,) = [each for each in load(str(tmp_path / "s.jsonl")).entries if each["type"] == "assistant"]
    assert entry["message"]["content"] == [call("a")]
    session.finish_message("m", stop_reason="tool_use", usage={"output_tokens": 7}, usd=0.5)
    loaded = load(str(tmp_path / "s.jsonl"))
    assert not loaded.pending and len(loaded.entries) == 2
    row = lines(tmp_path)[-1]
    assert (row["costUSD"], row["message"]["usage"]) == (0.5, whole_usage({"output_tokens": 7}))


def test_rows_that_were_withdrawn_before_the_answer_was_whole_do_not_come_back(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    entry = session.say_assistant(message("m", call("a")))
    session.secure()
    session.withdraw([entry["uuid"]])
    assert [each["type"] for each in load(str(tmp_path / "s.jsonl")).entries] == ["user"]


async def test_sync_and_close_write_what_waits(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_assistant(message("m", text("x")))
    await session.sync()
    assert len(lines(tmp_path)) == 1
    session.say_assistant(message("n", text("y")))
    session.close()
    rows = [row for row in lines(tmp_path) if "uuid" in row]
    assert [row["message"]["id"] for row in rows] == ["m", "n"]


def test_what_answers_cost_before_a_crash_is_part_of_the_cost_after_it(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    session.record_cost("a", Usage(output=1), 0.25, context_window=9, max_output=9)
    session.save_cost()
    for name in ("m", "n"):
        session.say_assistant(message(name, text("x")))
        session.say_assistant(message(name, text("y")))
        session.finish_message(name, stop_reason="end_turn", usage={"output_tokens": 3}, usd=0.5)
    session.note_call(message("side", text("")), purpose="notes", usd=0.125)
    cost = load(str(tmp_path / "s.jsonl")).cost
    assert cost.usd == 0.25 + 0.5 + 0.5 + 0.125
    session.record_cost("a", Usage(output=6), 1.125, context_window=9, max_output=9)
    session.close()
    assert load(str(tmp_path / "s.jsonl")).cost.usd == 1.375


def test_api_errors_are_written_at_once_and_not_sent(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    entry = session.say_assistant(
        message("e", text("API Error")), error="rate_limit", status=429, api_error=True
    )
    assert lines(tmp_path)[-1] == entry
    assert (entry.get("isApiErrorMessage"), entry.get("error"), entry.get("apiErrorStatus")) == (
        True,
        "rate_limit",
        429,
    )
    assert len(session.history) == 1


def test_rows_withdrawn_while_they_wait_are_never_written(tmp_path: Path):
    session = open_session(tmp_path)
    prompt = session.say_user("q")
    row = session.say_assistant(message("m", text("half")))
    session.withdraw([row["uuid"]])
    (again,) = say(session, "n", text("whole"))
    assert again["parentUuid"] == prompt["uuid"]
    assert [line["uuid"] for line in lines(tmp_path)] == [prompt["uuid"], again["uuid"]]
    assert session.history.messages[1]["content"] == [text("whole")]


def test_withdrawn_rows_stay_in_the_file_but_not_in_the_chain(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    history = session.history
    rows = say(session, "m", text("bad"), call("a"))
    result = session.say_user([result_block("a", "ok")], data="ok")
    session.withdraw([row["uuid"] for row in rows] + [result["uuid"]])
    say(session, "n", text("good"))
    assert history is session.history
    assert [m["content"] for m in history.messages] == ["q", [text("good")]]
    assert len(lines(tmp_path)) == 6
    assert load(str(tmp_path / "s.jsonl")).entries == session.entries


def test_entries_behind_withdrawn_ones_are_kept_in_the_chain(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    rows = say(session, "m", text("bad"))
    session.say_user("wait", meta=True)
    waiting = session.say_assistant(message("n", text("so")))
    session.withdraw({row["uuid"] for row in rows})
    session.finish_message("n", stop_reason="end_turn", usage={})
    assert session.history.messages == [
        {"role": "user", "content": [text("q"), text("wait")]},
        {"role": "assistant", "content": [text("so")]},
    ]
    assert session.entries[-1]["uuid"] == waiting["uuid"]
    assert load(str(tmp_path / "s.jsonl")).entries == session.entries


def test_withdrawing_what_is_not_there_changes_nothing(tmp_path: Path):
    session = open_session(tmp_path)
    session.say_user("q")
    session.withdraw(["unknown"])
    assert len(session.entries) == len(session.history) == len(lines(tmp_path)) == 1


def test_a_compaction_starts_a_new_chain_that_remembers_the_old(tmp_path: Path):
    session = open_session(tmp_path)
    prompt = session.say_user("q")
    boundary = session.say_system(
        "compact_boundary",
        content="Compacted",
        fields={"compactMetadata": {"trigger": "auto", "preTokens": 9}},
    )
    session.say_user("the summary", summary=True)
    assert boundary["parentUuid"] is None
    assert boundary.get("logicalParentUuid") == prompt["uuid"]
    assert lines(tmp_path)[1]["compactMetadata"] == {"trigger": "auto", "preTokens": 9}
    assert session.history.messages == [{"role": "user", "content": "the summary"}]
    assert [entry["uuid"] for entry in load(str(tmp_path / "s.jsonl")).entries] == [
        entry["uuid"] for entry in session.entries[1:]
    ]


def test_notes_are_outside_the_chain(tmp_path: Path):
    session = open_session(tmp_path)
    first = session.say_user("q")
    session.note({"type": "custom-title", "customTitle": "T"})
    second = session.say_user("r")
    assert lines(tmp_path)[1] == {"type": "custom-title", "customTitle": "T"}
    assert second["parentUuid"] == first["uuid"]
    assert len(session.entries) == 2


def test_costs_add_up_per_model_and_are_written_once(tmp_path: Path):
    session = open_session(tmp_path)
    session.record_cost("big", Usage(input=10, output=1), 0.5, context_window=200, max_output=9)
    session.record_cost("small", Usage(input=3), 0.125, context_window=100, max_output=5)
    session.record_cost("big", Usage(cache_read=4, cache_write_1h=2), 0.25, context_window=200, max_output=9)
    session.save_cost()
    session.save_cost()
    assert session.total_cost_usd == 0.875
    assert session.spend == {
        "big": ModelSpend(Usage(input=10, output=1, cache_read=4, cache_write_1h=2), 0.75, 200, 9),
        "small": ModelSpend(Usage(input=3), 0.125, 100, 5),
    }
    (note,) = lines(tmp_path)
    assert note["type"] == "cost-state"
    assert note["totalCostUSD"] == 0.875
    assert note["modelUsage"]["big"] == {
        "inputTokens": 10,
        "outputTokens": 1,
        "thinkingTokens": 0,
        "cacheReadInputTokens": 4,
        "cacheCreationInputTokens": 2,
        "cacheCreationEphemeral5mInputTokens": 0,
        "cacheCreationEphemeral1hInputTokens": 2,
        "webSearchRequests": 0,
        "costUSD": 0.75,
    }


def test_time_and_changed_lines_are_kept_with_the_cost_and_agents_add_theirs(tmp_path: Path):
    now = [1000.0]
    path = str(tmp_path / "s.jsonl")
    session = Session(writer=Transcript(path, warn=print), clock=lambda: now[0])
    agent = session.child("a", str(tmp_path / "agent.jsonl"), cwd="/")
    session.record_work(Work(api_ms=700, api_ms_without_retries=500, tool_ms=40, lines_added=3))
    agent.record_work(Work(api_ms=100, api_ms_without_retries=100, tool_ms=9, lines_removed=2))
    session.record_cost(
        "m", Usage(output=9, thinking=5), 0.0, context_window=1, max_output=1, is_priced=False
    )
    now[0] += 2.5
    session.save_cost()
    session.close()
    note = json.loads((tmp_path / "s.jsonl").read_text().splitlines()[0])
    assert {key: note[key] for key in note if key.startswith(("total", "start", "has"))} == {
        "totalCostUSD": 0.0,
        "totalAPIDuration": 800,
        "totalAPIDurationWithoutRetries": 600,
        "totalToolDuration": 40,
        "totalLinesAdded": 3,
        "totalLinesRemoved": 2,
        "totalDuration": 2500,
        "startTime": 1_000_000,
        "hasUnknownModelCost": True,
    }
    assert note["modelUsage"]["m"]["thinkingTokens"] == 5
    again = Session(clock=lambda: now[0])
    again.restore([], from_note(note))
    now[0] += 1
    assert again.work == Work(
        open_ms=3500,
        api_ms=800,
        api_ms_without_retries=600,
        tool_ms=40,
        lines_added=3,
        lines_removed=2,
        started_at=1_000_000,
    )


def test_the_state_is_swapped_as_a_whole():
    session = Session()
    before = session.state
    session.swap(model="m", mode="acceptEdits", rules=(Rule(Effect.ALLOW, "Read"),))
    assert before.model == ""
    assert session.state == type(before)("m", "acceptEdits", (Rule(Effect.ALLOW, "Read"),))


def test_the_mode_before_plan_mode_is_remembered():
    session = Session()
    session.swap(mode="acceptEdits")
    session.swap(mode="plan")
    session.swap(mode="plan")
    assert session.state.pre_plan_mode == "acceptEdits"


def test_open_calls_are_those_of_the_newest_answer_without_a_result():
    session = Session()
    session.say_user("q")
    say(session, "m", text("x"), call("a"), call("b"))
    assert [block["id"] for block in session.open_calls()] == ["a", "b"]
    session.say_user([result_block("b", "ok")], data="ok")
    assert [block["id"] for block in session.open_calls()] == ["a"]
    session.say_user([result_block("a", "ok")], data="ok")
    assert session.open_calls() == []
