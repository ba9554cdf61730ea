"""Time that passes only while nothing happens: limits are reached at once, however busy a machine is.

For tests inside one process and one thread; what happens elsewhere would be overtaken.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

_Given = ParamSpec("_Given")


def virtual_time(
    *, quiet: float = 0.0
) -> Callable[[Callable[_Given, Coroutine[Any, Any, None]]], Callable[_Given, None]]:
    """Run a test in virtual time. Its sockets have `quiet` real seconds to deliver before time passes."""

    def decorate(test: Callable[_Given, Coroutine[Any, Any, None]]) -> Callable[_Given, None]:
        @wraps(test)
        def run(*arguments: _Given.args, **named: _Given.kwargs) -> None:
            with asyncio.Runner(loop_factory=lambda: _Loop(_Selector(quiet))) as runner:
                runner.run(test(*arguments, **named))

        return run

    return decorate


class _Selector(selectors.DefaultSelector):
    """Skips every wait in which nothing happens."""

    def __init__(self, quiet: float) -> None:
        super().__init__()
        self._quiet = quiet
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if not (found := super().select(self._quiet)):
            self.now += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, selector: _Selector) -> None:
        super().__init__(selector)
        self._selector_of_time = selector

    def time(self) -> float:
        return self._selector_of_time.now
