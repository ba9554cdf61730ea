"""A shell command taken apart: every simple command that could run in it, and what each would touch."""

from typing import Literal

from msgspec import Struct


class Part(Struct, frozen=True, kw_only=True):
    """One simple command, wherever it stood: in a list, a loop, a substitution, behind a wrapper."""

    text: str
    """As it was written, runs of blanks made one; what people are shown."""
    allow_forms: tuple[str, ...] = ()
    """The texts that an allow rule may match: harmless assignments and transparent wrappers taken off."""
    deny_forms: tuple[str, ...] = ()
    """The texts that a deny or ask rule may match: any assignment, wrapper, quote or escape taken off too."""
    open_forms: tuple[str, ...] = ()
    """Texts of the same kind in which a zero character stands for an unknown subcommand."""
    unseen: str | None = None
    """Why it is unknown which programs it runs: asked about where a rule denies or asks by command."""
    feeds: bool = False
    """What it prints goes to another command, to a file, or into a word of one."""
    harmless: bool = False
    """Known to read only, with every option on its list of harmless ones; what its redirections write is in
    `writes` and judged on its own, and so is what it reads."""
    file_command: bool = False
    """One of the simple file commands that `acceptEdits` lets run inside the working directories."""
    why: str = ""
    """Why it is harmless, or what keeps it from being so."""
    reads: tuple[str, ...] = ()
    """Files and folders it reads, absolute, with the directory changes before it taken into account."""
    globs: tuple[str, ...] = ()
    """Patterns of file names that it reads, absolute; their directories are in `reads`, and what they match
    may be links."""
    writes: tuple[str, ...] = ()
    """Files that it or its redirections write, create or remove."""
    redirects: tuple[str, ...] = ()
    """Those of `writes` that its redirections name; no rule for the command settles them."""
    mentions: tuple[str, ...] = ()
    """Paths that its words name and that it may read, although that is not certain; for rules that deny or
    ask only."""
    unclear: str | None = None
    """Why it is unknown what it writes or runs: an expansion or glob in a write, a name from a variable.
    No rule with a wildcard makes up for it."""
    redirects_unclear: bool = False
    """It is unknown where one of its redirections leads."""
    critical: str | None = None
    """Why no rule and no mode may approve it: it removes something that must not go."""
    programs: tuple[str, ...] = ()
    """The programs that it starts, wrappers first: what is known of it holds for those of the system only."""
    runs_in: tuple[str, ...] = ()
    """The directories that it may run in, where they are known."""
    copies: tuple[tuple[str, str], ...] = ()
    """From where to where it takes whole folders, so that what is in them counts as written, too."""
    walks: tuple[str, ...] = ()
    """Those of `reads` in which it goes into every folder and follows every link."""
    removes: tuple[str, ...] = ()
    """Paths that it removes, absolute and as written; with a slash at the end, what is in them."""
    tree_paths: tuple[str, ...] = ()
    """Paths in commits of a repository that it names, from the top of the repository."""
    shows_tree: bool = False
    """It may show what is in any file that the repository keeps."""
    shown_paths: tuple[str, ...] = ()
    """Where it says which: files and folders, absolute, that it shows nothing besides of."""
    shown_names: tuple[str, ...] = ()
    """Words that name such a path if something is there, and a commit otherwise."""
    lists: tuple[str, ...] = ()
    """Folders from which it is given names of files: none of those may lead elsewhere or be an option."""
    lists_exactly: bool = False
    """Those names reach it as they are, whatever characters are in them."""
    expands: bool = False
    """Its patterns may match a file name that begins with a dash, which it would take for an option."""
    service: str = ""
    """The program of which this is a read-only use, where that may talk to a service or run a toolchain."""
    blocks_prefix: bool = False
    """No wildcard rule covers it, because it runs what its arguments say (`find -exec`, `watch`)."""


class Reading(Struct, frozen=True, kw_only=True):
    """What a command comes to."""

    parts: tuple[Part, ...] = ()
    fault: str | None = None
    """Why the command cannot be judged as a whole: it does not parse, is too long, hides characters."""
    leaves: tuple[str, ...] = ()
    """Directories outside its start that a `cd` in it leads to."""
    shape: Literal["simple", "compound"] = "simple"
