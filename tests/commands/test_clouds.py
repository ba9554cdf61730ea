import json
from pathlib import Path
from typing import Any

import pytest

from bridle.types.command import Says
from bridle.types.errors import UsageError
from bridle.types.question import Answer, ElicitationQuestion, Question, Supplied
from tests.fakes.commanded import Commanded
from tests.fakes.engine import FakeChannel


class Person(FakeChannel):
    """Answers each question with the next of these."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answers.pop(0)


def _commanded(
    tmp_path: Path, *answers: Answer, settings: Any = None, **env: str
) -> tuple[Commanded, Person]:
    text = "" if settings is None else json.dumps(settings)
    made = Commanded(tmp_path, settings=text, screen=bool(answers), env=env)
    person = Person(*answers)
    made.server.change(channel=person)
    return made, person


def _text(said: object) -> str:
    assert isinstance(said, Says)
    return said.text


async def test_without_a_person_the_words_are_written_when_they_say_yes(tmp_path: Path):
    settings = {"theme": "dark", "env": {"KEPT": "1", "CLAUDE_CODE_USE_VERTEX": "1"}}
    made, _ = _commanded(tmp_path, settings=settings, AWS_BEARER_TOKEN_BEDROCK="secret")
    line = "/setup-bedrock region=eu-central-1 model=eu.anthropic.claude-opus-5"

    shown = _text(await made.run(line))
    assert "AWS_REGION=eu-central-1" in shown and "remove CLAUDE_CODE_USE_VERTEX" in shown
    assert "No changes made" in shown and json.loads(made.user_settings()) == settings

    assert "Saved." in _text(await made.run(f"{line} --yes"))
    assert json.loads(made.user_settings()) == {
        "theme": "dark",
        "env": {
            "KEPT": "1",
            "CLAUDE_CODE_USE_BEDROCK": "1",
            "AWS_REGION": "eu-central-1",
            "ANTHROPIC_MODEL": "eu.anthropic.claude-opus-5",
        },
    }
    assert "secret" not in made.user_settings() + shown


async def test_without_words_and_person_it_is_said_which_words_there_are(tmp_path: Path):
    made, _ = _commanded(tmp_path)
    assert _text(await made.run("/setup-vertex")).startswith(
        "/setup-vertex project=… region=… [credentials=…]"
    )


async def test_a_person_is_asked_with_what_is_known_and_shown_what_will_be_written(tmp_path: Path):
    values = {"project": "my-project-1", "region": "global"}
    answers = (Supplied(action="accept", content=values), Supplied(action="accept"))
    made, person = _commanded(tmp_path, *answers, GOOGLE_CLOUD_PROJECT="from-variable")

    await made.run("/setup-vertex")

    form, confirm = person.questions
    assert isinstance(form, ElicitationQuestion) and isinstance(confirm, ElicitationQuestion)
    assert form.schema is not None and form.schema["properties"]["project"]["default"] == "from-variable"
    assert form.schema["required"] == ["project", "region"]
    assert "ANTHROPIC_VERTEX_PROJECT_ID=my-project-1" in confirm.message
    assert json.loads(made.user_settings())["env"] == {
        "CLAUDE_CODE_USE_VERTEX": "1",
        "ANTHROPIC_VERTEX_PROJECT_ID": "my-project-1",
        "CLOUD_ML_REGION": "global",
    }


@pytest.mark.parametrize("answers", [["decline"], ["accept", "decline"], ["accept", "cancel"]])
async def test_a_person_who_does_not_agree_changes_nothing(tmp_path: Path, answers: list[Any]):
    content = {"region": "us-east-1"}
    made, _ = _commanded(tmp_path, *(Supplied(action=each, content=content) for each in answers))
    assert "No changes made." in _text(await made.run("/setup-bedrock"))
    assert not (made.home / "settings.json").exists()


@pytest.mark.parametrize(
    "line",
    [
        "/setup-bedrock region=here --yes",
        "/setup-bedrock model=x --yes",
        "/setup-bedrock region=us-east-1 profile=nobody --yes",
        "/setup-bedrock region=us-east-1 'model=a b' --yes",
        "/setup-bedrock region=us-east-1 token=secret --yes",
        "/setup-vertex project=Mine region=global --yes",
        "/setup-vertex project=my-project region=global credentials=/nowhere.json --yes",
        "/setup-vertex project=my-project region=global credentials=key.json --yes",
    ],
)
async def test_what_cannot_be_right_is_refused_before_anything_is_written(tmp_path: Path, line: str):
    made, _ = _commanded(tmp_path)
    with pytest.raises(UsageError):
        await made.run(line)
    assert not (made.home / "settings.json").exists()


async def test_profiles_and_files_with_credentials_are_found_where_they_are(tmp_path: Path):
    made, _ = _commanded(tmp_path)
    (made.home / ".aws").mkdir()
    (made.home / ".aws" / "config").write_text("[default]\n[profile work]\nregion = x\n")
    key = made.home / "key.json"
    key.write_text('{"type": "service_account"}')
    assert "AWS_PROFILE=work" in _text(await made.run("/setup-bedrock region=us-gov-west-1 profile=work"))
    line = f"/setup-vertex project=my-project region=us-east5 credentials={key}"
    assert f"GOOGLE_APPLICATION_CREDENTIALS={key}" in _text(await made.run(line))
    with pytest.raises(UsageError, match="default, work"):
        await made.run("/setup-bedrock region=us-east-1 profile=play")


async def test_what_is_missing_to_be_let_in_is_said(tmp_path: Path):
    made, _ = _commanded(tmp_path)
    assert "Still to do: " in _text(await made.run("/setup-bedrock region=us-east-1"))
    made, _ = _commanded(tmp_path, CLOUDSDK_AUTH_ACCESS_TOKEN="t")
    assert "Still to do" not in _text(await made.run("/setup-vertex project=my-project region=global"))


async def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path):
    made, _ = _commanded(tmp_path)
    for text in ("{broken", '{"env": []}'):
        (made.home / "settings.json").write_text(text)
        with pytest.raises(UsageError):
            await made.run("/setup-bedrock region=us-east-1 --yes")
        assert made.user_settings() == text
