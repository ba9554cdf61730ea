from pathlib import Path
from typing import Any

import msgspec

from bridle.transcripts.reader import load
from bridle.transcripts.row_facts import block_facts, whole_usage
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block, text_block
from bridle.types.origin import JOB, PROGRAM, TYPED
from tests.transcripts.entries import call, message, say


def open_session(path: Path) -> Session:
    return Session(writer=Transcript(str(path), warn=lambda _: None))


def rows(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(msgspec.json.decode, path.read_bytes().splitlines())
    return [row for row in lines if row["type"] == kind]


def test_rows_of_the_user_name_the_prompt_that_they_belong_to(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("first", origin=TYPED)
    say(session, "m", call("c"))
    session.say_user([result_block("c", "ok")], data="ok")
    session.say_user([text_block("[Request interrupted by user]")], origin=PROGRAM)
    session.say_user("done in the background", origin=JOB)
    session.say_user("second", origin=TYPED)
    first, result, marker, note, second = rows(path, "user")
    assert first["promptId"] == result["promptId"] == marker["promptId"] != second["promptId"]
    assert (first["promptSource"], first["turnOrigin"]) == ("typed", "human")
    assert (note["promptSource"], note["turnOrigin"]) == ("system", "system")
    assert [row.get("turnPosition") for row in (first, result, marker, note, second)] == [
        {"promptIndex": 1, "turnIndex": 1},
        None,
        None,
        {"promptIndex": 1, "turnIndex": 2},
        {"promptIndex": 2, "turnIndex": 3},
    ]
    assert "permissionMode" not in marker
    again = Session()
    again.restore(load(str(path)).entries, session._cost)
    assert again.say_user("third", origin=TYPED).get("turnPosition") == {"promptIndex": 3, "turnIndex": 5}


def test_a_result_says_what_the_gate_decided(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("q")
    say(session, "m", call("a"), call("b"))
    accepted = {"decision": "accept", "source": "config", "reasonType": "mode"}
    rejected = {"decision": "reject", "source": "user", "reasonCode": "unknown"}
    session.say_user([result_block("a", "ok")], data="ok", decision=accepted)
    session.say_user([result_block("b", "no", is_error=True)], data="no", decision=rejected)
    _, good, bad = rows(path, "user")
    assert (good["permissionDecision"], good.get("toolDenialKind")) == (accepted, None)
    assert (bad["permissionDecision"], bad["toolDenialKind"]) == (rejected, "user-rejected")


def test_an_answer_names_the_model_that_was_asked_and_whether_it_was_cut(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("q")
    asked = block_facts(requested="opus", place=1, lifetime="5m", kind="tool_use", took_ms=4)
    session.say_assistant(message("m", call("a")), facts=asked, aborted=True)
    session.flush()
    (row,) = rows(path, "assistant")
    assert (row["toolInputStreamMs"], row["promptCacheRequested"]) == (4, "5m")
    found = (row["requestedModel"], row["apiBlockIndex"], row["madeBy"], row["isAbortedMidStream"])
    assert found == ("opus", 1, "model", True)
    assert row["message"]["usage"] == {"input_tokens": 1, "output_tokens": 1}


def test_usage_has_every_count_and_keeps_what_was_reported():
    reported = {"input_tokens": 3, "cache_creation_input_tokens": 7, "service_tier": "priority", "new": 1}
    assert whole_usage(reported) == {
        **reported,
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 7},
        "fallback_credit": None,
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
