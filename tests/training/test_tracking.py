"""What TensorBoard, Weights & Biases and trackio keep of a run, offline."""

import json
import os
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .runs import launch

TRACKERS = "trainer.report_to=[tensorboard, wandb, trackio]"
PROJECT, RUN = "trainer.project=tiny", "trainer.run_name=first"


@contextmanager
def no_way_out() -> Iterator[tuple[dict[str, str], list[bytes]]]:
    """An environment whose every way to the network ends in a port of this machine, and what arrived there."""
    arrived: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    arrived.append(connection.recv(4096))

        thread = threading.Thread(target=listen)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        try:
            yield {**dict.fromkeys(names, address), "HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0"}, arrived
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_request_would_be_noticed():
    with no_way_out() as (environment, arrived):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": environment["http_proxy"]}))
        with pytest.raises(OSError):
            opener.open("http://example.invalid/losses", timeout=5)
    assert arrived[0].startswith(b"GET http://example.invalid/losses ")


@pytest.fixture(scope="module")
def tracked(data, tmp_path_factory) -> tuple[Path, list[bytes]]:
    """The folder of a run that all three followed, and what tried to reach the network meanwhile."""
    output = tmp_path_factory.mktemp("tracked") / "run"
    with no_way_out() as (environment, arrived):
        folder = output.parent
        local = {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "TRACKIO_DIR": str(folder / "trackio")}
        launch((sys.executable,), data, output, TRACKERS, PROJECT, RUN, environment={**environment, **local})
    return output, arrived


def losses(output: Path) -> list[float]:
    log = json.loads((output / "run.json").read_text())["log"]
    return [entry["loss"] for entry in log if "loss" in entry]


@pytest.mark.slow
def test_tensorboard_has_the_losses(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (events,) = tracked[0].glob("**/events.out.tfevents.*")
    kept = EventAccumulator(str(events)).Reload().Scalars("train/loss")
    assert [one.step for one in kept] == [1, 2, 3, 4, 5, 6]
    assert [one.value for one in kept] == pytest.approx(losses(tracked[0]), rel=1e-6)  # float32


def wandb_records(path: Path) -> Iterator[bytes]:
    """The records of an offline run: LevelDB's log format behind seven bytes."""
    content, record, at = path.read_bytes(), b"", 7
    block, header = 32768, 7
    while at + header <= len(content):
        if (left := block - at % block) < header:
            at += left
            continue
        size, kind = struct.unpack_from("<HB", content, at + 4)
        record += content[at + header : at + header + size]
        at += header + size
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


@pytest.mark.slow
def test_weights_and_biases_has_the_losses(tracked):
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = tracked[0].parent.glob("wandb/offline-run-*/run-*.wandb")
    kept = {}
    for record in map(Record.FromString, wandb_records(path)):
        if record.WhichOneof("record_type") == "history":
            values = {item.key or item.nested_key[0]: item.value_json for item in record.history.item}
            if "train/loss" in values:
                kept[int(values["train/global_step"])] = float(values["train/loss"])
    assert list(kept) == [1, 2, 3, 4, 5, 6]
    assert list(kept.values()) == losses(tracked[0])


@pytest.mark.slow
def test_trackio_has_the_losses(tracked):
    trackio = os.path.join(sysconfig.get_path("scripts"), "trackio")
    asked = ["get", "metric", "--project", "tiny", "--run", "first", "--metric", "train/loss", "--json"]
    environment = {**os.environ, "TRACKIO_DIR": str(tracked[0].parent / "trackio")}
    result = subprocess.run([trackio, *asked], capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    assert [one["value"] for one in json.loads(result.stdout)["values"]] == losses(tracked[0])


@pytest.mark.slow
def test_offline_nothing_reaches_for_the_network(tracked):
    assert tracked[1] == []
