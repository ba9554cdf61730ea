import base64
import hashlib
import json
import os
import re
from pathlib import Path

from bridle.host.chrome import manifests
from bridle.host.chrome.native_host import EXTENSION, ORIGIN
from bridle.host.chrome.paths import chrome_dir, extension_dir, launcher, socket_of, sockets
from tests.tables import table

_ROOT = Path(__file__).resolve().parents[3]
_SOURCE = _ROOT / "browser" / "extension"


def _env(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "con fig")}


@table(
    "platform, folders",
    [
        (
            "linux",
            [
                ".config/google-chrome", ".config/chromium", ".config/microsoft-edge",
                ".config/BraveSoftware/Brave-Browser",
            ],
        ),
        (
            "darwin",
            [
                f"Library/Application Support/{name}"
                for name in ("Google/Chrome", "Chromium", "Microsoft Edge", "BraveSoftware/Brave-Browser")
            ],
        ),
    ],
)  # fmt: skip
def test_each_browser_is_found_where_it_keeps_things_for_its_user(platform: str, folders: list[str]):
    found = manifests.browser_folders({"HOME": "/home/ada"}, platform)
    assert [each.folder for each in found] == [f"/home/ada/{name}" for name in folders]
    assert all(
        each.manifest == f"{each.folder}/NativeMessagingHosts/dev.bridle.browser.json" for each in found
    )


def test_install_writes_what_a_browser_needs_and_uninstall_takes_it_away(tmp_path: Path):
    env = _env(tmp_path)
    every = manifests.browser_folders(env, "linux")
    manifests.install(every[:2], env)
    values = json.loads(Path(every[0].manifest).read_text())
    assert values["path"] == launcher(env) and values["allowed_origins"] == [ORIGIN]
    assert values["name"] == "dev.bridle.browser" and values["type"] == "stdio"
    text = Path(launcher(env)).read_text()
    assert f"export CLAUDE_CONFIG_DIR='{tmp_path}/con fig'\n" in text and '--chrome-native-host "$1"' in text
    assert os.stat(launcher(env)).st_mode & 0o777 == 0o700
    assert os.stat(chrome_dir(env)).st_mode & 0o777 == 0o700
    assert sorted(os.listdir(extension_dir(env))) == sorted(os.listdir(_SOURCE))
    assert [manifests.is_installed(each, env) for each in every] == [True, True, False, False]
    assert manifests.uninstall(env, "linux") == every[:2]
    assert not any(map(os.path.exists, (every[0].manifest, launcher(env), extension_dir(env))))
    assert manifests.uninstall(env, "linux") == ()


def test_the_manifest_of_another_configuration_stays(tmp_path: Path):
    ours, theirs = _env(tmp_path), {**_env(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    (place, *_) = manifests.browser_folders(theirs, "linux")
    manifests.install((place,), theirs)
    assert manifests.uninstall(ours, "linux") == () and os.path.exists(place.manifest)
    for text in ("", "[]", "{", '{"path": 1}', "{" * 50_000):
        Path(place.manifest).write_text(text)
        assert not manifests.is_installed(place, ours)


def test_the_id_of_the_extension_follows_from_its_key():
    key = json.loads((_SOURCE / "manifest.json").read_text())["key"]
    digest = hashlib.sha256(base64.b64decode(key)).hexdigest()[:32]
    assert "".join(chr(ord("a") + int(digit, 16)) for digit in digest) == EXTENSION


def test_the_extension_asks_for_little_and_loads_nothing_from_elsewhere():
    manifest = json.loads((_SOURCE / "manifest.json").read_text())
    assert manifest["permissions"] == ["alarms", "debugger", "nativeMessaging", "storage", "tabs"]
    assert not {"host_permissions", "content_scripts", "externally_connectable"} & set(manifest)
    text = "".join(path.read_text() for path in _SOURCE.glob("*.js"))
    assert set(re.findall(r'from "([^"]+)"', text)) <= {f"./{path.name}" for path in _SOURCE.glob("*.js")}
    assert re.findall(r"https?://", text) == []


def test_sockets_have_short_names_and_the_newest_stands_first(tmp_path: Path):
    for folder in (tmp_path, tmp_path / ("x" * 120)):
        env = {"CLAUDE_CONFIG_DIR": str(folder)}
        found = [socket_of(env, pid) for pid in (70, 4000)]
        assert max(map(len, found)) < 104 and sockets(env) == ()
        assert len({os.path.dirname(each) for each in found}) == 1
    near = {"CLAUDE_CONFIG_DIR": f"/tmp/{tmp_path.name}"[:20]}
    assert socket_of(near, 7).endswith("/sockets/7.sock")
