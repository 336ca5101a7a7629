"""A small data set, and one run on it that is compared with others."""

from pathlib import Path

import pytest

from .runs import accelerate, launch


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    from hf_symbinv.datasets_scripts.command import main

    folder = tmp_path_factory.mktemp("ltl")
    sizes = ["--num-symbols", "3", "--max-size", "6", "--rows", "400", "--seed", "0", "--workers", "1"]
    main(["--output", str(folder), *sizes])
    return folder


@pytest.fixture(scope="session")
def finished(data, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("run") / "one"
    launch(accelerate("--num_processes", "1"), data, output)
    return output


@pytest.fixture(scope="session")
def rows() -> list[dict[str, list[int]]]:
    """What `small_model` is fitted to."""
    import torch

    ids = torch.randint(8, (40, 6), generator=torch.Generator().manual_seed(0)).tolist()
    return [{"input_ids": row, "labels": row} for row in ids]
