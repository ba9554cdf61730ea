"""`bridle` in a terminal: the prompt first, everything else behind it."""

import os
from collections.abc import Mapping

from bridle.cli.args import Args
from bridle.cli.start import Start
from bridle.frontends.tui.first_frame import FirstFrame, paint_first_frame

_JOB = "BRIDLE_JOB"
"""The folder of the job that this program is, set by the holder of its terminal."""


def run_interactive(args: Args, env: Mapping[str, str], frame: FirstFrame | None = None) -> int:
    """Talk to the user until they leave; returns the exit code. `frame` is a prompt that is there already.

    Raises:
        BridleError: nothing could be begun; the terminal is in order.
    """
    if frame is None and not args.on("ax-screen-reader"):
        frame = paint_first_frame()
    start = Start(frame)
    try:
        # What comes now takes longer than the prompt may take to appear.
        from bridle.cli.options import session_options
        from bridle.cli.terminal.session import run_in_terminal

        if (job := env.get(_JOB)) is not None:
            # What this session starts must not take itself for the session.
            os.environ.pop(_JOB, None)
            env = {name: value for name, value in env.items() if name != _JOB}
        return run_in_terminal(session_options(args, interactive=True, job=job), env, start)
    finally:
        start.give_up()
