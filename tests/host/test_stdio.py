"""S61: text on a terminal neither steers it nor hides; pipes and files get every byte."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.print.debug_log import DebugLog
from bridle.host.stdio import for_terminal
from bridle.host.streams import Output
from bridle.types.event import Noticed
from bridle.types.visible import visible, visible_prose
from tests.fakes.tty import ALL, RAW, SPITE, everything, harm, open_terminal
from tests.tables import table

_ORDINARY = (
    "plain text\n", "tabs\tand\nlines\n", "naïve café Straße", "日本語 한국어", "हिन्दी বাংলা", "مرحبا שלום",
    "👩‍👩‍👧 ❤️ 🇺🇦 👍🏽", "می‌خواهم", "nbsp\u00a0here", "葛\U000e0100", "\ue0b0 powerline", "½ ∑ → │─┘",
)  # fmt: skip


@table("text", _ORDINARY)
def test_ordinary_text_of_every_script_stays(text: str):
    assert visible(text) == text
    assert for_terminal(text.encode()) == text.encode()


@table("kind", SPITE)
def test_nothing_of_the_corpus_is_left(kind: str):
    assert harm(visible(SPITE[kind]).encode()) == []
    assert harm(for_terminal(SPITE[kind].encode())) == []


def test_what_would_steer_is_shown_by_name():
    assert visible("a\x1b[31m\x9b\x7f\u202e\udc9b\r\nb") == "a␛[31m<U+009B>␡<U+202E><9B>␍\nb"


def test_prose_loses_hints_for_breaks_and_order_and_keeps_its_letters():
    assert visible_prose("\u200fשלום\u200b co\xadop\ufeff\x1b]0;x\x07") == "שלום coop␛]0;x␇"


def test_bytes_that_are_no_text_are_shown_as_numbers():
    assert harm(for_terminal(RAW)) == []
    assert for_terminal(b"\x9b31m\r\n\xff") == b"<9B>31m\n<FF>"


@given(st.text(max_size=60))
def test_no_text_gets_through(text: str):
    assert harm(visible(text).encode()) in ([], _unknown(text))
    assert visible(visible(text)) == visible(text)


@given(st.binary(max_size=60))
def test_no_bytes_get_through(data: bytes):
    assert harm(for_terminal(data)) in ([], _unknown(data.decode(errors="replace")))


def _unknown(text: str) -> list[str]:
    """Signs that stand for themselves although Unicode calls them formats, such as the Arabic number sign."""
    return [name for name in harm(text.encode(errors="replace")) if name in _SIGNS]


_SIGNS = {f"U+{code:04X}" for code in (
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440),
)}  # fmt: skip


@pytest.mark.parametrize("cut", [1, 3, 7])
async def test_pieces_of_a_sequence_do_not_become_one_on_a_terminal(cut: int):
    reads, writes = open_terminal()
    output = Output(writes)
    for start in range(0, len(ALL), cut):
        output.write(ALL[start : start + cut].encode())
    got, drained = bytearray(), asyncio.create_task(output.drain())
    async with asyncio.timeout(50):
        while not got.endswith(b"ends"):
            got += await asyncio.to_thread(os.read, reads, 4096)
        await drained
    assert harm(bytes(got)) == []
    os.close(reads)
    os.close(writes)


async def test_pipe_gets_every_byte():
    reads, writes = os.pipe()
    output = Output(writes)
    output.write(ALL.encode() + RAW)
    await output.drain()
    assert os.read(reads, 65_536) == ALL.encode() + RAW
    os.close(reads)
    os.close(writes)


def test_debug_log_on_a_terminal_is_harmless(tmp_path: Path):
    reads, writes = open_terminal()
    file = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    for descriptor in (os.dup(writes), file):
        log = DebugLog(descriptor)
        log.take(Noticed(text=ALL, level="info"))
        log.finish(None)
    os.close(writes)
    data = everything(reads)
    assert b"begins" in data and harm(data) == []
    assert ALL[:40].split("\x1b")[0] in (tmp_path / "log").read_text()


_FAULTS = {
    "traceback": "raise RuntimeError(TEXT)",
    "warning": "import warnings; warnings.warn(TEXT)",
    "log": "import logging; logging.error(TEXT)",
    "loop": "import asyncio\nasync def main():\n asyncio.get_running_loop().call_exception_handler("
    "{'message': TEXT})\nasyncio.run(main())",
    "thread": "import threading\ndef fail(): raise ValueError(TEXT)\n"
    "t = threading.Thread(target=fail, name=TEXT); t.start(); t.join()",
    "unraisable": "class C:\n def __del__(self): raise ValueError(TEXT)\nC()",
    "print": "print(TEXT); print(TEXT, file=sys.stderr); sys.stdout.writelines([TEXT])",
    "exit": "sys.exit(TEXT)",
    "original": "sys.__stderr__.write(TEXT); sys.__stdout__.write(TEXT)",
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_whatever_prints_in_the_program_is_guarded(fault: str):
    code = f"import sys\nfrom bridle.host.stdio import guard_terminals\nguard_terminals()\nTEXT = {ALL!a}\n"
    reads, writes = open_terminal()
    program = subprocess.Popen(
        [sys.executable, "-c", code + _FAULTS[fault]], stdin=subprocess.DEVNULL, stdout=writes, stderr=writes
    )
    os.close(writes)
    data = everything(reads)
    program.wait(30)
    assert b"begins" in data and harm(data) == []
