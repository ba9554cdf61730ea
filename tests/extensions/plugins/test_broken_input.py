"""Marketplaces and plugins that are broken or hostile are named, left out, and harm nothing else."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from bridle.config.options import SessionOptions
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.authoring import PARTS
from bridle.extensions.plugins.downloads import download, fetch, unpacked
from bridle.extensions.plugins.installation import install, update
from bridle.extensions.plugins.manifest import read_manifest
from bridle.extensions.plugins.names import INLINE, SKILLS_DIR, PluginId, plugins_dir
from bridle.extensions.plugins.report import installed_plugins, known_marketplaces
from bridle.extensions.plugins.sources import Source, parse_source
from bridle.extensions.plugins.state import read_installed
from bridle.session.parts.plugins import open_plugins
from bridle.session.prepare import set_up
from bridle.types.errors import ConfigError
from tests.fakes.file_server import FileServer
from tests.fakes.plugins import PluginHome, make_repository, tarball, write_market, write_plugin
from tests.fakes.program import Program

ID = PluginId("p", "m")


@pytest.fixture
def home(tmp_path: Path) -> PluginHome:
    return PluginHome(tmp_path)


async def offer(home: PluginHome, manifest: dict[str, Any], **entry: Any) -> Path:
    """A marketplace with one plugin, added."""
    market = write_market(home.home.parent / "m", "m", [{"name": "p", "source": "./p", **entry}])
    write_plugin(market / "p", {"name": "p", "version": "1.0.0", **manifest})
    await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))
    return market


async def test_an_entry_that_is_nested_too_deeply_is_left_out_and_nothing_is_bricked(home: PluginHome):
    deep: Any = []
    for _ in range(58):
        deep = [deep]
    await offer(home, {}, tags=deep)
    (fault,) = marketplaces.load(home.around(), "m").faults
    assert "nested deeper" in fault.message
    await marketplaces.add(home.around(), parse_source(str(home.market), cwd="/"))
    await install(home.around(), [PluginId("words", "village")])
    assert read_installed(home.env).plugins


async def test_a_path_with_a_zero_byte_is_a_fault_of_the_part_alone(home: PluginHome):
    await offer(home, {"commands": "a\0b"})
    await install(home.around(), [ID])
    (fault,) = home.load().faults
    assert "commands" in fault.message and [each.plugin for each in home.load().loaded] == [ID]


async def test_a_version_longer_than_any_number_is_only_text(home: PluginHome):
    await offer(home, {}, version="1" * 6000)
    await install(home.around(), [ID])
    (row,) = installed_plugins(home.around(), home.config(), home.load())
    assert row.version == "1.0.0"


@pytest.mark.parametrize("name", [INLINE, SKILLS_DIR])
async def test_a_marketplace_cannot_call_itself_what_stands_for_something_else(home: PluginHome, name: str):
    market = write_market(home.home.parent / "m", name, [])
    with pytest.raises(ConfigError, match=name):
        await marketplaces.add(home.around(), parse_source(str(market), cwd="/"))


async def test_a_marketplace_of_an_unknown_kind_hides_no_other(home: PluginHome):
    await offer(home, {})
    file = home.plugins / "known_marketplaces.json"
    odd = {"source": {"source": "telepathy"}, "installLocation": "/nowhere"}
    file.write_text(json.dumps({"odd": odd, **json.loads(file.read_text())}))
    rows = {row.name: row for row in known_marketplaces(home.around())}
    assert "telepathy" in rows["odd"].problem and rows["m"].plugins == 1
    marketplaces.forget(home.around(), "odd")
    assert [row.name for row in known_marketplaces(home.around())] == ["m"]


async def test_records_of_other_programs_outlive_a_change(home: PluginHome):
    await offer(home, {})
    strange = {"x@later": [{"scope": "galaxy", "installPath": "/x"}], "missing or invalid": 7}
    home.plugins.mkdir(exist_ok=True)
    (home.plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": strange}))
    await install(home.around(), [ID])
    kept = json.loads((home.plugins / "installed_plugins.json").read_text())["plugins"]
    assert kept.keys() == {*strange, str(ID)}
    assert {name: kept[name] for name in strange} == strange


async def test_a_repository_without_a_marketplace_is_named_and_leaves_nothing(home: PluginHome):
    folder = home.home.parent / "plain"
    folder.mkdir()
    (folder / "README").write_text("x")
    make_repository(folder)
    source = parse_source(f"file://{folder}", cwd="/")
    with pytest.raises(ConfigError, match=f"file://{folder}/.claude-plugin/marketplace.json"):
        await marketplaces.add(home.around(), source)
    assert list((home.plugins / ".staging").iterdir()) == []


async def test_a_fetched_marketplace_leaves_no_second_copy(home: PluginHome):
    make_repository(home.market)
    await marketplaces.add(home.around(), parse_source(f"file://{home.market}", cwd="/"))
    assert list((home.plugins / ".staging").iterdir()) == []


async def test_an_update_says_when_there_is_only_the_last_copy(home: PluginHome):
    market = await offer(home, {})
    await install(home.around(), [ID])
    (market / ".claude-plugin" / "marketplace.json").write_text("{")
    told: list[str] = []
    assert await update(home.around(), ID, tell=told.append) == ()
    assert len(told) == 1 and told[0].startswith("could not fetch m, using the last copy: ")


async def test_each_project_has_its_plugin_updated_once(home: PluginHome, tmp_path: Path):
    market = await offer(home, {})
    other = PluginHome.__new__(PluginHome)
    vars(other).update({**vars(home), "project": tmp_path})
    for each in (home, other):
        await install(each.around(), [ID], scope="local")
    write_plugin(market / "p", {"name": "p", "version": "2.0.0"})
    for each in (other, home):
        (change,) = await update(each.around(), ID)
        assert (change.before, change.version) == ("1.0.0", "2.0.0")
        assert await update(each.around(), ID) == ()


async def test_a_new_name_is_taken_over_in_one_project_at_a_time(home: PluginHome, tmp_path: Path):
    market = await offer(home, {})
    other = PluginHome.__new__(PluginHome)
    vars(other).update({**vars(home), "project": tmp_path})
    for each in (home, other):
        await install(each.around(), [ID], scope="local")
    write_market(market, "m", [{"name": "q", "source": "./q"}], renames={"p": "q"})
    write_plugin(market / "q", {"name": "q", "version": "2.0.0"})
    await update(home.around(), ID)
    known = read_installed(home.env).plugins
    assert [each.project_path for each in known["q@m"]] == [str(home.project)]
    assert [each.project_path for each in known["p@m"]] == [str(tmp_path)]


async def test_an_answer_that_leads_to_no_address_is_a_sentence(home: PluginHome):
    async with FileServer({}, redirects={"/x": "https://[x"}) as server:
        with pytest.raises(ConfigError, match="not a valid URL"):
            await download(f"{server.url}/x", home.env, most=100)


async def test_a_registry_that_answers_with_nonsense_is_named(home: PluginHome):
    async with FileServer({"/p": b"[" * 100_000}) as server:
        source = Source(kind="npm", location="p", registry=server.url)
        with pytest.raises(ConfigError, match="is not valid package metadata"):
            await fetch(source, str(home.home / "t"), home.env)


def test_the_folder_of_plugins_may_be_below_the_home_or_here(home: PluginHome):
    given = {**home.env, "CLAUDE_CODE_PLUGIN_CACHE_DIR": "elsewhere"}
    assert plugins_dir(given) == str(Path("elsewhere").absolute())
    assert plugins_dir({"CLAUDE_CODE_PLUGIN_CACHE_DIR": "~/x"}) == str(Path("~/x").expanduser())


async def test_a_language_server_with_a_wrong_environment_does_not_end_the_session(home: PluginHome):
    entry = {"command": "x", "extensionToLanguage": {".py": "python"}, "env": 5}
    folder = write_plugin(home.project / "own", {"name": "own", "lspServers": {"snake": entry}})
    setup = set_up(
        SessionOptions(plugin_dir=(str(folder),)),
        home.env,
        cwd=str(home.project),
    )
    plugins = await open_plugins(setup, warn=lambda _: None)
    assert plugins.language_servers() == {"own:snake": entry}
    await plugins.close()


async def test_words_of_strangers_do_not_steer_the_terminal(tmp_path: Path):
    program = Program(tmp_path)
    market = write_market(
        tmp_path / "m", "m", [{"name": "p", "source": "./p", "description": "\x1b]0;x\x07"}]
    )
    await program.run("plugin", "marketplace", "add", str(market))
    listed = await program.run("plugin", "list", "--available")
    assert "p@m" in listed.out and listed.out.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words", ["list x", "prune x", "validate a b", "eval nowhere", "disable -a x", "marketplace list x"]
)
async def test_a_word_too_many_or_a_folder_that_is_not_there_is_an_error(tmp_path: Path, words: str):
    done = await Program(tmp_path).run("plugin", *words.split())
    assert done.code == 1 and done.err.startswith("error: ") and "defect" not in done.err


async def test_one_marketplace_that_cannot_be_updated_does_not_keep_the_others_from_it(tmp_path: Path):
    program = Program(tmp_path)
    market = write_market(tmp_path / "m", "m", [])
    await program.run("plugin", "marketplace", "add", str(market))
    file = program.home / ".claude" / "plugins" / "known_marketplaces.json"
    odd = {"source": {"source": "telepathy"}, "installLocation": "/nowhere"}
    file.write_text(json.dumps({"odd": odd, **json.loads(file.read_text())}))
    done = await program.run("plugin", "marketplace", "update")
    assert done.code == 1 and "can't update odd" in done.out and "m is up to date" in done.out


async def test_a_marketplace_that_is_called_otherwise_in_the_settings_is_not_added(home: PluginHome):
    market = write_market(home.home.parent / "m", "m", [])
    declared = {"other": {"source": {"source": "directory", "path": str(market)}}}
    (home.home / ".claude").mkdir(exist_ok=True)
    (home.home / ".claude" / "settings.json").write_text(json.dumps({"extraKnownMarketplaces": declared}))
    with pytest.raises(ConfigError, match="is named 'm'"):
        await install(home.around(), [PluginId("p", "other")])
    assert known_marketplaces(home.around()) == ()


async def test_an_archive_that_is_refused_leaves_nothing_behind(home: PluginHome, tmp_path: Path):
    (tmp_path / "x.zip").write_bytes(tarball({"a": b"x", "../b": b"x"}))
    with pytest.raises(ConfigError):
        await unpacked(str(tmp_path / "x.zip"), home.env, cwd="/")
    assert not [path for path in home.home.rglob("*") if path.name == "a"]


async def test_details_are_those_of_the_project_that_one_is_in(tmp_path: Path):
    program = Program(tmp_path)
    market = write_market(tmp_path / "m", "m", [{"name": "p", "source": "./p"}])
    await program.run("plugin", "marketplace", "add", str(market))
    elsewhere = {"scope": "local", "installPath": "/elsewhere", "projectPath": "/elsewhere"}
    file = program.home / ".claude" / "plugins" / "installed_plugins.json"
    file.write_text(json.dumps({"version": 2, "plugins": {"p@m": [elsewhere]}}))
    write_plugin(market / "p", {"name": "p", "version": "1.0.0"})
    await program.run("plugin", "install", "p@m", "-s", "local")
    details = await program.run("plugin", "details", "p@m")
    assert "p@m 1.0.0" in details.out and "/elsewhere" not in details.out


@pytest.mark.parametrize("moment", ["marketplace placed", "marketplace recorded"])
async def test_a_copy_of_a_marketplace_that_a_killed_run_left_goes_with_the_next_one(
    home: PluginHome, moment: str
):
    make_repository(home.market)
    source = parse_source(f"file://{home.market}", cwd="/")
    await marketplaces.add(home.around(), source)

    def stop(step: str) -> None:
        if step == moment:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await marketplaces.add(home.around(reached=stop), source)
    assert marketplaces.load(home.around(), "village").offers
    await marketplaces.add(home.around(), source)
    copies = [path for path in (home.plugins / "marketplaces").iterdir() if path.name != ".kept"]
    assert [str(path) for path in copies] == [row.location for row in known_marketplaces(home.around())]


async def test_names_that_are_no_text_are_refused_with_a_sentence(tmp_path: Path):
    program = Program(tmp_path)
    strange = program.project / os.fsdecode(b"m\xff")
    market = write_market(strange, "m", [{"name": "p", "source": "./p"}])
    write_plugin(market / "p", {"name": "p"})
    plain = shutil.copytree(market, tmp_path / "m")
    for words in (
        ("marketplace", "add", str(strange)),
        ("init", "own", "--description", os.fsdecode(b"\xff")),
    ):
        done = await program.run("plugin", *words)
        assert done.code == 1 and ("not valid text" in done.err or "invalid characters" in done.err), done.err
    assert not (program.project / "own").exists()
    program.project = strange
    done = await program.run("plugin", "install", "p", "--marketplace", str(plain), "-s", "local")
    assert done.code == 1 and ("not valid text" in done.err or "invalid characters" in done.err), done.err


async def test_every_part_that_a_new_plugin_begins_with_can_be_called(tmp_path: Path):
    program = Program(tmp_path)
    await program.run("plugin", "init", "own", "--with", ",".join(PARTS))
    started = await program.run("-p", "hi", "--model", "offline", "--plugin-dir", "own")
    assert (started.code, started.err) == (0, "")


async def test_what_is_wrong_is_named_with_its_file_and_line(home: PluginHome):
    market = await offer(home, {})
    catalog, manifest = (
        market / ".claude-plugin" / "marketplace.json",
        market / "p/.claude-plugin/plugin.json",
    )
    catalog.write_text(
        '{"name": "m", "plugins": [\n{"name": "p", "source": "./p"},\n{"name": "q"},\n7,\n'
        '{"name": "p", "source": "./p"}]}'
    )
    told = [str(fault) for fault in marketplaces.load(home.around(), "m").faults]
    assert [each.rpartition("json:")[2] for each in told] == ["3)", "4)", "5)"]
    manifest.write_text('{"name": "p",\n"version": 3,\n"userConfig": {\n"a": 1},\n"dependencies": [\n{}]}')
    faults = read_manifest(str(market / "p")).faults
    assert [(fault.message.partition(" ")[0], fault.line) for fault in faults] == [
        ("version", 2),
        ("userConfig.a", 4),
        ("dependencies[0]", 6),
    ]
    assert str(faults[0]).endswith(f"({manifest}:2)")


async def test_a_plugin_that_is_installed_with_faults_says_so_at_once(tmp_path: Path):
    program = Program(tmp_path)
    market = write_market(tmp_path / "m", "m", [{"name": "p", "source": "./p"}])
    write_plugin(market / "p", {"name": "p", "version": 7})
    done = await program.run("plugin", "install", "p", "--marketplace", str(market))
    assert done.code == 0 and "! plugin p: version is not a string" in done.out
    checked = await program.run("plugin", "validate", str(market / "p"), "--json")
    assert [(each["line"], each["message"].split()[0]) for each in json.loads(checked.out)["errors"]] == [
        (1, "version")
    ]


async def test_a_switch_that_other_settings_outweigh_is_not_said_to_count(tmp_path: Path):
    program = Program(tmp_path)
    market = write_market(tmp_path / "m", "m", [{"name": "p", "source": "./p"}])
    write_plugin(market / "p", {"name": "p", "version": "1.0.0"})
    await program.run("plugin", "install", "p", "--marketplace", str(market))
    await program.run("trust", "-y")
    await program.run("plugin", "disable", "p", "-s", "project")
    done = await program.run("plugin", "enable", "p")
    assert "p@m is on in this scope, but another settings file overrides it" in done.out
    assert (await program.run("plugin", "enable", "p", "-s", "local")).out == "p@m is on.\n"
