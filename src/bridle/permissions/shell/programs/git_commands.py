"""Git subcommands that only read, each with its harmless options."""

import re
from collections.abc import Callable

from bridle.permissions.shell.programs.options import HarmlessUse, Parsed, Refused, Verdict, parse
from bridle.permissions.shell.syntax.words import Word

_DIFF = (
    " patch no-patch unified? raw patch-with-raw indent-heuristic no-indent-heuristic minimal"
    " patience histogram"
    " anchored= diff-algorithm= stat? compact-summary numstat shortstat dirstat? cumulative dirstat-by-file?"
    " summary patch-with-stat name-only name-status submodule? color? no-color color-moved? no-color-moved"
    " color-moved-ws= word-diff? word-diff-regex= color-words? no-renames rename-empty check"
    " full-index binary"
    " abbrev? break-rewrites? find-renames? find-copies? find-copies-harder irreversible-delete diff-filter="
    " pickaxe-all pickaxe-regex relative? no-relative text ignore-cr-at-eol ignore-space-at-eol"
    " ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context="
    " function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? src-prefix= dst-prefix="
    " no-prefix default-prefix line-prefix= ita-invisible-in-index stat-width= stat-name-width= stat-count="
    " stat-graph-width= cached staged merge-base root cc combined-all-paths diff-merges="
)
_REVISIONS = (
    " max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep"
    " regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp remove-empty merges no-merges"
    " min-parents= max-parents= no-min-parents no-max-parents first-parent exclude-first-parent-only not all"
    " branches? tags? remotes? glob= exclude= exclude-hidden= reflog ignore-missing bisect stdin cherry-mark"
    " cherry-pick left-only right-only cherry walk-reflogs merge boundary simplify-by-decoration"
    " show-pulls full-history dense sparse simplify-merges ancestry-path? date-order author-date-order"
    " topo-order reverse no-walk? do-walk count use-bitmap-index objects parents children"
    " timestamp left-right"
    " graph no-graph show-linear-break? header disk-usage? objects-edge unpacked no-object-names object-names"
)
_LOG = (
    _DIFF
    + _REVISIONS
    + (
        " oneline pretty? format= abbrev-commit no-abbrev-commit encoding= expand-tabs? no-expand-tabs notes?"
        " no-notes show-notes? relative-date date= follow no-follow decorate? no-decorate decorate-refs="
        " decorate-refs-exclude= source mailmap use-mailmap no-mailmap full-diff log-size clear-decorations"
        " no-show-signature remerge-diff"
    )
)
_DIFF_SHORT = "pusU::zB::M::C::DRabwWS:G:I:l:X::c"
_LISTS = (
    " column? no-column sort= contains? no-contains? merged? no-merged? points-at= format= color? no-color"
    " ignore-case omit-empty"
)


def _use(short: str, long: str, *, most: int | None = None) -> HarmlessUse:
    return HarmlessUse(short, long, "text", safe=False, numbers=True, most=most)


SUBCOMMANDS = {
    "status": _use(
        "sbvzu::",
        "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules?"
        " ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
    ),
    "log": _use(_DIFF_SHORT + "n:L:gimqEFP", _LOG + " quiet"),
    "whatchanged": _use(_DIFF_SHORT + "n:L:gim", _LOG),
    "diff": _use(_DIFF_SHORT + "0123", _DIFF + " base ours theirs"),
    "diff-tree": _use(_DIFF_SHORT + "rtvm", _DIFF + " pretty? format= no-commit-id always stdin"),
    "diff-index": _use(_DIFF_SHORT + "m", _DIFF),
    "diff-files": _use(_DIFF_SHORT + "0123q", _DIFF + " base ours theirs"),
    "show": _use(_DIFF_SHORT + "n:L:mq", _LOG),
    "stash list": _use(_DIFF_SHORT + "n:", _LOG),
    "stash show": _use(_DIFF_SHORT, _DIFF + " include-untracked only-untracked"),
    "branch": _use("arvi", "all remotes verbose list show-current abbrev? no-abbrev" + _LISTS),
    "tag": _use("ln::i", "list" + _LISTS),
    "remote": _use("v", "verbose"),
    "remote show": _use("", "", most=0),
    "remote get-url": _use("", "push all"),
    "blame": _use(
        "befhclnpstwL:M::C::",
        "root show-stats porcelain line-porcelain incremental encoding= first-parent reverse="
        " show-name show-number show-email date= abbrev? minimal score-debug progress no-progress",
    ),
    "annotate": _use("lL:", ""),
    "ls-files": _use(
        "cdmoiskuzvftx:",
        "cached deleted modified others ignored stage directory no-empty-directory unmerged killed"
        " resolve-undo exclude= exclude-standard error-unmatch full-name recurse-submodules abbrev?"
        " eol sparse deduplicate format= with-tree=",
    ),
    "ls-tree": _use("drtlz", "long name-only name-status object-only full-name full-tree abbrev? format="),
    "rev-parse": _use(
        "q",
        "verify quiet sq short? not default= symbolic symbolic-full-name abbrev-ref? branches?"
        " tags? remotes? glob= exclude= all disambiguate= git-dir absolute-git-dir git-common-dir"
        " is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository"
        " show-toplevel show-cdup show-prefix show-superproject-working-tree show-object-format?"
        " git-path= local-env-vars since= until= revs-only no-revs flags no-flags path-format=",
    ),
    "rev-list": _use(
        "n:gEFPi", _REVISIONS + " oneline pretty? format= no-commit-header abbrev-commit abbrev? date="
    ),
    # Not --dirty: it refreshes the index and writes that, whatever GIT_OPTIONAL_LOCKS says.
    "describe": _use(
        "",
        "broken? all tags contains abbrev? candidates= exact-match debug long match="
        " exclude= always first-parent",
    ),
    "shortlog": _use(
        "nsecw::",
        _REVISIONS.replace(" committer=", " committer") + " numbered summary email format= group= date=",
    ),
    "reflog": _use(_DIFF_SHORT + "n:", _LOG),
    "for-each-ref": _use("sp", "count= shell perl python tcl stdin include-root-refs exclude=" + _LISTS),
    "show-ref": _use("dqs::", "head heads branches tags dereference hash? verify abbrev? quiet exists"),
    "symbolic-ref": _use("q", "short quiet no-recurse", most=1),
    "merge-base": _use("a", "all octopus independent is-ancestor fork-point"),
    "name-rev": _use("", "tags refs= exclude= all name-only no-undefined always"),
    "cat-file": _use(
        "tsep",
        "batch? batch-check? batch-command? batch-all-objects buffer unordered follow-symlinks"
        " allow-unknown-type",
    ),
    "grep": _use(
        "ivwxEFGPnlLhHoczqpWaIre:A:B:C:m:",
        "ignore-case invert-match word-regexp extended-regexp basic-regexp perl-regexp"
        " fixed-strings line-number column files-with-matches name-only files-without-match"
        " no-messages only-matching count color? no-color break heading show-function"
        " function-context context= after-context= before-context= max-count= max-depth= recursive"
        " no-recursive cached untracked no-exclude-standard exclude-standard recurse-submodules and"
        " or not all-match quiet full-name null text",
    ),
    "worktree list": _use("vz", "porcelain verbose expire="),
    "count-objects": _use("vH", "verbose human-readable"),
    "check-ignore": _use("qvnz", "quiet verbose non-matching no-index stdin"),
    "check-attr": _use("az", "all stdin cached source="),
    "cherry": _use("v", "verbose abbrev?"),
    "version": _use("", "build-options"),
    "bisect log": _use("", "", most=0),
    "fsck": _use(
        "",
        "unreachable dangling no-dangling root tags cache no-reflogs full no-full strict verbose"
        " connectivity-only name-objects progress no-progress",
    ),
    "apply": HarmlessUse(
        "Rp:C:vq",
        "stat numstat summary check reverse unidiff-zero recount verbose quiet ignore-space-change"
        " ignore-whitespace whitespace= directory= exclude= include=",
        "text",
        safe=False,
    ),
    "var": _use("l", ""),
    "range-diff": _use(_DIFF_SHORT, _DIFF + " creation-factor= no-dual-color"),
}
_CONFIG = HarmlessUse(
    "lz",
    "get get-all get-regexp get-urlmatch list global local system worktree show-origin"
    " show-scope name-only null type= bool int path default= includes no-includes all regexp",
    "text",
    safe=False,
)
_TWO_WORDS = frozenset({"bisect", "stash", "remote", "worktree"})
_BEFORE = frozenset({"--no-pager", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "-P"})
_SETTING = re.compile(
    r"(?i:color\.[a-z]+=(?:always|never|auto|true|false)|core\.quotepath=(?:on|off|true|false)|core\.pager=cat)"
)
_LISTING = frozenset(
    {"--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n"}
)
_SIGNATURE = re.compile(r"%G|%\(\s*signature")
_MAGIC = re.compile(r"^(?:\d:|/|\([\w,!:/ -]*\)|[!^])")
"""What stands before the path in `:0:a`, `:/a`, `:(top)a` and `:!a`."""
_NUMBER = re.compile(r"(?i)(?<![\w-])[0-9a-f]{4,64}(?![\w/-]|\.(?!\.))|\^\{")
_HEAD = re.compile(r"(?:HEAD|@|ORIG_HEAD)(?:[~^]\d*)*")
_PATTERN = re.compile(r"[*?\[\\]|^:")
_ALWAYS_SHOW = frozenset({"show", "diff", "grep", "blame", "annotate", "cat-file", "range-diff"})
_SHOW_PATCHES = frozenset({
    "log", "whatchanged", "diff-tree", "diff-index", "diff-files", "stash list", "stash show", "reflog",
})  # fmt: skip
_PATCHES = frozenset({
    "-p", "-u", "-U", "-c", "--patch", "--unified", "--cc", "--patch-with-raw", "--patch-with-stat",
    "--binary", "-L", "--word-diff", "--color-words", "-W", "--function-context", "--remerge-diff",
    "--diff-merges", "--word-diff-regex",
})  # fmt: skip
_SUMMARIES = frozenset({
    "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "--quiet", "-s",
    "--no-patch", "--compact-summary", "--dirstat", "--raw", "--check", "-l", "-L",
    "--files-with-matches", "-t", "-e", "--files-without-match", "-c", "--count", "--batch-check", "-q",
})  # fmt: skip
_REFLOG_ACTS = frozenset({"expire", "delete", "drop", "write"})


def git(words: tuple[Word, ...], *, here: str) -> Verdict:
    """Judge the words behind `git`; `here` is the directory it runs in."""
    index = 0
    while index < len(words) and words[index].value.startswith("-"):
        step = _global(words, index, here)
        if not step:
            return Verdict(f"git: {words[index].value} may change what git does")
        index += step
    rest = words[index:]
    if not rest or not rest[0].literal:
        return Verdict("git: unknown subcommand")
    name = rest[0].value
    if name == "config":
        return _config(rest[1:])
    behind = rest[1:]
    if name in _TWO_WORDS and (name != "remote" or (behind and not behind[0].value.startswith("-"))):
        if not behind or not behind[0].literal:
            return Verdict(f"git {name} may make changes")
        name, behind = f"{name} {behind[0].value}", behind[1:]
    use = SUBCOMMANDS.get(name)
    if use is None:
        return Verdict(f"git {name} isn't known to be read-only")
    try:
        parsed = parse(use, behind)
    except Refused as reason:
        return Verdict(f"git {name}: {reason}")
    if name == "diff" and any(word.doubt is not None and not word.tame for word in parsed.operands):
        return Verdict("git diff: outside the repository it compares any two files")
    if problem := _problem(name, use, parsed):
        return Verdict(f"git {name}: {problem}")
    # An operand may be a revision or a file; taken for a file that is not there, a revision does no harm.
    reads = tuple(word for word in parsed.operands if word.doubt is None or _leads_out(word.value))
    reads += tuple(Word(word.raw, path) for word in parsed.operands for path in _in_commit(word))
    named = tuple(path for word in parsed.operands for path in _in_commit(word))
    shows = _shows_contents(name, parsed)
    paths, names = _limits(name, parsed, behind) if shows else ((), ())
    return Verdict(
        f"git {name} only reads",
        True,
        reads,
        True,
        tree_paths=named,
        shows_tree=shows,
        shown_paths=paths,
        shown_names=names,
    )


def _limits(name: str, parsed: Parsed, behind: tuple[Word, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths that a command limits itself to, and words that are paths or commits; nothing for no limit.

    What the number of a file's contents names is shown whatever paths stand behind it."""
    operands = parsed.operands
    if name == "grep" and parsed.options.isdisjoint({"-e", "-f"}):
        operands = operands[1:]
    if name == "cat-file":
        operands = operands[-1:]
    end = next((at for at, word in enumerate(behind) if word.literal and word.value == "--"), len(behind))
    only_paths = behind[end + 1 :]
    if any(word.doubt is not None or _PATTERN.search(word.value) for word in operands):
        return (), ()
    certain = [word.value for word in operands if word in only_paths]
    either: list[str] = []
    commits = False
    for word in (word for word in operands if word not in only_paths):
        if found := _in_commit(word):
            certain += found
        elif _NUMBER.search(word.value) or ":" in word.value or name == "cat-file":
            return (), ()
        elif ".." in word.value or _HEAD.fullmatch(word.value):
            commits = True
        else:
            either.append(word.value)
    if (commits or either) and any(_in_commit(word) for word in operands):
        return (), ()  # What a commit names is shown beside a file of another.
    return tuple(certain), tuple(either)


def _in_commit(word: Word) -> tuple[str, ...]:
    """The path in a commit or in the index that an operand such as `HEAD:a/b` names."""
    if word.doubt is not None or ":" not in word.value:
        return ()
    path = word.value.partition(":")[2]
    path = _MAGIC.sub("", path)
    return (path,) if path and ".." not in path.split("/") else ()


def _shows_contents(name: str, parsed: Parsed) -> bool:
    if name in _ALWAYS_SHOW:
        return parsed.options.isdisjoint(_SUMMARIES) or not parsed.options.isdisjoint(_PATCHES)
    return name in _SHOW_PATCHES and not parsed.options.isdisjoint(_PATCHES)


def _global(words: tuple[Word, ...], index: int, here: str) -> int:
    """How many words an option before the subcommand takes; none when it is not harmless."""
    word = words[index]
    following = words[index + 1] if index + 1 < len(words) else None
    if not word.literal:
        return 0
    if word.value in _BEFORE:
        return 1
    if following is None or not following.literal:
        return 0
    if word.value == "-C":
        return 2 if following.value in (".", here) else 0
    return 2 if word.value == "-c" and _SETTING.fullmatch(following.value) else 0


def _problem(name: str, use: HarmlessUse, parsed: Parsed) -> str | None:
    checks: dict[str, Callable[[Parsed], str | None]] = {
        "branch": _lists,
        "tag": _lists,
        "remote": _bare,
        "reflog": _shows,
        "apply": _only_checks,
    }
    if use.most is not None and len(parsed.operands) > use.most:
        return "a further operand makes it write"
    if any(_SIGNATURE.search(value.value) for _, value in parsed.values):
        return "checking signatures runs another program"
    check = checks.get(name)
    return check(parsed) if check else None


def _lists(parsed: Parsed) -> str | None:
    if parsed.operands and parsed.options.isdisjoint(_LISTING):
        return "a name without --list creates something"
    return None


def _bare(parsed: Parsed) -> str | None:
    return "it may make changes" if parsed.operands else None


def _only_checks(parsed: Parsed) -> str | None:
    if parsed.options.isdisjoint({"--check", "--stat", "--numstat", "--summary"}):
        return "it changes files"
    return None


def _shows(parsed: Parsed) -> str | None:
    if any(word.value in _REFLOG_ACTS for word in parsed.operands):
        return "it may drop entries"
    return None


def _config(words: tuple[Word, ...]) -> Verdict:
    try:
        parsed = parse(_CONFIG, words)
    except Refused as reason:
        return Verdict(f"git config: {reason}")
    if _option_is_a_value(words, parsed):
        return Verdict("git config reads an option after a name as its new value")
    operands = [word.value for word in parsed.operands]
    reads = not parsed.options.isdisjoint(
        {"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"}
    )
    if reads or operands[:1] in (["get"], ["list"]) or (len(operands) == 1 and "." in operands[0]):
        return Verdict("git config only reads", True, (), True)
    return Verdict("git config with a value changes the configuration")


def _option_is_a_value(words: tuple[Word, ...], parsed: Parsed) -> bool:
    """Whether an option stands behind the name of a setting, where git no longer takes it for one."""
    names = parsed.operands
    if names and names[0].value in ("get", "list") and names[0] is words[0]:
        words, names = words[1:], names[1:]
    if not names:
        return False
    behind = words[next(index for index, word in enumerate(words) if word is names[0]) + 1 :]
    return any(not word.literal or word.value.startswith("-") for word in behind)


def _leads_out(value: str) -> bool:
    return value.startswith(("/", "~")) or ".." in value.split("/")
