"""The entry of the program; the quickest questions are answered before anything else is imported."""

import sys


def main() -> int:
    argv = sys.argv[1:]
    if argv in (["--version"], ["-v"]):
        from bridle.cli.say import say
        from bridle.version import COMPATIBLE_WITH, __version__

        return say(f"{COMPATIBLE_WITH} (bridle {__version__})\n")
    import gc

    # Nothing that start-up makes is garbage, and looking for it takes time; print mode turns it on again.
    gc.disable()
    from bridle.cli.main import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
