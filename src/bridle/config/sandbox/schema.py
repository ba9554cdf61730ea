"""The `sandbox` key: what shell commands may touch when the kernel watches them."""

from typing import Literal

from msgspec import Struct

Refusal = Literal["deny", "passthrough"]


class SandboxFilesystem(Struct, frozen=True, kw_only=True, rename="camel"):
    allow_write: tuple[str, ...] | None = None
    deny_write: tuple[str, ...] | None = None
    deny_read: tuple[str, ...] | None = None
    allow_read: tuple[str, ...] | None = None
    allow_managed_read_paths_only: bool | None = None
    disabled: bool | None = None


class TlsTerminate(Struct, frozen=True, kw_only=True, rename="camel"):
    ca_cert_path: str | None = None
    ca_key_path: str | None = None


class SandboxNetwork(Struct, frozen=True, kw_only=True, rename="camel"):
    allowed_domains: tuple[str, ...] | None = None
    denied_domains: tuple[str, ...] | None = None
    strict_allowlist: bool | None = None
    allow_managed_domains_only: bool | None = None
    allow_unix_sockets: tuple[str, ...] | None = None
    allow_all_unix_sockets: bool | None = None
    allow_local_binding: bool | None = None
    allow_mach_lookup: tuple[str, ...] | None = None
    http_proxy_port: int | None = None
    socks_proxy_port: int | None = None
    tls_terminate: TlsTerminate | None = None


class MaskedFile(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    mode: Literal["deny", "mask"]
    extract: str | None = None
    on_extract_no_match: Literal["warn", "deny", "error"] | None = None
    decode: Literal["jwt"] | None = None
    mask_claims: tuple[str, ...] | None = None
    mask_duplicates: bool | None = None
    inject_hosts: tuple[str, ...] | None = None


class MaskedVariable(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    mode: Literal["deny", "mask"]
    extract: str | None = None
    on_extract_no_match: Literal["warn", "deny", "error"] | None = None
    decode: Literal["jwt"] | None = None
    mask_claims: tuple[str, ...] | None = None
    mask_duplicates: bool | None = None
    inject_hosts: tuple[str, ...] | None = None


class SignedRequests(Struct, frozen=True, kw_only=True):
    streaming: Refusal | None = None
    presigned: Refusal | None = None
    sigv4a: Refusal | None = None


class AwsPair(Struct, frozen=True, kw_only=True, rename="camel"):
    access_key_id_var: str
    secret_access_key_var: str
    session_token_var: str | None = None


class SandboxCredentials(Struct, frozen=True, kw_only=True, rename="camel"):
    files: tuple[MaskedFile, ...] | None = None
    env_vars: tuple[MaskedVariable, ...] | None = None
    allow_plaintext_inject: bool | None = None
    aws_pairs: tuple[AwsPair, ...] | None = None
    sigv4: SignedRequests | None = None


class Ripgrep(Struct, frozen=True, kw_only=True):
    command: str
    args: tuple[str, ...] | None = None


class Sandbox(Struct, frozen=True, kw_only=True, rename="camel"):
    enabled: bool | None = None
    scope: Literal["shell", "all"] | None = None
    """`all` puts hooks and local servers behind the same boundary as commands."""
    fail_if_unavailable: bool | None = None
    auto_allow_bash_if_sandboxed: bool | None = None
    excluded_commands: tuple[str, ...] | None = None
    allow_unsandboxed_commands: bool | None = None
    filesystem: SandboxFilesystem | None = None
    ignore_violations: dict[str, tuple[str, ...]] | None = None
    enable_weaker_nested_sandbox: bool | None = None
    enable_weaker_network_isolation: bool | None = None
    allow_apple_events: bool | None = None
    ripgrep: Ripgrep | None = None
    bwrap_path: str | None = None
    socat_path: str | None = None
    credentials: SandboxCredentials | None = None
    network: SandboxNetwork | None = None
