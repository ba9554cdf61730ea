"""Why a connection could not be made, in words that people look for."""

import errno
import os
import re
import socket
import ssl

from bridle.host.http.address import Origin
from bridle.host.http.connection import HttpFault

_ERRNO = re.compile(r"\[Errno (\d+)\]")
_CAUSES = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.ETIMEDOUT: "timeout",
    errno.ENETUNREACH: "network unreachable",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETDOWN: "network down",
}


def connect_fault(origin: Origin, error: OSError, *, what: str = "") -> HttpFault:
    """The fault of a connection that could not be made; `what` says what stands at the origin."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return HttpFault(
            f"Can't verify the certificate of {what}{origin.url} ({error.verify_message}): name your "
            "organization's CA file in NODE_EXTRA_CA_CERTS.",
            "tls",
            cause=_out_of_reach(origin, "TLS certificate", what),
        )
    if isinstance(error, ssl.SSLError):
        text = f"Can't set up a TLS connection to {what}{origin.url} ({error.reason})."
        return HttpFault(text, "tls", cause=_out_of_reach(origin, "TLS", what))
    why = _network_cause(error)
    words = (error.strerror or str(error))[:200] if why in ("DNS", "no connection") else why
    cause = _out_of_reach(origin, why, what)
    return HttpFault(f"Cannot connect to {what}{origin.url} ({words}).", "connect", cause=cause)


def _out_of_reach(origin: Origin, why: str, what: str = "") -> str:
    return f"can't reach {what}{origin.host} ({why})"


def _network_cause(error: OSError) -> str:
    """Why there is no connection, in the words that people look for."""
    if isinstance(error, socket.gaierror):
        return "DNS"
    # Where several addresses were tried, one error has the words of all.
    found = _ERRNO.search(str(error))
    number = error.errno or (int(found[1]) if found else 0)
    return _CAUSES.get(number) or (os.strerror(number).lower() if number else "no connection")
