"""Uses of gh, docker, kubectl, npm, pip, cargo, go, terraform and pyright that only read.

They are not harmless as `ls` is: they talk to a service, look for updates, or run the toolchain that a
project chooses. So they ask, unless a rule such as `Bash(gh:read-only)` says that such uses may run.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.permissions.shell.programs.jq_filters import only_looks
from bridle.permissions.shell.programs.options import HarmlessUse, Operands, Parsed, Refused, Verdict, parse
from bridle.permissions.shell.syntax.words import Word

READ_ONLY = "read-only"
"""What stands behind the program and a colon in a rule for these uses."""

_Check = Callable[[Parsed], str | None]


class _Use(Struct, frozen=True):
    """How a subcommand may be used."""

    options: HarmlessUse
    check: _Check | None = None
    """What is wrong with its words, if anything."""
    words: str = ""
    """Options with one dash and whole words, as go and terraform have them; `-f=` takes a value."""
    required: str = ""
    """The one of them without which it does more than read."""


def service_use(name: str, words: tuple[Word, ...]) -> Verdict | None:
    """The verdict on a program of this table; None for any other, and for what is not only reading."""
    table = _TABLES.get(name)
    if table is None or any(not word.literal for word in words):
        return None
    rest = _behind_global_options(name, words)
    for length in (3, 2, 1):
        use = table.get(" ".join(word.value for word in rest[:length])) if len(rest) >= length else None
        if use is not None:
            return _judged(name, use, rest[:length], (*words[: len(words) - len(rest)], *rest[length:]))
    # pyright has no subcommands.
    return _judged(name, table[""], (), rest) if "" in table else None


def _judged(name: str, use: _Use, called: tuple[Word, ...], rest: tuple[Word, ...]) -> Verdict | None:
    if use.required and all(word.value != use.required for word in rest):
        return None
    try:
        parsed = parse(use.options, _without_words(use, rest))
    except Refused:
        return None
    if use.options.operands == "none" and parsed.operands:
        return None
    if use.check is not None and use.check(parsed) is not None:
        return None
    program = _ALIASES.get(name, name)
    shown = " ".join((name, *(word.value for word in called)))
    why = f"{shown} only reads, but may contact a service or run the project's code; "
    return Verdict(f"{why}allow it with the rule Bash({program}:{READ_ONLY})", service=program)


def _without_words(use: _Use, given: tuple[Word, ...]) -> tuple[Word, ...]:
    known, left, index = use.words.split(), list[Word](), 0
    while index < len(given):
        name, equals, _ = given[index].value.partition("=")
        if f"{name}=" in known and name.startswith("-"):
            index += 1 if equals else 2
        elif given[index].value in known:
            index += 1
        else:
            left.append(given[index])
            index += 1
    return tuple(left)


def _behind_global_options(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words from the subcommand on; options before it are judged with those behind it."""
    valued, index = _BEFORE.get(name, ()), 0
    while index < len(words) and words[index].value.startswith("-"):
        option = words[index].value
        if option.partition("=")[0] not in valued:
            return words
        index += 1 if "=" in option else 2
    return words[index:]


def _uses(
    common: str, rows: Mapping[str, str], *, check: _Check | None = None, operands: Operands = "text"
) -> dict[str, _Use]:
    """Rows of subcommands and their options: short ones as for getopt, then long ones.

    Several subcommands of one row stand between bars; `common` are long options of all."""
    uses: dict[str, _Use] = {}
    for names, options in rows.items():
        first, _, long = options.partition(" ")
        short = "" if first == "." else first
        use = _Use(HarmlessUse(short, f"{long} {common}".strip(), operands, safe=False), check)
        uses |= dict.fromkeys(names.split("|"), use)
    return uses


_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_GITHUB = "https://github.com/"


def _on_github(parsed: Parsed) -> str | None:
    """No other host than the one that gh is logged in to, and filters that only look."""
    for word in parsed.operands:
        if ("://" in word.value or word.value.startswith("git@")) and not word.value.startswith(_GITHUB):
            return f"{word.value} may be on another host"
    for option, word in parsed.values:
        if option in ("-R", "--repo") and not _REPOSITORY.fullmatch(word.value):
            return f"{word.value} may be on another host"
        if option in ("-q", "--jq") and not only_looks(word.value):
            return "the filter may read more than the response"
    return None


def _repository(parsed: Parsed) -> str | None:
    named = all(
        _REPOSITORY.fullmatch(word.value.removeprefix(_GITHUB)) or "/" not in word.value
        for word in parsed.operands
    )
    return _on_github(parsed) if named else "it may be on another host"


_GH_JSON = "json= jq= template="
_GH = {
    **_uses(
        f"repo= {_GH_JSON}",
        {
            "pr list": "R:q:t:A:a:B:dH:l:L:s:S: author= assignee= app= base= draft head= label= limit= state="
            " search=",
            "pr view": "R:q:t:c comments",
            "pr diff": "R:e: color= name-only patch exclude=",
            "pr checks": "R:q:t:i: fail-fast required interval=",
            "pr status|issue status": "R:q:t:c conflict-status",
            "issue list": "R:q:t:a:A:l:L:m:s:S: app= assignee= author= label= limit= mention= milestone="
            " state= search=",
            "issue view": "R:q:t:c comments",
            "run list": "R:q:t:ab:c:e:L:s:u:w: all branch= commit= created= event= limit= status= user="
            " workflow=",
            "run view": "R:q:t:a:j:v attempt= exit-status job= log log-failed verbose",
            "release list": "R:q:t:L:O: exclude-drafts exclude-pre-releases limit= order=",
            "release view": "R:q:t:",
            "workflow list": "R:q:t:aL: all limit=",
            "workflow view": "R:r:y ref= yaml",
            "label list": "R:q:t:L:S: limit= order= search= sort=",
            "cache list": "R:q:t:k:L:O:r:S: key= limit= order= ref= sort=",
        },
        check=_on_github,
    ),
    **_uses(_GH_JSON, {"repo view": "q:t:b: branch="}, check=_repository),
    **_uses(
        _GH_JSON,
        {
            "search issues|search prs|search commits|search repos|search code": "q:t:L: limit= owner= repo="
            " state= label= author= assignee= language= sort= order= match= filename= extension= size= topic="
            " stars= created= updated= closed= merged draft archived visibility= mentions= commenter="
            " involves= head= base= review= reviewed-by= include-prs locked no-assignee no-label no-milestone"
        },
        check=_on_github,
    ),
    **_uses("", {"auth status": "ah: active hostname=", "version": "."}, operands="none"),
}

_FORMAT = "format= no-trunc quiet"
_DOCKER = _uses(
    "",
    {
        "ps|container ls|container list|container ps": f"af:n:lqs all filter= last= latest size {_FORMAT}",
        "images|image ls|image list": f"af:q all digests filter= tree {_FORMAT}",
        "logs|container logs": "ftn: details follow since= tail= timestamps until=",
        "inspect": "f:s format= size type=",
        "container inspect|image inspect|volume inspect|network inspect": "f:sv format= size verbose",
        "top|container top|port|container port|diff|container diff": ".",
        "stats|container stats": "a all no-stream no-trunc format=",
        "history|image history": f"Hq human {_FORMAT}",
        "volume ls|volume list|network ls|network list": f"f:q filter= {_FORMAT}",
        "system df": "v format= verbose",
        "version|info|system info|compose version|buildx version": "f: format=",
        "compose ls|context ls|context list": "aq all filter= format= quiet",
        "context show": ".",
    },
)

_KUBE_COMMON = "namespace= context= all-namespaces"


def _no_secrets(parsed: Parsed) -> str | None:
    """Secrets are not for a model to read unasked, and a format may come from a file."""
    for word in parsed.operands:
        if any(re.match(r"(?i)secrets?\b", part) for part in re.split(r"[,/]", word.value)):
            return "it shows secrets"
    for option, word in parsed.values:
        if option in ("-o", "--output") and "file" in word.value:
            return "the format comes from a file"
    return None


_KUBECTL = {
    **_uses(
        _KUBE_COMMON,
        {
            "get": "n:Ao:wl:L: output= watch watch-only selector= field-selector= label-columns= show-labels"
            " show-kind sort-by= no-headers ignore-not-found chunk-size= subresource=",
            "describe": "n:Al: selector= show-events chunk-size=",
            "logs": "n:fpc:l: follow previous container= all-containers since= since-time= tail= timestamps"
            " limit-bytes= max-log-requests= prefix selector= ignore-errors",
            "top pod|top pods|top node|top nodes": "n:Al: selector= containers sort-by= no-headers sum",
            "events": "n:Ao:w output= watch for= types= no-headers",
            "explain": ". recursive api-version= output=",
            "rollout status|rollout history": "n:w watch revision= timeout=",
            "auth can-i|auth whoami": "n:Ao:q list quiet output= subresource=",
            "api-resources": "o: output= namespaced verbs= api-group= no-headers sort-by= categories=",
            "api-versions|cluster-info|config current-context|config get-contexts|config get-clusters"
            "|config get-users": "o: output= no-headers",
            "version": "o: client output= short",
        },
        check=_no_secrets,
    ),
}

_NPM = _uses(
    "json long parseable depth= omit= include= workspaces workspace= prod production dev",
    {
        "ls|list|la|ll": "aglpw: all global link package-lock-only unicode",
        "explain|why": "w:",
        "root|prefix": "g global",
        "query": "gw: global",
        "pkg get": "w:",
        "view|info|show|v": "w:",
        "outdated": "aglpw: all global",
        "ping|whoami|version": ".",
    },
)
# Without a word more, `npm version` lists versions; with one it writes.
_NPM["version"] = _Use(HarmlessUse("", "json", "none", safe=False))

_PIP = _uses(
    "disable-pip-version-check verbose quiet no-color",
    {
        "list": "ouelvq outdated uptodate editable local user pre format= not-required include-editable"
        " exclude-editable exclude=",
        "show": "fvq files",
        "freeze": "lvq local user all exclude-editable exclude=",
        "check|inspect|debug|help": "vq local user",
        "index versions": "vq pre json",
    },
)

_CARGO = {
    **_uses(
        "manifest-path= offline locked frozen quiet verbose color=",
        {
            "tree": "qvp:e:i:dFj: package= workspace exclude= edges= invert= no-dedupe prune= duplicates"
            " depth= prefix= charset= format= features= all-features no-default-features target= all-targets",
            "metadata": "qvF: no-deps format-version= filter-platform= features= all-features"
            " no-default-features",
            "pkgid": "qvp: package=",
            "search": "qv limit=",
            "info": "qv",
        },
    ),
    **_uses("", {"locate-project": "qv workspace message-format= manifest-path="}, operands="none"),
    **_uses("", {"version|--version|-V|--list|verify-project|read-manifest": "v verbose"}, operands="none"),
}


def _environment_only(parsed: Parsed) -> str | None:
    return "it changes the environment" if any("=" in word.value for word in parsed.operands) else None


def _words(
    words: str, operands: Operands = "none", *, check: _Check | None = None, required: str = ""
) -> _Use:
    return _Use(HarmlessUse("", "", operands, safe=False), check, words, required)


_GO = {
    "version": _words("-m -v", "text"),
    "env": _words("-json -changed", "text", check=_environment_only),
    "help": _words("", "text"),
    "mod graph": _words(""),
    "mod verify": _words(""),
    "mod why": _words("-m -vendor", "text"),
    "list": _words("-e -m -u -json -deps -test -find -versions -retracted -f=", "text"),
    "doc": _words("-all -c -cmd -short -src -u", "text"),
}
_TERRAFORM = {
    "version": _words("-json"),
    "providers": _words(""),
    "workspace list": _words(""),
    "workspace show": _words(""),
    "state list": _words("-id=", "text"),
    "validate": _words("-json -no-color"),
    "graph": _words("-draw-cycles -type="),
    "output": _words("-no-color"),
    "show": _words("-json -no-color", "paths"),
    # Without -check it writes what it has formatted.
    "fmt": _words("-check -diff -recursive -no-color -list=", "paths", required="-check"),
}

_PYRIGHT = {
    "": _Use(
        HarmlessUse(
            "p:h",
            "outputjson project= level= stats verbose warnings version help pythonversion= pythonplatform="
            " skipunannotated dependencies threads?",
            "paths",
            safe=False,
        )
    )
}

_TABLES: Mapping[str, Mapping[str, _Use]] = {
    "gh": _GH,
    **dict.fromkeys(("docker", "podman"), _DOCKER),
    "kubectl": _KUBECTL,
    "npm": _NPM,
    **dict.fromkeys(("pip", "pip3"), _PIP),
    "cargo": _CARGO,
    "go": _GO,
    **dict.fromkeys(("terraform", "tofu"), _TERRAFORM),
    **dict.fromkeys(("pyright", "basedpyright"), _PYRIGHT),
}
_ALIASES = {"pip3": "pip", "basedpyright": "pyright", "tofu": "terraform", "podman": "docker"}
"""Programs whose uses are ruled with those of another."""
_BEFORE = {"kubectl": ("-n", "--namespace", "--context"), "gh": ("-R", "--repo")}
"""Options that may stand before the subcommand."""
PROGRAMS = frozenset(_ALIASES.get(name, name) for name in _TABLES)
"""The programs that a rule for read-only uses may name."""
