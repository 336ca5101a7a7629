"""An S3 server on this machine in a process of its own, moto's, and what lies in it as another client sees it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "alice", "AWS_SECRET_ACCESS_KEY": "secret"}


class Bucket(NamedTuple):
    """A bucket of one test.

    Attributes:
        name: Of the bucket.
        client: Of boto3, which knows nothing of fsspec.
        environment: Of a process that works with it.
    """

    name: str
    client: Any
    environment: dict[str, str]

    def url(self, path: str) -> str:
        return f"s3://{self.name}/{path}"

    def keys(self, prefix: str = "") -> list[str]:
        """The paths of what lies below a path."""
        listed = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix).get("Contents", [])
        return [entry["Key"] for entry in listed]

    def files(self, prefix: str = "") -> dict[str, bytes]:
        """What lies below a path, by its path below it."""
        return {
            key.removeprefix(prefix).lstrip("/"): self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
            for key in self.keys(prefix)
        }

    def put(self, path: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=path, Body=content)


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of the server."""
    pytest.importorskip("s3fs", reason="buckets need s3fs")
    pytest.importorskip("moto", reason="the tests of buckets need moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < until, "the S3 server does not start"
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.fixture
def bucket(s3, tmp_path, monkeypatch) -> Bucket:
    """An empty bucket; this process and those of its environment have a cache of their own."""
    import boto3
    import s3fs
    from huggingface_hub.utils import _cache_assets

    environment = {
        **KEYS,
        "AWS_ENDPOINT_URL": s3,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "HF_ASSETS_CACHE": str(tmp_path / "assets"),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_cache_assets, "HF_ASSETS_CACHE", tmp_path / "assets")
    s3fs.S3FileSystem.clear_instance_cache()
    client = boto3.client("s3")
    name = f"bucket-{os.urandom(6).hex()}"
    client.create_bucket(Bucket=name)
    return Bucket(name, client, {**os.environ, **environment})
