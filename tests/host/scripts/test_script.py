import asyncio
import os
import signal
import sys
from typing import Any

import pytest
from msgspec import UNSET

from bridle.host.reaper import Reaper
from bridle.host.scripts.protocol import LARGEST_VALUE, ScriptCall, ScriptEnd
from bridle.host.scripts.script import check_script, open_script
from tests.fakes.processes import eventually, is_running
from tests.fakes.scripts import run_script

META = "export const meta = { name: 'x', description: 'y' }\n"


async def test_script_returns_a_value_and_sees_its_meta_and_arguments():
    ran = await run_script(
        f"// first\n{META}return {{ name: meta.name, args, twice: args.map(x => x * 2) }}", args=[1, 2]
    )
    assert ran.value == {"name": "x", "args": [1, 2], "twice": [2, 4]}
    assert ran.calls == ()


@pytest.mark.parametrize(
    ("args", "seen"), [(UNSET, "undefined"), (None, "object"), ("text", "string"), ({"a": 1}, "object")]
)
async def test_arguments_are_undefined_only_when_there_are_none(args: Any, seen: str):
    assert (await run_script(f"{META}return typeof args", args=args)).value == seen


async def test_arguments_may_be_replaced_and_names_shadowed():
    assert (await run_script("args = args ?? 7; const agent = args; return agent")).value == 7


async def test_agent_call_carries_prompt_options_phase_and_line():
    source = (
        f"{META}phase('Look')\n"
        "const one = await agent('a')\n"
        "const two = await agent('b', { label: 'B', phase: 'Other', schema: { type: 'object' } })\n"
        "return [one, two]"
    )
    ran = await run_script(source)
    assert ran.value == ["<a>", "<b>"]
    options = {"label": "B", "phase": "Other", "schema": {"type": "object"}}
    assert ran.calls == (
        ScriptCall(id=1, kind="phase", payload={"title": "Look"}),
        ScriptCall(id=2, kind="agent", payload={"prompt": "a", "options": {}, "phase": "Look"}, line=3),
        ScriptCall(id=3, kind="agent", payload={"prompt": "b", "options": options, "phase": "Other"}, line=4),
    )


async def test_workflow_call_carries_its_arguments_unless_there_are_none():
    source = """
    const path = await workflow({ scriptPath: 'p.js' }, { a: null })
    return [path, await workflow('w'), await workflow('n', null)]"""
    ran = await run_script(source, lambda call: call.id)
    assert ran.value == [1, 2, 3]
    assert [call.payload for call in ran.calls] == [
        {"workflow": {"scriptPath": "p.js"}, "args": {"a": None}},
        {"workflow": "w"},
        {"workflow": "n", "args": None},
    ]


async def test_log_and_console_say_everything_in_words():
    ran = await run_script("log('a', 1, { b: [true] }); console.warn(new TypeError('bad'), undefined, 3n)")
    assert ran.said("log") == ['a 1 {"b":[true]}', "TypeError: bad null 3"]


async def test_answers_of_every_kind_reach_the_script():
    answers = iter([None, {"deep": [1.5, "é\u2028\U0001f600"]}, False, "", "\ud800"])
    ran = await run_script(
        "const all = []; for (let i = 0; i < 5; i++) all.push(await agent('x')); return all",
        lambda _: next(answers),
    )
    assert ran.value == [None, {"deep": [1.5, "é\u2028\U0001f600"]}, False, "", "\ufffd"]


async def test_failed_call_throws_with_its_message_at_the_line_of_the_call():
    def refuse(call: ScriptCall) -> Any:
        raise LookupError(f"no more for {call.payload['prompt']}")

    caught = await run_script(
        "try { await agent('a') } catch (e) { return [e instanceof Error, e.message] }", refuse
    )
    assert caught.value == [True, "no more for a"]
    thrown = await run_script(f"{META}\nconst ask = () =>\n  agent('b')\nawait ask()", refuse)
    assert (str(thrown.error), thrown.error.kind) == ("line 4: no more for b", "thrown")


async def test_parallel_waits_for_all_and_gives_null_for_what_throws():
    source = """
    return await parallel([
      () => agent('a'), () => { throw new Error('early') },
      async () => { await agent('b'); throw 'late' }, () => 4,
    ])"""
    ran = await run_script(source)
    assert ran.value == ["<a>", None, None, 4]
    assert ran.said("log") == ["parallel(): item 1 is null: early", "parallel(): item 2 is null: late"]


async def test_pipeline_has_no_barrier_between_stages():
    source = """
    return await pipeline(['x', 'y', 'z'],
      (item, same, index) => agent(`one ${item} ${same} ${index}`),
      (before, item, index) => { if (index === 1) throw new Error('no'); return [before, item, index] },
      ([before, item, index]) => agent(`two ${before} ${item} ${index}`),
      before => before.length)"""
    order: list[str] = []
    async with asyncio.timeout(50), open_script(source) as script:
        held: list[int] = []
        async for event in script.events():
            if isinstance(event, ScriptEnd):
                assert event.value == [len("two 1"), None, len("two 3")]
                break
            if event.kind == "agent":
                order.append(event.payload["prompt"].rpartition(" ")[0])
                # The second item is held back until the first has gone all the way.
                if event.payload["prompt"].startswith("one y"):
                    held.append(event.id)
                else:
                    await script.answer(event.id, event.payload["prompt"][:3].strip() + f" {event.id}")
                if event.payload["prompt"].startswith("two") and held and len(order) == 5:
                    await script.answer(held.pop(), "late")
    assert order == ["one x x", "one y y", "one z z", "two one 1 x", "two one 3 z"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "await parallel(Array(4097).fill(() => 1))",
            "parallel() takes at most 4096 items, and these are 4097",
        ),
        ("await pipeline(Array(5000).fill(1))", "pipeline() takes at most 4096 items, and these are 5000"),
        ("await parallel([agent('x')])", "parallel() takes functions: write () => agent(…)"),
        ("await parallel('x')", "parallel() takes an array"),
        ("await pipeline([1], 2)", "the stages of pipeline() are functions"),
        ("await agent()", "agent() needs its prompt as text"),
        ("await agent('x', 3)", "the options of agent() are an object"),
        ("phase()", "phase() needs a title"),
        ("await workflow({})", "workflow() needs a name, or an object with scriptPath"),
        ("for (;;) log('x')", "more than 20000 calls without an await between them"),
    ],
)
async def test_wrong_arguments_throw_a_sentence(source: str, message: str):
    assert str((await run_script(f"\n{source}")).error) == f"line 2: {message}"


async def test_many_items_run_in_the_order_of_the_list():
    source = "return (await parallel(Array.from({ length: 4096 }, (_, i) => () => agent(`${i}`)))).length"
    ran = await run_script(source)
    assert ran.value == 4096
    assert ran.said("agent") == [str(i) for i in range(4096)]
    assert [call.id for call in ran.calls] == list(range(1, 4097))


async def test_same_script_arguments_and_answers_give_the_same_calls():
    source = """
    const both = (r, x) => parallel([() => agent(r + x), () => agent(x + r)])
    const a = await pipeline(args, x => agent(`a${x}`), both)
    log(a); return a"""
    first = await run_script(source, args=[1, 2, 3])
    assert await run_script(source, args=[1, 2, 3]) == first


async def test_budget_tells_what_was_spent_at_the_last_answer():
    spent = iter([5, 40, 200])
    source = """
    const seen = [[budget.total, budget.spent(), budget.remaining()]]
    for (const p of ['a', 'b']) { await agent(p); seen.push([budget.spent(), budget.remaining()]) }
    return seen"""
    ran = await run_script(source, budget=100, spent=lambda: next(spent))
    assert ran.value == [[100, 5, 95], [40, 60], [200, 0]]
    free = await run_script("return [budget.total, budget.remaining() === Infinity]")
    assert free.value == [None, True]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("return Date.now()", "Date.now()"),
        ("return new Date()", "the current time"),
        ("return Date()", "the current time"),
        ("return new (new Date(0)).constructor()", "the current time"),
        ("class D extends Date {}; return new D()", "the current time"),
        ("return Math.random()", "Math.random()"),
    ],
)
async def test_what_differs_from_run_to_run_is_refused(source: str, what: str):
    error = (await run_script(source)).error
    assert str(error) == f"line 1: {what} differs from run to run: pass the value in args"


async def test_dates_that_are_given_work_in_universal_time():
    source = (
        "return [new Date(0), new Date(2020, 0, 2).getTime(), Date.UTC(2020, 0, 2), Date.parse('2020-01-02')]"
    )
    assert (await run_script(source)).value == ["1970-01-01T00:00:00.000Z", *[1577923200000] * 3]


async def test_errors_carry_the_line_of_the_file():
    source = f"{META}\nfunction inner() {{\n  return undefinedName + 1\n}}\n\nawait agent('x')\ninner()"
    error = (await run_script(source)).error
    assert (error.kind, str(error)) == ("thrown", "line 4: ReferenceError: undefinedName is not defined")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"{META}\nconst a = ;", "line 3: unexpected token in expression: ';'"),
        (f"{META}if (x) {{", "line 2: "),
        ("\nimport fs from 'fs'", "line 2: a script has no imports"),
        (f"{META}export default 3", "line 2: a script has no imports"),
        ("const a: string = 'x'", "line 1: "),
    ],
)
async def test_syntax_errors_are_found_before_anything_runs(source: str, told: str):
    ran = await run_script(f"{source}")
    assert ran.calls == ()
    assert (ran.error.kind, str(ran.error)[: len(told)]) == ("syntax", told)
    assert await check_script(source) == ran.error


async def test_checking_runs_nothing():
    assert await check_script(f"{META}throw new Error('ran')") is None


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        ("{ a: [1, { b: agent('x') }] }", "result.a[1].b", "a promise: await it first"),
        ("[NaN]", "result[0]", "NaN"),
        ("-Infinity", "result", "-Infinity"),
        ("{ f() {} }", "result.f", "a function"),
        ("10n", "result", "a bigint"),
        ("Symbol('s')", "result", "a symbol"),
        ("{ m: new Map() }", "result.m", "a Map: make it a plain object or array"),
        ("new RangeError('e')", "result", "an Error: make it a plain object or array"),
        (
            "(() => { const a = []; a[0] = { a }; return a })()",
            "result[0].a",
            "an object that contains itself",
        ),
    ],
)
async def test_result_that_json_cannot_carry_is_named(value: str, path: str, what: str):
    error = (await run_script(f"return {value}")).error
    assert (error.kind, error.message) == ("value", f"{path} cannot be sent as JSON, it is {what}")


async def test_nothing_undefined_and_dates_are_carried_as_json_does():
    assert (await run_script("agent('not awaited')")).value is None
    ran = await run_script("return { a: undefined, b: [undefined], c: new Date(0) }")
    assert ran.value == {"b": [None], "c": "1970-01-01T00:00:00.000Z"}


async def test_value_that_is_too_large_throws_on_both_ways():
    source = f"try {{ await agent('x'.repeat({LARGEST_VALUE})) }} catch (e) {{ return e.message }}"
    assert (await run_script(source)).value == "agent().prompt is larger than 1000000 characters of JSON"
    answered = await run_script(
        "try { await agent('x') } catch (e) { return e.message }", lambda _: "y" * LARGEST_VALUE
    )
    assert answered.value == "the answer is larger than 1000000 characters of JSON"
    assert (await run_script("return (await agent('x')).length", lambda _: "é" * 900_000)).value == 900_000
    assert (await run_script("", args=["z" * LARGEST_VALUE])).error.kind == "value"
    assert (await run_script("", args=[object()])).error.kind == "value"


async def test_answer_that_is_no_json_throws_in_the_script():
    ran = await run_script("try { await agent('x') } catch (e) { return e.message }", lambda _: {1, object()})
    assert ran.value.startswith("can't send the answer as JSON: ")


async def test_answers_to_calls_that_are_not_open_are_passed_over():
    async with asyncio.timeout(50), open_script("return await agent('a')") as script:
        async for event in script.events():
            if isinstance(event, ScriptCall):
                await script.answer(99, "x")
                await script.answer(event.id, "first")
                await script.answer(event.id, "second")
                await script.fail(event.id, "third")
            else:
                assert event == ScriptEnd(value="first")
        await script.answer(1, "too late")


async def test_child_is_gone_when_the_block_is_left():
    async with asyncio.timeout(50), open_script("await agent('a')", reaper=(reaper := Reaper())) as script:
        assert isinstance(await anext(script.events()), ScriptCall)
        pid = _pid(script)
        assert is_running(pid)
    assert not is_running(pid)
    reaper.close()


async def test_child_is_gone_when_its_task_is_cancelled():
    heard: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def listen() -> None:
        async with open_script("await agent('a')") as script:
            async for _ in script.events():
                heard.set_result(_pid(script))

    task = asyncio.create_task(listen())
    async with asyncio.timeout(50):
        pid = await heard
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_child_that_is_killed_is_told_as_the_end():
    async with asyncio.timeout(50), open_script("await agent('a')") as script:
        events = script.events()
        await anext(events)
        os.kill(_pid(script), signal.SIGKILL)
        end = await anext(events)
        assert isinstance(end, ScriptEnd) and end.error is not None
        assert (end.error.kind, end.error.message) == (
            "crash",
            "the process of the script was ended by signal 9",
        )
        await script.answer(1, "nobody hears")


_PARENT = """
import asyncio, sys
from bridle.host.reaper import Reaper
from bridle.host.scripts.script import open_script

async def main():
    async with open_script(sys.argv[1], reaper=Reaper(), seconds=1000) as script:
        async for event in script.events():
            print(script._child.process.pid, flush=True)
            if event.payload["prompt"] == "go on":
                await script.answer(event.id, None)

asyncio.run(main())
"""


@pytest.mark.parametrize("source", ["await agent('for ever')", "await agent('go on'); for (;;);"])
async def test_child_ends_with_its_parent_even_while_it_computes(source: str):
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, source, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    try:
        async with asyncio.timeout(50):
            pid = int(await parent.stdout.readline())
    finally:
        parent.kill()
        await parent.wait()
    await eventually(lambda: not is_running(pid))


def _pid(script: Any) -> int:
    return script._child.process.pid
