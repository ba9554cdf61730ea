"""A real S3 server on this machine: `python -m tests.fakes.s3_server` prints its address and serves."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

needs_s3 = pytest.mark.skipif(
    find_spec("moto") is None or find_spec("s3fs") is None, reason="moto and s3fs are not installed"
)


@contextmanager
def s3_server() -> Generator[dict[str, str]]:
    """The variables with which programs reach the server; it has the bucket `fleet`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.s3_server"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, **_KEYS},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http"), "the server did not start"
        yield {**_KEYS, "AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1"}
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


_KEYS = {
    "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


def _serve() -> None:
    servers: Any = import_module("moto.server")
    sessions: Any = import_module("botocore.session")
    server = servers.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = sessions.get_session().create_client("s3", endpoint_url=address)
    client.create_bucket(Bucket="fleet")
    print(address, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    _serve()
