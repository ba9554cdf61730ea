"""Installs a bundle of bridle: runs from the bundle, with nothing but Python."""

import argparse
import json
import os
import shutil
import sys
import sysconfig
import venv
import zipfile

_SCRIPT = "#!{python}\nimport sys\nfrom bridle.__main__ import main\nsys.exit(main())\n"


def main() -> int:
    """Unpack the bundle into an environment of its own and put `bridle` on the path."""
    home = os.path.expanduser("~")
    parser = argparse.ArgumentParser(prog="bridle bundle", description="Install bridle without network.")
    parser.add_argument("--to", default=f"{home}/.local/share/bridle/bundle", help="default: %(default)s")
    parser.add_argument("--bin", default=f"{home}/.local/bin", help="for the command; default: %(default)s")
    given = parser.parse_args()
    bundle = os.path.dirname(os.path.abspath(__file__))
    with zipfile.ZipFile(bundle) as archive:
        about = json.loads(archive.read("bundle.json"))
        wanted, here = tuple(about["python"]), sys.version_info[:2]
        if here != wanted:
            return _fail(
                f"this bundle is for Python {wanted[0]}.{wanted[1]}, and this is {here[0]}.{here[1]}"
            )
        if sysconfig.get_platform() != about["platform"]:
            return _fail(f"this bundle is for {about['platform']}, and this is {sysconfig.get_platform()}")
        try:
            command = _install(archive, os.path.abspath(given.to), os.path.abspath(given.bin))
        except OSError as error:
            return _fail(f"{error.filename or given.to}: {error.strerror}")
    _say(sys.stdout.fileno(), f"bridle {about['version']} is installed: {command}")
    return 0


def _install(archive: zipfile.ZipFile, place: str, programs: str) -> str:
    """Make the environment beside the old one, then put it in its place."""
    new = f"{place}.new"
    shutil.rmtree(new, ignore_errors=True)
    venv.EnvBuilder(with_pip=False, symlinks=True).create(new)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = os.path.join(new, "lib", version, "site-packages")
    for entry in archive.infolist():
        if entry.filename.startswith("site/") and not entry.is_dir():
            target = os.path.join(site, entry.filename[len("site/") :])
            if not os.path.abspath(target).startswith(f"{site}{os.sep}"):
                raise OSError(0, "a name leads out of the bundle", entry.filename)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(archive.read(entry))
            os.chmod(target, entry.external_attr >> 16 or 0o644)
    script = os.path.join(new, "bin", "bridle")
    with open(script, "w", encoding="utf-8") as file:
        file.write(_SCRIPT.format(python=os.path.join(place, "bin", "python")))
    os.chmod(script, 0o755)
    shutil.rmtree(place, ignore_errors=True)
    os.rename(new, place)
    os.makedirs(programs, exist_ok=True)
    command = os.path.join(programs, "bridle")
    if os.path.lexists(command):
        os.unlink(command)
    os.symlink(os.path.join(place, "bin", "bridle"), command)
    return command


def _fail(why: str) -> int:
    _say(sys.stderr.fileno(), f"error: {why}")
    return 1


def _say(number: int, text: str) -> None:
    with open(number, "w", encoding="utf-8", closefd=False) as file:
        file.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
