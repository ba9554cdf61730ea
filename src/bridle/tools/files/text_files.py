"""Text files as tools see them: opened without blocking, decoded without loss, put back in their own form."""

import os
import stat
from collections.abc import Callable, Mapping
from itertools import islice
from typing import BinaryIO, Literal

from msgspec import Struct

from bridle.host import safe_open
from bridle.host.safe_open import Location
from bridle.types.errors import ToolError
from bridle.types.nearest import nearest
from bridle.types.text import printable
from bridle.types.tool import ToolContext
from bridle.types.variables import is_on
from bridle.types.workspace import Workspace

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "latin-1"]
ImageKind = Literal["png", "jpeg", "gif", "webp"]
Kind = ImageKind | Literal["text", "binary", "pdf"]

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"%PDF-", "pdf"),
)
_HEAD = 8192
_RARE_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b")
_MOST_NEIGHBORS = 1000


class TextForm(Struct, frozen=True, kw_only=True):
    """How a text lies on disk."""

    encoding: Encoding = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line ends with a carriage return and a line feed."""


class TextFile(Struct, frozen=True, kw_only=True):
    raw: str
    """As decoded, with the line endings of the file."""
    text: str
    """With plain line feeds: what models see and write."""
    form: TextForm
    stamp: tuple[int, ...]
    """Differs when the file was replaced or written to."""
    mtime_ns: int


def read_text(location: Location, *, most_bytes: int) -> TextFile:
    """A whole file of text.

    Raises:
        FileNotFoundError: nothing is there.
        ToolError: it is too large, not text, or cannot be opened.
    """
    path = location.path
    with open_regular(location) as file:
        status = os.fstat(file.fileno())
        if status.st_size > most_bytes:
            raise ToolError(f"{path} has {status.st_size:,} bytes, more than the limit of {most_bytes:,}.")
        try:
            data = file.read(most_bytes + 1)
        except OSError as error:
            raise failure("read", path, error) from error
    raw, encoding, bom = decode(data, path)
    text = raw.replace("\r\n", "\n") if "\r\n" in raw else raw
    crlf = text is not raw and raw.count("\n") == len(raw) - len(text)
    return TextFile(
        raw=raw,
        text=text,
        form=TextForm(encoding=encoding, bom=bom, crlf=crlf),
        stamp=stamp_of(status),
        mtime_ns=status.st_mtime_ns,
    )


def encode(raw: str, form: TextForm) -> bytes:
    """The bytes of a text whose line endings are already as wanted.

    Raises:
        UnicodeEncodeError: the encoding has no such character.
    """
    return form.bom + raw.removeprefix("\ufeff" if form.bom else "").encode(form.encoding)


def decode(data: bytes, path: str) -> tuple[str, Encoding, bytes]:
    """The text, its encoding and its byte order mark.

    Raises:
        ToolError: this is not text.
    """
    if kind_of(data) == "text":
        for bom, encoding in _BOMS:
            if data.startswith(bom):
                return _decode_marked(data, path, encoding, bom)
        try:
            return data.decode("utf-8"), "utf-8", b""
        except UnicodeDecodeError:
            return data.decode("latin-1"), "latin-1", b""
    raise binary(path)


def kind_of(data: bytes) -> Kind:
    """What the bytes are, judged by their beginning and not by a name."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    head = data[:_HEAD]
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "binary"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"
    rare = len(head) - len(head.translate(None, _RARE_CONTROLS))
    return "binary" if b"\0" in head or rare * 20 > len(head) else "text"


def open_regular(location: Location) -> BinaryIO:
    """A regular file for reading; devices, pipes and sockets are refused without waiting for them.

    Raises:
        FileNotFoundError: nothing is there.
        ToolError: it is no regular file, cannot be opened, or is not what was approved.
    """
    path = location.path
    refuse_special(path)
    refuse_special(location.target)
    try:
        descriptor = safe_open.open_checked(location, look=lambda status: _require_regular(status, path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(path) from error
    except OSError as error:
        raise failure("read", path, error) from error
    # Whatever stood there a moment ago, only what is open now counts.
    opened = os.fstat(descriptor)
    try:
        _require_regular(opened, path)
    except ToolError:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")


def refuse_special(path: str) -> None:
    """Raise ToolError for paths that stand for devices and for open descriptors of a process."""
    path = "/" + path.lstrip("/")
    parts = path.split("/")
    device = path.startswith("/dev/") and not path.startswith("/dev/shm/")
    descriptor = parts[1:2] == ["proc"] and ("fd" in parts or "kmsg" in parts)
    endless = parts[1:2] == ["sys"] and parts[-1].startswith("trace_pipe")
    if device or descriptor or endless:
        raise ToolError(f"{path} is a device or a file descriptor, not a regular file.")


def find_status(location: Location) -> os.stat_result | None:
    """The status of the regular file at a location, None when nothing is there.

    Raises:
        ToolError: it cannot be looked at, is no regular file, or is not what was approved.
    """
    path = location.path
    refuse_special(path)
    refuse_special(location.target)
    try:
        status = safe_open.status_checked(location)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise failure("read", path, error) from error
    _require_regular(status, path)
    return status


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def locate(ctx: ToolContext, path: str) -> Location:
    """The absolute path of a file to write, and where it leads.

    Raises:
        ToolError: no file can have this name, the path does not lead where it did when it was approved, or
            the file is not checked out (`CLAUDE_CODE_PERFORCE_MODE`).
    """
    location = _located(meant_path(ctx, path), ctx, safe_open.locate)
    if is_on(ctx.env, "CLAUDE_CODE_PERFORCE_MODE") and _is_read_only(location.target):
        raise ToolError(f"{path} is read-only. Run `p4 edit {path}` first, then try again.")
    return location


def _is_read_only(path: str) -> bool:
    try:
        return not os.stat(path).st_mode & 0o222
    except OSError:
        return False


def locate_to_open(ctx: ToolContext, path: str) -> Location:
    """Like `locate`, for a file that is only opened: what has become a link since is refused then.

    Raises:
        ToolError: no file can have this name, or the path does not lead where it did when it was approved.
    """
    return _located(meant_path(ctx, path), ctx, safe_open.as_approved)


def meant_path(ctx: ToolContext, path: str) -> str:
    """The absolute path that was meant.

    Raises:
        ToolError: no file can have this name.
    """
    try:
        if b"\0" in os.fsencode(path):
            raise ToolError("A path cannot contain a NUL character.")
    except UnicodeEncodeError as error:
        raise ToolError("This path contains characters that are invalid in file names.") from error
    return ctx.workspace.resolve(path)


def short_name(path: str, cwd: str) -> str:
    """A path as a result names it: relative where it is inside the current directory."""
    return path.removeprefix(cwd.rstrip("/") + "/")


def missing(path: str, workspace: Workspace) -> ToolError:
    """The error for a file that is not there, with the name that was probably meant."""
    if os.path.islink(path):
        return ToolError(f"{path} is a link to {printable(os.readlink(path))}, which does not exist.")
    sentence = f"{path} does not exist. The working directory is {workspace.cwd}."
    if (near := _near(path, workspace)) is not None:
        sentence += f" Did you mean {near}?"
    return ToolError(sentence)


def binary(path: str) -> ToolError:
    return ToolError(f"{path} is a binary file. Inspect it with a suitable program through Bash.")


def failure(action: str, path: str, error: OSError) -> ToolError:
    return ToolError(f"Could not {action} {path}: {error.strerror or error}.")


def _located(meant: str, ctx: ToolContext, find: Callable[[str, Mapping[str, str]], Location]) -> Location:
    try:
        return find(meant, ctx.permit.approved)
    except OSError as error:
        raise failure("use", meant, error) from error


def _decode_marked(data: bytes, path: str, encoding: Encoding, bom: bytes) -> tuple[str, Encoding, bytes]:
    try:
        return data[len(bom) :].decode(encoding), encoding, bom
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise binary(path) from error
        return data.decode("latin-1"), "latin-1", b""


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a directory. List it with Glob or with `ls` through Bash.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path} is a device, pipe or socket, not a regular file.")


def _near(path: str, workspace: Workspace) -> str | None:
    """A similar path that exists; looked for only where reading is free anyway."""
    beside, inside = os.path.dirname(workspace.cwd), workspace.cwd + os.sep
    dropped_folder = os.path.join(workspace.cwd, os.path.relpath(path, beside))
    if path.startswith(beside) and not path.startswith(inside) and os.path.exists(dropped_folder):
        return dropped_folder
    folder, name = os.path.split(path)
    if not any(f"{folder}/".startswith(root.rstrip("/") + "/") for root in workspace.roots):
        return None
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NEIGHBORS)]
    except OSError:
        return None  # There is no such folder to look in, which the caller's sentence already covers.
    close = nearest(name, names)
    same_stem = [other for other in names if os.path.splitext(other)[0] == os.path.splitext(name)[0]]
    found = same_stem or close
    return os.path.join(folder, found[0]) if found else None
