"""Files that bridle keeps up to date after turns, by an agent that can do nothing but edit one of them."""

from pathlib import Path
from typing import Any

import pytest

from bridle.engine.feature import SideTask
from bridle.engine.loop import run_turn
from bridle.engine.turn import Turn
from bridle.features.memory.documents import magic_title, update_documents
from bridle.features.memory.feature import MemoryFeature
from bridle.features.memory.notes import SessionNotes, notes_path, size_warnings, template
from bridle.features.memory.past_notes import note_session, past_notes
from bridle.features.side_work.feature import SideWorkFeature
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.catalog import CATALOG
from bridle.tools.definitions import find_tool
from bridle.types.event import Noticed, SideTaskFailed
from bridle.types.origin import TYPED
from bridle.types.permission import Mode
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import with_feature

MUCH = {"input_tokens": 12_000, "output_tokens": 9}


class Stage:
    """A session in which one kind of side work follows a turn."""

    def __init__(self, folder: Path, task: SideTask, *script: Any, mode: Mode = "default") -> None:
        self.channel, self.session = FakeChannel(), make_session(mode=mode)
        self.model = ScriptedProvider(script)
        self.side = SideWorkFeature({"work": task})
        tools = [find_tool(each) for each in CATALOG if each.name in ("Read", "Edit", "Write", "Bash")]
        runtime = make_runtime(folder, self.model, *tools, channel=self.channel)
        env = {"CLAUDE_CONFIG_DIR": str(folder / "home")}
        self.runtime = with_feature(runtime.replaced(env=env), self.side)

    async def ask(self, text: str = "where do we deploy?") -> None:
        await run_turn(self.session, Prompt(content=text, origin=TYPED), self.runtime)
        await self.side.finish()


def _document(folder: Path, text: str) -> Path:
    path = folder / "deploy.md"
    path.write_text(text, encoding="utf-8")
    return path


def _reads(path: Path) -> tuple[Any, Any]:
    return says(calls("Read", file_path=str(path))), says("Fridays only, from heron.")


def _edits(path: Path | str, old: str, new: str) -> Any:
    return says(calls("Edit", file_path=str(path), old_string=old, new_string=new))


async def test_a_document_that_asks_for_it_is_brought_up_to_date(tmp_path: Path):
    path = _document(tmp_path, "# MAGIC DOC: Deploying\n_short_\n\nUnknown.\n")
    script = (*_reads(path), _edits(path, "Unknown.", "Fridays only."), says("Done."))
    stage = Stage(tmp_path, update_documents, *script)
    await stage.ask()

    assert path.read_text() == "# MAGIC DOC: Deploying\n_short_\n\nFridays only.\n"
    assert [event.text for event in stage.channel.of(Noticed)] == [f"{path} was updated."]
    assert not stage.channel.questions
    # The agent continues the conversation, so the service finds all before its prompt in the cache.
    assert stage.model.requests[2].messages[:-1] == [
        *stage.model.requests[1].messages,
        {"role": "assistant", "content": [{"type": "text", "text": "Fridays only, from heron."}]},
    ]
    assert len([each for each in stage.session.entries if each["type"] != "system"]) == 4


async def test_the_agent_can_do_nothing_but_edit_that_document(tmp_path: Path):
    path = _document(tmp_path, "# MAGIC DOC: Deploying\n\nUnknown.\n")
    other = tmp_path / "other.md"
    tries = says(
        calls("Write", file_path=str(other), content="x"),
        calls("Bash", command=f"touch {other}"),
        calls("Edit", file_path=str(other), old_string="", new_string="x"),
        calls("Read", file_path=str(path)),
    )
    stage = Stage(tmp_path, update_documents, *_reads(path), tries, says("OK."), mode="bypassPermissions")
    await stage.ask()

    assert not other.exists() and path.read_text().endswith("Unknown.\n")
    said = str(stage.model.requests[3].messages[-1])
    assert said.count(f"only Edit of {path} is allowed here") == 4


async def test_a_document_keeps_its_heading(tmp_path: Path):
    path = _document(tmp_path, "# MAGIC DOC: Deploying\n\nUnknown.\n")
    stage = Stage(tmp_path, update_documents, *_reads(path), _edits(path, "# MAGIC DOC: D", "D"), says("."))
    await stage.ask()

    assert path.read_text() == "# MAGIC DOC: Deploying\n\nUnknown.\n"
    assert len(stage.channel.of(SideTaskFailed)) == 1


async def test_documents_are_updated_by_the_users_own_instructions(tmp_path: Path):
    path = _document(tmp_path, "Intro.\n\n#  magic doc: Deploying\n\n*short*\n\nUnknown.\n")
    own = tmp_path / "home" / "magic-docs" / "prompt.md"
    own.parent.mkdir(parents=True)
    own.write_text("Update {{docTitle}} ({{customInstructions}}) at {{docPath}}; {{other}}: {{docContents}}")
    stage = Stage(tmp_path, update_documents, *_reads(path), says("No."))
    await stage.ask()

    asked: Any = stage.model.requests[2].messages[-1]["content"]
    text = asked if isinstance(asked, str) else asked[-1]["text"]
    assert text == f"Update Deploying (short) at {path}; {{{{other}}}}: {path.read_text()}"
    assert magic_title("# Other") is None and magic_title(path.read_text()) == "Deploying"


async def test_no_document_is_changed_while_a_plan_is_made(tmp_path: Path):
    path = _document(tmp_path, "# MAGIC DOC: Deploying\n\nUnknown.\n")
    stage = Stage(tmp_path, update_documents, *_reads(path), mode="plan")
    await stage.ask()
    assert len(stage.model.requests) == 2


async def test_a_document_that_was_changed_elsewhere_is_left_alone(tmp_path: Path):
    path = _document(tmp_path, "# MAGIC DOC: Deploying\n\nUnknown.\n")
    stage = Stage(tmp_path, update_documents, *_reads(path))
    runtime = stage.runtime.replaced(features=stage.runtime.features.without("side_work"))
    await run_turn(stage.session, Prompt(content="where?", origin=TYPED), runtime)
    path.write_text("# MAGIC DOC: Deploying\n\nMine.\n")
    outcome = Outcome(
        subtype="success", reason="completed", is_error=False, num_turns=1, duration_ms=1, duration_api_ms=1,
        usage=stage.session.spend["model-a"].usage, total_cost_usd=0.0, spend={}, denials=(),
    )  # fmt: skip
    stage.side.after_turn(Turn(stage.session, Prompt(content="", origin=TYPED), runtime), outcome)
    await stage.side.finish()
    assert path.read_text().endswith("Mine.\n")


async def test_notes_are_kept_up_to_date_and_say_how_far_they_go(tmp_path: Path):
    notes, path = SessionNotes(), notes_path(str(tmp_path / "storage"))
    script = (
        says("On Fridays.", usage=MUCH),
        _edits(path, "# Title\n", "# Title\nDeploying\n"),
        says("Done."),
    )
    stage = Stage(tmp_path, notes.update, *script)
    await stage.ask()

    standing = notes.standing(stage.session, stage.runtime.records.storage)
    assert standing is not None and "# Title\nDeploying" in standing.text
    assert standing.up_to == stage.session.entries[-1]["uuid"]
    assert notes.standing(make_session(), stage.runtime.records.storage) is None
    headings = [line for line in template({}).splitlines() if line.startswith("#")]
    assert [line for line in standing.text.splitlines() if line.startswith("#")] == headings
    # They go up to an answer of the conversation, not to one of the agent.
    assert [each["type"] for each in stage.session.entries if each["type"] != "system"] == [
        "user",
        "assistant",
    ]


async def test_notes_that_lose_a_part_stay_as_they_were(tmp_path: Path):
    notes, path = SessionNotes(), notes_path(str(tmp_path / "storage"))
    script = (says("On Fridays.", usage=MUCH), _edits(path, "# Title\n", ""), says("Done."))
    stage = Stage(tmp_path, notes.update, *script)
    await stage.ask()

    assert notes.standing(stage.session, stage.runtime.records.storage) is None
    assert "# Title" in Path(path).read_text()
    assert len(stage.channel.of(SideTaskFailed)) == 1


async def test_users_have_their_own_form_and_instructions_for_notes(tmp_path: Path):
    own = tmp_path / "home" / "session-memory" / "config"
    own.mkdir(parents=True)
    (own / "template.md").write_text("# Only this\n")
    (own / "prompt.md").write_text("Note it in {{notesPath}}: {{currentNotes}}")
    notes, path = SessionNotes(), notes_path(str(tmp_path / "storage"))
    stage = Stage(tmp_path, notes.update, says("On Fridays.", usage=MUCH), says("Nothing."))
    await stage.ask()

    assert f"Note it in {path}: # Only this" in str(stage.model.requests[1].messages[-1])
    assert "# Only this" in Path(path).read_text()


async def test_no_notes_are_taken_where_nothing_is_compacted(tmp_path: Path):
    stage = Stage(tmp_path, SessionNotes().update, says("On Fridays.", usage=MUCH))
    habits = type(stage.runtime.habits)(automatic=False)
    stage.runtime = stage.runtime.replaced(habits=habits)
    await stage.ask()
    assert len(stage.model.requests) == 1


@pytest.mark.parametrize(
    ("words", "warned"), [(100, ()), (4_000, ("# B",)), (40_000, ("# B", "All sections"))]
)
def test_long_sections_are_named(words: int, warned: tuple[str, ...]):
    text = size_warnings(f"# A\nshort\n\n# B\n{'word ' * words}")
    assert [name for name in ("# A", "# B", "All sections") if name in text] == list(warned)


def test_a_new_session_is_told_of_notes_of_others_in_the_project(tmp_path: Path):
    paths = [notes_path(str(tmp_path / f"session-{n}")) for n in range(5)]
    for number, path in enumerate(paths):
        Path(path).parent.mkdir(parents=True)
        text = f"# Title\n_Form_\nWork {number}\n" + "more\n" * 20
        Path(path).write_text(text)
        note_session(str(tmp_path), path, text, now=1_700_000_000 + number)
    Path(paths[3]).unlink()

    text, folders = past_notes(str(tmp_path), own=str(tmp_path / "session-4"))

    assert text is not None and "Work 2" in text and "(9 more lines in the full file)" in text
    assert "Work 3" not in text and "Work 4" not in text and "_Form_" not in text
    assert paths[2] in text and len(folders) == 2
    feature = MemoryFeature(None, storage=str(tmp_path / "session-9"))
    assert "<session-memory>" in (feature.listing(()) or "")


@pytest.mark.parametrize(
    "broken", ["", "{", "[1]", '[{"path": "../x"}]', '[{"path": "/etc/passwd"}]', "[" * 9_999]
)
def test_a_broken_list_of_notes_counts_as_none(broken: str, tmp_path: Path):
    (tmp_path / "session-notes.json").write_text(broken)
    assert past_notes(str(tmp_path), own="/none") == (None, ())
    note_session(str(tmp_path), "/a/session-memory/summary.md", "x", now=1.0)
