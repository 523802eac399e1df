from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Level,
    NoticeCode,
    Parsed,
    Severity,
    profiling_options,
)
from drynpu.options.profiling_options import KEYS


def parse(options: Any = None, **keywords: Any) -> Parsed:
    keywords.setdefault("environ", {})
    keywords.setdefault("cwd", "/job")
    return profiling_options.parse(options, **keywords)


def refused(options: Any, **keywords: Any) -> tuple[str, ...]:
    if isinstance(options, dict) and "output" not in options:
        options = {"output": "/o", **options}
    with pytest.raises(OptionError) as caught:
        parse(options, **keywords)
    return caught.value.problems


# -- strict and lenient ---------------------------------------------------------------------------------------------


def test_quoted_frequency() -> None:
    options = '{"output":"/o","sys_io_sampling_freq":"50"}'
    parsed = parse(options)
    assert parsed.request.sampling.io_hz == 50
    assert [notice.code for notice in parsed.notices] == [NoticeCode.LENIENT]
    (line,) = refused(options, strict=True)
    assert line == (
        "sys_io_sampling_freq: EK0001 value '50' refused: The sys_io_sampling_freq should be an integer. "
        "Please input an integer value in range [1, 100]"
    )
    assert "in range [1, 100]" in refused({"sys_io_sampling_freq": "500"})[0]


@pytest.mark.parametrize("options", ["training_trace", "task_trace:training_trace", " op_trace:training_trace"])
def test_option_list_of_2020(options: str) -> None:
    parsed = parse(options)
    assert parsed.notices[0].code is NoticeCode.LENIENT
    assert parsed.request.switches.training_trace
    assert parsed.request.level is Level.L1
    assert parsed.request.output.directory == "/job"
    assert parse(options, environ={"ASCEND_WORK_PATH": "/w"}).request.output.directory == "/w/profiling_data"
    (line,) = refused(options, strict=True)
    assert "Ge option config should be a valid json string" in line


def test_continued_lines() -> None:
    # The pair that Python eats leaves blanks between tokens: plain JSON. What a shell leaves needs help.
    assert parse('{"output":"/o",   \t "l2":"on"}', strict=True).request.switches.l2_cache
    options = '{"output":"/o",\\\n    "l2":"on"}'
    parsed = parse(options)
    assert parsed.request.switches.l2_cache
    assert [notice.code for notice in parsed.notices] == [NoticeCode.LENIENT]
    (line,) = refused(options, strict=True)
    assert "Ge option config should be a valid json string" in line


def test_long_options() -> None:
    options = json.dumps({"output": "/o", "fp_point": "x" * 2048})
    assert "2048" in parse(options).notices[0].message
    assert "at most 2048" in refused(options, strict=True)[0]


def test_not_json() -> None:
    (line,) = refused('{"output":"/tmp/profiling","training_trace":"on",task_trace":"on"}')
    assert line.startswith("profiling_options: EK0001 Ge option config should be a valid json string (line 1 column 50")
    assert line.endswith('The key task_trace lacks its opening quote; write "task_trace"')
    assert refused("{'output': '/o'}")[0].endswith("JSON wants double quotes")
    assert "not UTF-8 at byte 0" in refused(b"\xff")[0]
    assert "no JSON object" in refused("[1]")[0]
    assert refused(5)[0].startswith("profiling_options: 5 is not options")


def test_repeated_key() -> None:
    parsed = parse('{"output":"/o","l2":"on","l2":"off"}')
    assert not parsed.request.switches.l2_cache
    assert parsed.notices[0].severity is Severity.WARNING
    assert parsed.notices[0].path == "l2"


def test_parse_changes_nothing_it_was_given() -> None:
    options = {"output": "/o", "task_time": "l0", "aic_metrics": "Memory", "storage_limit": "1MB"}
    before = dict(options)
    parse(options)
    assert options == before


# -- anything at all ------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
likely = st.sampled_from(["on", "off", "l0", "l2", "", "cpu", "cpu,mem", "300MB", "1MB", "50", "Custom:1,2", "all"])
values = scalars | likely | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
documents = st.dictionaries(st.sampled_from(sorted(KEYS)) | st.text(max_size=6), values, max_size=8)
chips = st.sampled_from(["0", "1", "4", "5", "7", "15"])


def check(options: Any, chip: str, strict: bool) -> None:
    try:
        parsed = parse(options, chip=chip, strict=strict)
    except OptionError as error:
        assert error.problems
        assert all(line and "\n" not in line for line in error.problems)
    else:
        again = parse(dict(parsed.effective), chip=chip)
        assert again.request == parsed.request


@given(documents, chips, st.booleans())
@example({"instr_profiling_freq": "1" * 12}, "5", False)
def test_any_mapping_gives_options_or_an_option_error(options: Any, chip: str, strict: bool) -> None:
    check({"output": "/o", **options}, chip, strict)


@given(documents.map(json.dumps) | st.text(max_size=40) | st.binary(max_size=20), chips, st.booleans())
@example("[" * 100_000, "5", False)
@example("1" * 5000, "5", False)
@example('{"a":\ud800}', "5", False)
def test_any_text_gives_options_or_an_option_error(options: Any, chip: str, strict: bool) -> None:
    check(options, chip, strict)


def test_the_process_is_asked_when_nothing_is_passed(monkeypatch) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", "/from/env")
    assert profiling_options.parse({"l2": "on"}).request.output.directory == "/from/env/profiling_data"
    assert profiling_options.parse({"output": "x"}).request.output.directory == str(Path.cwd() / "x")
