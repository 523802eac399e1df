"""The vendor's command on directories that ``write_recording`` made, and on damaged ones."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from drynpu import CommandError
from drynpu.options import Level
from drynpu.products import REPORT_KEYS
from drynpu_msprof._flags import read_request

Make = Callable[..., Path]
Run = Callable[..., Result]

MODEL_ID = 7


def files(prof: Path, stem: str, suffix: str) -> list[Path]:
    pattern = re.compile(rf"{stem}_\d{{14}}\.{suffix}")
    folder = prof / "mindstudio_profiler_output"
    return sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def events(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def layers(path: Path) -> set[int]:
    return {event["pid"] >> 5 & 31 for event in events(path)}


def query_rows(output: str) -> list[list[str]]:
    lines = [line for line in output.splitlines() if "\t" in line]
    return [[cell.strip() for cell in line.split("\t")[:-1]] for line in lines]


def test_export_writes_every_result_and_marks_the_data(make: Make, run: Run) -> None:
    prof = make(graphs=True)
    done = run("msprof", "--export=on", f"--output={prof}")
    assert done.exit_code == 0, done.output
    assert "has been analyzed" not in done.output
    for part in ("host", "device_0"):
        mark = prof / part / "data" / "all_file.complete"
        assert stat.S_IMODE(mark.stat().st_mode) & 0o777 == 0o640
        assert f'[INFO] Analysis data in "{prof / part}" finished.' in done.output
    assert len(table(files(prof, "op_summary", "csv")[0])) == 3
    assert {7, 14, 31} <= layers(files(prof, "msprof", "json")[0])


def test_the_database_comes_with_the_texts_or_alone(make: Make, run: Run) -> None:
    prof = make(graphs=True)
    assert run("msprof", "--export=on", f"--output={prof}", "--type=db").exit_code == 0
    (alone,) = prof.glob("msprof_*.db")
    assert not (prof / "mindstudio_profiler_output").exists()
    (summary,) = _exported(prof, run, "op_summary", "csv")
    both = sorted(prof.glob("msprof_*.db"))
    assert len(both) == 2
    for path in both:
        with closing(sqlite3.connect(path)) as database:
            (count,) = database.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
        assert count == len(table(summary))
    _exported(prof, run, "op_summary", "csv", f"--model-id={MODEL_ID}", "--iteration-id=2")
    assert sorted(prof.glob("msprof_*.db")) == both
    assert alone in both


def test_a_second_export_skips_parsing_and_leaves_the_first(make: Make, run: Run) -> None:
    prof = make()
    run("msprof", "--export=on", f"--output={prof}")
    before = {path: path.read_bytes() for path in (prof / "mindstudio_profiler_output").glob("*_*")}
    done = run("msprof", "--export=on", f"--output={prof}")
    for part in ("host", "device_0"):
        expected = f'The data in "{prof / part}" has been analyzed. Parsing phase will be skipped.'
        assert expected in done.output
    assert all(path.read_bytes() == content for path, content in before.items())
    first, second = files(prof, "op_summary", "csv")
    assert first.read_text() == second.read_text()
    assert [path.name for path in files(prof, "msprof", "json")] == sorted(
        {path.name.replace("op_summary", "msprof").replace(".csv", ".json") for path in (first, second)}
    )


def test_a_parent_of_several_exports_each_and_says_what_is_damaged(make: Make, run: Run) -> None:
    whole = make()
    damaged = whole.with_name(whole.name.replace("PROF_000001", "PROF_000002"))
    shutil.copytree(whole, damaged)
    (damaged / "host" / "info.json").write_text("[")
    done = run("msprof", "--export=on", f"--output={whole.parent}")
    assert done.exit_code == 0
    assert f'[WARNING] Analysis data in "{damaged}" failed. Maybe the data is incomplete.' in done.output
    assert len(files(whole, "op_summary", "csv")) == 1
    assert not (damaged / "mindstudio_profiler_output").exists()
    assert not (damaged / "host" / "data" / "all_file.complete").exists()


def test_what_was_skipped_of_a_truncated_directory_is_told(make: Make, run: Run) -> None:
    prof = make()
    (tasks,) = prof.glob("device_0/data/*stars_soc*slice_0")
    tasks.write_bytes(tasks.read_bytes()[:-5])
    (prof / "host" / "end_info").unlink()
    done = run("msprof", "--export=on", f"--output={prof}")
    assert done.exit_code == 0
    warnings = [line for line in done.output.splitlines() if line.startswith("[WARNING]")]
    assert any("stars_soc" in line for line in warnings)
    assert len(table(files(prof, "op_summary", "csv")[0])) >= 1


def test_the_profile_directory_around_a_prof_directory_will_do(make: Make, run: Run) -> None:
    prof = make()
    result = prof.parent / "host_1_20260101000000000_ascend_pt"
    result.mkdir()
    shutil.move(prof, result / prof.name)
    done = run("msprof", "--export=on", f"--output={prof.parent}")
    assert done.exit_code == 0, done.output
    assert len(files(result / prof.name, "op_summary", "csv")) == 1


def test_query_lists_models_with_their_longest_iterations(make: Make, run: Run) -> None:
    prof = make(graphs=True)
    done = run("msprof", "--query=on", f"--output={prof}")
    assert done.exit_code == 0, done.output
    assert not (prof / "host" / "data" / "all_file.complete").exists()
    header, *rows = query_rows(done.output)
    assert header == [
        "Job Info",
        "Device ID",
        "Dir Name",
        "Collection Time",
        "Model ID",
        "Iteration Number",
        "Top Time Iteration",
        "Rank ID",
    ]
    begun = json.loads((prof / "host" / "start_info").read_text())["collectionDateBegin"]
    assert ["NA", "", "host", begun, "N/A", "N/A", "N/A", "-1"] in rows
    (device,) = [row for row in rows if row[2] == "device_0"]
    assert device[1] == "0"
    assert device[4:6] == [str(MODEL_ID), "3"]
    (trace,) = _exported(prof, run, "step_trace", "csv")
    longest = sorted(table(trace), key=lambda row: -float(row["Iteration Time(us)"]))
    assert device[6] == ",".join(row["Iteration ID"] for row in longest)


def test_query_without_iterations_knows_none(make: Make, run: Run) -> None:
    rows = query_rows(run("msprof", "--query=on", f"--output={make()}").output)
    assert [row[4:7] for row in rows[1:]] == [["N/A"] * 3] * 2


def test_parse_marks_and_lists_and_exports_nothing(make: Make, run: Run) -> None:
    prof = make()
    for _ in range(2):
        done = run("msprof", "--parse=on", f"--output={prof}")
        assert done.exit_code == 0
        assert f'Start analyzing data in "{prof / "host"}" ...' in done.output
        assert len(query_rows(done.output)) == 3
    assert not (prof / "mindstudio_profiler_output").exists()
    assert "Parsing phase will be skipped." in run("msprof", "--export=on", f"--output={prof}").output


def _exported(prof: Path, run: Run, stem: str, suffix: str, *flags: str) -> list[Path]:
    done = run("msprof", "--export=on", f"--output={prof}", *flags)
    assert done.exit_code == 0, done.output
    return files(prof, stem, suffix)


def test_one_iteration_alone(make: Make, run: Run) -> None:
    prof = make(graphs=True)
    (summary,) = _exported(prof, run, "op_summary", "csv", f"--model-id={MODEL_ID}", "--iteration-id=2")
    every = _exported(prof, run, "op_summary", "csv")[1]
    starts = [row["Task Start Time(us)"] for row in table(every)]
    assert [row["Task Start Time(us)"] for row in table(summary)] == starts[1:2]


@pytest.mark.parametrize("flag", ["--model-id=7", "--iteration-id=1"])
def test_model_and_iteration_go_together(make: Make, run: Run, flag: str) -> None:
    done = run("msprof", "--export=on", f"--output={make(graphs=True)}", flag)
    assert done.exit_code == 1
    assert "[ERROR] Please set 'model-id' and 'iteration-id' simultaneously (recommend using 'query' to" in done.output


@pytest.mark.parametrize(
    ("graphs", "model", "iteration", "code", "text"),
    [
        (False, 7, 1, 1, "Please do not set 'model-id' and 'iteration-id' in single op mode."),
        (True, 9, 1, 1, "The model id 9 is invalid. Must select from {7}. Please enter a valid model id."),
        (True, 7, 4, 0, "The exported iteration 4-4 is invalid for model id 7. Please enter a valid iteration within"),
    ],
)
def test_iterations_that_are_not_there(
    make: Make, run: Run, graphs: bool, model: int, iteration: int, code: int, text: str
) -> None:
    prof = make(graphs=graphs)
    done = run("msprof", "--export=on", f"--output={prof}", f"--model-id={model}", f"--iteration-id={iteration}")
    assert done.exit_code == code
    assert f"[ERROR] {text}" in done.output
    assert not (prof / "mindstudio_profiler_output").exists()


def test_tables_as_json_say_what_the_csv_files_say(make: Make, run: Run) -> None:
    prof = make(graphs=True)
    _exported(prof, run, "op_summary", "csv")
    _exported(prof, run, "op_summary", "json", "--summary-format=json")
    for path in (prof / "mindstudio_profiler_output").glob("*.csv"):
        stem = path.name.rsplit("_", 1)[0]
        found = [json.loads(other.read_text()) for other in files(prof, stem, "json")]
        documents = [rows for rows in found if not rows or "ph" not in rows[0]]
        assert len(documents) == 1, stem
        for cells, row in zip(table(path), documents[0], strict=True):
            assert list(row) == list(cells)[1:]
            for name, value in row.items():
                same = float(cells[name]) == value if isinstance(value, (int, float)) else cells[name] == value
                assert same, (stem, name)
    (summary,) = [json.loads(path.read_text()) for path in files(prof, "op_summary", "json")]
    assert isinstance(summary[0]["Task Duration(us)"], float)
    assert isinstance(summary[0]["Op Name"], str)
    readme = (prof / "mindstudio_profiler_output" / "README.txt").read_text()
    assert re.search(r"^\d+\.op_summary\.json:One row per kernel", readme, re.MULTILINE)


def test_reports_choose_layers_and_leave_tables(make: Make, run: Run, tmp_path: Path) -> None:
    prof = make(graphs=True, collectives=True)
    chosen = tmp_path / "reports.json"
    for keys, numbers in (
        ({"cann"}, {7}),
        ({"ascend", "overlap_analyse"}, {14, 31}),
        ({"communication"}, {16}),
        ({"step_trace"}, {14}),
    ):
        chosen.write_text(json.dumps({"json_process": {key: key in keys for key in REPORT_KEYS}}))
        timeline = _exported(prof, run, "msprof", "json", f"--reports={chosen}")[-1]
        assert layers(timeline) == numbers
        names = {event["args"]["name"] for event in events(timeline) if event["name"] == "thread_name"}
        steps = {name for name in names if name.startswith("Step Trace")}
        assert bool(steps) == ("step_trace" in keys)
        assert any(event["ph"] == "X" and event["tid"] < 70_000 for event in events(timeline)) == (
            "step_trace" not in keys
        )
    assert len(files(prof, "op_summary", "csv")) == 4
    assert len(files(prof, "step_trace", "json")) == 1


def test_reports_switch_marks_on_streams_apart_from_tasks(make: Make, run: Run, tmp_path: Path) -> None:
    prof = make(marks=True)
    chosen = tmp_path / "reports.json"
    for key, named in (("device_tx", {"seen by stream"}), ("ascend", {"Add_kernel"})):
        chosen.write_text(json.dumps({"json_process": {key: True}}))
        timeline = _exported(prof, run, "msprof", "json", f"--reports={chosen}")[-1]
        assert layers(timeline) == {14}
        assert {event["name"] for event in events(timeline) if event["ph"] == "X"} == named


@pytest.mark.parametrize("content", ["{", "[]", '{"json_process": 1}', '{"json_process": {"cann": "no"}}', "{}"])
def test_a_malformed_reports_file_means_everything(make: Make, run: Run, tmp_path: Path, content: str) -> None:
    prof = make()
    path = tmp_path / "reports.json"
    path.write_text(content)
    done = run("msprof", "--export=on", f"--output={prof}", f"--reports={path}")
    assert done.exit_code == 0
    assert f"[WARNING] {path}" in done.output
    assert {7, 14, 31} <= layers(files(prof, "msprof", "json")[0])


def test_reports_that_cannot_be_read_are_a_failure(make: Make, run: Run, tmp_path: Path) -> None:
    prof = make()
    missing, link, large = (tmp_path / name for name in ("missing.json", "link.json", "large.json"))
    (tmp_path / "there.json").write_text("{}")
    link.symlink_to(tmp_path / "there.json")
    with large.open("wb") as stream:
        stream.truncate(64 * 1024 * 1024 + 1)
    for path, text in (
        (missing, f'The path "{missing}" does not exist. Please check that the path exists.'),
        (link, f'The path "{link}" is link. Please check the path.'),
        (large, f'The path "{large}" is too large to read. Please check the path.'),
        (tmp_path, f'The path "{tmp_path}" is not a file. Please check the path.'),
    ):
        done = run("msprof", "--export=on", f"--output={prof}", f"--reports={path}")
        assert done.exit_code == 2
        assert f"[ERROR] {text}" in done.output
    assert not (prof / "mindstudio_profiler_output").exists()


def test_clear_removes_databases_and_the_mark(make: Make, run: Run) -> None:
    prof = make()
    for part in (prof / "host", prof / "device_0", prof / "analyze"):
        (part / "sqlite").mkdir(parents=True)
        (part / "sqlite" / "ascend_task.db").write_bytes(b"x")
    raw = {path: path.read_bytes() for path in prof.glob("*/data/*")}
    assert run("msprof", "--export=on", f"--output={prof}", "--clear=on").exit_code == 0
    assert not list(prof.glob("*/sqlite"))
    assert {path: path.read_bytes() for path in prof.glob("*/data/*")} == raw
    assert "Parsing phase will be skipped." not in run("msprof", "--export=on", f"--output={prof}").output


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ((), {"communication.json", "communication_matrix.json"}),
        (("--rule=both",), {"communication.json", "communication_matrix.json"}),
        (("--rule=communication",), {"communication.json"}),
        (("--rule=communication_matrix",), {"communication_matrix.json"}),
    ],
)
def test_analyze_writes_what_the_rule_names(make: Make, run: Run, rule: tuple[str, ...], names: set[str]) -> None:
    prof = make(collectives=True)
    done = run("msprof", "--analyze=on", f"--output={prof}", *rule)
    assert done.exit_code == 0, done.output
    assert {path.name for path in (prof / "analyze").iterdir()} == names | {"communication_analyzer.db"}
    for name in names:
        document = json.loads((prof / "analyze" / name).read_text())
        assert any(key.startswith("hcom_allReduce_") for key in document)
    assert not (prof / "mindstudio_profiler_output").exists()


def analyzed(prof: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of communication_analyzer.db by table."""
    with closing(sqlite3.connect(prof / "analyze" / "communication_analyzer.db")) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def test_the_analyses_as_a_database_say_what_the_documents_say(make: Make, run: Run) -> None:
    prof = make(collectives=True)
    assert run("msprof", "--analyze=on", "--type=db", "--rule=communication", f"--output={prof}").exit_code == 0
    assert [path.name for path in (prof / "analyze").iterdir()] == ["communication_analyzer.db"]
    assert set(analyzed(prof)) == {"CommAnalyzerTime", "CommAnalyzerBandwidth"}
    assert run("msprof", "--analyze=on", "--rule=communication_matrix", f"--output={prof}").exit_code == 0
    assert len(analyzed(prof)) == 3
    assert run("msprof", "--analyze=on", f"--output={prof}").exit_code == 0
    document, matrix = (
        {key: entry for key, entry in json.loads((prof / "analyze" / name).read_text()).items() if "@" in key}
        for name in ("communication.json", "communication_matrix.json")
    )
    tables = analyzed(prof)
    times = {f"{row[0]}@{row[1]}": row[2:] for row in tables["CommAnalyzerTime"]}
    assert times
    assert times == {key: tuple(entry["Communication Time Info"].values())[:6] for key, entry in document.items()}
    packets = {(f"{row[0]}@{row[1]}", row[2], row[7]): row[8:] for row in tables["CommAnalyzerBandwidth"]}
    expected: dict[tuple[str, str, float], tuple[object, ...]] = {}
    for key, entry in document.items():
        for transport, moved in entry["Communication Bandwidth Info"].items():
            if moved["Transit Size(MB)"]:
                sizes = moved["Size Distribution"] or {"0": [0, 0]}
                expected |= {(key, transport, float(size)): tuple(numbers) for size, numbers in sizes.items()}
    assert packets == expected
    assert {"HCCS", "SDMA"} <= {transport for _, transport, _ in packets}
    links = {(f"{row[0]}@{row[1]}", f"{row[2]}-{row[3]}"): row[4:] for row in tables["CommAnalyzerMatrix"]}
    assert links
    assert links == {(key, ends): tuple(link.values()) for key, entry in matrix.items() for ends, link in entry.items()}


def test_analyze_has_nothing_to_do_without_communication(make: Make, run: Run) -> None:
    done = run("msprof", "--analyze=on", f"--output={make()}")
    assert done.exit_code == 0
    assert "There is no hccl data to analyze communication" in done.output
    plain = make(collectives=True, level=Level.L0)
    assert "Analyze will do nothing in prof level 0." in run("msprof", "--analyze=on", f"--output={plain}").output
    assert not (plain / "analyze").exists()


def test_bad_paths(run: Run, tmp_path: Path) -> None:
    file, empty, other = tmp_path / "file", tmp_path / "empty", tmp_path / "other"
    file.write_text("")
    empty.mkdir()
    (other / "sub").mkdir(parents=True)
    for path, code, text in (
        (tmp_path / "none", 2, f'The path "{tmp_path / "none"}" does not exist. Please check that the path exists.'),
        (file, 2, f'The path "{file}" is not a directory. Please check the path.'),
        (empty, 2, f'The path "{empty}" does not have PROF dir. Please check the path.'),
        (other, 0, f'The path "{other}" does not contain valid profiling data.'),
        ("a|b", 1, "The path contains invalid character: '\\|'."),
        ("", 1, "The path is empty. Please enter a valid path."),
    ):
        done = run("msprof", "--export=on", f"--output={path}")
        assert (done.exit_code, text in done.output) == (code, True), done.output


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--export=on",), "The argument --output is neccessary when --export is not empty"),
        (("--export=yes", "--output=x"), "Argument --export: invalid value: yes. Please input 'on' or 'off'."),
        (("--export=on", "--query=on", "--output=x"), "The argument --export is forbidden when --query is not empty"),
        (("--query=on", "--clear=on", "--output=x"), "The argument --clear is forbidden when --query is not empty"),
        (
            ("--export=on", "--type=db", "--reports=r", "--output=x"),
            "The argument --reports is forbidden when --export and --type is not empty",
        ),
        (
            ("--export=on", "--output=x", "--summary-format=xml"),
            "Argument --summary-format: invalid value: xml. Please input 'json' or 'csv'.",
        ),
        (
            ("--analyze=on", "--output=x", "--rule=all"),
            "Argument --rule: invalid value: all. Please input 'communication' or 'communication_matrix'.",
        ),
        (
            ("--export=on", "--output=x", "--model-id=a", "--iteration-id=1"),
            "Argument --model-id: invalid value: a.Please input an integer value.",
        ),
        ((), "No valid argument found in --application --sys-devices"),
        (("--task-time=l9", "app"), "Argument --task-time: invalid value: l9."),
    ],
)
def test_flags_that_are_refused(run: Run, flags: tuple[str, ...], text: str) -> None:
    done = run("msprof", *flags)
    assert done.exit_code == 1
    assert f"[ERROR] {text}" in done.output


def test_a_flag_without_effect_is_told(make: Make, run: Run) -> None:
    done = run("msprof", "--export=on", f"--output={make()}", "--aicpu=on")
    assert done.exit_code == 0
    assert "[WARNING] The argument --aicpu is useless when --export is not empty" in done.output


_WORDS = st.sampled_from(["on", "off", "", "json", "both", "1", "-1", "text", "x"])
_NAMES = st.sampled_from(
    ["parse", "export", "query", "analyze", "output", "rule", "model-id", "iteration-id", "type", "clear", "aicpu"]
)


@given(st.dictionaries(_NAMES, _WORDS))
def test_flags_are_read_or_refused_in_words(flags: dict[str, str]) -> None:
    try:
        request = read_request(flags, ())
    except CommandError as error:
        assert error.exit_code == 1
        assert "--" in str(error) or "'model-id'" in str(error)
    else:
        assert (request is None) == all(flags.get(mode) != "on" for mode in ("parse", "export", "query", "analyze"))


def test_json_names_directories_and_files_and_nothing_else_is_on_stdout(
    make: Make, process: Callable[..., Any]
) -> None:
    prof = make(graphs=True)
    ended = process("msprof", "--json", "--export=on", f"--output={prof}")
    assert (ended.code, "Start export data" in ended.err) == (0, True)
    document = json.loads(ended.out)
    assert (document["mode"], len(document["directories"])) == ("export", 1)
    (done,) = document["directories"]
    assert done["directory"] == str(prof)
    assert str(files(prof, "op_summary", "csv")[0]) in done["files"]
    assert all(Path(path).is_file() for path in done["files"])
    query = json.loads(process("msprof", "--json", "--query=on", f"--output={prof}").out)
    rows = [row for each in query["directories"] for row in each["query"]]
    assert {row["Model ID"] for row in rows if row["Device ID"] == "0"} == {str(MODEL_ID)}


def test_json_of_an_application_names_what_it_left(tmp_path: Path, process: Callable[..., Any]) -> None:
    (tmp_path / "app.py").write_text(
        "import acl\nprint('the application')\nacl.init()\nacl.rt.set_device(0)\n"
        "_, address = acl.rt.malloc(64, 0)\nacl.rt.memset(address, 64, 0, 64)\nacl.rt.reset_device(0)\nacl.finalize()\n"
    )
    ended = process("msprof", "--json", f"--output={tmp_path / 'out'}", "app.py")
    assert ended.code == 0, ended.err
    assert "the application" in ended.err
    document = json.loads(ended.out)
    (done,) = document["directories"]
    assert (document["mode"], Path(done["directory"]).parent) == ("collect", tmp_path / "out")
    assert done["files"]
    assert done["query"]
