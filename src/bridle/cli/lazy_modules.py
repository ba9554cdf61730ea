"""Modules of others that every start imports and most starts never use are loaded with their first use.

asyncio imports ssl for loops that open no encrypted connection, and subprocess imports locale for text pipes.
Such an import gives the module without content; the first name that is looked up in it loads it in place.
"""

import os
import sys
from _thread import RLock
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

LAZY = (
    "asyncio.sslproto",
    "asyncio.staggered",
    "datetime",
    "inspect",
    "linecache",
    "locale",
    "logging",
    "msgspec.inspect",
    "platform",
    "ssl",
    "subprocess",
    "textwrap",
)
"""What asyncio, traceback, uuid and msgspec import at their top and use in few functions."""


def use_lazy_modules() -> None:
    """Begin with the modules that are not imported yet."""
    sys.meta_path.insert(0, LazyModules(LAZY))


class LazyModules:
    """Finds modules as the finders behind it do; they are loaded later."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = frozenset(names)

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        found = (each.find_spec(name, path, target) for each in sys.meta_path if each is not self)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _LazyLoader(spec.loader)
        return spec


class _LazyLoader(SourceFileLoader):
    """Gives a module what loads its content, and the loader that it will have."""

    def __init__(self, loader: SourceFileLoader) -> None:
        super().__init__(loader.name, loader.path)
        self._loader = loader

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        module.__dict__["__getattr__"] = _Content(module, self._loader)


class _Content:
    """Looks up names in a module without content (PEP 562). Other threads wait while one loads it."""

    def __init__(self, module: ModuleType, loader: SourceFileLoader) -> None:
        self._module = module
        self._loader = loader
        self._lock = RLock()
        self._is_loading = False

    def __call__(self, name: str) -> Any:
        if name == "__path__":
            raise self._missing(name)  # Imports ask every module whether it is a package.
        answer = None if self._is_loading else _ANSWERS.get((self._module.__name__, name))
        return self.loaded(name) if answer is None else answer(self)

    def find(self, name: str) -> Any:
        """What has this name if the module is loaded; else None."""
        return self._module.__dict__.get(name)

    def loaded(self, name: str) -> Any:
        """What has this name in the module, which is loaded for that."""
        names = self._module.__dict__
        with self._lock:
            if not self._is_loading and names.get("__getattr__") is self:
                self._load()
        if name not in names:
            raise self._missing(name)
        return names[name]

    def _load(self) -> None:
        self._is_loading = True
        try:
            self._loader.exec_module(self._module)
        finally:
            self._is_loading = False
        del self._module.__dict__["__getattr__"]

    def _missing(self, name: str) -> AttributeError:
        return AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")


class _SslSocket:
    """`ssl.SSLSocket` as long as ssl is not loaded: nothing can be an instance of it before that."""

    def __init__(self, content: _Content) -> None:
        self._content = content

    def __instancecheck__(self, instance: object) -> bool:
        loaded = self._content.find("SSLSocket")
        return loaded is not None and isinstance(instance, loaded)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        del bases
        return (self._content.loaded("SSLSocket"),)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._content.loaded("SSLSocket")(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content.loaded("SSLSocket"), name)


class _Logger:
    """A logger as long as logging is not loaded: no one has asked for debugging messages before that."""

    def __init__(self, content: _Content, name: str | None = None) -> None:
        self._content = content
        self._name = name

    def debug(self, *args: Any, **options: Any) -> None:
        if self._content.find("getLogger") is not None:
            self.__getattr__("debug")(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content.loaded("getLogger")(self._name), name)


def _from_c(name: str) -> Callable[[_Content], object]:
    """What extension modules ask of datetime: it comes from C, and the module has all of it in Python too."""

    def answer(content: _Content) -> object:
        del content
        return getattr(import_module("_datetime"), name)

    return answer


_ANSWERS: dict[tuple[str, str], Callable[[_Content], Any]] = {
    ("datetime", "datetime"): _from_c("datetime"),
    ("datetime", "datetime_CAPI"): _from_c("datetime_CAPI"),
    ("logging", "DEBUG"): lambda _: 10,
    ("logging", "getLogger"): lambda content: partial(_Logger, content),
    ("platform", "system"): lambda _: lambda: os.uname().sysname,
    ("ssl", "SSLSocket"): _SslSocket,
    ("subprocess", "DEVNULL"): lambda _: -3,
    ("subprocess", "PIPE"): lambda _: -1,
    ("subprocess", "STDOUT"): lambda _: -2,
}
"""What modules ask when they are imported, or asyncio with every loop and socket, and the answers."""
