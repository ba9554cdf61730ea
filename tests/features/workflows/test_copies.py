"""Runs of the conversation that a session is a copy of: seen, kept and gone on with as its own."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.commands.workflows import workflows
from bridle.engine.runtime import Runtime
from bridle.features.workflows.journal import RunFolder
from bridle.features.workflows.saved import save as save_run
from bridle.providers.scripted import says
from bridle.transcripts.origins import origin_folders
from bridle.transcripts.resume import resume
from bridle.transcripts.store import TranscriptPath, begin, transcript_path
from bridle.types.errors import ProviderError, ToolError, UsageError
from tests.fakes.commanded import Commanded
from tests.fakes.engine import with_records
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program, lines, user
from tests.fakes.workflows import answer_of, workflow_session

_ENV = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}
_FAN = "return await parallel(args.map(key => () => agent(`<${key}>`)))"
_FILE = "export const meta = {name: 'fan', description: 'Fans out.'}\n" + (
    "const done = await parallel([0, 1, 2].map(n => () => agent(`Do part ${n}.`)))\n"
    "return done.filter(Boolean).length + ' parts'"
)
_BROKEN = ProviderError("Too many.", kind="invalid_request", status=400)
_STREAM = ("-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
_ORIGIN = "11111111-1111-4111-8111-111111111111"
_STEPS = (
    fault(400, "invalid_request_error", "Not now.", when="Do part 0."),
    step("All is done.", when="3 parts"),
    step("Two of three.", when="2 parts"),
    step("Done.", when="Do part", repeat=True),
)


async def test_a_copy_continues_a_run_in_a_journal_of_its_own(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A")], "b": [_BROKEN]}, env=_ENV) as made:
        first = await made.finish(_FAN, args=["a", "b"])
        there = Path(made.run(first.id).folder.path)
    before = _contents(there)
    async with workflow_session(
        tmp_path, {"a": [], "b": [says("B")]}, env=_ENV, change=_copy(tmp_path)
    ) as copy:
        (seen,) = await copy.runs.views(copy.team.runtime)
        again = await copy.finish(resume=first.id)
        (view,) = await copy.runs.views(copy.team.runtime)
    assert (seen.run_id, seen.state, len(seen.agents)) == (first.id, "completed", 1)
    assert answer_of(again) == '["A","B"]' and again.id == first.id
    assert [agent.state for agent in view.agents] == ["replayed", "done"]
    assert view.script_path.startswith(str(tmp_path / "copy"))
    assert _contents(there) == before


async def test_a_later_process_of_the_copy_finds_what_the_copy_has_done(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [_BROKEN]}, env=_ENV) as made:
        first = await made.finish(_FAN, args=["a"])
    async with workflow_session(tmp_path, {"a": [says("A")]}, env=_ENV, change=_copy(tmp_path)) as copy:
        await copy.finish(resume=first.id)
    async with workflow_session(tmp_path, {"a": []}, env=_ENV, change=_copy(tmp_path)) as later:
        (view,) = await later.runs.views(later.team.runtime)
        again = await later.finish(resume=first.id)
        assert later.runs.ids(later.team.runtime) == (first.id,)
    assert view.script_path.startswith(str(tmp_path / "copy")) and len(view.agents) == 1
    assert answer_of(again) == '["A"]'


async def test_the_script_of_a_run_is_saved_from_a_copy(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        first = await made.finish("return 5")
    async with workflow_session(tmp_path, {}, change=_copy(tmp_path)) as copy:
        folder = copy.runs.folder(first.id, copy.team.runtime)
        assert folder is not None
        path = save_run(folder, copy.team.runtime, name="kept", scope="project", replace=False)
    assert Path(path).read_text().endswith("return 5")


async def test_a_run_of_the_other_session_is_reported_and_done_here_as_well(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A")], "b": [says("B", then=gate.wait)]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = made.run((await made.start(_FAN, args=["a", "b"])).run_id)
        await eventually(lambda: [each.state for each in run.view().agents] == ["done", "running"])
        async with workflow_session(
            tmp_path, {"a": [], "b": [says("mine")]}, env=_ENV, change=_copy(tmp_path)
        ) as copy:
            (seen,) = await copy.runs.views(copy.team.runtime)
            commanded = Commanded(tmp_path)
            commanded.server.runtime = copy.team.runtime
            with pytest.raises(
                UsageError,
                match="is running in another session: control it there, or finish it here with /workflows",
            ):
                await workflows(f"{run.plan.run_id} stop", commanded.context)
            here = await copy.finish(resume=run.plan.run_id)
        gate.set()
        (there,) = await made.team.over()
    assert (seen.state, seen.live) == ("elsewhere", False)
    assert (answer_of(here), answer_of(there)) == ('["A","mine"]', '["A","B"]')


async def test_two_sessions_never_write_one_journal(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A", then=asyncio.Event().wait)]}, env=_ENV) as made:
        run = await made.start("await agent('<a>')")
        async with workflow_session(tmp_path, {"a": []}, env=_ENV) as other:
            with pytest.raises(ToolError, match="Another process is running"):
                await other.start(resume=run.run_id)


async def test_a_process_that_goes_from_a_copy_back_finds_the_run_as_it_left_it(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [_BROKEN, says("copy's"), says("own")]}, env=_ENV) as made:
        first = await made.finish(_FAN, args=["a"])
        own = made.team.runtime
        made.team.runtime = _copy(tmp_path)(own)
        there = await made.finish(resume=first.id)
        made.team.runtime = with_records(own, earlier=(made.team.runtime.records.storage,))
        (view,) = await made.runs.views(made.team.runtime)
        here = await made.finish(resume=first.id)
    assert view.agents == () and view.script_path.startswith(own.records.storage)
    assert (answer_of(there), answer_of(here)) == ('["copy\'s"]', '["own"]')


def test_a_conversation_knows_all_those_that_it_is_a_copy_of(tmp_path: Path):
    place = TranscriptPath(cwd=str(tmp_path), env={"HOME": str(tmp_path)}, warn=print)
    first = begin(place)
    first.say_user("hello")
    first.flush()
    second = resume(transcript_path(first.id, place.cwd, place.env), place, fork=True)
    second.flush()
    third = resume(transcript_path(second.id, place.cwd, place.env), place, fork=True)
    found = [Path(folder).name for folder in origin_folders(third, place.env)]
    assert found == [second.id, first.id]
    assert origin_folders(first, place.env) == ()
    for session in (first, second, third):
        session.close()


def test_a_folder_without_results_is_taken_over_as_such(tmp_path: Path):
    own = RunFolder(str(tmp_path / "own"), "wf_000000000000")
    own.take_over(RunFolder(str(tmp_path), "wf_000000000000"))
    assert list(own.records()) == [] and not own.is_held()


async def test_a_forked_session_lists_shows_and_resumes_the_runs_of_its_origin(tmp_path: Path):
    async with MessagesServer(_STEPS) as server:
        program = await _with_a_run(tmp_path, server)
        (there,) = (program.home / ".claude" / "projects").rglob("journal.jsonl")
        before = _contents(there.parent)
        run = there.parent.name
        fork = ("--resume", _ORIGIN, "--fork-session")
        listed = await program.run("-p", "/workflows", *fork)
        shown = await program.run("-p", f"/workflows {run}", *fork)
        saved = await program.run("-p", f"/workflows {run} save kept", *fork)
        done = await program.run("-p", f"/workflows {run} resume", *fork)
        journals = list((program.home / ".claude" / "projects").rglob("journal.jsonl"))
    assert run in listed.out and "2 of 2 agents done" in listed.out
    assert "Script: " in shown.out and saved.out.startswith("Saved to ")
    assert done.out.strip() == "All is done.", done.err
    assert sorted(path.read_text().count("\n") for path in journals) == [2, 3]
    assert _contents(there.parent) == before


async def test_a_branch_resumes_a_run_of_the_same_process_as_its_own(tmp_path: Path):
    async with MessagesServer(_STEPS) as server:
        program = await _with_a_run(tmp_path, server)
        said = lines(user("/branch"), user("/workflows fan resume"))
        done = await program.run(*_STREAM, "--resume", _ORIGIN, stdin=said)
        journals = list((program.home / ".claude" / "projects").rglob("journal.jsonl"))
    results = [frame["result"] for frame in done.frames if frame["type"] == "result"]
    assert results[-1] == "All is done.", json.dumps(results)
    assert sorted((path.read_text().count("\n"), path.parts[-4] == _ORIGIN) for path in journals) == [
        (2, True),
        (3, False),
    ]


async def _with_a_run(folder: Path, server: MessagesServer) -> Program:
    """A program with a conversation in which one of three agents has failed."""
    program = Program(folder, server.url)
    saved = program.project / ".claude" / "workflows"
    saved.mkdir(parents=True)
    (saved / "fan.js").write_text(_FILE)
    await program.run("-p", "/fan", "--session-id", _ORIGIN)
    return program


def _copy(folder: Path) -> Callable[[Runtime], Runtime]:
    """A session that is a copy of the one in `folder`."""

    def change(runtime: Runtime) -> Runtime:
        earlier = runtime.records.folders
        return with_records(runtime, storage=str(folder / "copy"), earlier=earlier)

    return change


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
