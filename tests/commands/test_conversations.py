import json
import os.path
import shutil
from pathlib import Path

import pytest

from bridle.commands.history import rewind_points
from bridle.providers.scripted import calls, says
from bridle.tools.enter_worktree import TOOL as ENTER
from bridle.tools.files.grep import TOOL as GREP
from bridle.tools.files.read import TOOL as READ
from bridle.transcripts.store import TranscriptPath, begin, transcript_path
from bridle.types.command import Resets, Says, Shows
from bridle.types.errors import SessionError, UsageError
from bridle.types.event import CompactionFinished, SessionRenamed
from tests.fakes.commanded import Commanded
from tests.fakes.engine import requests
from tests.fakes.repositories import repository
from tests.features.recall import corpus

_SUMMARY = says("<summary>They spoke of apples.</summary>")


def _sent(commanded: Commanded) -> str:
    return json.dumps(requests(commanded.server.runtime)[-1].messages)


async def test_compacting_puts_a_summary_in_the_place_of_what_was_said(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Hm."), _SUMMARY, says("ok")])
    await commanded.prompt("apples are red")
    before = commanded.session.id
    outcome = await commanded.prompt("/compact keep the colors")
    assert (outcome.text, outcome.num_turns, outcome.is_error) == ("", 0, False)
    assert "keep the colors" in _sent(commanded)
    assert len(commanded.said) == 1 and "uncompact" in commanded.said[0]
    assert "1 prompt: 3 tokens" in commanded.said[0] and "1 answer:" in commanded.said[0]
    assert commanded.session.id == before
    await commanded.prompt("and now?")
    assert "They spoke of apples." in _sent(commanded) and "Hm." not in _sent(commanded)


async def test_compacting_nothing_is_an_error_that_changes_nothing(tmp_path: Path):
    commanded = Commanded(tmp_path)
    outcome = await commanded.prompt("/compact")
    assert outcome.is_error and commanded.session.entries == []
    (finished,) = commanded.channel.of(CompactionFinished)
    assert finished.error is not None


async def test_a_compaction_can_be_taken_back(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Hm."), _SUMMARY, says("ok")])
    await commanded.prompt("apples are red", "/compact", "/uncompact", "go on")
    assert "apples are red" in _sent(commanded)
    assert (await commanded.prompt("/uncompact")).is_error


async def test_pins_are_kept_listed_and_let_go(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.run("/pin never touch main")
    (pin,) = commanded.session.state.ledger.pins
    assert pin.text == "never touch main"
    listed = await commanded.run("/pin list")
    assert isinstance(listed, Shows) and pin.id in listed.text
    assert isinstance(await commanded.run(f"/pin remove {pin.id}"), Says)
    assert commanded.session.state.ledger.pins == ()
    with pytest.raises(UsageError):
        await commanded.run("/pin remove nothing")


async def test_branching_goes_on_in_a_copy_and_leaves_the_original(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("apples")
    original, rows = commanded.session.id, len(commanded.rows())
    outcome = await commanded.prompt("/branch other way")
    assert not outcome.is_error and commanded.session.id != original
    await commanded.prompt("pears")
    assert "apples" in _sent(commanded)
    assert "pears" not in "".join(commanded.rows(original))
    assert len(commanded.rows(original)) >= rows and "pears" in "".join(commanded.rows())


async def test_forking_copies_and_stays(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one")])
    await commanded.prompt("apples")
    before = commanded.session.id
    said = await commanded.run("/fork")
    assert isinstance(said, Says) and "--resume" in said.text
    copy = said.text.split()[-1]
    assert commanded.session.id == before and "apples" in "".join(commanded.rows(copy))


async def test_copying_nothing_is_refused(tmp_path: Path):
    with pytest.raises(SessionError):
        await Commanded(tmp_path).run("/branch")


async def test_resuming_goes_on_with_an_earlier_conversation_by_name(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two"), says("three")])
    await commanded.prompt("apples", "/rename fruit")
    first = commanded.session.id
    await commanded.prompt("/clear", "tools")
    listed = await commanded.run("/resume")
    assert isinstance(listed, Shows) and first in listed.text and "(this one)" in listed.text
    assert await commanded.run("/resume fruit") == Resets(session_id=first, trigger="resume")
    outcome = await commanded.prompt("/resume fruit")
    assert commanded.session.id == first and "fruit" in outcome.text
    assert outcome.total_cost_usd > 0
    await commanded.prompt("go on")
    assert "apples" in _sent(commanded) and "tools" not in _sent(commanded)
    with pytest.raises(SessionError):
        await commanded.run("/resume nothing like it")


async def test_nothing_of_a_new_conversation_is_put_where_the_old_one_was(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "long.txt").write_text("a line of text\n" * 20_000)
    commanded = Commanded(
        tmp_path,
        [says(calls("Grep", pattern="line", output_mode="content", head_limit=0)), says("found")],
        GREP,
    )
    commanded.session.swap(pinned_items=frozenset({"held"}))
    before = commanded.server.runtime.records.storage
    await commanded.prompt("/clear", "look")
    runtime = commanded.server.runtime
    assert runtime.records.storage == str(Path(runtime.records.transcript or "").with_suffix(""))
    assert os.path.basename(runtime.records.storage) == commanded.session.id
    assert os.listdir(os.path.join(runtime.records.storage, "tool-results"))
    assert not os.path.exists(os.path.join(before, "tool-results"))
    # Work that was begun before may still be read.
    assert runtime.records.earlier == (before,)
    assert commanded.session.state.pinned_items == frozenset()


async def test_a_conversation_of_another_folder_goes_on_in_its_own_place(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one")])
    away = TranscriptPath(cwd=str(tmp_path / "elsewhere"), env=commanded.env, warn=print)
    other = begin(away)
    other.say_user("pears")
    other.close()
    await commanded.prompt(f"/resume {other.id}", "and now?")
    path = transcript_path(other.id, str(tmp_path / "elsewhere"), commanded.env)
    assert commanded.server.runtime.records.transcript == path
    assert commanded.server.runtime.records.storage == path.removesuffix(".jsonl")
    assert "and now?" in Path(path).read_text()


async def test_a_conversation_that_was_in_a_work_tree_goes_on_there(tmp_path: Path):
    commanded = Commanded(
        tmp_path, [says(calls("EnterWorktree", name="side")), says("there"), says("again")], ENTER
    )
    repository(commanded.project)
    await commanded.prompt("work aside")
    tree, conversation = commanded.context.workspace.cwd, commanded.session.id
    assert tree != str(commanded.project)
    other = await _in_another_session(tmp_path, commanded)

    outcome = await other.prompt(f"/resume {conversation}", "go on")

    assert not outcome.is_error and other.context.workspace.cwd == tree
    assert f"The session now works in {tree}." in _sent(other)


async def test_a_work_tree_that_is_gone_is_told_and_the_conversation_goes_on(tmp_path: Path):
    commanded = Commanded(
        tmp_path, [says(calls("EnterWorktree", name="side")), says("there"), says("again")], ENTER
    )
    repository(commanded.project)
    await commanded.prompt("work aside")
    tree, conversation = commanded.context.workspace.cwd, commanded.session.id
    other = await _in_another_session(tmp_path, commanded)
    shutil.rmtree(tree)

    outcome = await other.prompt(f"/resume {conversation}")

    assert not outcome.is_error and "Its worktree is unavailable" in outcome.text
    assert other.context.workspace.cwd == str(other.project)


async def _in_another_session(folder: Path, commanded: Commanded) -> Commanded:
    """A session of the same folder, in the main checkout."""
    commanded.session.close()
    return Commanded(folder, [says("there"), says("again")], ENTER)


async def test_renaming_is_bounded_and_told(tmp_path: Path):
    commanded = Commanded(tmp_path)
    await commanded.run(f"/rename {'long ' * 100}")
    (named,) = commanded.channel.of(SessionRenamed)
    assert len(named.title) <= 200


async def test_a_name_can_be_left_to_the_model(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("`red-apples`")])
    await commanded.prompt("apples", "/rename")
    assert commanded.channel.of(SessionRenamed)[0].title == "red-apples"


async def test_a_question_on_the_side_leaves_no_trace(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("Red."), says("two")])
    await commanded.prompt("apples")
    cost = commanded.session.total_cost_usd
    outcome = await commanded.prompt("/btw what color?")
    assert outcome.text == "Red." and commanded.session.total_cost_usd > cost
    assert "apples" in _sent(commanded)
    await commanded.prompt("go on")
    assert "what color?" not in _sent(commanded)


async def test_a_recap_is_one_line(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("Apples.\nAll red.")])
    assert (await commanded.prompt("apples", "/recap")).text == "Apples. All red."


async def test_rewinding_takes_the_conversation_back_to_before_a_prompt(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two"), says("three")])
    await commanded.prompt("apples", "pears")
    points = rewind_points(commanded.context)
    assert [point.text for point in points] == ["pears", "apples"]
    listed = await commanded.run("/rewind")
    assert isinstance(listed, Shows) and "1  pears" in listed.text
    await commanded.prompt("/rewind 1", "plums")
    assert "apples" in _sent(commanded) and "pears" not in _sent(commanded)
    with pytest.raises(UsageError):
        await commanded.run("/rewind 99")
    with pytest.raises(UsageError):
        await commanded.run("/rewind 1 code")


async def test_rewinding_may_sum_up_what_came_before(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two"), _SUMMARY, says("three")])
    await commanded.prompt("apples are red", "pears", "/rewind 1 summary", "go on")
    sent = _sent(commanded)
    assert "They spoke of apples." in sent and "pears" in sent and '"one"' not in sent
    assert "<user-message>apples are red</user-message>" in sent


async def test_rewinding_may_sum_up_all_from_a_prompt_on(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two"), _SUMMARY, says("three")])
    await commanded.prompt("plums are blue", "apples are red", "/rewind 1 summary-after", "go on")
    sent = _sent(commanded)
    assert "plums are blue" in sent and "They spoke of apples." in sent and "apples are red" not in sent


async def test_the_first_prompt_is_not_summed_up_with_all_after_it(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("apples are red")
    with pytest.raises(SessionError):
        await commanded.run("/rewind 1 summary-after")
    await commanded.prompt("go on")
    assert "apples are red" in _sent(commanded)


async def test_single_things_are_listed_with_their_cost_and_taken_out(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name} " * 2_000)
    script = [
        says(calls("Read", file_path=str(tmp_path / "a"))),
        says(calls("Read", file_path=str(tmp_path / "b"))),
        says("Read."),
        says("ok"),
    ]
    commanded = Commanded(tmp_path, script, READ)
    await commanded.prompt("look")
    listed = await commanded.run("/items")
    assert isinstance(listed, Shows) and "result    call-1  Read" in listed.text.splitlines()[0]
    await commanded.run("/items hold call-1")
    held = await commanded.run("/items all")
    assert isinstance(held, Shows) and "(held)" in held.text.splitlines()[0]
    for wrong in ("/items drop call-1", "/items stub nothing", "/items burn call-2", "/items drop"):
        with pytest.raises(UsageError):
            await commanded.run(wrong)
    dropped = await commanded.run("/items drop call-2")
    assert isinstance(dropped, Says) and "tokens saved" in dropped.text
    await commanded.prompt("go on")
    assert "a a a" in _sent(commanded) and "b b b" not in _sent(commanded)
    await commanded.run("/items release call-1")
    await commanded.run("/items stub call-1")
    assert commanded.session.state.pinned_items == frozenset()


async def test_words_of_other_conversations_are_found_again(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Red ones keep longest."), says("two")])
    await commanded.prompt("which apples keep?")
    first = commanded.session.id
    await commanded.prompt("/clear", "which apples now?")
    found = await commanded.run("/recall apples keep")
    assert isinstance(found, Says) and first in found.text and "user: which apples keep?" in found.text
    assert commanded.session.id not in found.text
    nothing = await commanded.run("/recall bananas")
    assert isinstance(nothing, Says) and "No other conversation" in nothing.text
    with pytest.raises(UsageError):
        await commanded.run("/recall")


async def test_search_looks_into_every_conversation_on_the_machine(tmp_path: Path):
    corpus.codex(tmp_path)
    commanded = Commanded(tmp_path, env=corpus.environment(tmp_path))
    found = await commanded.run("/search pelican")
    assert isinstance(found, Says) and "codex resume codex-1" in found.text
    nothing = await commanded.run("/search zebra")
    assert isinstance(nothing, Says) and "No other conversation" in nothing.text
    with pytest.raises(UsageError):
        await commanded.run("/search")
