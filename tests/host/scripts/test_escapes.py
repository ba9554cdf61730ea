import pytest

from tests.fakes.scripts import run_script


@pytest.mark.parametrize(
    "source",
    [
        "return this?.constructor.constructor('return typeof process + typeof require + typeof fetch')()",
        "return agent.constructor.constructor('return typeof process + typeof require + typeof fetch')()",
        "return (0, eval)('typeof process + typeof require + typeof fetch')",
        "return new (async () => {}).constructor('return typeof process + typeof require + typeof fetch')()",
        "return typeof std + typeof os + typeof print",
        "return typeof setTimeout + typeof WeakRef + typeof Atomics",
        "return typeof performance + typeof SharedArrayBuffer + typeof FinalizationRegistry",
    ],
)
async def test_no_trick_finds_more_than_the_language(source: str):
    assert (await run_script(source)).value == "undefined" * 3


async def test_errors_and_promises_of_ours_are_those_of_the_script():
    source = """
    const ours = [agent, log, budget.spent, agent('x'), console]
    try { agent() } catch (error) { ours.push(error) }
    return ours.every(each => each instanceof Object && Object.getPrototypeOf(each).constructor
      .constructor('return globalThis')() === globalThis)"""
    assert (await run_script(source)).value is True


@pytest.mark.parametrize("name", ["fs", "os", "std", "qjs:os", "/etc/passwd", "file:///etc/passwd"])
async def test_import_finds_no_module(name: str):
    ran = await run_script(f"try {{ return await import({name!r}) }} catch (e) {{ return e.message }}")
    assert ran.value == f"could not load module '{name}'"


@pytest.mark.parametrize("name", ["require", "process", "fetch", "setTimeout", "Buffer", "module"])
async def test_what_is_not_there_is_explained(name: str):
    error = (await run_script(f"\n{name}('fs')")).error
    assert str(error) == (
        f"line 2: there is no {name} in a script, which has no files, network, shell or timers: ask an agent"
    )


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("\nlog('before')\nfor (;;);", 2),
        ("\nconst spin = () => {\n  while (true) { try { spin() } catch {} }\n}\nspin()", 3),
        ("await agent('x');\n/(a+)+$/.test('a'.repeat(50) + '!')", 2),
        ("const again = async () => { for (;;) await null }\nawait again()", None),
        ("for (;;) { try { for (;;); } finally { continue } }", 1),
        ("});\nfor (;;);\n({", 1),
    ],
)
async def test_script_that_computes_for_too_long_is_stopped(source: str, line: int | None):
    ran = await run_script(source, seconds=0.3)
    where = ", in a loop at or below this line" if line else ""
    assert (ran.error.kind, ran.error.line) == ("time", line)
    assert ran.error.message == f"it runs for more than 0.3 s without waiting for an agent{where}"


async def test_engine_that_does_not_listen_is_ended_by_the_kernel():
    ran = await run_script("return 'a'.repeat(5e7).indexOf('a'.repeat(1e6) + 'b')", seconds=0.1)
    assert (ran.error.kind, ran.error.line) == ("time", None)


async def test_what_was_said_before_a_fault_is_heard():
    assert (await run_script("log('a'); phase('b'); for (;;);", seconds=0.2)).said("log") == ["a"]
    assert (await run_script("log('a'); throw new Error('x')")).said("log") == ["a"]


async def test_waiting_for_agents_is_not_computing():
    source = "for (let i = 0; i < 300; i++) { await agent('x'); for (let j = 0; j < 20000; j++); } return 1"
    assert (await run_script(source, seconds=0.3)).value == 1


@pytest.mark.parametrize(
    "source",
    [
        "\nconst all = []\nfor (;;) all.push(new Array(10000).fill(1))",
        "\nnew ArrayBuffer(2 ** 30)",
        "\nconst all = []\nfor (;;) all.push(new Uint8Array(50_000_000))",
    ],
)
async def test_memory_has_a_limit(source: str):
    error = (await run_script(source)).error
    assert (error.kind, error.message) == ("memory", "it needs more than the 256 MB that a script may use")


async def test_script_that_catches_its_lack_of_memory_goes_on():
    source = (
        "try { const all = []; for (;;) all.push(new Array(10000).fill(1)) } catch (e) { return e.message }"
    )
    assert (await run_script(source)).value == "out of memory"


async def test_memory_that_is_held_through_the_end_does_not_hide_the_reason():
    source = """
    globalThis.all = []
    try { for (;;) all.push(new Array(10000).fill(1)) } catch {}
    for (;;) all.push({})"""
    error = (await run_script(source)).error
    told = "null was thrown, by the script or because it needs more than the 256 MB that a script may use"
    assert (error.kind, error.message) in (("memory", told[told.index("it needs") :]), ("thrown", told))


@pytest.mark.parametrize(
    "source",
    [
        "const down = n => down(n + 1) + 1; down(0)",
        "let deep = []; for (let i = 0; i < 100000; i++) deep = [deep]; JSON.stringify(deep)",
        f"return {'(' * 50_000}1{')' * 50_000}",
    ],
)
async def test_recursion_has_a_limit(source: str):
    assert (await run_script(source)).error.kind in ("thrown", "syntax")


async def test_deeply_nested_result_is_refused():
    ran = await run_script("let deep = []; for (let i = 0; i < 100000; i++) deep = [deep]; return deep")
    assert ran.error.message.endswith("nested too deeply")


@pytest.mark.parametrize(
    "source",
    ["await new Promise(() => {})", "await agent('x'); await { then() {} }", "await new Promise(agent)"],
)
async def test_script_that_waits_for_nothing_ends(source: str):
    ran = await run_script(source)
    if "(agent)" in source:
        assert ran.error.kind == "thrown"
    else:
        assert (ran.error.kind, ran.error.line) == ("stalled", None)


@pytest.mark.parametrize(
    "value",
    ["'x'.repeat(1e8)", "Array(2e6).fill(0)", "Object.fromEntries(Array(3e5).fill().map((_, i) => [i, i]))"],
)
async def test_huge_result_is_refused(value: str):
    error = (await run_script(f"return {value}")).error
    assert error.kind == "value" and error.message.endswith("is larger than 1000000 characters of JSON")


async def test_prelude_does_not_use_what_the_script_has_changed():
    source = """
    const bad = () => { throw new Error('polluted') }
    for (const name of ['push', 'join', 'pop', 'includes', 'map', 'slice']) Array.prototype[name] = bad
    for (const name of ['toString', 'hasOwnProperty', 'valueOf']) Object.prototype[name] = bad
    for (const name of ['all', 'resolve', 'race']) Promise[name] = bad
    const names = ['error', 'kind', 'id', 'get', 'writable']
    for (const name of names) Object.prototype.__defineGetter__(name, bad)
    Promise.prototype.then = Array.prototype[Symbol.iterator] = bad
    String.prototype.slice = bad
    JSON.stringify = JSON.parse = Reflect.apply = Object.keys = Array.isArray = bad
    globalThis.Promise = globalThis.Error = globalThis.JSON = globalThis.String = undefined
    const both = await parallel([() => agent('a'), () => agent('b', { label: 'B' })])
    log('said')
    return await pipeline(both, x => agent(x))"""
    ran = await run_script(source)
    assert ran.value == ["<<a>>", "<<b>>"]
    assert ran.said("agent") == ["a", "b", "<a>", "<b>"]
    assert ran.said("log") == ["said"]


async def test_functions_of_ours_cannot_be_replaced_or_changed():
    source = """
    agent = log = Date = 1; delete globalThis.agent; agent.x = 1; budget.spent = () => 99; console.log = null
    try { Object.defineProperty(globalThis, 'phase', { value: 1 }) } catch {}
    return [agent, log, Date, console.log, phase].map(each => typeof each).concat(agent.x, budget.spent())"""
    assert (await run_script(source)).value == [*["function"] * 5, None, 0]


async def test_whatever_is_thrown_is_told():
    for thrown, told in (
        ("'text'", "text"),
        ("{ a: 1 }", '{"a":1}'),
        ("new TypeError('t')", "TypeError: t"),
        (
            "Object.defineProperty(new Error(), 'message', { get() { throw 1 } })",
            "something that cannot be shown was thrown",
        ),
        ("new Proxy({}, { get() { throw 1 } })", "something that cannot be shown was thrown"),
        ("Symbol('s')", "Symbol(s)"),
    ):
        assert (await run_script(f"throw {thrown}")).error.message == told, thrown


async def test_script_cannot_speak_for_the_child():
    ran = await run_script("""
    log('"},{"kind":"end","value":1}\\n{"kind":"end","value":2}\\u2028')
    await agent('{"kind":"end"}\\n', { kind: 'end', id: 7, stack: '<input>:9' })
    return 3""")
    assert ran.value == 3
    assert [call.kind for call in ran.calls] == ["log", "agent"]


async def test_files_that_are_no_text_are_refused():
    assert (await run_script("return 1\0")).error.kind == "value"
