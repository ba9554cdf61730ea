from pathlib import Path

import pytest

from tests.providers.offline.desk import Desk

QUESTIONS = [
    ("what are you?", "a small set of fixed rules"),
    ("are you an LLM?", "not a language model"),
    ("hello", "I can\n- list, read and search files"),
    ("what can you do?", '"fix the failing tests"'),
    ("how do I set an API key?", "export ANTHROPIC_API_KEY="),
    ("how can I use a real model?", "ANTHROPIC_BASE_URL"),
    ("which tools do you have?", "Bash, Edit, Glob, Grep, Read"),
    ("how do permissions work?", "Deny beats ask, ask beats allow"),
    ("how do I resume a session?", "bridle -c"),
    ("where are sessions stored?", "~/.claude/projects"),
    ("what output formats are there?", "stream-json"),
    ("how does bridle use CLAUDE.md?", "AGENTS.md"),
    ("do you send my code anywhere?", "uses no network"),
    ("is bridle free?", "costs nothing"),
]


@pytest.mark.parametrize(("question", "part"), QUESTIONS)
async def test_a_question_about_bridle_gets_a_short_labeled_answer(tmp_path: Path, question: str, part: str):
    desk = Desk(tmp_path)

    said = await desk.ask(question)

    assert part in said
    assert said.count("bridle's offline planner, not a language model") == 1
    assert len(said) < 1_200
    assert not desk.calls


@pytest.mark.parametrize(
    "prompt", ["write a poem about rain", "add a login page", "translate this to French", ""]
)
async def test_what_it_cannot_do_is_said_with_a_way_to_a_real_model(tmp_path: Path, prompt: str):
    desk = Desk(tmp_path)

    said = await desk.ask(prompt)

    assert said.count("not a language model") == 1
    assert "ANTHROPIC_API_KEY" in said
    assert not desk.calls


@pytest.mark.parametrize(
    "prompt", ["search for permission", "where is resume defined?", "list the files in tools"]
)
async def test_words_of_a_topic_in_a_request_do_not_make_it_a_question(tmp_path: Path, prompt: str):
    desk = Desk(tmp_path)

    await desk.ask(prompt)

    assert desk.calls


@pytest.mark.parametrize(
    "prompt",
    ["how do I fix a failing test?", "don't fix the tests", "is this correct?", "explain how to repair it"],
)
async def test_talk_about_repairs_starts_none(tmp_path: Path, prompt: str):
    (tmp_path / "test_a.py").write_text("def test_a():\n    assert False\n", encoding="utf-8")
    desk = Desk(tmp_path)

    await desk.ask(prompt)

    assert "Edit" not in desk.names()
    assert "Bash" not in desk.names()
