"""What holds of every table: labels tell rows apart, the papers' numbers have columns, every scale says what it is."""

import pytest

from papers.catalogue import EXPERIMENTS, TABLES, load_scale, scales_of

STREAMS = {name: table for name, table in TABLES.items() if name not in EXPERIMENTS}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_labels_tell_rows_apart_and_fit_the_heads_and_columns_have_different_heads(table):
    assert len({row.labels for row in table.rows}) == len(table.rows)
    assert all(len(row.labels) == len(table.heads) for row in table.rows)
    assert len({measure.heading for measure in table.measures}) == len(table.measures)


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_numbers_are_of_a_column_of_their_row(name):
    for row in TABLES[name].rows:
        assert set(row.paper) <= set(STREAMS[name].measures_of(row) if name in STREAMS else TABLES[name].measures)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_every_scale_of_an_experiment_says_what_it_is_and_makes_rows(experiment):
    assert len({row.name for row in experiment.rows}) == len(experiment.rows)
    for scale in experiment.scales():
        assert experiment.sizes(scale)["about"].endswith(".") and experiment.rows_of(scale)


@pytest.mark.parametrize("table", STREAMS.values(), ids=STREAMS)
def test_every_scale_makes_rows_of_a_table_of_streams(table):
    assert all(load_scale(scale).rows_of(table) for scale in scales_of(table))
