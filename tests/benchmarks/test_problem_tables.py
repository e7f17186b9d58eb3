"""Files as the solvers of a comparison get them."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.problem_tables import read_table, table_name
from solver.errors import InputError


def write(tmp_path, frame):
    path = tmp_path / "toy.parquet"
    frame.to_parquet(path)
    return path


def test_last_column_is_the_target_and_labels_become_ranks(tmp_path):
    path = write(tmp_path, pd.DataFrame({"a": [0, 1, 1], "b": [1, 1, 0], "t": [7, 3, 7]}))
    table = read_table(path)
    assert table.codes.tolist() == [[0, 1], [1, 1], [1, 0]]
    assert table.labels.tolist() == [1, 0, 1]
    assert (table.n_rows, table.n_features, table.n_classes, table.binary) == (3, 2, 2, True)


def test_another_target(tmp_path):
    path = write(tmp_path, pd.DataFrame({"t": ["x", "y"], "a": [0, 1]}))
    assert read_table(path, "t").codes.tolist() == [[0], [1]]


def test_codes_above_one_are_multiway(tmp_path):
    path = write(tmp_path, pd.DataFrame({"a": [0, 1, 2], "t": [0, 1, 1]}))
    assert not read_table(path).binary


def test_an_encoding_is_for_files_that_are_not_binary(tmp_path):
    wide = read_table(
        write(tmp_path, pd.DataFrame({"a": [3, 1, 2], "t": [0, 1, 1]})), None, "onehot"
    )
    assert wide.binary
    assert wide.n_features == 3
    path = write(tmp_path, pd.DataFrame({"a": [0, 1, 1], "t": [0, 1, 1]}))
    assert read_table(path, None, "onehot").n_features == 1


@pytest.mark.parametrize("values", [[0.5, 1.0], ["a", "b"], [-1, 0]])
def test_columns_that_are_no_codes(tmp_path, values):
    path = write(tmp_path, pd.DataFrame({"a": values, "t": [0, 1]}))
    with pytest.raises(InputError, match="--encoding"):
        read_table(path)


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "bad.parquet")
    path = write(tmp_path, pd.DataFrame({"a": [0, 1], "t": [0, 1]}))
    with pytest.raises(InputError, match="no column 'class'"):
        read_table(path, "class")


def test_files_of_one_name_in_two_folders_differ():
    assert table_name(Path("/d/binary/yeast.parquet")) == "binary/yeast"
