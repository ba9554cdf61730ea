import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

from bridle.extensions.plugins.downloads import download, fetch
from bridle.extensions.plugins.sources import Source, read_source
from bridle.types.errors import ConfigError
from tests.fakes.file_server import FileServer
from tests.fakes.plugins import FIXTURE, PluginHome, git, make_repository, packed, write_plugin

GREETER = FIXTURE / "plugins" / "greeter"


@pytest.fixture
def home(tmp_path: Path) -> PluginHome:
    return PluginHome(tmp_path)


async def test_a_repository_is_fetched_at_a_branch_a_tag_or_a_commit(home: PluginHome, tmp_path: Path):
    first = make_repository(home.market)
    git(home.market, "tag", "v1")
    (home.market / "new").write_text("x")
    git(home.market, "add", "--all")
    git(home.market, "commit", "--quiet", "--message", "more")
    url = f"file://{home.market}"

    newest = await fetch(Source(kind="git", location=url), str(tmp_path / "a"), home.env)
    tagged = await fetch(Source(kind="git", location=url, ref="v1"), str(tmp_path / "b"), home.env)
    pinned = await fetch(Source(kind="git", location=url, sha=first), str(tmp_path / "c"), home.env)

    assert newest.revision == git(home.market, "rev-parse", "HEAD")
    assert (tagged.revision, pinned.revision) == (first, first)
    assert (tmp_path / "a" / "new").exists() and not (tmp_path / "c" / "new").exists()
    assert not (tmp_path / "a" / ".git").exists()


async def test_a_commit_that_is_not_there_is_refused(home: PluginHome, tmp_path: Path):
    make_repository(home.market)
    source = Source(kind="git", location=f"file://{home.market}", sha="1" * 40)

    with pytest.raises(ConfigError):
        await fetch(source, str(tmp_path / "a"), home.env)


async def test_only_the_folder_that_is_named_comes_out_of_a_repository(home: PluginHome, tmp_path: Path):
    make_repository(home.market)
    value = {"source": "git-subdir", "url": f"file://{home.market}", "path": "plugins/greeter"}

    await fetch(read_source(value, of="plugin"), str(tmp_path / "a"), home.env)

    assert sorted(os.listdir(tmp_path / "a")) == sorted(os.listdir(GREETER))


async def test_a_repository_runs_nothing_when_it_is_fetched(home: PluginHome, tmp_path: Path):
    """S43: filters and hooks do not run, submodules are not fetched, other protocols are not spoken."""
    marker = tmp_path / "ran"
    config = tmp_path / "gitconfig"
    config.write_text(f'[filter "evil"]\n smudge = touch {marker}; cat\n clean = cat\n')
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (template / "post-checkout").chmod(0o755)
    (home.market / ".gitattributes").write_text("* filter=evil\n")
    (home.market / ".gitmodules").write_text(
        f'[submodule "x"]\n path = x\n url = ext::sh -c "touch% {marker}"\n'
    )
    make_repository(home.market)
    env = {**home.env, "GIT_CONFIG_GLOBAL": str(config), "GIT_TEMPLATE_DIR": str(template.parent)}

    await fetch(Source(kind="git", location=f"file://{home.market}"), str(tmp_path / "a"), env)
    with pytest.raises(ConfigError):
        await fetch(Source(kind="git", location=f"ext::sh -c touch% {marker}"), str(tmp_path / "b"), home.env)

    assert not marker.exists()


async def test_an_archive_is_checked_before_it_is_unpacked(home: PluginHome, tmp_path: Path):
    data = packed(GREETER, "greeter-1.2.0")
    good = f"sha256:{hashlib.sha256(data).hexdigest()}"
    async with FileServer({"/g.tar.gz": data}) as server:
        url = f"{server.url}/g.tar.gz"
        await fetch(Source(kind="archive", location=url, checksum=good), str(tmp_path / "a"), home.env)
        bad = Source(kind="archive", location=url, checksum=f"sha256:{'0' * 64}")
        with pytest.raises(ConfigError):
            await fetch(bad, str(tmp_path / "b"), home.env)

    assert (tmp_path / "a" / ".claude-plugin" / "plugin.json").exists()
    assert not (tmp_path / "b").exists()


async def test_a_package_comes_from_its_registry_and_its_scripts_do_not_run(home: PluginHome, tmp_path: Path):
    plugin = write_plugin(tmp_path / "src", {"name": "greeter"})
    (plugin / "package.json").write_text(json.dumps({"scripts": {"postinstall": f"touch {tmp_path}/ran"}}))
    data = packed(plugin, "package")
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
    files = {"/t.tgz": data}
    async with FileServer(files) as server:
        dist = {"tarball": f"{server.url}/t.tgz", "integrity": integrity}
        versions = {version: {"dist": dist} for version in ("1.0.0", "1.4.0", "2.0.0")}
        files["/@team%2Fgreeter"] = json.dumps(
            {"dist-tags": {"latest": "2.0.0"}, "versions": versions}
        ).encode()
        source = Source(kind="npm", location="@team/greeter", registry=server.url)
        ranged = Source(kind="npm", location="@team/greeter", registry=server.url, version="^1.0")
        assert (await fetch(source, str(tmp_path / "a"), home.env)).revision == "2.0.0"
        assert (await fetch(ranged, str(tmp_path / "b"), home.env)).revision == "1.4.0"
        (tmp_path / "npm").write_text(f"#!/bin/sh\necho {server.url}\n")
        (tmp_path / "npm").chmod(0o755)
        usual = Source(kind="npm", location="@team/greeter")
        with_npm = {**home.env, "PATH": f"{tmp_path}:/bin"}
        assert (await fetch(usual, str(tmp_path / "d"), with_npm)).revision == "2.0.0"
        with pytest.raises(ConfigError, match="npm_config_registry"):
            await fetch(usual, str(tmp_path / "e"), {**home.env, "PATH": "/nowhere"})
        files["/t.tgz"] = data + b"x"
        with pytest.raises(ConfigError):
            await fetch(source, str(tmp_path / "c"), home.env)

    assert (tmp_path / "a" / ".claude-plugin").is_dir()
    assert not (tmp_path / "ran").exists()


async def test_a_command_makes_a_plugin_in_an_empty_folder(home: PluginHome, tmp_path: Path):
    script = 'mkdir .claude-plugin && echo \'{"name": "made"}\' > .claude-plugin/plugin.json'
    value = {"source": "command", "command": "sh", "args": ["-c", script]}

    await fetch(read_source(value, of="plugin"), str(tmp_path / "a"), home.env)
    with pytest.raises(ConfigError):
        failing = read_source({"source": "command", "command": "false"}, of="plugin")
        await fetch(failing, str(tmp_path / "b"), home.env)

    assert (tmp_path / "a" / ".claude-plugin" / "plugin.json").exists()


async def test_redirects_are_followed_but_never_without_encryption(home: PluginHome):
    async with FileServer(
        {"/x": b"here"}, redirects={"/a": "/x", "/loop": "/loop", "/out": "http://example.org/"}
    ) as server:
        assert await download(f"{server.url}/a", home.env, most=100) == b"here"
        for path in ("/loop", "/out", "/missing"):
            with pytest.raises(ConfigError):
                await download(f"{server.url}{path}", home.env, most=100)
        with pytest.raises(ConfigError):
            await download(f"{server.url}/x", home.env, most=2)
