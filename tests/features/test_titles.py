"""Sessions get a title from a model, once, unless the user names them."""

import asyncio
from pathlib import Path
from typing import Any

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Asking
from bridle.features.side_work.feature import SideWorkFeature, open_side_work
from bridle.features.side_work.titles import title_for, title_session
from bridle.providers.scripted import ScriptedProvider, says
from bridle.transcripts.listing import read_info
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.errors import ProviderError
from bridle.types.event import SessionRenamed
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import feature_context, with_feature


async def _talk(folder: Path, session: Session, script: list[Any], *prompts: str) -> FakeChannel:
    channel, side = FakeChannel(), SideWorkFeature({"title": title_session})
    runtime = with_feature(make_runtime(folder, ScriptedProvider(script), channel=channel), side)
    for text in prompts:
        await run_turn(session, Prompt(content=text, origin=TYPED), runtime)
        async with asyncio.timeout(50):
            await side.finish()
    return channel


async def test_a_new_conversation_gets_a_title_that_lists_show(tmp_path: Path):
    path = str(tmp_path / "s.jsonl")
    session = Session("s1", writer=Transcript(path, warn=print), cwd=str(tmp_path))
    session.swap(model="model-a")
    script = [says("Sure."), says('"Fix the login test."\nmore'), says("Done.")]
    channel = await _talk(tmp_path, session, script, "please fix the login test", "go on")
    session.close()

    assert channel.of(SessionRenamed) == [SessionRenamed("Fix the login test")]
    assert '"type":"ai-title"' in Path(path).read_text()
    info = read_info(path)
    assert info is not None and info.summary == "Fix the login test"


async def test_a_name_of_the_user_counts(tmp_path: Path):
    session = make_session()
    session.note({"type": "custom-title", "customTitle": "Mine", "sessionId": session.id})
    assert not (await _talk(tmp_path, session, [says("Sure.")], "hi")).of(SessionRenamed)
    assert session.title == "Mine"


async def test_a_long_conversation_is_not_named_when_it_is_resumed(tmp_path: Path):
    session = make_session()
    await _talk(tmp_path, session, [says("1"), says("\t"), says("2"), says("..."), says("3")], "a", "b", "c")
    assert session.title is None


async def test_without_a_model_the_first_words_are_the_title(tmp_path: Path):
    runtime = make_runtime(tmp_path, [ProviderError("down", kind="server_error")])
    assert await title_for(make_session(), runtime, "one two\nthree") == "one two three"


def test_titles_are_off_with_the_switches(tmp_path: Path):
    def named(**env: str) -> bool:
        side = open_side_work(feature_context(tmp_path, interactive=True, env=env))
        return side is not None and side.does("title")

    assert named() and not named(CLAUDE_CODE_DISABLE_TERMINAL_TITLE="1")
    assert not named(BRIDLE_BACKGROUND_WORK="0") and not named(BRIDLE_TITLES="0")


async def test_the_offline_model_which_answers_in_fixed_sentences_gives_no_titles(tmp_path: Path):
    provider = ScriptedProvider([])
    runtime = make_runtime(tmp_path, provider, asking=Asking(small_model="offline"))
    assert await title_for(make_session(), runtime, "fix the login test") == "fix the login test"
    assert provider.requests == []
