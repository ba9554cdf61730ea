"""Makes sure that the next start finds compiled code."""

import os
import sys

import bridle


def compile_once() -> None:
    """Compile the package beside this process, if it was installed without bytecode and may be written.

    Some installers do not compile, some environments forbid Python to: then every start costs half a second.
    """
    spec = bridle.__spec__
    if spec is None or spec.cached is None or os.path.exists(spec.cached):
        return
    folder = os.path.dirname(os.path.abspath(bridle.__file__))
    if not os.access(folder, os.W_OK):
        return
    import subprocess

    subprocess.Popen(
        [sys.executable, "-I", "-m", "compileall", "-q", folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
