"""Random parts are drawn uniformly from all points, each at most once, without ever listing the points."""

import itertools
import math

import pytest
import torch

from hf_symbinv.modeling.configuration_symbinv import num_vectors
from hf_symbinv.modeling.embedding_symbinv import random_vectors


@pytest.mark.parametrize(("method", "width", "size"), [("hypercube", 5, 2**5), ("neighbors", 3, 3**3 - 1)])
def test_all_points_can_be_drawn_each_once_and_no_more(method, width, size):
    points = {tuple(row) for row in random_vectors(method, width, size).int().tolist()}
    values = (-1, 1) if method == "hypercube" else (-1, 0, 1)
    assert points == {point for point in itertools.product(values, repeat=width) if any(point)}
    assert num_vectors(method, width) == size
    with pytest.raises(ValueError, match=rf"{size + 1} vectors: random_method='{method}' with random_dim={width} has "):
        random_vectors(method, width, size + 1)


@pytest.mark.parametrize("method", ["hypercube", "neighbors"])
@pytest.mark.parametrize("width", [32, 33, 40])
def test_no_set_is_materialised_and_many_draws_from_a_huge_one_differ(method, width):
    vectors = random_vectors(method, width, 3000, torch.Generator().manual_seed(0)).int()  # of 2^32 or 3^32 and more
    assert vectors.shape == (3000, width)
    assert len({tuple(row) for row in vectors.tolist()}) == 3000
    values = {-1, 1} if method == "hypercube" else {-1, 0, 1}
    assert all(set(column) == values for column in vectors.T.tolist())
    assert num_vectors(method, width) == (
        math.inf if width > 32 else {"hypercube": 2**32, "neighbors": 3**32 - 1}[method]
    )


@pytest.mark.parametrize(
    ("method", "width", "count", "outcomes", "bound"),
    # The bounds are the 1 - 10^-4 quantiles of chi-square with one degree of freedom less than there are outcomes.
    [("hypercube", 3, 1, 8, 29.9), ("neighbors", 2, 1, 8, 29.9), ("hypercube", 2, 2, 12, 37.4)],
)
def test_draws_are_uniform(method, width, count, outcomes, bound):
    generator, drawn = torch.Generator().manual_seed(0), {}
    for _ in range(3000):
        outcome = tuple(random_vectors(method, width, count, generator).int().flatten().tolist())
        drawn[outcome] = drawn.get(outcome, 0) + 1
    expected = 3000 / outcomes
    assert len(drawn) == outcomes
    assert sum((number - expected) ** 2 / expected for number in drawn.values()) < bound


def test_normal_vectors_are_standard_normal_in_every_dimension():
    vectors = random_vectors("normal", 6, 10_000, torch.Generator().manual_seed(0))
    assert vectors.mean(0).abs().max() < 0.05 and (vectors.T.cov() - torch.eye(6)).abs().max() < 0.05
    assert num_vectors("normal", 6) == math.inf
