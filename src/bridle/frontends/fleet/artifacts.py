"""Keeps bytes under the digest of their content: in a folder, or at an address that fsspec knows."""

import asyncio
import hashlib
import os
from importlib import import_module
from typing import Any, Protocol

from bridle.host.files import make_folders, write_new
from bridle.types.errors import BridleError

_TRIES = 3
_PAUSE = 0.3
_SECONDS = 120.0


class StoreError(BridleError):
    """The store cannot be read or written."""


class Artifacts(Protocol):
    """A content-addressed store."""

    async def put(self, data: bytes) -> str:
        """Keep bytes; returns their digest.

        Raises:
            StoreError: they cannot be saved.
        """
        ...

    async def get(self, digest: str) -> bytes:
        """What is kept under a digest.

        Raises:
            StoreError: nothing is, or it was changed.
        """
        ...

    async def remove(self, digest: str) -> None: ...


def open_artifacts(address: str) -> Artifacts:
    """The store at an address; a path is a folder of this machine.

    Raises:
        StoreError: the packages for such an address are not installed.
    """
    return _Remote(address) if is_remote(address) else _Folder(address.removeprefix("file://"))


def is_remote(address: str) -> bool:
    """Whether an address leads off this machine, so that every worker can write there itself."""
    return "://" in address and not address.startswith("file://")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Folder:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def put(self, data: bytes) -> str:
        return await asyncio.to_thread(self._put, data)

    async def get(self, digest: str) -> bytes:
        return _checked(await asyncio.to_thread(self._get, digest), digest)

    async def remove(self, digest: str) -> None:
        if os.path.exists(path := self._path(digest)):
            os.unlink(path)

    def _put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = self._path(digest)
        try:
            make_folders(os.path.dirname(path), private=True)
            # Parts that a crash has left have another size.
            if not os.path.exists(path) or os.path.getsize(path) != len(data):
                partial = f"{path}.{os.getpid()}"
                if os.path.exists(partial):
                    os.unlink(partial)
                write_new(partial, data)
                os.replace(partial, path)
        except OSError as error:
            raise StoreError(f"can't write to the store {self._folder}: {error.strerror}") from error
        return digest

    def _get(self, digest: str) -> bytes:
        try:
            with open(self._path(digest), "rb") as file:
                return file.read()
        except OSError as error:
            raise StoreError(f"can't read {digest[:12]} from {self._folder}: {error.strerror}") from error

    def _path(self, digest: str) -> str:
        return os.path.join(self._folder, digest[:2], digest)


class _Remote:
    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._system, self._root = file_system(address)

    async def put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = f"{self._root}/{digest[:2]}/{digest}"

        def write() -> None:
            if not self._system.exists(path):
                self._system.pipe_file(path, data)

        await self._again(write)
        return digest

    async def get(self, digest: str) -> bytes:
        path = f"{self._root}/{digest[:2]}/{digest}"
        return _checked(await self._again(lambda: bytes(self._system.cat_file(path))), digest)

    async def remove(self, digest: str) -> None:
        path = f"{self._root}/{digest[:2]}/{digest}"

        def remove() -> None:
            if self._system.exists(path):
                self._system.rm_file(path)

        await self._again(remove)

    async def _again(self, work: Any) -> Any:
        """Do it, more than once where the store does not answer."""
        for left in reversed(range(_TRIES)):
            try:
                async with asyncio.timeout(_SECONDS):
                    return await asyncio.to_thread(work)
            except FileNotFoundError as error:
                raise StoreError(f"{self._address} has no such object or bucket") from error
            except Exception as error:
                # Every file system of fsspec has its own errors.
                if not left:
                    raise StoreError(
                        f"the store {self._address} can't be reached: {_first(error)}"
                    ) from error
            await asyncio.sleep(_PAUSE * (_TRIES - left))
        raise AssertionError


def file_system(address: str) -> tuple[Any, str]:
    """The file system of an address and the path in it.

    Raises:
        StoreError: its packages are not installed, or there is no such kind.
    """
    try:
        core: Any = import_module("fsspec.core")
        system, root = core.url_to_fs(address.rstrip("/"))
    except ImportError as error:
        raise StoreError(
            f"{address} needs more packages: pip install 'bridle[fleet]', and s3fs for S3 or gcsfs for GCS"
        ) from error
    except ValueError as error:
        raise StoreError(f"{address} is not an address for a store: {_first(error)}") from error
    return system, str(root)


def _checked(data: bytes, digest: str) -> bytes:
    if digest_of(data) != digest:
        raise StoreError(f"{digest[:12]} was changed in the store: its content has another digest")
    return data


def _first(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
