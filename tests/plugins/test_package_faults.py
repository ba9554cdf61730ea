"""A Python package that misbehaves is left out with a sentence; the session goes on."""

import signal
import sys
from pathlib import Path
from typing import Never

import pytest

from bridle.extensions.packages import PackageFault, approve, find_packages, is_approved, load_package
from bridle.session.parts.packages import Packages, load_packages
from bridle.types.errors import ConfigError
from bridle.types.package import Contribution
from tests.fakes.program import Program

_BEGIN = "from bridle.types.package import Contribution, PackageHook\n"


def write_package(site: Path, name: str, code: str) -> None:
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[bridle.plugins]\nit = {name}:contribution\n")
    (site / f"{name}.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


def load(site: Path, name: str, code: str, *, seconds: float = 10.0) -> list[Contribution] | PackageFault:
    write_package(site, name, code)
    env = {"CLAUDE_CONFIG_DIR": str(site.parent / "home")}
    (package,) = find_packages(env, [str(site)])
    sys.path.insert(0, str(site))
    try:
        return load_package(package, seconds=seconds)
    finally:
        sys.path.remove(str(site))
        sys.modules.pop(name, None)


WRONG = {
    "fault_base": ("class Odd(BaseException): ...\nraise Odd('no')", "failed with Odd: no"),
    "fault_generator": ("raise GeneratorExit", "failed with GeneratorExit"),
    "fault_exit": ("raise SystemExit(3)", "tried to exit the program (3)"),
    "fault_lines": ("raise ValueError('a\\nb\\x1b[31m')", "failed with ValueError: a b\ufffd[31m"),
    "fault_tools": (
        f"{_BEGIN}contribution = Contribution(tools=(1,))",
        "tools that are not a sequence",
    ),
    "fault_name": (
        f"{_BEGIN}from bridle.types.tool import tool\nimport msgspec\n"
        "class Input(msgspec.Struct): ...\n"
        "@tool('my tool', Input)\nasync def it(input, ctx):\n    'I.'\n"
        "contribution = Contribution(tools=(it,))\n",
        "returned the tool name 'my tool'",
    ),
    "fault_none": (f"{_BEGIN}contribution = Contribution(commands=None)", "returned commands that are not"),
    "fault_hooks": (
        f"{_BEGIN}contribution = Contribution(hooks=(PackageHook(event='Stop', function=3),))",
        "returned a hook without",
    ),
    "fault_features": (
        f"{_BEGIN}contribution = Contribution(features=(3,))",
        "features that are not",
    ),
    "fault_row": (
        f"{_BEGIN}from bridle.types.package import FeatureSetting\n"
        "row = FeatureSetting(feature='a', name='b', type=object(), meaning='m')\n"
        "contribution = Contribution(settings=(row,))\n",
        "returned the setting a.b with an unsupported type",
    ),
    "fault_row_name": (
        f"{_BEGIN}from bridle.types.package import FeatureSetting\n"
        "row = FeatureSetting(feature='a.b', name='c', type=str, meaning='m')\n"
        "contribution = Contribution(settings=(row,))\n",
        "returned the setting name",
    ),
    "fault_providers": (
        f"{_BEGIN}contribution = Contribution(providers={{'x': 3}})",
        "providers that",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_whatever_a_package_does_wrong_becomes_one_line(site: Path, name: str):
    code, said = WRONG[name]
    fault = load(site, name, code)
    assert isinstance(fault, PackageFault)
    assert said in str(fault) and str(fault).isprintable()


@pytest.mark.parametrize(
    "code", ["import time\ntime.sleep(1000)", "while True: pass"], ids=["waits", "works"]
)
def test_a_package_that_does_not_come_to_an_end_is_interrupted(site: Path, code: str):
    before, left = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]
    fault = load(site, "fault_late", code, seconds=0.05)
    assert isinstance(fault, PackageFault) and "timed out after 0.05 seconds" in str(fault)
    assert signal.getsignal(signal.SIGALRM) is before
    # Whoever uses the same clock is not robbed of it.
    assert bool(signal.getitimer(signal.ITIMER_REAL)[0]) is bool(left)


async def test_what_a_package_prints_does_not_get_into_the_answer(tmp_path: Path, site: Path):
    write_package(site, "fault_loud", f"print('HELLO')\n{_BEGIN}contribution = Contribution()")
    program = Program(tmp_path, PYTHONPATH=str(site))
    approved = await program.run("packages", "approve", "Fault-Loud")
    assert approved.code == 0, approved.err
    done = await program.run("-p", "hi", "--model", "offline", "--output-format", "stream-json", "--verbose")
    assert done.result["subtype"] == "success" and "HELLO" in done.err


def load_approved(site: Path, *names: str) -> tuple[Packages, list[str]]:
    """What a session gets of the packages in a folder, and what it is told."""
    env = {"CLAUDE_CONFIG_DIR": str(site.parent / "home")}
    told: list[str] = []
    sys.path.insert(0, str(site))
    try:
        for package in find_packages(env, [str(site)]):
            approve(env, package)
        return load_packages(env, path=[str(site)], warn=told.append), told
    finally:
        sys.path.remove(str(site))
        for name in names:
            sys.modules.pop(name, None)


def tool_code(input_type: str) -> str:
    return (
        f"{_BEGIN}import msgspec\nfrom bridle.types.tool import tool\n"
        f"class Input(msgspec.Struct):\n    x: {input_type}\n"
        "@tool('Zed', Input)\nasync def zed(input, ctx):\n    'Z.'\n    return ''\n"
        "contribution = Contribution(tools=(zed,))\n"
    )


def test_a_tool_whose_input_has_no_schema_leaves_its_package_out(site: Path):
    write_package(site, "fault_schema", tool_code("'Nothing'"))
    packages, told = load_approved(site, "fault_schema")
    assert packages == Packages()
    assert len(told) == 1 and "no schema" in told[0]


def test_of_two_tools_with_one_name_the_first_counts_and_the_other_is_named(site: Path):
    for name in ("fault_one", "fault_two"):
        write_package(site, name, tool_code("int"))
    packages, told = load_approved(site, "fault_one", "fault_two")
    assert [tool.name for tool in packages.tools(())] == ["Zed"]
    assert len(told) == 1 and "The tool Zed of fault_two is skipped" in told[0]


def test_a_provider_that_cannot_be_made_is_a_sentence():
    def make(env: object) -> Never:
        raise RuntimeError("no key")

    packages = Packages(brought=(Contribution(providers={"dice": make}),))
    with pytest.raises(ConfigError, match="no key"):
        packages.provider("dice/x", {})


def test_a_folder_that_comes_before_a_package_without_a_file_ends_its_approval(tmp_path: Path, site: Path):
    write_package(site, "fault_space", "")
    (site / "fault_space.py").unlink()
    (site / "fault_space").mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    (package,) = find_packages(env, [str(site)])
    sys.path.append(str(site))
    try:
        approve(env, package)
        assert is_approved(env, package)
        (tmp_path / "before" / "fault_space").mkdir(parents=True)
        sys.path.insert(0, str(tmp_path / "before"))
        try:
            assert not is_approved(env, package)
        finally:
            sys.path.pop(0)
    finally:
        sys.path.remove(str(site))
