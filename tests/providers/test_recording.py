import json
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bridle.providers.cassette import Placeholders, Rendering, Rule, first_difference
from bridle.providers.recording import Recording, Replaying
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.block import text_block
from bridle.types.errors import ConfigError, ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, Provider, TextArrived

_ENV = {"HOME": "/home/ada", "SERVICE_API_KEY": "very-secret-value"}


def request(text: str = "Hi", **fields: Any) -> ModelRequest:
    history = History.of({"role": "user", "content": text})
    return ModelRequest(model="m", system=(text_block("Be kind."),), history=history, max_tokens=9, **fields)


async def recorded(
    path: Path, lines: list[Any], *asked: ModelRequest, cwd: str = "/proj/a", **more: Any
) -> None:
    recording = Recording(ScriptedProvider(lines), str(path), env=_ENV, cwd=cwd, **more)
    for each in asked:
        try:
            await answer_of(recording, each)
        except ProviderError:
            pass
    await recording.close()


async def answer_of(provider: Provider, asked: ModelRequest) -> list[Any]:
    events = [event async for event in provider.stream(asked)]
    assert isinstance(events[-1], Completed)
    return list(events[-1].message["content"])


def replaying(path: Path, cwd: str = "/proj/a") -> Replaying:
    return Replaying(str(path), env=_ENV, cwd=cwd)


async def test_a_recorded_session_is_answered_without_its_model(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    lines = [says("Looking.", calls("Read", file_path="a.txt")), says("Done.")]
    await recorded(path, lines, request("one"), request("two"))
    replay = replaying(path)
    first = await answer_of(replay, request("one"))
    assert [block["type"] for block in first] == ["text", "tool_use"]
    assert first[1]["input"] == {"file_path": "a.txt"}
    events = [event async for event in replay.stream(request("two"))]
    assert [event.text for event in events if isinstance(event, TextArrived)] == ["Done."]
    assert (replay.left, replay.difference) == (0, None)


async def test_the_order_of_requests_does_not_matter_but_each_is_answered_once(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    await recorded(path, [says("1"), says("2")], request("one"), request("two"))
    replay = replaying(path)
    assert (await answer_of(replay, request("two")))[0]["text"] == "2"
    with pytest.raises(ProviderError):
        await answer_of(replay, request("two"))
    assert replay.left == 1


async def test_the_first_difference_is_told_with_its_path_and_both_sides(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    await recorded(path, [says("1")], request("the old prompt"))
    replay = replaying(path)
    with pytest.raises(ProviderError, match="not recorded"):
        await answer_of(replay, request("the new prompt"))
    assert replay.difference == (
        'messages[0].content at character 4\n  expected …"the old prompt"…\n  got      …"the new prompt"…'
    )


async def test_folders_follow_the_machine_in_requests_and_in_answers(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    called = says(calls("Read", file_path="/proj/a/x.py"))
    await recorded(path, [called], request("Look at /proj/a/x.py and /home/ada/y"), cwd="/proj/a")
    assert "/proj/a" not in path.read_text()
    replay = replaying(path, cwd="/ci/build")
    (block,) = await answer_of(replay, request("Look at /ci/build/x.py and /home/ada/y"))
    assert block["input"] == {"file_path": "/ci/build/x.py"}


async def test_what_changes_by_itself_makes_no_difference(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    before = "Date: 2026-11-15, 2026-11-15T10:00:00Z, 5 passed in 0.12s, /tmp/abc123, run 7\nShell: bash"
    after = "Date: 2027-01-02, 2027-01-02T11:11:11.5Z, 5 passed in 3.40s, /tmp/zzz, run 8\nShell: zsh"
    await recorded(path, [says("ok")], request(before, session_id="s1"), rules=(Rule(r"run \d+", "run <n>"),))
    assert await answer_of(replaying(path), request(after, session_id="s2", user_id="u"))


async def test_secrets_are_never_written(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    token = "sk-" + "a1B2" * 8
    await recorded(path, [says(f"It is {token}")], request(f"key very-secret-value and {token}"))
    text = path.read_text()
    assert "very-secret-value" not in text and token not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_fault_is_recorded_and_comes_again(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    fault = ProviderError("The quota is used up.", kind="billing_error", status=402)
    await recorded(path, [fault], request())
    with pytest.raises(ProviderError, match="quota") as caught:
        await answer_of(replaying(path), request())
    assert (caught.value.kind, caught.value.status) == ("billing_error", 402)


async def test_parts_that_repeat_are_written_once(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    long = request("x" * 10_000)
    again = replace(long, history=long.history.extended({"role": "user", "content": "more"}))
    await recorded(path, [says("1"), says("2")], long, again)
    assert path.stat().st_size < 15_000
    kinds = [next(iter(json.loads(line))) for line in path.read_text().splitlines()]
    assert kinds == ["bridle_cassette", "part", "part", "part", "asked", "part", "asked"]


@pytest.mark.parametrize(
    "text", ["", "{}\n", "nonsense\n", '{"bridle_cassette":99}\n', '{"bridle_cassette":1}\n{"x":1}\n']
)
def test_a_file_that_is_no_cassette_is_refused_in_one_sentence(tmp_path: Path, text: str):
    path = tmp_path / "c.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError):
        replaying(path)


def test_a_difference_in_the_number_of_things_is_told():
    told = first_difference({"a": [1]}, {"a": [1, 2]})
    assert told == "a has 1 items in the recording and 2 now"
    assert first_difference({"a": 1}, {"a": 1}) is None
    assert first_difference({"a": 1}, {"a": None}) == "a\n  expected 1\n  got      null"


def test_equal_requests_have_equal_keys_and_others_do_not():
    rendering = Rendering(Placeholders(_ENV, "/proj/a"), ())
    keys = {rendering.render(each)[0].key for each in (request("a"), request("a"), request("b"))}
    assert len(keys) == 2
