"""Interpreters: how each is given a program as text, and what in one may start another program."""

import re

from msgspec import Struct

from bridle.permissions.word_lists import listed

_ANY = r"system|popen|exec\w*|spawn\w*|fork\w*|eval|syscall"


class Language(Struct, frozen=True):
    """How an interpreter is given a program, and what in it may start another one."""

    names: re.Pattern[str]
    acts: re.Pattern[str]
    """What may start a program, or build the name of something that does."""
    letters: str = ""
    """Options of one letter, alone or in a cluster, that are followed by the program."""
    options: frozenset[str] = frozenset()
    """Longer ones."""
    skips: tuple[str, ...] = ()
    """Beginnings of other options in which such a letter may stand."""
    operand: bool = False
    """The program is the first operand, unless an option names a file."""
    stdin: bool = True
    """Without a program or a file it reads one from standard input."""


def _language(
    names: str,
    acts: str,
    letters: str = "",
    options: str = "",
    *,
    skips: tuple[str, ...] = (),
    operand: bool = False,
    stdin: bool = True,
) -> Language:
    return Language(re.compile(names), re.compile(acts), letters, listed(options), skips, operand, stdin)


LANGUAGES = (
    _language(
        r"(?:python|pypy)[\d.]*|ipython[\d.]*|jython|micropython",
        rf"\b(?:{_ANY}|subprocess|pty|ctypes|cffi|compile|getattr|importlib|runpy|commands|sh|plumbum|pexpect"
        r"|fabric|invoke|multiprocessing|builtins|globals|vars|locals|posix\w*|nt|startfile|pickle|marshal"
        r"|codecs|b64decode)\b|__(?:import|builtins|dict|class|subclasses|globals|loader|getattribute)__"
        r"|\bfrom\s+os\s+import\b",
        "c",
        skips=("-W", "-X", "-m"),
    ),
    _language(
        r"perl[\d.]*",
        rf"\b(?:{_ANY}|qx|do|require|open\d?|IPC|Inline|pipe)\b|`|\|\s*['\"]|\$\{{\^|&\{{",
        "eE",
        skips=("-I", "-M", "-m", "-x", "-d", "-i.", "-F"),
    ),
    _language(
        r"ruby[\d.]*|irb|jruby",
        rf"\b(?:{_ANY}|Open3|IO|Kernel|send|public_send|__send__|instance_eval|Process|PTY|Fiddle|load)\b|`|%x"
        r"|\bopen\s*\(?\s*['\"]\|",
        "e",
        skips=("-I", "-r", "-x", "-C", "-F", "-E"),
    ),
    _language(
        r"node[\d.]*|nodejs|bun|deno|tsx|ts-node|qjs|d8",
        r"child_process|\b(?:eval|Function|execSync|execFile\w*|exec|spawn\w*|fork|dlopen|binding|mainModule|vm"
        r"|_linkedBinding|worker_threads|cluster|constructor|globalThis|Reflect|createRequire|Bun|Deno|std)\b"
        r"|\bimport\s*\(|\brequire\s*\((?!\s*['\"])",
        "ep",
        "--eval --print -pe eval",
        skips=("-r", "-C", "-v", "-h"),
    ),
    _language(
        r"php[\d.]*",
        rf"\b(?:{_ANY}|passthru|shell_exec|proc_open|pcntl_\w+|assert|create_function|call_user_func\w*|mail|dl"
        r"|include\w*|require\w*|preg_replace|FFI)\b|`|\$\w+\s*\(",
        "rBRE",
        "--run",
        skips=("-d", "-c", "-z"),
    ),
    _language(
        r"lua[\d.]*|luajit|texlua",
        rf"\b(?:{_ANY}|execute|load\w*|dofile|require|_G|_ENV|debug|package)\b",
        "e",
        skips=("-l",),
    ),
    _language(
        r"R|Rscript|littler",
        rf"\b(?:{_ANY}|system2|shell|pipe|source|parse|do\.call|get|processx|sys)\b",
        "e",
        "--eval",
    ),
    _language(
        r"tclsh[\d.]*|wish[\d.]*|expect|jimsh",
        rf"\b(?:{_ANY}|open|source|subst|uplevel|send\w*|interact)\b|\[",
        "c",
    ),
    _language(r"osascript", r"do shell script|tell|run script|\beval", "e", skips=("-l", "-s")),
    _language(
        r"julia[\d.]*",
        rf"\b(?:{_ANY}|run|pipeline|ccall|include|Meta|Cmd|open)\b|`",
        "eE",
        "--eval --print",
    ),
    _language(
        r"(?:power|pw)sh(?:\.exe)?|powershell",
        r".",
        "c",
        "-Command -command -EncodedCommand -ec -enc",
        skips=("-N", "-n", "-E", "-F", "-f"),
    ),
    _language(
        r"emacs(?:client)?",
        r"shell-command|call-process|start-process|make-process|\beval\b|\bload\b|funcall|apply|eshell|compile",
        "",
        "--eval --execute -eval",
        stdin=False,
    ),
    _language(
        r"elixir|iex|erl|escript",
        r"System|Port|:os|os:cmd|open_port|Code|apply|Kernel",
        "e",
        "--eval -eval --rpc-eval",
        skips=("-S", "-r", "-p"),
        stdin=False,
    ),
    _language(
        r"guile[\d.]*|racket|scheme|mit-scheme|sbcl|clisp|ecl|clojure|clj|bb|gosh|chibi-scheme|csi",
        r"system|process|run-program|shell|open-pipe|execl|\beval\b|\bload\b|sh\b",
        "ecx",
        "--eval --load",
    ),
    _language(
        r"groovy|scala|jshell|kotlin|ocaml|swift|runghc|ghci|crystal|gnuplot|octave|maxima|swipl|sage",
        r"execute|Runtime|Process|Sys\.|system|\bsh\b|Foundation|callProcess|readProcess|shell|eval|popen|`",
        "e",
        "--eval --execute -eval eval",
        stdin=False,
    ),
    _language(
        r"[gmn]?awk|original-awk",
        r"\bsystem\s*\(|\bgetline\b|(?<!\|)\|(?!\|)|@(?:load|include)|@\w+\s*\(",
        "e",
        "--source",
        skips=("-F", "-v", "-f", "-i", "-l"),
        operand=True,
        stdin=False,
    ),
    _language(
        r"n?vim?|view|ex|vimdiff|gvim",
        r"system|\bcall\b|\bterm|\bexe|\bpy|\blua|\bruby|\bperl|\btcl|\bso\b|source|eval|job_?start|!",
        "c",
        "--cmd",
        stdin=False,
    ),
)
