"""Tables of kernels and transfers to predict: what they have to say, and that equal rows get equal answers."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from drynpu import CommandError
from drynpu_calibration import predict_kernels, predict_transfers
from drynpu_calibration._predictions import packet_sizes

KERNELS = """op_type,input_shapes,input_dtypes,output_shapes,output_dtypes,id,chip
Add,"4096,1024;4096,1024",FLOAT16;FLOAT16,"4096,1024",FLOAT16,first,Ascend910B2
Add,"8192,4096;8192,4096",FLOAT16;FLOAT16,"8192,4096",FLOAT16,second,Ascend910B2
Add,"4096,1024;4096,1024",FLOAT16;FLOAT16,"4096,1024",FLOAT16,third,Ascend910B2
Add,"4096,1024;4096,1024",FLOAT16;FLOAT16,"4096,1024",FLOAT16,fourth,Ascend310P3
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.csv"
    path.write_text(KERNELS)
    return path


def without(text: str, column: str) -> str:
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.DictWriter(out, [name for name in rows[0] if name != column], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_equal_rows_of_a_chip_have_equal_answers_in_the_order_of_the_rows(table: Path) -> None:
    found = predict_kernels(table)
    assert found["id"].to_list() == ["first", "second", "third", "fourth"]
    us = dict(found.select("id", "predicted_us").rows())
    assert us["first"] == us["third"]
    # 24 MB against 192 MB of traffic; the other chip has an eighth of the bandwidth.
    assert us["second"] > 4 * us["first"]
    assert us["fourth"] > 2 * us["first"]
    assert (found["low_us"] < found["predicted_us"]).all()
    assert (found["high_us"] > found["predicted_us"]).all()


def test_a_chip_for_all_stands_in_for_the_column_and_beside_it(table: Path) -> None:
    each = dict(predict_kernels(table).select("id", "predicted_us").rows())
    same = dict(predict_kernels(table, chip="Ascend910B2").select("id", "predicted_us").rows())
    assert same["fourth"] == same["first"] == each["first"]
    table.write_text(without(KERNELS, "chip"))
    assert predict_kernels(table, chip="Ascend910B2")["predicted_us"].to_list() == list(same.values())
    with pytest.raises(CommandError, match="no column 'chip'; there are: op_type"):
        predict_kernels(table)


def test_rows_without_an_id_are_numbered_and_a_missing_column_is_named(table: Path) -> None:
    table.write_text(without(KERNELS, "id"))
    assert predict_kernels(table)["id"].to_list() == ["1", "2", "3", "4"]
    table.write_text(without(KERNELS, "op_type"))
    with pytest.raises(CommandError, match="no column 'op_type'"):
        predict_kernels(table)


def test_each_problem_is_told_with_its_row_and_a_flood_of_them_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    rows = [f'Add,"{number},x",Ascend910B2' for number in range(20)]
    path.write_text("\n".join(["op_type,input_shapes,chip", *rows, "Add,3,Ascend1"]))
    with pytest.raises(CommandError) as caught:
        predict_kernels(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "bad.csv row 1, column 'input_shapes': '0,x' is no list of dims like '4096,1024;1024'"
    assert len(lines) == 21
    assert lines[-1] == "... and 1 more"
    path.write_text("\n".join(["op_type,input_shapes,chip", *rows]))
    with pytest.raises(CommandError) as caught:
        predict_kernels(path)
    assert len(str(caught.value).splitlines()) == 20
    assert "more" not in str(caught.value)


def test_transfers_say_their_bytes_in_either_column(tmp_path: Path) -> None:
    path = tmp_path / "transfers.csv"
    header = "level,op,group_size,bytes,transport,transit_bytes,packets,chip\n"
    rows = ["task,Memcpy,2,7000000,HCCS,,", "task,Memcpy,2,1,HCCS,7000000,", "task,Memcpy,2,7000000,HCCS,0,"]
    rows += ["task,Memcpy,,7000000,HCCS,,", "op,hcom_allReduce_,,7000000,ring,,", "op,hcom_allReduce_,2,7000000,,,"]
    path.write_text(header + "".join(f"{row},Ascend910B2\n" for row in rows))
    us = predict_transfers(path)["predicted_us"].to_list()
    assert us[0] == us[1] == us[2] == us[3]
    assert us[4] == us[5] != us[0]


@pytest.mark.parametrize(("cell", "why"), [("x", "'x' is no number"), ("-1", "'-1' is not possible"),
                                           ("inf", "'inf' is not possible")])  # fmt: skip
def test_a_number_that_cannot_be_is_refused(tmp_path: Path, cell: str, why: str) -> None:
    path = tmp_path / "transfers.csv"
    path.write_text(f"op,transport,bytes,chip\nMemcpy,HCCS,{cell},Ascend910B2\n")
    with pytest.raises(CommandError, match=f"transfers.csv row 1, column 'bytes': {why}"):
        predict_transfers(path)


def test_packets_have_a_unit_and_a_number() -> None:
    assert packet_sizes("512Bx3;1.5KBx12:1045.5us;2MBx2;3GBx1") == [(512, 3), (1500, 12), (2e6, 2), (3e9, 1)]
    assert packet_sizes("") == []
