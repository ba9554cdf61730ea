"""What can go wrong for a program, with the names of the official Agent SDK."""

from typing import Any

from bridle.types.errors import BridleError


class ClaudeSDKError(BridleError):
    """The base of every error that the SDK raises."""


class CLIConnectionError(ClaudeSDKError):
    """There is no session, or an option is not available inside a process."""


class CLINotFoundError(CLIConnectionError):
    """Never raised here: there is no program to look for."""

    def __init__(self, message: str = "bridle not found", cli_path: str | None = None) -> None:
        super().__init__(f"{message}: {cli_path}" if cli_path else message)


class ProcessError(ClaudeSDKError):
    """The session could not be started, or failed; with what a process would print and its exit code."""

    def __init__(self, message: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        if exit_code is not None:
            message = f"{message} (exit code: {exit_code})"
        super().__init__(f"{message}\nError output: {stderr}" if stderr else message)


class ResultError(ProcessError):
    """A run ended with an error result; the `ResultMessage` was yielded before."""

    def __init__(
        self, message: str, data: dict[str, Any] | None = None, exit_code: int | None = None
    ) -> None:
        self.data = data = data or {}
        errors = data.get("errors")
        self.subtype: str | None = data.get("subtype")
        self.errors: list[str] = [each for each in errors or () if isinstance(each, str) and each.strip()]
        self.result: str | None = data.get("result")
        self.api_error_status: int | None = data.get("api_error_status")
        self.terminal_reason: str | None = data.get("terminal_reason")
        self.session_id: str | None = data.get("session_id")
        super().__init__(message, exit_code=exit_code)


class CLIJSONDecodeError(ClaudeSDKError):
    """Never raised here: nothing is encoded on the way."""

    def __init__(self, line: str, original_error: Exception) -> None:
        self.line = line
        self.original_error = original_error
        super().__init__(f"Failed to decode JSON: {line[:100]}...")


class MessageParseError(ClaudeSDKError):
    """Never raised here: messages are made by the session itself."""

    def __init__(self, message: str, data: dict[str, Any] | None = None) -> None:
        self.data = data
        super().__init__(message)
