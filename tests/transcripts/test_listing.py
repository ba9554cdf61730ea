import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.host.paths import project_dir
from bridle.transcripts import listing, management, resume, store
from bridle.transcripts.files.checkpoints import CheckpointContext
from bridle.transcripts.files.file_history import open_checkpoints
from bridle.transcripts.session import Session
from bridle.types.block import result_block
from bridle.types.errors import SessionError
from bridle.types.ids import new_uuid
from tests.fakes.counting import steps_of
from tests.fakes.forked import official_python
from tests.transcripts.entries import call, say, text

_LIST_WITH_THE_SDK = """
import json, sys
from dataclasses import asdict
from claude_agent_sdk import get_session_messages, list_sessions
directory, *ids = sys.argv[1:]
print(json.dumps({
    "infos": [asdict(info) for info in list_sessions(directory=directory or None)],
    "messages": {each: [asdict(said) for said in get_session_messages(each)] for each in ids},
}))
"""


class Home:
    def __init__(self, tmp_path: Path, project: str = "project") -> None:
        self.project = tmp_path / project
        self.project.mkdir(exist_ok=True)
        self.env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
        self.place = store.TranscriptPath(
            cwd=str(self.project), env=self.env, warn=pytest.fail, git_branch="main"
        )

    def talk(self, *prompts: str) -> Session:
        session = store.begin(self.place)
        session.say_user([text("<system-reminder>the rules</system-reminder>")], meta=True)
        for prompt in prompts:
            session.say_user(prompt)
            say(session, f"m{prompt}", text("Looking."), call(f"c{prompt}"), stop="tool_use")
            session.say_user([result_block(f"c{prompt}", "found")], data={"summary_of": "x"})
            say(session, f"n{prompt}", text("Done."))
        return session

    def finished(self, *prompts: str) -> str:
        session = self.talk(*prompts)
        session.close()
        return session.id

    def path(self, session_id: str) -> str:
        return os.path.join(project_dir(str(self.project), self.env), f"{session_id}.jsonl")

    def as_the_sdk_reads_it(self, *ids: str, directory: bool = True) -> Any:
        done = subprocess.run(
            [official_python(), "-c", _LIST_WITH_THE_SDK, str(self.project) if directory else "", *ids],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    def infos(self, *, directory: bool = True) -> list[dict[str, Any]]:
        found = listing.list_sessions(self.env, directory=str(self.project) if directory else None)
        return [{field: getattr(info, field) for field in info.__struct_fields__} for info in found]


def test_the_official_sdk_lists_and_reads_the_same(tmp_path: Path):
    home = Home(tmp_path)
    plain = home.finished("first question", 'second "question"\nwith lines')
    titled, tagged, ai = home.finished("a"), home.finished("b"), home.talk("c")
    ai.note({"type": "ai-title", "aiTitle": "By a model", "sessionId": ai.id})
    ai.close()
    management.rename(titled, "  Title with “quotes” \\ and ü  ", home.env)
    management.tag(tagged, "ex\u200bperiment", home.env)
    copied = management.fork(plain, home.env)
    Home(tmp_path, "other").finished("elsewhere")
    for number, session_id in enumerate((plain, titled, tagged, ai.id, copied)):
        os.utime(home.path(session_id), (1_700_000_000 + number, 1_700_000_000 + number))

    theirs = home.as_the_sdk_reads_it(plain, copied)

    assert home.infos() == theirs["infos"]
    assert [info["session_id"] for info in home.infos()] == [copied, ai.id, tagged, titled, plain]
    assert [info["summary"] for info in home.infos()] == [
        "first question (fork)", "By a model", "b", "Title with “quotes” \\ and ü",
        'second "question" with lines',
    ]  # fmt: skip
    assert home.infos()[2]["tag"] == "experiment"
    for session_id in (plain, copied):
        ours = [
            {field: getattr(said, field) for field in said.__struct_fields__}
            for said in management.messages(session_id, home.env)
        ]
        assert ours == theirs["messages"][session_id]
        assert [said["type"] for said in ours] == ["user", "assistant", "assistant", "user", "assistant"] * 2
    assert home.infos(directory=False) == home.as_the_sdk_reads_it(directory=False)["infos"]


def test_a_long_conversation_is_listed_by_what_was_asked_last(tmp_path: Path):
    home = Home(tmp_path)
    session = store.begin(home.place)
    session.say_user([text("x" * 200_000)], meta=True)
    session.say_user("the only question")
    say(session, "m", text("y" * 200_000))
    session.close()
    (info,) = home.infos()
    assert (info["summary"], info["first_prompt"]) == ("the only question", None)
    assert home.infos() == home.as_the_sdk_reads_it()["infos"]


def test_an_interrupt_is_not_what_was_asked_last(tmp_path: Path):
    home = Home(tmp_path)
    session = home.talk("one", "the question")
    session.say_user([text("[Request interrupted by user]")])
    session.close()
    assert home.infos()[0]["summary"] == "the question"


def test_pages_are_cut_from_the_newest_on(tmp_path: Path):
    home = Home(tmp_path)
    ids = [home.finished(f"question {number}") for number in range(5)]
    for number, session_id in enumerate(ids):
        os.utime(home.path(session_id), (1_700_000_000 + number, 1_700_000_000 + number))
    page = listing.list_sessions(home.env, directory=str(home.project), limit=2, offset=1)
    assert [info.session_id for info in page] == [ids[3], ids[2]]


def test_worktrees_of_a_repository_are_listed_together(tmp_path: Path):
    home = Home(tmp_path)
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "x"),
        ("worktree", "add", "-q", "../tree"),
    ):
        subprocess.run(["git", *identity, *words], cwd=home.project, check=True, capture_output=True)
    tree = Home(tmp_path, "tree")
    here, there = home.finished("here"), tree.finished("there")
    for each in (home, tree):
        assert {info["session_id"] for info in each.infos()} == {here, there}
    alone = listing.list_sessions(home.env, directory=str(home.project), include_worktrees=False)
    assert [info.session_id for info in alone] == [here]
    assert listing.locate(there, home.env, str(home.project)) == tree.path(there)
    home.env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "shared"
    named = home.finished("in the shared folder")
    assert [info["session_id"] for info in home.infos()] == [named]


def test_files_that_are_no_conversations_are_left_out(tmp_path: Path):
    home = Home(tmp_path)
    real = home.finished("a question")
    folder = Path(home.path(real)).parent
    (folder / f"{new_uuid()}.jsonl").write_text("")
    (folder / f"{new_uuid()}.jsonl").write_text('{"type":"mode","mode":"plan"}\nnot json\n')
    (folder / f"{new_uuid()}.jsonl").write_text('{"isSidechain":true,"type":"user","lastPrompt":"x"}\n')
    (folder / "agent-1.jsonl").write_text('{"type":"user","message":{"content":"x"}}\n')
    assert [info["session_id"] for info in home.infos()] == [real]
    assert home.infos() == home.as_the_sdk_reads_it()["infos"]


def test_conversations_are_listed_with_the_same_work_for_each(tmp_path: Path):
    home = Home(tmp_path)
    content = Path(home.path(home.finished("a question", "another"))).read_bytes()
    folder = Path(home.path("x")).parent

    def work(count: int) -> int:
        for _ in range(count - len(list(folder.iterdir()))):
            (folder / f"{new_uuid()}.jsonl").write_bytes(content * 20)
        assert len(home.infos()) == count
        return steps_of(home.infos)

    few, many = work(50), work(200)
    assert many <= few * 4.2


def test_a_conversation_in_use_can_be_renamed_and_goes_on(tmp_path: Path):
    home = Home(tmp_path)
    session = home.talk("one")
    management.rename(session.id, "Named", home.env)
    session.say_user("two")
    session.close()
    again = resume.resume(home.path(session.id), home.place)
    assert again.history.messages[-1]["content"] == "two"
    assert home.infos()[0]["custom_title"] == "Named"


def test_a_tag_is_taken_away_with_none(tmp_path: Path):
    home = Home(tmp_path)
    session_id = home.finished("q")
    management.tag(session_id, "later", home.env)
    management.tag(session_id, None, home.env)
    assert home.infos()[0]["tag"] is None


def test_a_half_line_at_the_end_does_not_swallow_a_title(tmp_path: Path):
    home = Home(tmp_path)
    session_id = home.finished("q")
    with open(home.path(session_id), "ab") as file:
        file.write(b'{"type":"assist')
    management.rename(session_id, "Named", home.env)
    assert home.infos()[0]["custom_title"] == "Named"


@pytest.mark.parametrize("blank", ["", "  ", "\u200b"])
def test_a_blank_tag_or_title_is_refused(tmp_path: Path, blank: str):
    home = Home(tmp_path)
    session_id = home.finished("q")
    with pytest.raises(SessionError):
        management.tag(session_id, blank, home.env)
    if blank != "\u200b":
        with pytest.raises(SessionError):
            management.rename(session_id, blank, home.env)


def test_what_is_not_there_cannot_be_changed(tmp_path: Path):
    home = Home(tmp_path)
    for change in (
        lambda: management.rename(new_uuid(), "x", home.env),
        lambda: management.tag(new_uuid(), "x", home.env),
        lambda: management.delete(new_uuid(), home.env),
        lambda: management.fork(new_uuid(), home.env),
    ):
        with pytest.raises(management.Unknown):
            change()
    with pytest.raises(SessionError, match="Invalid session_id"):
        management.delete("../../etc/passwd", home.env)


async def test_deleting_takes_everything_that_was_kept(tmp_path: Path):
    home = Home(tmp_path)
    session = home.talk("q")
    file = home.project / "a.txt"
    file.write_text("x")
    around = CheckpointContext(note=session.note, roots=lambda: (str(home.project),))
    checkpoints = open_checkpoints(session, around, env=home.env)
    await checkpoints.begin(session.entries[-1]["uuid"])
    await checkpoints.before_change(str(file))
    session.close()
    outputs = Path(home.path(session.id).removesuffix(".jsonl"))
    (outputs / "tool-results").mkdir(parents=True)
    management.delete(session.id, home.env)
    assert not os.path.exists(home.path(session.id)) and not outputs.exists()
    assert not any((tmp_path / "home" / "file-history").iterdir())


def test_a_copy_up_to_a_message_can_be_resumed_and_the_original_stays(tmp_path: Path):
    home = Home(tmp_path)
    session = home.talk("one", "two")
    cut = next(entry["uuid"] for entry in session.entries if entry.get("type") == "assistant")
    session.close()
    before = Path(home.path(session.id)).read_bytes()
    copied = management.fork(session.id, home.env, up_to=cut, title="Branch")
    again = resume.resume(home.path(copied), home.place)
    assert again.id == copied
    assert {entry["sessionId"] for entry in again.entries} == {copied}
    assert not {entry["uuid"] for entry in again.entries} & {entry["uuid"] for entry in session.entries}
    assert listing.read_info(home.path(copied)) is not None
    assert home.infos()[0]["custom_title"] == "Branch"
    assert Path(home.path(session.id)).read_bytes() == before
    with pytest.raises(SessionError, match="not found in session"):
        management.fork(session.id, home.env, up_to=new_uuid())
