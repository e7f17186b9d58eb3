"""The user's own files."""

from __future__ import annotations

import codecs
import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from solver.errors import InputError, InputWarning
from sweep.datasets import load_dataset, read_file
from sweep.datasets.files import find_separator

FRAME = pd.DataFrame(
    {
        "größe": [1.5, np.nan, 2.5],
        "türen": ["2", "mehr", "3"],
        "n": [1, 2, 3],
        "neu": [True, False, True],
        "klasse": ["gut", "schlecht", "gut"],
    }
)


def write_arrow_stream(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "t.csv": lambda f, p: f.to_csv(p, index=False),
    "t.CSV": lambda f, p: f.to_csv(p, index=False),
    "t.csv.gz": lambda f, p: f.to_csv(p, index=False),
    "t.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "t.tsv.gz": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "bom.csv": lambda f, p: f.to_csv(p, index=False, encoding="utf-8-sig"),
    "utf16.csv": lambda f, p: f.to_csv(p, index=False, encoding="utf-16"),
    "utf16.tsv.gz": lambda f, p: f.to_csv(p, index=False, encoding="utf-16", sep="\t"),
    "utf32.csv": lambda f, p: f.to_csv(p, index=False, encoding="utf-32"),
    "big_endian.csv": lambda f, p: p.write_bytes(
        codecs.BOM_UTF16_BE + f.to_csv(index=False).encode("utf-16-be")
    ),
    "t.parquet": lambda f, p: f.to_parquet(p),
    "t.pq": lambda f, p: f.to_parquet(p),
    "t.feather": lambda f, p: f.to_feather(p),
    "uncompressed.feather": lambda f, p: f.to_feather(p, compression="uncompressed"),
    "stream.arrow": write_arrow_stream,
    "a.b.parquet": lambda f, p: f.to_parquet(p),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_dataset(tmp_path, name):
    WRITERS[name](FRAME, tmp_path / name)
    dataset = load_dataset(tmp_path / name, target="klasse")
    pd.testing.assert_frame_equal(dataset.frame, FRAME, check_dtype=False)
    assert dataset.classes == ("gut", "schlecht")
    parquet = tmp_path / "reference.parquet"
    FRAME.to_parquet(parquet)
    assert dataset.digest == load_dataset(parquet, target="klasse").digest


def test_names_and_overrides(tmp_path):
    FRAME.to_csv(tmp_path / "cars.csv.gz", index=False)
    dataset = load_dataset(tmp_path / "cars.csv.gz", target="klasse", columns={"n": "drop"})
    assert dataset.name == "cars"
    assert "n" not in dataset.frame.columns
    mapping = {"name": "autos", "path": str(tmp_path / "cars.csv.gz"), "target": "klasse"}
    assert load_dataset(mapping).name == "autos"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path, separator):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False, sep=separator)
    found, named = (load_dataset(path, target="klasse", separator=s) for s in (None, separator))
    assert found.frame.shape == FRAME.shape
    assert found.digest == named.digest


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1;2,3\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a|b;c\n1|2\n", "|"),
        ("a;b\n1;2;3\n", ","),
        ('"a;b","c"\n1,2\n', ","),
        ("a\n1\n", ","),
    ],
)
def test_a_separator_parts_all_lines_alike(text, separator):
    assert find_separator(text) == separator


def test_charset(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("ort,class\nKöln,x\nBonn,y\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"is not UTF-8 text; .*charset: latin-1"):
        load_dataset(path, target="class")
    dataset = load_dataset(path, target="class", charset="latin-1")
    assert list(dataset.frame["ort"]) == ["Köln", "Bonn"]
    with pytest.raises(InputError, match="no charset 'latin-99'"):
        load_dataset(path, target="class", charset="latin-99")


def test_utf_16_that_does_not_say_so(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("ort,class\nKöln,x\n", "straße,class\na,x\n"):
        for charset in ("utf-16-le", "utf-16-be"):
            path.write_bytes(text.encode(charset))
            with pytest.raises(InputError, match=r"like text encoded as UTF-16; save it as UTF-8"):
                load_dataset(path, target="class")
            assert list(read_file(path, charset=charset)["class"]) == ["x"]
    path.write_bytes("ort,class\nKöln,x\n".encode("utf-16")[:-1])
    with pytest.raises(InputError, match=r"t\.csv begins as UTF-16 text and does not go on so"):
        load_dataset(path, target="class")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_whole_numbers_beside_missing_ones_stay_what_they_are(name, tmp_path):
    numbers, few = [2**62, None, 2**62 + 1], [1, None, 2]
    table = pa.table({"x": pa.array(numbers), "u": pa.array(numbers, pa.uint64()), "n": few})
    if name.endswith("arrow"):
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.parquet.write_table(table, tmp_path / name)
    frame = read_file(tmp_path / name)
    assert frame["x"].dropna().tolist() == frame["u"].dropna().tolist() == [2**62, 2**62 + 1]
    assert frame["x"].isna().tolist() == [False, True, False]
    assert frame["n"].dtype == np.float64


def test_a_directory_of_parquet_files_is_a_table(tmp_path):
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    FRAME[:2].to_parquet(folder / "part-0.parquet")
    FRAME[2:].to_parquet(folder / "part-1.parquet")
    assert len(load_dataset(folder, target="klasse").frame) == 3


def test_arrow_dictionaries_are_categories(tmp_path):
    frame = FRAME.assign(klasse=pd.Categorical(FRAME["klasse"]))
    frame.to_feather(tmp_path / "t.feather")
    dataset = load_dataset(tmp_path / "t.feather", target="klasse")
    assert dataset.frame["klasse"].dtype == "category"


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("t.csv", b"", r"t\.csv is empty"),
        ("t.csv", b"\n \n", r"t\.csv is empty"),
        ("t.csv", b"a,class\n", "dataset 't' has no rows"),
        ("t.csv", b"a,b\n1,2\n", "dataset 't' has no column 'class' for the target; it has 'a'"),
        ("t.csv", b"a,a,class\n1,2,x\n", r"t\.csv has two columns named 'a'"),
        ("t.csv", b"a,class\n1,x,3\n", "more fields than its first line$"),
        ("t.csv", b"a,class\n1,x\n1,x,3\n", "cannot be read, it may be damaged"),
        ("t.csv", b"b,a,class\n1,2,x\n\n1,x\n", r"line 4 of .* has 2 fields, the first line 3;"),
        ("t.csv", b'b,a,class\n"1\n2",2,x\n"",\n', r"line 4 of .* has 2 fields, the first line 3"),
        ("t.csv", b"b;a;class\n" + b"1;2;x\n" * 20 + b"3", "line 22 of .* has 1 field, the first"),
        ("t.csv", b"a,class\n\xff\xfe,x\n", "is not UTF-8"),
        ("t.csv", b'a,class\n"1,x\n', "cannot be read, it may be damaged"),
        ("t.csv", b",a,class\n0,1,x\n", "a column without a name.*'Unnamed: 0': 'drop'"),
        ("t.csv.gz", b"a,class\n1,x\n", "cannot be read, it may be damaged"),
        ("t.csv.gz", gzip.compress(b"a,class\n1,x\n", mtime=0)[:-9], "cannot be read, it may be"),
        ("t.parquet", b"", "cannot be read, it may be damaged"),
        ("t.parquet", b"PAR1 no parquet", "cannot be read, it may be damaged"),
        ("t.feather", b"ARROW1 no arrow", "cannot be read, it may be damaged"),
        ("t.arrow", b"", "cannot be read, it may be damaged"),
        ("t.xls", b"", r"unknown ending '.xls'; the endings are: .csv, .tsv"),
        ("table", b"", "unknown ending ''"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_dataset(path, target="class")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_truncated_files(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](FRAME, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read, it may be damaged"):
        read_file(path)


def test_no_file(tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(InputError, match=f"there is no file .*{name}"):
            load_dataset(tmp_path / name, target="class")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        load_dataset(tmp_path / "folder.csv", target="class")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,class\n1,x\n")
    path.chmod(0)
    with pytest.raises(InputError, match="may not be read"):
        load_dataset(path, target="class")


def test_a_file_needs_a_target(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="needs a target; name one of its columns: größe, türen"):
        load_dataset(tmp_path / "t.csv")


def test_row_numbers_can_be_dropped(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv")
    dataset = load_dataset(
        tmp_path / "t.csv", target="klasse", columns={"Unnamed: 0": "drop"}
    )  # fmt: skip
    assert list(dataset.frame.columns) == list(FRAME.columns)


def test_two_parquet_columns_of_one_name(tmp_path):
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.feather.write_feather(table, tmp_path / "t.feather")
    with pytest.raises(InputError, match="two columns named 'a'"):
        read_file(tmp_path / "t.feather")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("texts", [None, {"a": ("x", "y z")}])
def test_a_blank_line_of_one_column_is_a_row(
    tmp_path: Path, end: str, texts: dict[str, tuple[str, ...]] | None
) -> None:
    path = tmp_path / "t.csv"
    lines = ["a", "x", "", '"y z"', "  ", "x", "", ""]
    path.write_bytes(end.join(lines).encode())
    with pytest.warns(InputWarning, match="has one column and blank lines"):
        frame = read_file(path, texts=texts)
    assert frame["a"].isna().tolist() == [False, True, False, True, False]
    assert frame["a"].dropna().tolist() == ["x", "y z", "x"]
    path.write_bytes(end.join(["n", "1", "", "2"]).encode())
    with pytest.warns(InputWarning):
        assert read_file(path)["n"].tolist()[::2] == [1.0, 2.0]


def test_other_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text, rows in (("a,b\n1,2\n\n3,4\n", 2), ('a\n"x\n\ny"\nz\n', 2), ("\n\na\n1\n", 1)):
        path.write_text(text)
        assert len(read_file(path)) == rows
