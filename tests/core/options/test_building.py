from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    BlockTrace,
    CustomEvents,
    ExportType,
    Filters,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    Origin,
    Output,
    ProfilingRequest,
    Sampling,
    Schedule,
    Switches,
    from_json,
    from_mapping,
    from_yaml,
    leaf_values,
    parse_request,
    to_mapping,
)


def problems_of(document: Any, where: str = "") -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        from_mapping(document, where)
    return caught.value.problems


def optional(low: int, high: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(low, high)


def subset(kind: Any, least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.permutations(list(kind)).flatmap(
        lambda order: st.integers(least, len(order)).map(lambda n: tuple(order[:n]))
    )


texts = st.text(max_size=8)
schedules = st.builds(
    Schedule,
    wait=st.integers(0, 9),
    active=st.integers(1, 9),
    warmup=st.integers(0, 9),
    repeat=st.integers(0, 9),
    skip_first=st.integers(0, 9),
    skip_first_wait=st.integers(-1, 2),
)
switches = st.builds(
    Switches,
    record_shapes=st.booleans(),
    acl_api=st.booleans(),
    tx=st.booleans(),
    graph_api=st.sampled_from(GraphApi),
    task_block=st.sampled_from(BlockTrace),
    gc_threshold_ms=st.none() | st.floats(0, 1e9),
)
samplings = st.builds(
    Sampling,
    hardware_memory_hz=optional(1, 10_000),
    io_hz=optional(1, 100),
    interconnection_hz=optional(1, 50),
    instruction_cycles=optional(300, 30_000),
    service_flow=texts,
    llc=st.sampled_from(LlcMode),
    host_systems=subset(HostSystem),
    host_usage=subset(HostUsage),
    host_usage_hz=st.integers(1, 50),
)
outputs = st.builds(
    Output,
    directory=st.none() | texts,
    worker_name=st.none() | texts,
    storage_limit_mb=optional(200, 4_294_967_295),
    export=subset(ExportType, least=1),
    analyse=st.booleans(),
)
requests = st.builds(
    ProfilingRequest,
    level=st.sampled_from(Level),
    activities=subset(Activity, least=1),
    aic_metrics=st.sampled_from(MetricGroup)
    | st.lists(st.integers(1, 0x7FFFFFFF), min_size=1, max_size=8).map(CustomEvents),
    switches=switches,
    filters=st.builds(Filters, op_types=st.lists(texts, max_size=3), tx_domains_include=st.lists(texts, max_size=3)),
    sampling=samplings,
    schedule=st.none() | schedules,
    output=outputs,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
paths = [path.partition(".") for path in leaf_values(ProfilingRequest(schedule=Schedule()))]
nearly_documents = st.dictionaries(
    st.sampled_from(sorted({head for head, _, _ in paths})),
    json_values | st.dictionaries(st.sampled_from(sorted({tail for _, _, tail in paths if tail})), json_values),
)


@given(requests)
def test_mapping_round_trip(request: ProfilingRequest) -> None:
    document = to_mapping(request)
    assert from_mapping(document) == request
    assert from_json(json.dumps(document)) == request
    assert to_mapping(from_mapping(document)) == document


@given(requests)
def test_yaml_round_trip(request: ProfilingRequest) -> None:
    assert from_yaml(yaml.safe_dump(to_mapping(request))) == request


@given(json_values | nearly_documents)
def test_any_document_gives_a_request_or_an_option_error(document: Any) -> None:
    try:
        assert isinstance(from_mapping(document), ProfilingRequest)
    except OptionError as error:
        assert error.problems
        assert all(line.strip() and "\n" not in line for line in error.problems)


def test_empty_document_is_the_defaults() -> None:
    assert from_mapping({}) == from_yaml("") == ProfilingRequest()
    assert ProfilingRequest().level is Level.L1
    assert ProfilingRequest().activities == (Activity.HOST, Activity.DEVICE)


def test_all_problems_are_reported_together_with_paths_and_spellings() -> None:
    document = {
        "level": "l9",
        "aic_metrics": "pipe_utilisation",
        "switches": {"with_stak": True, "tx": "on", "gc_threshold_ms": -1},
        "sampling": {"io_hz": "50", "interconnection_hz": 400, "host_systems": ["cpu", "memry"]},
        "schedule": {"active": 0, "wait": True},
        "output": 5,
        "levle": "l1",
    }
    lines = {line.split(":")[0]: line for line in problems_of(document, "p.yaml")}
    assert set(lines) == {
        "p.yaml.level",
        "p.yaml.aic_metrics",
        "p.yaml.switches.with_stak",
        "p.yaml.switches.tx",
        "p.yaml.switches.gc_threshold_ms",
        "p.yaml.sampling.io_hz",
        "p.yaml.sampling.interconnection_hz",
        "p.yaml.sampling.host_systems[1]",
        "p.yaml.schedule.active",
        "p.yaml.schedule.wait",
        "p.yaml.output",
        "p.yaml.levle",
    }
    assert lines["p.yaml.level"] == "p.yaml.level: 'l9' is not allowed; allowed: none, l0, l1, l2, l3."
    assert "Did you mean 'pipe_utilization'?" in lines["p.yaml.aic_metrics"]
    assert "unknown option. Did you mean 'with_stack'?" in lines["p.yaml.switches.with_stak"]
    assert lines["p.yaml.switches.tx"].endswith("'on' is not allowed; allowed: true or false.")
    assert lines["p.yaml.sampling.io_hz"].endswith("'50' is not allowed; allowed: an integer, 1 to 100 Hz.")
    assert lines["p.yaml.sampling.interconnection_hz"].endswith("400 is not allowed; allowed: 1 to 50 Hz.")
    assert "Did you mean 'memory'?" in lines["p.yaml.sampling.host_systems[1]"]
    assert lines["p.yaml.schedule.wait"].endswith("True is not allowed; allowed: an integer, at least 0.")
    assert "Did you mean 'level'?" in lines["p.yaml.levle"]


def test_rules_between_options_of_one_section() -> None:
    both = {"filters": {"tx_domains_include": ["a"], "tx_domains_exclude": ["b"]}}
    assert problems_of(both, "doc")[0].startswith("doc.filters.tx_domains_exclude: cannot be combined")
    assert problems_of({"activities": []}) == (
        "activities: empty; allowed are 'host' and 'device', at least one of them.",
    )
    assert problems_of({"output": {"export": []}})[0].startswith("output.export: empty")


def test_custom_events() -> None:
    request = from_mapping({"aic_metrics": "Custom:0x8,10"})
    assert request.aic_metrics == CustomEvents((8, 10))
    assert to_mapping(request)["aic_metrics"] == "custom:0x8,0xa"
    for bad in ("custom:", "custom:0", "custom:1,x", "custom:" + ",".join("123456789"), "custom:0x80000000"):
        (line,) = problems_of({"aic_metrics": bad})
        assert line.startswith(f"aic_metrics: {bad!r} is not allowed")


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (lambda: Sampling(io_hz=101), "sampling.io_hz: 101 is out of range; allowed: 1 to 100 Hz."),
        (lambda: Switches(gc_threshold_ms=math.nan), "switches.gc_threshold_ms: nan is out of range"),
        (lambda: Output(storage_limit_mb=199), "output.storage_limit_mb: 199 is out of range"),
        (lambda: Schedule(active=0), "schedule.active: 0 is out of range; allowed: at least 1."),
        (lambda: CustomEvents((True,)), "aic_metrics: custom event True"),
    ],
)
def test_classes_refuse_what_documents_cannot_say(build: Any, line: str) -> None:
    with pytest.raises(OptionError) as caught:
        build()
    assert caught.value.problems[0].startswith(line)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"level":"l1","level":"l2"}', "key 'level' appears more than once"),
        ("{", "p: not valid JSON at line 1 column 2"),
        ('{"level": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "not valid JSON"),
        ("1" * 5000, "not valid JSON"),
        ("[]", "p: [] is not allowed; allowed: a mapping of level"),
    ],
)
def test_bad_json(text: str, part: str) -> None:
    with pytest.raises(OptionError) as caught:
        from_json(text, "p")
    assert part in caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("level: [l1", "not valid YAML at line 1"),
        ("level: l1\nlevel: l2", "not valid YAML at line 2 column 1: key 'level' twice"),
        ("level: 2001-99-99", "not valid YAML: month"),
        ("&a {level: *a}", "level: {"),
    ],
)
def test_bad_yaml(text: str, part: str) -> None:
    with pytest.raises(OptionError) as caught:
        from_yaml(text)
    assert part in caught.value.problems[0]


def test_yaml_off_is_a_word_where_off_is_one() -> None:
    assert from_yaml("switches: {graph_api: off, task_block: on}").switches.task_block is BlockTrace.ON


def test_origins_of_a_neutral_document() -> None:
    parsed = parse_request({"level": "l2", "switches": {"tx": True}})
    assert parsed.origins["level"] is parsed.origins["switches.tx"] is Origin.GIVEN
    assert parsed.origins["switches.aicpu"] is Origin.DEFAULT
    assert set(parsed.origins) == set(leaf_values(parsed.request))


def test_values_are_frozen() -> None:
    parsed = parse_request({})
    with pytest.raises(AttributeError):
        parsed.request.level = Level.L0  # type: ignore[misc]
    with pytest.raises(TypeError):
        parsed.origins["level"] = Origin.RULE  # type: ignore[index]


def test_levels_are_ordered() -> None:
    assert sorted([Level.L3, Level.L1, Level.NONE, Level.L2, Level.L0]) == [
        Level.NONE,
        Level.L0,
        Level.L1,
        Level.L2,
        Level.L3,
    ]
    assert Level.L1 > Level.L0 >= Level.L0 > Level.NONE
    assert Level.L0 <= Level.L1
