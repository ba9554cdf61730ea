"""Requests with Amazon's signature on them."""

import time

from msgspec.structs import replace

from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from bridle.host.http.address import split_url
from bridle.host.http.client import Request


def signed(request: Request, credentials: AwsCredentials, *, region: str, service: str) -> Request:
    """The request as Amazon's services want it: dated, and signed for one region and service."""
    origin, target = split_url(request.url)
    scope = Scope(time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), region, service)
    headers = [*request.headers, ("x-amz-date", scope.moment)]
    if credentials.session_token is not None:
        headers.append(("x-amz-security-token", credentials.session_token))
    signature = authorization(
        request.method,
        target,
        [("host", origin.authority), *headers],
        request.body,
        credentials=credentials,
        scope=scope,
    )
    return replace(request, headers=(*headers, ("authorization", signature)))
