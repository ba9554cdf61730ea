"""The entry of the program; the quickest questions are answered before anything else is imported."""

import os
import sys


def main() -> int:
    argv = sys.argv[1:]
    if argv in (["--version"], ["-v"], ["-V"]):
        from bridle.cli.say import say
        from bridle.version import version_line

        return say(version_line(for_people=os.isatty(1)))
    if os.environ.get("CLAUDE_CODE_PROFILE_STARTUP"):
        from bridle.cli.startup_profile import profile_start

        profile_start(os.environ)
    import gc

    # Nothing that start-up makes is garbage, and looking for it takes time; print mode turns it on again.
    gc.disable()
    frame = None
    if not argv:
        from bridle.frontends.tui.first_frame import paint_first_frame

        # The most usual start: the prompt is there before anyone knows how to read a command line.
        frame = paint_first_frame()
    if argv not in (["--help"], ["-h"]):
        from bridle.cli.bytecode import use_image

        use_image()
        from bridle.cli.lazy_modules import use_lazy_modules

        use_lazy_modules()
        _import_msgspec()
    from bridle.cli.main import run

    return run(argv, frame)


def _import_msgspec() -> None:
    """Without typing_extensions: it takes 2 ms where it is installed, and Python has what msgspec uses."""
    modules = vars(sys)["modules"]
    if "typing_extensions" in modules:
        return
    modules["typing_extensions"] = None
    import msgspec

    del msgspec, modules["typing_extensions"]


if __name__ == "__main__":
    sys.exit(main())
