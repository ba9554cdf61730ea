"""`python -m fuzz.coverage TARGET`: drive one target of fuzz/inputs.py by coverage, with Atheris."""

import importlib
import sys
from collections.abc import Callable
from functools import partial

from fuzz.playground import Playground, make_playground, remove


def main() -> int:
    """Run until something is found or the arguments of libFuzzer (`-max_total_time=60`) end it."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print(
            "Atheris is not installed: pip install atheris, or use `python -m fuzz inputs`.", file=sys.stderr
        )
        return 2
    with atheris.instrument_imports(include=["bridle"]):
        inputs = importlib.import_module("fuzz.inputs")
    if len(sys.argv) < 2 or sys.argv[1] not in inputs.TARGETS:
        print(f"Name a target: {', '.join(inputs.TARGETS)}", file=sys.stderr)
        return 2
    name, playground = sys.argv.pop(1), make_playground()
    try:
        atheris.Setup(sys.argv, partial(_once, inputs.try_once, name, playground))
        atheris.Fuzz()
    finally:
        remove(playground)
    return 0


def _once(target: Callable[..., None], name: str, playground: Playground, data: bytes) -> None:
    target(name, data, playground)


if __name__ == "__main__":
    sys.exit(main())
