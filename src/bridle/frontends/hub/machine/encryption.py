"""Encrypts what devices and this machine say to each other, so that the hub between them cannot read it.

Every machine has a pair of X25519 keys and a ring of content keys. A device that was paired with the machine
gets the ring, encrypted for its own public key. What is sent is AES-256-GCM under a key for its context (a
session, say), bound to its place in the conversation.
"""

import hmac
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from bridle.frontends.hub.machine.membership import machine_folder
from bridle.host.files import make_folders, read_bytes, replace_quickly
from bridle.types.errors import BridleError, ConfigError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

_FILE = "keys.json"
_LARGEST = 1_000_000
_NONCE = 12
FOLDERS = "machine"
"""The context of what belongs to no session."""


class DecryptionError(BridleError):
    """Something was not encrypted by a device of this machine, or for another place."""


class KnownDevice(Struct, frozen=True):
    """A device that may read what this machine sends."""

    name: str
    public: str


class Keyring(Struct, frozen=True):
    """The keys of a machine."""

    private: str
    keys: dict[str, str]
    current: str
    devices: dict[str, KnownDevice] = {}

    @property
    def public(self) -> str:
        """What devices know this machine by."""
        return _encoded(_raw_public(self._pair))

    @property
    def _pair(self) -> "X25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(_decoded(self.private))

    def cipher(self, context: str) -> "Cipher":
        return Cipher({id: _decoded(key) for id, key in self.keys.items()}, self.current, context)

    def trusting(self, id: str, name: str, public: str) -> "Keyring":
        """With one more device."""
        return structs.replace(self, devices={**self.devices, id: KnownDevice(name, public)})

    def without(self, id: str) -> "Keyring":
        """Without a device, and with a new key that it never gets."""
        others = {each: device for each, device in self.devices.items() if each != id}
        name, key = _new_key()
        return structs.replace(self, devices=others, keys={**self.keys, name: key}, current=name)

    def wrapped(self, public: str) -> str:
        """All content keys, for one device alone.

        Raises:
            DecryptionError: that is no public key.
        """
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            shared = self._pair.exchange(X25519PublicKey.from_public_bytes(_decoded(public)))
        except ValueError as error:
            raise DecryptionError("the device has sent no public key") from error
        ring = msgspec.json.encode({"keys": self.keys, "current": self.current})
        return _encoded(_encrypt(_derived(shared, "wrap"), ring, f"wrap|{self.public}|{public}"))


class Cipher:
    """Encrypts and decrypts in one context."""

    def __init__(self, keys: Mapping[str, bytes], current: str, context: str) -> None:
        self._keys = {id: _derived(key, context) for id, key in keys.items()}
        self._current = current

    def seal(self, value: Any, about: str) -> dict[str, str]:
        """A value that only this machine and its devices can read, at the place that `about` names."""
        data = _encrypt(self._keys[self._current], msgspec.json.encode(value), about)
        return {"key": self._current, "sealed": _encoded(data)}

    def open(self, box: Mapping[str, Any], about: str) -> Any:
        """What is in it.

        Raises:
            DecryptionError: it was made with another key, changed, or is for another place.
        """
        return _json(self.open_bytes(box.get("key"), _decoded(str(box.get("sealed", ""))), about))

    def open_bytes(self, key: Any, data: bytes, about: str) -> bytes:
        """What is in encrypted bytes.

        Raises:
            DecryptionError: they were made with another key, changed, or are for another place.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        known = self._keys.get(key) if isinstance(key, str) else None
        if known is None or len(data) < _NONCE:
            raise DecryptionError("it is encrypted with a key that this machine does not have")
        try:
            return AESGCM(known).decrypt(data[:_NONCE], data[_NONCE:], about.encode())
        except InvalidTag as error:
            raise DecryptionError("it was changed on the way, or belongs elsewhere") from error


class SeenRequests:
    """The encrypted requests that were done, on disk: a hub that sends one again gets nothing done twice."""

    def __init__(self, env: Mapping[str, str], session: str) -> None:
        self._path = os.path.join(machine_folder(env), "done", session)
        self._seen: set[str] | None = None

    def take(self, id: str) -> bool:
        """Note a request; False if it was noted before."""
        if self._seen is None:
            make_folders(os.path.dirname(self._path), private=True)
            self._seen = set()
            if os.path.exists(self._path):
                self._seen.update(read_bytes(self._path, _LARGEST * 16).decode().split())
        if id in self._seen:
            return False
        self._seen.add(id)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "ab") as file:
            file.write(f"{id}\n".encode())
        return True


def load_keyring(env: Mapping[str, str]) -> Keyring | None:
    """The keys of this machine; None where nothing is encrypted.

    Raises:
        ConfigError: the file is damaged: nothing may leave this machine unencrypted then.
    """
    path = keyring_path(env)
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST), type=Keyring)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"can't read {path}: {error}. Remove it to pair devices anew") from error


def save_keyring(env: Mapping[str, str], keyring: Keyring) -> None:
    path = keyring_path(env)
    make_folders(os.path.dirname(path), private=True)
    replace_quickly(path, msgspec.json.encode(keyring))


def keyring_path(env: Mapping[str, str]) -> str:
    return os.path.join(machine_folder(env), _FILE)


def new_keyring() -> Keyring:
    """Fresh keys.

    Raises:
        UsageError: a package is missing.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    except ImportError as error:
        raise UsageError("encryption needs more packages: install bridle[hub]") from error
    name, key = _new_key()
    return Keyring(_encoded(X25519PrivateKey.generate().private_bytes_raw()), {name: key}, name)


def proof_of(secret: str, machine: str, device: str) -> str:
    """What only those can compute who know the secret of a pairing, which the hub does not."""
    return hmac.new(secret.encode(), f"{machine}|{device}".encode(), sha256).hexdigest()


def is_proof(text: str, secret: str, machine: str, device: str) -> bool:
    return hmac.compare_digest(text.encode(), proof_of(secret, machine, device).encode())


def plain_session(id: str) -> str:
    """A session without the prefix that stands for a version of the wire."""
    return id.rpartition("_")[2]


def _new_key() -> tuple[str, str]:
    return secrets.token_hex(4), _encoded(secrets.token_bytes(32))


def _derived(key: bytes, context: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=b"", info=f"bridle hub {context}".encode()).derive(key)


def _encrypt(key: bytes, data: bytes, about: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, data, about.encode())


def _raw_public(pair: "X25519PrivateKey") -> bytes:
    return pair.public_key().public_bytes_raw()


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise DecryptionError("it holds something that this bridle can't read") from error


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as error:
        raise DecryptionError("it is no base64") from error
