import os
from pathlib import Path

from bridle.host.sandbox.bubblewrap import bubblewrap_argv, find_bubblewrap
from bridle.host.sandbox.plan import Layer


def test_layers_become_mounts_in_their_order():
    layers = (
        Layer("writable", "/w", "/w"),
        Layer("hidden", "/h", "/h"),
        Layer("fixed", "/w/.git", "/void"),
        Layer("fixed", "/h/open", "/h/open"),
    )
    argv = " ".join(bubblewrap_argv("/bin/bwrap", ("ls",), layers=layers, filesystem=True, fresh_proc=True))
    assert argv == (
        "/bin/bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --cap-drop ALL"
        " --ro-bind / / --proc /proc --dev /dev --bind-try /w /w --perms 0111 --tmpfs /h"
        " --ro-bind /void /w/.git --ro-bind /h/open /h/open --remount-ro /h -- ls"
    )


def test_weaker_nesting_keeps_the_old_proc():
    argv = bubblewrap_argv("/bin/bwrap", ("ls",), layers=(), filesystem=True, fresh_proc=False)
    assert "--proc" not in argv


def test_only_the_managed_path_counts_when_there_is_one(tmp_path: Path):
    own = tmp_path / "bwrap"
    own.write_text("")
    assert find_bubblewrap(str(own)) is None
    os.chmod(own, 0o755)
    assert find_bubblewrap(str(own)) == str(own)
    assert find_bubblewrap("bwrap") is None
