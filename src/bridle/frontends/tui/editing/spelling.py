"""Underlines words of the prompt that a spell checker does not know (`spellcheck`)."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence

from bridle.config.schema import Spellcheck
from bridle.frontends.tui.style.text import Style
from bridle.host.programs import PROGRAMS, find_program

_CHECKERS = ("aspell", "hunspell", "ispell")
_WORD = re.compile(r"(?<![\w/@.#\\:~-])[^\W\d_]+(?:['’][^\W\d_]+)*(?![\w/@\\:-]|\.\w|\()")
_CODE = re.compile(r"`[^`\n]*`")
_NAMED = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_SECONDS = 10.0
_MOST_WORDS = 20_000
_MOST_AT_ONCE = 200
_LONGEST_LINE = 64 * 1024


class Spelling:
    """Asks a checker about each word once; until it has answered, a word is right."""

    def __init__(
        self,
        wanted: Spellcheck,
        *,
        env: Mapping[str, str],
        warn: Callable[[str], None],
        on_change: Callable[[], None],
    ) -> None:
        self._wanted = wanted
        self._env = env
        self._warn = warn
        self._on_change = on_change
        self._known: dict[str, bool] = {}
        self._asked: list[str] = []
        self._due = asyncio.Event()
        self.style = Style(color=color_of(wanted.color or ""), underline=True)

    def faults(self, text: str, cursor: int) -> Sequence[tuple[int, int]]:
        """Where words stand that the checker does not know; the one that is being typed is left alone."""
        if text.startswith(("!", "/")):
            return ()
        code = [found.span() for found in _CODE.finditer(text)]
        found = [
            (match.start(), match.end(), match[0])
            for match in _WORD.finditer(text)
            if match.end() != cursor and not any(start <= match.start() < end for start, end in code)
        ]
        if new := [word for _, _, word in found if word not in self._known]:
            self._ask(new)
        return [(start, end) for start, end, word in found if self._known.get(word) is False]

    async def run(self) -> None:
        """Answer until cancelled, or until there is no checker."""
        command = self._command()
        if command is None:
            return
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**PROGRAMS.plain_environment(self._env), "LC_ALL": "C.UTF-8"},
                limit=_LONGEST_LINE,
            )
        except OSError as error:
            self._warn(f"spellcheck: {command[0]} cannot be started ({error.strerror}).")
            return
        try:
            await self._converse(process)
        except (TimeoutError, ConnectionError, EOFError, ValueError):
            self._warn(
                f"spellcheck: {os.path.basename(command[0])} is not responding; spelling is not checked."
            )
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def _ask(self, words: Sequence[str]) -> None:
        if len(self._known) < _MOST_WORDS:
            self._known |= dict.fromkeys(words, True)
            self._asked += words
            self._due.set()

    async def _converse(self, process: asyncio.subprocess.Process) -> None:
        """Ask as `ispell -a` is asked: a line of words gets a line for each fault and an empty one."""
        assert process.stdin is not None and process.stdout is not None
        await _line(process.stdout)
        while True:
            await self._due.wait()
            words, self._asked = self._asked[:_MOST_AT_ONCE], self._asked[_MOST_AT_ONCE:]
            if not self._asked:
                self._due.clear()
            process.stdin.write(f"^{' '.join(words)}\n".encode())
            await process.stdin.drain()
            wrong: set[str] = set()
            while line := (await _line(process.stdout)).strip():
                if line[:1] in "&#?":
                    wrong.add(line.split()[1])
            self._known |= dict.fromkeys(wrong & set(words), False)
            if wrong:
                self._on_change()

    def _command(self) -> list[str] | None:
        chosen = self._wanted.checker or "auto"
        names = _CHECKERS if chosen == "auto" else (chosen,)
        program = next(filter(None, (find_program(name, self._env) for name in names)), None)
        if program is None:
            self._warn(f"spellcheck: {' and '.join(names)} cannot be found; spelling is not checked.")
            return None
        language = self._wanted.language
        own = ["--encoding=utf-8"] if os.path.basename(program) == "aspell" else []
        return [program, "-a", *own, *(["-d", language] if language else [])]


def color_of(text: str) -> str:
    """A color as the setting writes it; that of errors where it is none."""
    wanted = text.strip().lower().removeprefix("ansi:")
    if wanted.replace("bright", "").strip("_- ") in _NAMED:
        number = _NAMED.index(wanted.replace("bright", "").strip("_- "))
        return f"ansi.{number + 8 * ('bright' in wanted)}"
    if re.fullmatch(r"#[0-9a-f]{6}", wanted):
        return wanted
    if (found := re.fullmatch(r"ansi256\((\d{1,3})\)", wanted)) and int(found[1]) < 256:
        return f"ansi.{found[1]}"
    found = re.fullmatch(r"rgb\((\d{1,3}), *(\d{1,3}), *(\d{1,3})\)", wanted)
    if found and all(int(each) < 256 for each in found.groups()):
        return "#" + "".join(f"{int(each):02x}" for each in found.groups())
    return "error"


async def _line(stream: asyncio.StreamReader) -> str:
    async with asyncio.timeout(_SECONDS):
        line = await stream.readline()
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace")
