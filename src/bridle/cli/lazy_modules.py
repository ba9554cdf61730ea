"""Modules of others that every start imports and most starts never use are loaded with their first use.

asyncio imports ssl for loops that open no encrypted connection, and subprocess imports locale for text pipes.
Such an import gives the module without content; the first name that is looked up in it loads it in place.
"""

import os
import sys
from _thread import RLock
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

LAZY = (
    "asyncio.sslproto",
    "asyncio.staggered",
    "inspect",
    "linecache",
    "locale",
    "msgspec.inspect",
    "platform",
    "ssl",
    "textwrap",
)
"""What asyncio, subprocess, traceback, uuid and msgspec import at their top and use in few functions."""

_CLASSES = {"ssl": ("SSLSocket",)}
"""What asyncio asks every socket: whether it is one of these."""

_FUNCTIONS: dict[str, dict[str, Callable[[], object]]] = {"platform": {"system": lambda: os.uname().sysname}}
"""What uuid asks when it is imported, as `platform` answers it."""


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
        if not self._is_loading:
            if name in _CLASSES.get(self._module.__name__, ()):
                return _LazyClass(self, name)
            if (known := _FUNCTIONS.get(self._module.__name__, {}).get(name)) is not None:
                return known
        return self.loaded(name)

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


class _LazyClass:
    """A class of a module that is not loaded: nothing can be an instance of it before that."""

    def __init__(self, content: _Content, name: str) -> None:
        self._content = content
        self._name = name

    def __instancecheck__(self, instance: object) -> bool:
        loaded = self._content.find(self._name)
        return loaded is not None and isinstance(instance, loaded)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        del bases
        return (self._content.loaded(self._name),)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._content.loaded(self._name)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content.loaded(self._name), name)
