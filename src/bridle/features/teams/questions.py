"""Questions of a member on disk. The first answer counts, from the pane or from the leader."""

import os
import re

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.types.ids import new_uuid
from bridle.types.question import Answer, Question

_LARGEST = 16 * 1024 * 1024
_MOST = 100
_question = msgspec.json.Decoder(Question)
_answer = msgspec.json.Decoder(Answer)


class OpenQuestion(Struct, frozen=True):
    """A question without an answer yet."""

    id: str
    question: Question


class Questions:
    """One folder for each member, one file for each question and one for its answer."""

    def __init__(self, storage: str, agent_id: str) -> None:
        self.folder = os.path.join(storage, "questions", os.path.basename(agent_id))

    def put(self, question: Question) -> str:
        """Keep a question; its id.

        Raises:
            OSError: it cannot be saved.
        """
        make_folders(self.folder, private=True)
        key = new_uuid()
        write_atomic(self._path(key), msgspec.json.encode(question), mode=0o600)
        return key

    def waiting(self) -> list[OpenQuestion]:
        """Questions without an answer. Unreadable files are ignored."""
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        keys = [name[:-5] for name in names if re.fullmatch(r"[0-9a-f-]{36}\.json", name)]
        found = (self._read(key) for key in keys[:_MOST] if f"{key}.answer" not in names)
        return [each for each in found if each is not None]

    def settle(self, key: str, answer: Answer) -> bool:
        """Answer a question; False when it has an answer already, or is no longer asked.

        Raises:
            OSError: the answer cannot be saved.
        """
        if not os.path.exists(self._path(key)) or os.path.exists(self._answer_path(key)):
            return False
        draft = os.path.join(self.folder, f"{key}.{new_uuid()[:8]}.draft")
        write_atomic(draft, msgspec.json.encode(answer), mode=0o600)
        try:
            # A link is made only where there is none: the one step at which it is settled who was first.
            os.link(draft, self._answer_path(key))
        except (FileExistsError, FileNotFoundError):
            return False
        finally:
            _remove(draft)
        return True

    def answer_to(self, key: str) -> Answer | None:
        """The answer; None while there is none."""
        try:
            return _answer.decode(read_bytes(self._answer_path(key), _LARGEST))
        except (OSError, msgspec.DecodeError):
            return None

    def remove(self, key: str) -> None:
        """Ask no more; harmless when that is so already."""
        _remove(self._path(key))
        _remove(self._answer_path(key))

    def clear(self) -> None:
        """Forget what a process asked that is gone."""
        for each in self.waiting():
            self.remove(each.id)

    def _read(self, key: str) -> OpenQuestion | None:
        try:
            return OpenQuestion(key, _question.decode(read_bytes(self._path(key), _LARGEST)))
        except (OSError, msgspec.DecodeError):
            return None

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, f"{os.path.basename(key)}.json")

    def _answer_path(self, key: str) -> str:
        return os.path.join(self.folder, f"{os.path.basename(key)}.answer")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # It was removed already.
