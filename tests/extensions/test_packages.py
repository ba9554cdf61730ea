import asyncio
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from bridle.extensions.packages import (
    Package,
    PackageFault,
    approve,
    find_packages,
    is_approved,
    load_package,
    revoke,
)
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_SAMPLE = Path(__file__).parents[2] / "examples" / "python-plugin"


def install(
    target: Path, name: str = "bridle-dice", version: str = "1.0.0", entry: str | None = None
) -> Path:
    """What an installer leaves behind: the code and its metadata."""
    target.mkdir(exist_ok=True)
    shutil.copytree(_SAMPLE / "src" / "bridle_dice", target / "bridle_dice", dirs_exist_ok=True)
    metadata = target / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText: no\n"
    )
    named = entry or "bridle_dice.plugin:contribution"
    points = f"[console_scripts]\nx = y:z\n\n[bridle.plugins]\ndice = {named}\n"
    (metadata / "entry_points.txt").write_text(points)
    return metadata


def make_wheel(folder: Path) -> Path:
    """The sample as a wheel, with the entry points of its project file."""
    project = tomllib.loads((_SAMPLE / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["bridle.plugins"]
    stem = f"bridle_dice-{project['version']}"
    info = f"{stem}.dist-info"
    about = f"Name: {project['name']}\nVersion: {project['version']}\n"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\n{about}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "".join(
            ["[bridle.plugins]\n", *(f"{name} = {target}\n" for name, target in points.items())]
        ),
    } | {f"bridle_dice/{file.name}": file.read_text() for file in (_SAMPLE / "src/bridle_dice").glob("*.py")}
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return wheel


def env_of(tmp_path: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}


def test_packages_are_found_by_their_entry_points_and_remembered(tmp_path: Path):
    folder = install(tmp_path / "site")
    (tmp_path / "site" / "other-1.dist-info").mkdir()
    env, path = env_of(tmp_path), [str(tmp_path / "site"), str(tmp_path / "missing")]
    expected = [Package("bridle-dice", "1.0.0", str(folder), (("dice", "bridle_dice.plugin:contribution"),))]
    assert find_packages(env, path) == expected
    # The folder itself has not changed, so nobody looks into it again.
    (folder / "entry_points.txt").write_text("")
    assert find_packages(env, path) == expected
    install(tmp_path / "site", "bridle-cards", "2.0")
    assert [each.name for each in find_packages(env, path)] == ["bridle-cards"]


def test_broken_index_of_packages_is_made_anew(tmp_path: Path):
    install(tmp_path / "site")
    env, path = env_of(tmp_path), [str(tmp_path / "site")]
    find_packages(env, path)
    (tmp_path / "home/bridle/index/packages.index").write_bytes(b"\xc1")
    assert len(find_packages(env, path)) == 1


def test_approval_is_bound_to_version_and_place(tmp_path: Path):
    install(tmp_path / "site")
    env = env_of(tmp_path)
    (package,) = find_packages(env, [str(tmp_path / "site")])
    assert not is_approved(env, package)
    approve(env, package)
    assert is_approved(env, package)
    newer = Package(package.name, "1.0.1", package.folder, package.entries)
    elsewhere = Package(package.name, package.version, "/elsewhere", package.entries)
    more = Package(package.name, package.version, package.folder, (*package.entries, ("x", "y:z")))
    assert not any(is_approved(env, each) for each in (newer, elsewhere, more))
    revoke(env, package)
    assert not is_approved(env, package)


@pytest.mark.parametrize(
    "target", ["no_such_module_here:x", "bridle_types_missing", "os:no_such_name", "os:getcwd", "sys:exit"]
)
def test_package_that_fails_is_a_fault_and_nothing_else(target: str):
    fault = load_package(Package("bad", "1", "/x", (("bad", target),)))
    assert isinstance(fault, PackageFault)
    assert "bad 1" in str(fault)


async def test_sample_installed_by_pip_is_found_and_works(tmp_path: Path):
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(site),
    ]
    installing = await asyncio.create_subprocess_exec(*command, str(make_wheel(tmp_path)))
    async with asyncio.timeout(50):
        assert await installing.wait() == 0
    program = Program(tmp_path, PYTHONPATH=str(site))
    assert "not approved" in (await program.run("packages", "list")).out
    await program.run("packages", "approve", "bridle-dice")
    assert (await program.run("packages", "check", "bridle-dice")).out.startswith("tools: RollDice")


async def test_nothing_of_a_package_runs_before_it_is_approved(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, PYTHONPATH=str(tmp_path / "site"))
        install(tmp_path / "site")
        marker = tmp_path / "ran"
        (tmp_path / "site/bridle_dice/__init__.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
        listed = await program.run("packages", "list")
        done = await program.run("-p", "hi")
        (request,) = server.requests
    assert "bridle-dice 1.0.0 (not approved)" in listed.out
    assert done.code == 0
    assert "RollDice" not in {tool["name"] for tool in request.body["tools"]}
    assert not marker.exists()


async def test_approved_package_brings_tools_commands_hooks_and_providers(tmp_path: Path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "RollDice", "input": {"count": 3}}
    async with MessagesServer([step("x", call), step("done")]) as server:
        program = Program(tmp_path, server.url, PYTHONPATH=str(tmp_path / "site"))
        install(tmp_path / "site")
        assert (await program.run("packages", "approve", "bridle-dice")).code == 0
        checked = await program.run("packages", "check", "bridle-dice")
        rolled = await program.run("-p", "--allowedTools", "RollDice", "--", "roll dice")
        said = await program.run("-p", "/roll 2")
        answered = await program.run("-p", "--model", "dice/fair", "hello")
        first, second = (request.body for request in server.requests)
    assert checked.out.splitlines() == [
        "tools: RollDice",
        "commands: roll",
        "hooks: UserPromptSubmit",
        "providers: dice",
    ]
    assert rolled.out == "done\n"
    (definition,) = [tool for tool in first["tools"] if tool["name"] == "RollDice"]
    assert definition["description"] == "Roll dice with six sides and return what they show."
    assert definition["input_schema"]["properties"]["count"]["maximum"] == 100
    assert "The dice are fair" in str(first["messages"])
    (result,) = [block for block in second["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert len(str(result["content"]).split(", ")) == 3
    assert said.out.startswith("You rolled ")
    assert answered.out.startswith("I rolled a ")


async def test_approved_package_that_breaks_is_told_and_the_session_goes_on(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, PYTHONPATH=str(tmp_path / "site"))
        install(tmp_path / "site")
        await program.run("packages", "approve", "bridle-dice")
        (tmp_path / "site/bridle_dice/plugin.py").write_text("raise RuntimeError('boom')\n")
        done = await program.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert "bridle-dice" in done.err and "boom" in done.err


async def test_package_of_the_same_name_in_the_project_is_not_the_approved_one(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, PYTHONPATH=str(tmp_path / "site"))
        install(tmp_path / "site")
        await program.run("packages", "approve", "bridle-dice")
        marker = tmp_path / "ran"
        # `python -m bridle` puts the current folder first on the path.
        (program.project / "bridle_dice").mkdir()
        (program.project / "bridle_dice" / "__init__.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
        done = await program.run("-p", "hi")
    assert done.code == 0
    assert not marker.exists()
