"""Going on with a run: what is known is not done again, whatever the order."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.features.workflows.journal import RunFolder, call_key
from bridle.providers.scripted import says
from bridle.types.errors import ProviderError, ToolError
from tests.fakes.workflows import META, answer_of, workflow_session

_FAN = "return await parallel(args.map(key => () => agent(`<${key}>`)))"


async def test_only_what_failed_runs_again_whatever_ended_first(tmp_path: Path):
    slow = asyncio.Event()
    broken = ProviderError("Too many.", kind="invalid_request", status=400)
    scripts = {
        "a": [says("A", then=slow.wait)],
        "b": [broken, says("B")],
        "c": [says("C", then=_set(slow))],
    }
    async with workflow_session(tmp_path, scripts) as made:
        first = await made.finish(_FAN, args=["a", "b", "c"])
        again = await made.finish(resume=first.id)
        (view,) = await made.runs.views(made.team.runtime)
        asked = {key: len(made.team.models.requests(key)) for key in "abc"}
    assert answer_of(first) == '["A",null,"C"]' and answer_of(again) == '["A","B","C"]'
    assert asked == {"a": 1, "b": 2, "c": 1} and first.id == again.id
    assert [each.state for each in view.agents] == ["replayed", "done", "replayed"]
    assert again.result is not None and "3 of 3 agents finished, 2 reused." in again.result


async def test_a_changed_script_runs_only_what_is_new_in_it(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A")], "b": [says("B")], "c": [says("C")]}) as made:
        first = await made.finish("return [await agent('<a>'), await agent('<b>')]")
        path = Path(made.run(first.id).folder.script)
        path.write_text(
            META + "return [await agent('<c>'), await agent('<b>', {label: 'other'}), await agent('<a>')]"
        )
        again = await made.finish(path=str(path), resume=first.id)
        asked = {key: len(made.team.models.requests(key)) for key in "abc"}
    assert answer_of(again) == '["C","B","A"]' and asked == {"a": 1, "b": 1, "c": 1}


async def test_equal_calls_are_distinguished_by_their_count(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("one"), says("two"), says("three")]}) as made:
        first = await made.finish("return [await agent('<a>'), await agent('<a>')]")
        again = await made.finish(
            META + "return [await agent('<a>'), await agent('<a>'), await agent('<a>')]", resume=first.id
        )
    assert (answer_of(first), answer_of(again)) == ('["one","two"]', '["one","two","three"]')


async def test_arguments_of_the_run_hold_unless_others_are_given(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        first = await made.finish("return args ?? 'none'", args={"n": 1})
        same = await made.finish(resume=first.id)
        other = await made.finish(resume=first.id, args=[2])
    assert [answer_of(task) for task in (first, same, other)] == ['{"n":1}', '{"n":1}', "[2]"]


async def test_what_an_earlier_run_has_written_counts_for_the_budget(tmp_path: Path):
    lines = [says("x", usage={"input_tokens": 1, "output_tokens": 700})]
    async with workflow_session(tmp_path, {"a": lines}) as made:
        first = await made.finish("await agent('<a>'); return budget.spent()")
        again = await made.finish(resume=first.id)
    assert (answer_of(first), answer_of(again)) == ("700", "700")


async def test_a_later_process_finds_the_run_and_resumes_it(tmp_path: Path):
    async with workflow_session(
        tmp_path, {"a": [says("A")], "b": [says("B", then=asyncio.Event().wait)]}
    ) as made:
        run = await made.start("return [await agent('<a>', {phase: 'One'}), await agent('<b>')]")
        folder = made.run(run.run_id).folder
        await made.team.channel.seen(lambda _: len(made.team.models.requests("b")) > 0)
        # What a killed process leaves: no end in the note.
        note = folder.read_note()
    folder.write_note(note)
    async with workflow_session(tmp_path, {"b": [says("B")]}) as later:
        (view,) = await later.runs.views(later.team.runtime)
        task = await later.finish(resume=run.run_id)
    assert (view.state, view.name, len(view.agents), view.done) == ("interrupted", "test", 1, 1)
    assert [(phase.title, phase.done) for phase in view.phases] == [("One", 1)]
    assert answer_of(task) == '["A","B"]'


async def test_a_torn_last_line_costs_only_itself(tmp_path: Path):
    scripts = {"a": [says("A")], "b": [says("B"), says("B again")]}
    async with workflow_session(tmp_path, scripts) as made:
        first = await made.finish("return [await agent('<a>'), await agent('<b>')]")
        journal = tmp_path / "storage" / "workflows" / first.id / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-20])
        again = await made.finish(resume=first.id)
        once_more = await made.finish(resume=first.id)
    assert answer_of(again) == answer_of(once_more) == '["A","B again"]'
    assert sum(_is_json(line) for line in journal.read_text().splitlines()) == 2


async def test_an_unknown_or_running_run_cannot_be_resumed(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A", then=asyncio.Event().wait)]}) as made:
        for unknown in ("wf_000000000000", "../../s1", "nonsense"):
            with pytest.raises(ToolError, match="Unknown workflow run"):
                await made.start(resume=unknown)
        run = await made.start("await agent('<a>')")
        with pytest.raises(ToolError, match="stop it before"):
            await made.start(resume=run.run_id)


async def test_what_is_kept_is_for_the_user_alone(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A")]}) as made:
        task = await made.finish("return await agent('<a>')")
    folder = tmp_path / "storage" / "workflows" / task.id
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.name: path.stat().st_mode & 0o077 for path in folder.iterdir()} == {
        "journal.jsonl": 0,
        "result.json": 0,
        "run.json": 0,
        "script.js": 0,
    }


_WORDS = st.text(max_size=10)
_VALUES = st.none() | st.booleans() | st.integers(-9, 9) | _WORDS


@given(_WORDS, st.dictionaries(_WORDS, _VALUES, max_size=4))
def test_the_order_of_options_and_their_names_for_people_change_no_key(
    prompt: str, options: dict[str, object]
):
    turned = dict(reversed(options.items()))
    named = {**turned, "label": "x", "phase": "y"}
    bare = {name: value for name, value in options.items() if name not in ("label", "phase")}
    assert call_key(prompt, bare) == call_key(prompt, named)
    assert call_key(prompt, bare) != call_key(prompt + "x", bare)


def test_a_note_without_arguments_has_none_when_it_is_read(tmp_path: Path):
    folder = RunFolder(str(tmp_path), "wf_000000000000")
    assert not folder.exists() and list(folder.records()) == []


def _set(event: asyncio.Event):
    async def set_it() -> None:
        event.set()

    return set_it


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
