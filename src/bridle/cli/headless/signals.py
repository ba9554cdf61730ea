"""Signals that end a run."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from types import FrameType


def call_on_signals(callbacks: Mapping[signal.Signals, Callable[[], object]]) -> None:
    """Call back in the running loop until it is closed; then the signals do what they usually do.

    `add_signal_handler` of the loop does the same, and imports inspect for a look at the callback.
    """
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if not loop.is_closed():
            loop.call_soon_threadsafe(callbacks[signal.Signals(number)])
            return
        is_interrupt = number == signal.SIGINT
        signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
        signal.raise_signal(number)

    # A loop that waits notices a signal only by what it can read: another thread may have got it.
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    loop.add_reader(woken, os.read, woken, 4096)
    for number in callbacks:
        signal.signal(number, handle)
        signal.siginterrupt(number, False)
