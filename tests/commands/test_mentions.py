import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.engine.mentions import Mention, mentions_in
from bridle.permissions.rules import parse
from bridle.providers.scripted import says
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.turn import Prompt
from tests.fakes.commanded import Commanded
from tests.fakes.engine import requests

_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.py and @b/c.md.", [Mention("a.py"), Mention("b/c.md")]),
        ("@a.py#L3-9 (@b.py#L4)", [Mention("a.py", 3, 9), Mention("b.py", 4, 4)]),
        ('see @"my file.txt", please', [Mention("my file.txt")]),
        ("mail me@example.org", []),
        ("@a.py#L9-3", [Mention("a.py", 9, 9)]),
        ("@ alone", []),
        (f"@a.py#L{'9' * 5_000}", [Mention(f"a.py#L{'9' * 5_000}")]),
    ],
)
def test_mentions_are_read_from_a_prompt(text: str, found: list[Mention]):
    assert list(mentions_in(text)) == found


@given(st.text(alphabet="@ab.#L1-9 \"'()\n", max_size=60))
def test_any_text_can_be_looked_through(text: str):
    for mention in mentions_in(text):
        assert mention.name and (
            mention.first is None or mention.last is None or mention.first <= mention.last
        )


async def _sent(commanded: Commanded, prompt: Prompt | str) -> str:
    await commanded.prompt(prompt)
    return json.dumps(requests(commanded.server.runtime)[-1].messages)


async def test_a_mentioned_file_goes_with_the_prompt_and_counts_as_read(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    (commanded.project / "a.py").write_text("one\ntwo\nthree\n")
    sent = await _sent(commanded, "explain @a.py")
    assert "explain @a.py" in sent and "1\\tone" in sent and "3\\tthree" in sent
    assert commanded.context.workspace.files.find(str(commanded.project / "a.py")) is not None


async def test_a_range_of_lines_is_all_that_goes(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    (commanded.project / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 20)))
    sent = await _sent(commanded, "see @a.py#L3-4")
    assert "3\\tline 3" in sent and "4\\tline 4" in sent
    assert "line 2\\n" not in sent and "line 5" not in sent


async def test_a_folder_is_listed_and_a_picture_shown(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    (commanded.project / "src").mkdir()
    (commanded.project / "src" / "deep").mkdir()
    (commanded.project / "src" / "main.py").write_text("")
    (commanded.project / "dot.png").write_bytes(_PNG)
    sent = await _sent(commanded, "look at @src and @dot.png")
    assert "deep/\\nmain.py" in sent and '"type": "image"' in sent


async def test_what_a_rule_denies_stays_unread(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    (commanded.project / "secret.env").write_text("KEY=hunter2")
    commanded.session.swap(rules=(parse("Read(./secret.env)", Effect.DENY, "userSettings"),))
    assert "hunter2" not in await _sent(commanded, "what is in @secret.env ?")


async def test_a_mode_that_asks_for_nothing_still_lets_the_user_mention_files(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    outside = tmp_path / "outside.txt"
    outside.write_text("from outside")
    commanded.session.swap(mode="dontAsk")
    assert "from outside" in await _sent(commanded, f"see @{outside}")


@pytest.mark.parametrize("off", ["composed", "variable"])
async def test_mentions_can_be_turned_off(tmp_path: Path, off: str):
    env = {"CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1"} if off == "variable" else {}
    commanded = Commanded(tmp_path, [says("ok")], env=env)
    (commanded.project / "a.py").write_text("content of a")
    assert "content of a" not in await _sent(
        commanded, Prompt(content="@a.py", origin=TYPED, verbatim=off == "composed")
    )


async def test_names_that_lead_nowhere_stay_as_they_were_typed(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    await commanded.prompt("ask @nobody and @server:thing")
    assert [entry["type"] for entry in commanded.session.entries] == ["user", "assistant", "system"]


async def test_what_is_mentioned_is_bounded(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("ok")])
    for number in range(8):
        (commanded.project / f"{number}.txt").write_text(f"{number} {'x' * 70}\n" * 1_200)
    sent = await _sent(commanded, " ".join(f"@{number}.txt" for number in range(8)))
    assert len(sent) < 500_000 and "the mentions are too large" in sent


async def test_agents_and_binary_files_leave_a_note(tmp_path: Path):
    from msgspec.structs import replace

    from bridle.engine.feature import Features
    from bridle.engine.mentions import attach
    from bridle.engine.turn import Turn
    from bridle.features.agents.feature import AgentsFeature
    from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
    from bridle.types.agent import AgentDefinition

    commanded = Commanded(tmp_path)
    (commanded.project / "data.bin").write_bytes(b"\0\1\2" * 100)
    prompt = Prompt(content="let @agent-reviewer look at @data.bin", origin=TYPED)
    reviewer = AgentDefinition(name="reviewer", description="d", text="p", source="user")
    agents = Agents(AgentRegistry(AgentSetup(found=lambda: (reviewer,)), {}))
    runtime = replace(commanded.server.runtime, features=Features([AgentsFeature(agents)]))
    turn = Turn(commanded.session, prompt, runtime)
    whole = await attach(turn, prompt)
    texts = [block["text"] for block in whole.beside if block["type"] == "text"]
    assert "reviewer" in texts[0] and "data.bin cannot be shown" in texts[1]
