import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bridle.transcripts import resume, store
from tests.transcripts.entries import assert_sendable, say, text

_WORK = """
import json, os, signal, sys
from bridle.transcripts import resume, store
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block
from tests.transcripts.entries import call, message, say, text, thinking

class Dying:
    def __init__(self, path, left):
        self.inner, self.left = Transcript(path, warn=print), left

    def append(self, entries):
        if entries:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
        self.inner.append(entries)

def work(folder, left):
    session = Session("11111111-1111-4111-8111-111111111111", writer=Dying(f"{folder}/s.jsonl", left))
    accepted = open(f"{folder}/accepted", "ab", buffering=0)
    for turn in range(3):
        session.say_user(f"prompt {turn}")
        accepted.write(f"prompt {turn}\\n".encode())
        session.say_assistant(message(f"m{turn}", thinking()))
        first = session.say_assistant(message(f"m{turn}", call(f"a{turn}")))
        session.flush()
        session.say_user([result_block(f"a{turn}", "early")], data="early", source=first["uuid"])
        session.say_assistant(message(f"m{turn}", call(f"b{turn}")))
        session.finish_message(f"m{turn}", stop_reason="tool_use", usage={})
        session.say_user([result_block(f"b{turn}", "late")], data="late")
        row = session.say_assistant(message(f"x{turn}", text("withdrawn")))
        session.flush()
        session.withdraw([row["uuid"]])
        say(session, f"n{turn}", text("done"))
        session.note({"type": "custom-title", "customTitle": str(turn)})

for left in range(int(sys.argv[2])):
    folder = f"{sys.argv[1]}/{left}"
    os.mkdir(folder)
    if (child := os.fork()) == 0:
        work(folder, left)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"left": left, "killed": os.WIFSIGNALED(status)}))
"""


def test_a_kill_between_any_two_writes_loses_no_prompt_and_leaves_no_call_without_a_result(tmp_path: Path):
    rounds = 26
    done = subprocess.run(
        [sys.executable, "-c", _WORK, str(tmp_path), str(rounds)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    killed = [json.loads(line)["killed"] for line in done.stdout.splitlines()]
    assert killed == [True] * 24 + [False] * 2
    for left in range(1, rounds):
        _check_resume(tmp_path / str(left))


def _check_resume(folder: Path) -> None:
    where = store.TranscriptPath(cwd=str(folder), env={"CLAUDE_CONFIG_DIR": str(folder)}, warn=print)
    session = resume.resume(str(folder / "s.jsonl"), where)
    accepted = (folder / "accepted").read_text(encoding="utf-8").split("\n")[:-1]
    said = _texts(session.history.messages)
    assert [prompt for prompt in accepted if prompt not in said] == []
    assert_sendable(session.history.messages, open_end=False)
    session.say_user("after the crash")
    say(session, "after", text("fine"))
    session.close()
    again = resume.resume(str(folder / "s.jsonl"), where)
    assert again.entries == session.entries
    assert again.history.messages == session.history.messages
    again.close()


def _texts(messages: list[Any]) -> list[str]:
    return [
        block if isinstance(block, str) else block.get("text", "")
        for message in messages
        for block in ([message["content"]] if isinstance(message["content"], str) else message["content"])
    ]
