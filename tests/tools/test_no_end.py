"""Files that never end, or are not there although a link says so, are refused at once (R6)."""

import os
import socket
from pathlib import Path

import pytest

from bridle.tools.files.read import TOOL, ReadInput
from bridle.types.errors import ToolError
from tests.fakes.tool_context import make_context


@pytest.mark.parametrize(
    "path",
    ["/dev/zero", "/dev/tty", "/dev/random", "/dev/stdin", "//dev/zero", "/dev/../dev/zero", "/proc/kmsg",
     "/proc/self/fd/0", "/proc/self/root/dev/zero", "/dev/shm/../zero", "/sys/kernel/tracing/trace_pipe"],
)  # fmt: skip
async def test_devices_are_named_and_not_read(tmp_path: Path, path: str):
    with pytest.raises(ToolError, match="device or a file descriptor"):
        await TOOL.run(ReadInput(file_path=path), make_context(tmp_path))


async def test_links_pipes_and_sockets_are_named_and_not_read(tmp_path: Path):
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "hop").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "far").symlink_to("zero")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        said = {
            "nowhere": "is a link to", "hop": "is a link to", "loop": "Too many levels", "zero": "device",
            "far": "device", "pipe": "pipe", "socket": "socket",
        }  # fmt: skip
        for name, words in said.items():
            with pytest.raises(ToolError, match=words):
                await TOOL.run(ReadInput(file_path=str(tmp_path / name)), make_context(tmp_path))
