import re

from bridle.host.sandbox.policy import FILES, Network, Policy
from bridle.host.sandbox.seatbelt import profile


def _lines(policy: Policy, ports: tuple[int, ...] = ()) -> list[str]:
    return profile(
        policy, roots=("/Users/me/a.b", "/private/tmp/x"), never=("/Users/me/a.b/no",), ports=ports
    ).splitlines()


def _patterns(lines: list[str], effect: str) -> list[re.Pattern[str]]:
    return [
        re.compile(line[line.index('#"') + 2 : -3])
        for line in lines
        if line.startswith(f"({effect} file-write* (regex")
    ]


def test_everything_is_denied_first_and_writing_opened_for_the_roots():
    lines = _lines(Policy())
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert '(allow file-write* (subpath "/Users/me/a.b"))' in lines
    assert '(allow file-write* (subpath "/private/tmp/x"))' in lines
    assert lines.index('(deny file-write* (subpath "/Users/me/a.b/no"))') > lines.index(
        '(allow file-write* (subpath "/Users/me/a.b"))'
    )
    assert not [line for line in lines if "network" in line]


def test_protected_names_are_denied_at_any_depth_and_in_any_letter_case():
    denied = _patterns(_lines(Policy()), "deny")
    for path in (
        ".git",
        ".git/hooks/x",
        "sub/.GIT/config",
        ".mcp.json",
        "a/b/.BashRC",
        ".config/git/config",
        *FILES,
    ):
        assert any(pattern.search(f"/Users/me/a.b/{path}") for pattern in denied), path
    for path in ("git", "x.git", ".gitignore", ".config/other", "mcp.json", "a/.bashrc.d/x"):
        assert not any(pattern.search(f"/Users/me/a.b/{path}") for pattern in denied), path
    assert not any(pattern.search("/Users/me/aXb/.git") for pattern in denied)


def test_worktrees_are_open_after_their_folder_is_closed():
    lines = _lines(Policy())
    closed = next(index for index, line in enumerate(lines) if line.startswith("(deny file-write* (regex"))
    assert lines.index('(allow file-write* (subpath "/Users/me/a.b/.claude/worktrees"))') > closed


def test_reading_is_denied_and_opened_again_in_this_order():
    lines = _lines(Policy(unreadable=("/Users/me",), readable_again=("/Users/me/a.b",)))
    denied, again = (
        lines.index('(deny file-read* (subpath "/Users/me"))'),
        lines.index('(allow file-read* (subpath "/Users/me/a.b"))'),
    )
    assert lines.index("(allow file-read*)") < denied < again


def test_only_the_proxy_is_reached():
    lines = [
        line for line in _lines(Policy(network=Network(mode="proxy")), (4001, 4002)) if "network" in line
    ]
    assert lines == [
        '(allow network-outbound (remote ip "localhost:4001"))',
        '(allow network-outbound (remote ip "localhost:4002"))',
    ]


def test_more_is_open_where_the_user_says_so():
    network = Network(
        local_binding=True, unix_sockets=("/var/run/x.sock",), mach_lookup=("com.example.*",), weaker=True
    )
    text = "\n".join(_lines(Policy(network=network, apple_events=True)))
    assert '(allow network-bind (local ip "localhost:*"))' in text
    assert '(allow network-outbound (remote unix-socket (subpath "/var/run/x.sock")))' in text
    assert '(allow mach-lookup (global-name-prefix "com.example."))' in text
    assert "com.apple.trustd.agent" in text
    assert "(allow appleevent-send)" in text


def test_quotes_in_paths_do_not_end_the_text():
    text = profile(Policy(), roots=('/a"b',), never=(), ports=())
    assert '(subpath "/a\\"b")' in text


def test_files_are_left_alone_when_only_the_network_counts():
    assert "(allow file-write*)" in _lines(Policy(filesystem=False))
