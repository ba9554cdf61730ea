"""Workflows of the whole program: a real child, a model behind real HTTP, flags and settings."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, Received, Step, fault, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program, lines, user
from tests.fakes.sse import tool_use

_META = "export const meta = {name: 'fan', description: 'Fans out.', phases: [{title: 'Look'}]}\n"
_FAN = _META + (
    "phase('Look')\n"
    "const found = await parallel(Array.from({length: args.n}, (_, i) => () => agent(`Do part ${i}.`)))\n"
    "return found.filter(Boolean).length + ' parts'"
)
_STREAM = ("-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json")


def _install(program: Program, script: str = _FAN, name: str = "fan") -> None:
    folder = program.project / ".claude" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.js").write_text(script)


def _run(**input: Any) -> dict[str, Any]:
    return tool_use("Workflow", id="toolu_wf", **input)


def _parts(server: MessagesServer) -> Counter[str]:
    """How often each part was asked for."""
    found: Counter[str] = Counter()
    for request in server.requests:
        first = json.dumps(request.body["messages"][0]) + json.dumps(request.body["messages"][-1])
        if len(request.body["messages"]) == 1 and "Do part " in first:
            found[first.rpartition("Do part ")[2].partition(".")[0]] += 1
    return found


async def test_the_session_waits_for_two_hundred_agents_and_the_model_gets_the_result(tmp_path: Path):
    script = [
        step(_run(script=_FAN, args={"n": 200}), when='"text":"begin"'),
        step("It runs.", when="runs in the background"),
        step("All is done.", when="200 parts"),
        step("Done.", when="Do part", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "begin", "--allowedTools", "Workflow")
        assert _parts(server) == {str(n): 1 for n in range(200)}
        note = next(request for request in server.requests if b"200 parts" in request.raw)
    assert (done.code, done.out.strip()) == (0, "It runs.\nAll is done."), done.err
    assert b"<task-notification>" in note.raw and b"200 of 200 agents finished" in note.raw


async def test_a_host_follows_a_run_by_the_lines_of_its_job(tmp_path: Path):
    script = [
        step(_run(name="fan", args={"n": 3}), when='"text":"begin"'),
        step("It runs.", when="runs in the background"),
        step("All is done.", when="3 parts"),
        step("Done.", when="Do part", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        done = await program.run(*_STREAM, "--allowedTools", "Workflow(fan)", stdin=lines(user("begin")))
    system = [frame for frame in done.frames if frame["type"] == "system"]
    (started,) = [frame for frame in system if frame["subtype"] == "task_started"]
    assert (started["task_type"], started["workflow_name"], started["tool_use_id"]) == (
        "local_workflow",
        "fan",
        "toolu_wf",
    )
    run_id = started["task_id"]
    assert run_id.startswith("wf_")
    progress = [frame for frame in system if frame["subtype"] == "task_progress"]
    assert progress and {frame["task_id"] for frame in progress} == {run_id}
    assert progress[0]["summary"].endswith("agents done")
    (updated,) = [frame for frame in system if frame["subtype"] == "task_updated"]
    assert (updated["task_id"], updated["patch"]["status"]) == (run_id, "completed")
    (note,) = [frame for frame in system if frame["subtype"] == "task_notification"]
    assert (note["task_id"], note["status"]) == (run_id, "completed")
    init = next(frame for frame in system if frame["subtype"] == "init")
    assert "fan" in init["slash_commands"] and "Workflow" in init["tools"]
    (result,) = [frame["tool_use_result"] for frame in done.frames if frame.get("tool_use_result")]
    assert (result["runId"], result["taskId"], result["status"]) == (run_id, run_id, "async_launched")


async def test_what_finished_before_a_kill_is_not_done_again(tmp_path: Path):
    released: list[bool] = []

    def answer(request: Received) -> Step:
        """Every third part hangs the first time."""
        text = json.dumps(request.body["messages"])
        part = int(text.rpartition("Do part ")[2].partition(".")[0])
        return step(f"Did {part}.") if released or part % 3 else step("x", silent_after=0)

    script: list[Any] = [
        step(_run(name="fan", args={"n": 12}), when='"text":"begin"'),
        step("It runs.", when="runs in the background"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS="0")
        _install(program)
        server.script([*script, *([answer] * 12)])
        session = "11111111-1111-4111-8111-111111111111"
        process = await program.start("-p", "begin", "--allowedTools", "Workflow", "--session-id", session)
        journal = program.home / ".claude" / "projects"
        await eventually(lambda: _finished(journal) == 8)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        (run,) = journal.rglob("journal.jsonl")
        released.append(True)
        server.script(
            [
                step("All is done.", when="12 parts"),
                *([answer] * 4),
            ]
        )
        done = await program.run("-p", f"/workflows {run.parent.name} resume", "--resume", session)
        counts = _parts(server)
    assert done.out.strip() == "All is done.", done.err
    assert counts == {str(n): 1 if n % 3 else 2 for n in range(12)}


async def test_a_failed_agent_is_begun_anew_by_a_command_while_the_others_work(tmp_path: Path):
    script = [
        fault(400, "invalid_request_error", "Not now.", when="Do part 0."),
        step("Did 0.", when="Do part 0."),
        step("Did 1.", when="Do part 1.", held=True),
        step("Did 2.", when="Do part 2."),
        step("All is done.", when="3 parts"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS="0")
        _install(program)
        async with FakeHost(program, "-p") as host:
            host.prompt('/fan {"n": 3}')
            await host.until(lambda frame: frame.get("summary") == "Look: 2 of 3 agents done")
            host.prompt("/workflows fan restart 1")
            shown = await host.until(lambda frame: "is restarted" in str(frame.get("result")))
            host.prompt("/workflows fan restart 3")
            refused = await host.until(lambda frame: "has finished" in str(frame.get("result")))
            await eventually(lambda: _parts(server)["0"] == 2)
            server.released.set()
            last = await host.until(lambda frame: frame.get("result") == "All is done.")
            await host.close()
        assert _parts(server) == {"0": 2, "1": 1, "2": 1}
        note = next(request for request in server.requests if b"3 parts" in request.raw)
    assert (shown["is_error"], refused["is_error"], last["is_error"]) == (False, True, False)
    assert b"3 of 3 agents finished." in note.raw


async def test_a_workflow_file_is_a_command_and_its_result_reaches_the_model(tmp_path: Path):
    script = [
        step("Here is the report.", when="3 parts"),
        step("Done.", when="Do part", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        done = await program.run("-p", '/fan {"n": 3}')
        note = next(request for request in server.requests if b"3 parts" in request.raw)
    assert done.out.strip() == "Here is the report.", done.err
    assert b"The user requested it with /fan" in note.raw


async def test_the_commands_say_what_there_is(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    _install(program)
    shown = await program.run("-p", "/workflows")
    wrong = await program.run("-p", "/workflows wf_x")
    helped = await program.run("-p", "/help")
    assert "No workflows have run in this session." in shown.out and "/fan" in shown.out
    assert wrong.code == 1 and "Unknown workflow run wf_x" in wrong.out + wrong.err
    assert "/fan" in helped.out and "/workflows" in helped.out


async def test_workflows_can_be_turned_off(tmp_path: Path):
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        for env, settings in (
            ({"CLAUDE_CODE_DISABLE_WORKFLOWS": "1"}, {}),
            ({}, {"disableWorkflows": True}),
            ({}, {"enableWorkflows": False}),
        ):
            frames = (
                await program.run(
                    *_STREAM, "--settings", json.dumps(settings), stdin=lines(user("ultracode please")), **env
                )
            ).frames
            init = next(frame for frame in frames if frame.get("subtype") == "init")
            assert "fan" not in init["slash_commands"] and "Workflow" not in init["tools"]
        assert not any(b"wants this done thoroughly" in request.raw for request in server.requests)
        assert not any(b"Saved workflows" in request.raw for request in server.requests)


async def test_the_word_ultracode_asks_for_a_workflow_and_hard_thinking_in_that_turn(tmp_path: Path):
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true")
        _install(program)
        plain = ("--model", "claude-opus-4-8", "--effort", "low")
        small = json.dumps({"workflowSizeGuideline": "small"})
        await program.run("-p", "fix it, ultracode!", *plain, "--settings", small)
        await program.run("-p", "an ultracoded thing", *plain)
        quiet = json.dumps({"workflowKeywordTriggerEnabled": False})
        await program.run("-p", "ultracode", *plain, "--settings", quiet)
        shown, other, off = server.requests
    assert b"wants this done thoroughly" in shown.raw and b"about 5 agents" in shown.raw
    assert shown.body["output_config"]["effort"] == "xhigh"
    # The list of tools stays, so that a session keeps its cached beginning when the word comes late.
    assert b"select:Workflow" in shown.raw and shown.body["tools"] == other.body["tools"]
    for request in (other, off):
        assert b"wants this done thoroughly" not in request.raw
        assert request.body["output_config"]["effort"] == "low"
        assert "Workflow" not in [tool["name"] for tool in request.body["tools"]]


async def test_ultracode_for_the_session_is_a_setting_a_flag_and_an_effort(tmp_path: Path):
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        model = ("--model", "claude-opus-4-8")
        await program.run("-p", "fix it", *model, "--settings", '{"ultracode": true}')
        await program.run("-p", "fix it", *model, "--effort", "ultracode")
        await program.run(*_STREAM, *model, stdin=lines(user("/effort ultracode"), user("fix it")))
        await program.run(
            *_STREAM, *model, stdin=lines(user("/effort ultracode"), user("/effort low"), user("fix it"))
        )
        requests = server.requests
    assert [b"wants this done thoroughly" in request.raw for request in requests] == [True, True, True, False]
    assert [request.body["output_config"]["effort"] for request in requests] == ["xhigh"] * 3 + ["low"]


def _finished(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("journal.jsonl"))


async def test_where_all_tools_are_listed_this_one_comes_with_the_first_sign_of_use(tmp_path: Path):
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        await program.run(*_STREAM, stdin=lines(user("hi"), user("is there a workflow?"), user("hi again")))
        await program.run("-p", "hi", "--allowedTools", "Workflow(fan)")
        await program.run("-p", "hi", "--tools", "Read,Workflow")
        shown = [
            "Workflow" in [tool["name"] for tool in request.body["tools"]] for request in server.requests
        ]
    assert shown == [False, True, True, True, True]


async def test_files_that_cannot_be_used_are_named_and_the_rest_works(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    _install(program)
    _install(program, "return 1", "broken")
    done = await program.run("-p", "/workflows")
    assert "broken.js" in done.err and "/fan" in done.out


async def test_a_host_turns_ultracode_on_while_the_session_runs(tmp_path: Path):
    on = {"ultracode": True, "workflowSizeGuideline": "large"}
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "-p") as host:
            host.prompt("hi")
            await host.result()
            await host.request("apply_flag_settings", settings=on)
            host.prompt("hi")
            await host.result()
            await host.close()
        first, second = server.requests
    assert b"wants this done thoroughly" not in first.raw
    assert b"wants this done thoroughly" in second.raw and b"about 50 agents" in second.raw
