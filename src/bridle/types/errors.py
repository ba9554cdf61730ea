"""Every error that bridle raises on purpose."""

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bridle.types.sandbox import Refusal

ApiErrorKind = Literal[
    "authentication_failed",
    "billing_error",
    "rate_limit",
    "overloaded",
    "invalid_request",
    "model_not_found",
    "server_error",
    "max_output_tokens",
    "unknown",
]


class BridleError(Exception):
    """A fault that a person can read and act on: the message is one sentence with a way out."""


class UsageError(BridleError):
    """The command line asks for something that cannot be done."""


class CommandLineError(UsageError):
    """The words behind a subcommand are wrong; the exit code is 2, as of other programs with subcommands."""


class ConfigError(BridleError):
    """A settings file or value cannot be used."""


class SessionError(BridleError):
    """A session cannot be found, opened or written."""


class ToolError(BridleError):
    """A tool call failed in a way that the model should read and fix."""


class CommandStopped(ToolError):
    """A command tried more than it was judged to do; the kernel kept it from that, and it was ended."""

    def __init__(self, refusal: "Refusal") -> None:
        # `--help` does without it.
        from bridle.types.sandbox import beyond_words

        super().__init__(f"The command was stopped: {beyond_words(refusal)}.")
        self.refusal = refusal


class McpError(BridleError):
    """An MCP server cannot be reached, or refused or failed to answer."""

    def __init__(self, message: str, *, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        """The JSON-RPC code, when the server itself answered with an error."""
        self.data = data


class ProviderError(BridleError):
    """A model service refused or failed to answer."""

    def __init__(
        self,
        message: str,
        *,
        kind: ApiErrorKind = "unknown",
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        error_type: str | None = None,
        request_id: str | None = None,
        cause: str = "",
    ) -> None:
        """`cause` says in a few words what happened, where kind and status do not tell."""
        super().__init__(message)
        self.kind: ApiErrorKind = kind
        self._cause = cause
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.error_type = error_type
        self.request_id = request_id

    @property
    def cause(self) -> str:
        """What happened in a few words: `overloaded (529)`, `can't reach api.example.com (DNS)`."""
        return self._cause or fault_words(self.kind, self.status, self.error_type)

    @property
    def is_prompt_too_long(self) -> bool:
        """The request did not fit into the model's window."""
        return self.status in (400, 413) and "too long" in str(self).lower()

    @property
    def is_media_rejected(self) -> bool:
        """The service did not take an image or a document in the request."""
        text = str(self).lower()
        named = any(word in text for word in ("image", "pdf", "document", "media"))
        return self.status in (400, 413, 415, 422) and named and not self.is_prompt_too_long


_FAULTS = {
    "authentication_failed": "key not accepted",
    "billing_error": "out of credit",
    "rate_limit": "rate limited",
    "overloaded": "overloaded",
    "invalid_request": "request refused",
    "model_not_found": "model not found",
    "server_error": "server error",
    "max_output_tokens": "answer too long",
}


def fault_words(kind: str, status: int | None = None, error_type: str | None = None) -> str:
    """What is wrong with a model service, in a few words."""
    overloaded = status in (503, 529) or error_type == "overloaded_error"
    words = "overloaded" if overloaded else _FAULTS.get(kind, "request failed")
    return f"{words} ({status})" if status else words


class StreamBroken(ProviderError):
    """An answer stopped before its end; what had arrived is in the events that came before."""


class OverBudget(ProviderError):
    """A limit does not allow another call."""
