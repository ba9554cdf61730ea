"""Managed settings from device management and from an address, and what doctor shows of them."""

import asyncio
import json
import plistlib
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bridle.commands.queries.managed_settings import managed_checks
from bridle.config.load import Config, load
from bridle.config.managed.remote_policy import remote_settings
from bridle.config.schema import RemotePolicy
from bridle.config.sources import Inputs, places, read
from bridle.host.paths import device_policies
from bridle.providers.connect import provider_for
from bridle.types.errors import ConfigError
from tests.config.folders import Folders
from tests.fakes.json_server import JsonServer
from tests.tables import table


def _load(folders: Folders, *lists: Path) -> Config:
    return load(
        cwd=str(folders.project), env=folders.env, flag=None, setting_sources=None,
        managed_dir=str(folders.managed), device=tuple(map(str, lists)),
    )  # fmt: skip


class FakeRegistry:
    """The functions of `winreg` that are used, over values in a dictionary."""

    HKEY_LOCAL_MACHINE, HKEY_CURRENT_USER, REG_SZ, REG_EXPAND_SZ, REG_BINARY = "HKLM", "HKCU", 1, 2, 3

    def __init__(self, **values: Any) -> None:
        self._values = values
        self.opened: list[str] = []

    def OpenKey(self, hive: str, key: str) -> Any:
        if hive not in self._values:
            raise FileNotFoundError(2, "no such key")
        self.opened.append(f"{hive}\\{key}")
        return nullcontext(hive)

    def QueryValueEx(self, hive: str, name: str) -> tuple[Any, int]:
        assert name == "Settings"
        if isinstance(value := self._values[hive], OSError):
            raise value
        return value, self.REG_SZ if isinstance(value, str) else self.REG_BINARY


def _from_registry(folders: Folders, registry: FakeRegistry) -> Config:
    return load(
        cwd=str(folders.project), env=folders.env, flag=None, setting_sources=None,
        managed_dir=str(folders.managed), device=device_policies("win32", {}), registry=registry,
    )  # fmt: skip


def test_the_registry_of_windows_counts_before_managed_files(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(managed={"model": "of-the-file"}, user={"model": "of-the-user"})
    registry = FakeRegistry(HKLM='{"model": "of-the-machine"}', HKCU='{"model": "of-the-hive"}')
    assert _from_registry(folders, registry).settings.model == "of-the-machine"
    assert registry.opened == ["HKLM\\SOFTWARE\\Policies\\ClaudeCode"]
    merged = FakeRegistry(HKLM='{"language": "fr", "managedSourcesBehavior" : "merge"}')
    settings = _from_registry(folders, merged).settings
    assert (settings.model, settings.language) == ("of-the-file", "fr")


def test_the_part_of_the_registry_that_users_write_counts_last(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "of-the-user"})
    registry = FakeRegistry(HKCU='{"model": "of-the-hive"}')
    assert _from_registry(folders, registry).settings.model == "of-the-hive"
    folders.write(managed={"language": "fr"})
    assert _from_registry(folders, registry).settings.model == "of-the-user"


@table("value", ["nonsense", "[1]", b"\x00", PermissionError(13, "no access"), "x" * 3_000_000])
def test_a_broken_value_of_the_registry_is_reported(value: Any):
    with tempfile.TemporaryDirectory() as folder:
        config = _from_registry(Folders(Path(folder)), FakeRegistry(HKLM=value))
        assert [problem.file for problem in config.problems] == ["HKLM\\SOFTWARE\\Policies\\ClaudeCode"]


def test_managed_files_of_windows_count_in_wsl_where_the_administrator_says_so(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(managed={"model": "of-linux"})
    windows = tmp_path / "windows"
    windows.mkdir()

    def model(env: dict[str, str], **values: Any) -> str | None:
        (windows / "managed-settings.json").write_text(json.dumps(values), encoding="utf-8")
        inputs = Inputs(
            home=str(folders.home), cwd=str(folders.project), flag=None, setting_sources=None,
            managed_dir=str(folders.managed), windows_dir=str(windows), env=env,
        )  # fmt: skip
        layers = [layer for place in places(inputs) if (layer := read(place)[0]) is not None]
        return layers[-1].values.get("model")

    wsl = {"WSL_DISTRO_NAME": "Debian"}
    assert model(wsl, model="of-windows") == "of-linux"
    assert model({}, model="of-windows", wslInheritsWindowsSettings=True) == "of-linux"
    assert model(wsl, model="of-windows", wslInheritsWindowsSettings=True) == "of-windows"


def _plist(path: Path, **values: Any) -> Path:
    path.write_bytes(plistlib.dumps(values))
    return path


def test_device_management_counts_before_managed_files_and_alone(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(managed={"model": "of-the-file", "language": "fr"}, user={"model": "of-the-user"})
    config = _load(folders, _plist(tmp_path / "a.plist", model="of-the-device"), tmp_path / "missing.plist")
    assert (config.settings.model, config.settings.language) == ("of-the-device", None)


def test_managed_files_count_beside_device_management_that_says_so(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(managed={"model": "of-the-file", "language": "fr"})
    device = _plist(tmp_path / "a.plist", model="of-the-device", managedSourcesBehavior="merge")
    config = _load(folders, device)
    assert (config.settings.model, config.settings.language) == ("of-the-device", "fr")


@table(
    "data",
    [
        b"",
        b"nonsense",
        b"<plist>",
        b"bplist00" + b"\xff" * 40,
        plistlib.dumps([1]),
        plistlib.dumps({"a": b"x"}),
    ],
)
def test_a_broken_property_list_is_reported(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        folders = Folders(Path(folder))
        path = Path(folder) / "a.plist"
        path.write_bytes(data)
        config = _load(folders, path)
        if data != plistlib.dumps({"a": b"x"}):
            assert [problem.file for problem in config.problems] == [str(path)]


async def test_the_policy_of_an_address_counts_over_files_and_outlives_the_address(tmp_path: Path):
    folders = Folders(tmp_path)
    served = {"managedSettings": {"model": "remote", "policyHelper": {"path": "/bin/false"}}}
    async with JsonServer({"/v1/policy": served}) as server:
        url = f"{server.url}/v1/policy"
        folders.write(managed={"model": "file", "language": "fr", "bridleRemotePolicy": {"url": url}})
        config = await asyncio.to_thread(folders.load)
        assert (config.settings.model, config.settings.language, config.policy) == ("remote", "fr", None)
    assert folders.load().settings.model == "remote"
    kept = tmp_path / "home" / ".claude" / "remote-settings.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    copy = json.loads(kept.read_text())
    old = RemotePolicy(url=url)
    later = copy["fetched"] + 7_200
    values, fault = remote_settings(old, {}, str(kept.parent), forced=False, now=later)
    assert values == {"model": "remote"} and "Could not fetch managed settings" in fault
    with pytest.raises(ConfigError, match="Could not fetch managed settings"):
        remote_settings(old, {}, str(kept.parent), forced=True)


def test_a_plain_address_elsewhere_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="https"):
        remote_settings(RemotePolicy(url="http://example.com/"), {}, str(tmp_path), forced=False)


def test_only_services_that_the_administrator_allows_can_be_used():
    env = {"ANTHROPIC_API_KEY": "test-key", "OPENAI_API_KEY": "test-key"}
    provider_for("claude-sonnet-4-5", env, allowed=("anthropic",))
    with pytest.raises(ConfigError, match="allows only these services: anthropic"):
        provider_for("openai/gpt-5", env, allowed=("anthropic",))


def test_doctor_shows_each_managed_value_with_its_source_and_no_secret(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        managed={
            "permissions": {"deny": ["WebFetch"]}, "env": {"TOKEN": "sk-planted-0123456789"},
            "apiKeyHelper": "echo sk-planted-0123456789", "requiredMinimumVersion": "1.0.0",
        }
    )  # fmt: skip
    checks = managed_checks(folders.load())
    text = "\n".join(f"{check.group} {check.text}" for check in checks)
    file = str(folders.files["managed"])
    assert f'{file} permissions.deny = ["WebFetch"]' in text
    assert f"{file} env = TOKEN (values hidden)" in text and "sk-planted" not in text
    assert "requiredMinimumVersion 1.0.0 holds" in text


def test_doctor_says_when_nothing_is_managed(tmp_path: Path):
    (check,) = managed_checks(Folders(tmp_path).load())
    assert "no managed settings" in check.text
