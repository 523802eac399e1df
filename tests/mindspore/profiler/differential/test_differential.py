"""Our classes against the genuine ones of the installed wheel: same programs, same calls, values and texts."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drynpu_mindspore import profiler as room
from drynpu_mindspore.profiler import build_surface
from drynpu_mindspore.profiler._environment import _keywords
from drynpu_mindspore.profiler.dynamic import read_options

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
QUICKLY = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

Program = list[tuple[str, dict[str, Any]]]


@define
class Genuine:
    """The process that runs the wheel's classes."""

    process: subprocess.Popen[str]
    hello: dict[str, Any]

    def __call__(self, program: Program) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def genuine(scripts: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Genuine]:
    folder = tmp_path_factory.mktemp("genuine")
    environment = {**scripts.environment, "GLOG_v": "1"}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", str(HERE / "genuine.py")],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield Genuine(process, json.loads(process.stdout.readline()))
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


def offered() -> dict[str, Any]:
    """Return what the room exports by the vendor's name: a class that the vendor keeps private has its own."""
    exported = {name: getattr(room, name) for name in room.__all__}
    return {getattr(value, "__name__", name): value for name, value in exported.items()}


class Ours:
    """Our classes, with a session that writes down what it is told to do."""

    def __init__(self, machine: Any, plain: Any, host: Any) -> None:
        self.events: list[list[Any]] = []
        backend = _Steps(self.events)
        self.surface = build_surface(host(_Log(self.events)), backend)
        session = self.surface.session
        names: dict[str, Any] = offered()
        names.update(
            {name: getattr(self.surface, name) for name in ("Profiler", "profile", "schedule")},
            handler=self._handler,
            parameters=self._parameters,
            schedule_actions=self._schedule_actions,
            dynamic_file=self._dynamic_file,
            environment=self._environment,
            worker_name=self._worker_name,
        )
        self.host = session.host
        self._plain = plain
        self._session = session
        self.run = machine(names, self.events).run

    def __call__(self, program: Program) -> Any:
        return json.loads(json.dumps(self.run(program)))

    def _handler(self, fails: bool) -> Any:
        def ready(run: Any) -> None:
            self.events.append(["handler", hasattr(run, "analyse")])
            if fails:
                raise ValueError("the handler failed")

        return ready

    def _parameters(self, **keywords: Any) -> Any:
        parameters = self._session.configure(keywords)
        return parameters.describe(is_set_schedule=self._session.current.is_set_schedule)

    def _schedule_actions(self, **keywords: Any) -> Any:
        made = self.surface.schedule(**keywords)
        return [made.to_dict(), repr(made), [made(step).name for step in range(60)]]

    def _dynamic_file(self, text: str) -> Any:
        options = read_options(json.loads(text), self._session.user_log)
        how = {
            "analyse": options.analyses,
            "asynchronous": options.asynchronous,
            "prof_path": options.prof_path,
            "start_step": options.start_step,
            "stop_step": options.stop_step,
        }
        return self._plain({**options.profile, **options.config, **how})

    def _environment(self, text: str) -> Any:
        return self._plain(_keywords(json.loads(text), self._session.user_log))

    def _worker_name(self, value: Any) -> Any:
        self._session.place.configure(None, value)
        return self._session.place.worker_name


@define
class _Log:
    events: list[list[Any]]

    def info(self, msg: str, *args: object) -> None:
        self.events.append(["info", msg % args])

    def warning(self, msg: str, *args: object) -> None:
        self.events.append(["warning", msg % args])

    def error(self, msg: str, *args: object) -> None:
        self.events.append(["error", msg % args])


@define
class _Steps:
    """The part of a backend that is not reached through the session."""

    events: list[list[Any]]

    def save(self, settle: object, metadata: object) -> None:
        """Accept a step boundary."""

    def open_step(self, number: int) -> None:
        self.events.append(["open_step", number])

    def close_step(self) -> None:
        self.events.append(["close_step"])

    def exchange(self, held: object) -> object:
        """The vendor's interface holds one recording."""
        return held

    def configured(self, request: object) -> None:
        """The vendor's interface has no word for it."""

    def prepare(self) -> None:
        """The vendor's interface has no word for it."""

    def trace_ready(self) -> None:
        """The vendor's interface has no word for it."""


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    spec = importlib.util.spec_from_file_location("programs", HERE / "programs.py")
    assert spec is not None
    assert spec.loader is not None
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    helpers = importlib.util.spec_from_file_location("recording", HERE.parent / "conftest.py")
    assert helpers is not None
    assert helpers.loader is not None
    recording = importlib.util.module_from_spec(helpers)
    sys.modules["recording"] = recording
    helpers.loader.exec_module(recording)
    with pytest.MonkeyPatch.context() as patch:
        made = Ours(programs.Machine, programs.plain, recording.FakeHost)
        session = type(made.surface.session)
        for name in ("init", "start", "stop", "analyse", "finalize", "clear", "delete_dir"):
            patch.setattr(session, name, _note(made.events, name))
        yield made
    del sys.modules["recording"]


def _note(events: list[list[Any]], name: str) -> Any:
    def call(self: Any, **keywords: Any) -> None:
        del self
        events.append([name, keywords] if keywords else [name])

    return call


def enum_of(name: str) -> st.SearchStrategy[Any]:
    members = [member.name for member in getattr(room, name)]
    return st.sampled_from(members).map(lambda member: {"enum": [name, member]})


NUMBERS = st.one_of(st.integers(-2, 6), st.booleans(), st.sampled_from(["3", None, 2.5]))
SCHEDULES = st.fixed_dictionaries(
    {"wait": NUMBERS, "active": NUMBERS},
    optional={"warmup": NUMBERS, "repeat": NUMBERS, "skip_first": NUMBERS},
)
GOOD_SCHEDULES = st.fixed_dictionaries(
    {"wait": st.integers(0, 2), "active": st.integers(1, 2)},
    optional={"warmup": st.integers(0, 1), "repeat": st.integers(0, 2), "skip_first": st.integers(0, 2)},
).map(lambda values: {"schedule": values})
ANYTHING = st.sampled_from([None, True, False, 0, 1, "x", "", 2.5, [], ["x"], {"tuple": []}])
FLAGS = st.one_of(st.booleans(), ANYTHING)


def one_or_many(name: str) -> st.SearchStrategy[Any]:
    return st.one_of(
        enum_of(name),
        st.lists(enum_of(name), max_size=3),
        st.lists(st.one_of(enum_of(name), ANYTHING), max_size=2),
        st.sampled_from([member.value for member in getattr(room, name)]),
        ANYTHING,
    )


DOMAINS = st.one_of(st.lists(st.sampled_from(["a", "b", "", 3]), max_size=2), ANYTHING)
CONFIG: dict[str, st.SearchStrategy[Any]] = {
    "profiler_level": st.one_of(enum_of("ProfilerLevel"), ANYTHING),
    "aic_metrics": st.one_of(enum_of("AicoreMetrics"), ANYTHING),
    "l2_cache": FLAGS,
    "mstx": FLAGS,
    "data_simplification": FLAGS,
    "export_type": one_or_many("ExportType"),
    "mstx_domain_include": DOMAINS,
    "mstx_domain_exclude": DOMAINS,
    "sys_io": FLAGS,
    "sys_interconnection": FLAGS,
    "host_sys": one_or_many("HostSystem"),
}
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "activities": one_or_many("ProfilerActivity"),
    **dict.fromkeys(
        (
            "with_stack",
            "profile_memory",
            "data_process",
            "parallel_strategy",
            "hbm_ddr",
            "pcie",
            "sync_enable",
            "record_shapes",
        ),
        FLAGS,
    ),
}
OLD: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(
    (
        "profile_communication",
        "op_time",
        "profile_framework",
        "host_stack",
        "timeline_limit",
        "unheard_of",
    ),
    ANYTHING,
)
CONFIGS = st.one_of(
    st.fixed_dictionaries({}, optional=CONFIG).map(lambda values: {"_ExperimentalConfig": values}),
    st.sampled_from([None, 3, "x"]),
)
KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        **PLAIN,
        **CONFIG,
        **OLD,
        "start_profile": FLAGS,
        "output_path": st.sampled_from([None, 3, "here"]),
        "schedule": st.one_of(GOOD_SCHEDULES, st.sampled_from([None, 3])),
        "on_trace_ready": st.sampled_from([None, 3, {"handler": False}]),
        "experimental_config": CONFIGS,
    },
).filter(lambda values: len(values) < 8)


def plainly(answer: list[Any]) -> list[Any]:
    """Leave out the order of what the vendor keeps in sets."""
    for event in answer:
        if event[0] == "parameters":
            for name in ("activities", "host_sys", "export_type"):
                event[1][name] = sorted(event[1][name])
            event[1].pop("start_profile")
    return answer


def test_the_package_offers_the_same_names(genuine: Genuine) -> None:
    surface = {name.name for name in build_surface.__globals__["Surface"].__attrs_attrs__}
    assert set(genuine.hello["names"]) <= surface | offered().keys()


def test_the_interface_says_the_same_before_it_is_initialised(genuine: Genuine, bench: Any) -> None:
    session = bench.surface.session
    for verb in ("start", "stop", "analyse", "finalize", "clear"):
        getattr(session, verb)()
    assert [list(event) for event in bench.take()] == genuine.hello["said"]


@QUICKLY
@given(keywords=SCHEDULES)
def test_schedules_act_and_complain_alike(genuine: Genuine, ours: Ours, keywords: dict[str, Any]) -> None:
    program = [("schedule_actions", keywords)]
    assert ours(program) == genuine(program)


@QUICKLY
@given(keywords=KEYWORDS)
def test_parameters_are_normalised_alike(genuine: Genuine, ours: Ours, keywords: dict[str, Any]) -> None:
    program = [("parameters", keywords)]
    assert plainly(ours(program)) == plainly(genuine(program))


ANALYSE = st.fixed_dictionaries(
    {},
    optional={
        "offline_path": st.sampled_from([None, "somewhere"]),
        "pretty": FLAGS,
        "step_list": st.one_of(st.lists(st.integers(1, 4), max_size=3), ANYTHING),
        "mode": st.sampled_from(["sync", "async", "later", 3, None]),
    },
)
CALLS = st.one_of(
    st.sampled_from(["start", "stop", "step", "step", "step"]).map(lambda name: (name, {})),
    st.sampled_from(["__enter__"]).map(lambda name: (name, {})),
    st.just(("__exit__", {"exc_type": None, "exc_value": None, "traceback": None})),
)
HANDLERS = st.sampled_from([None, {"handler": False}, {"handler": True}])
ACTIONS = st.lists(st.sampled_from(["NONE", "WARM_UP", "RECORD", "RECORD_AND_SAVE"]), min_size=1, max_size=6).map(
    lambda names: {"actions": names}
)


@QUICKLY
@given(
    keywords=st.fixed_dictionaries(
        {},
        optional={
            "start_profile": st.booleans(),
            "schedule": st.one_of(GOOD_SCHEDULES, st.just(3), st.none()),
            "on_trace_ready": HANDLERS,
        },
    ),
    calls=st.lists(st.one_of(CALLS, ANALYSE.map(lambda keywords: ("analyse", keywords))), max_size=10),
)
def test_profilers_go_through_the_same_states(
    genuine: Genuine, ours: Ours, keywords: dict[str, Any], calls: Program
) -> None:
    program = [("Profiler", keywords), *calls]
    assert ours(program) == genuine(program)


@QUICKLY
@given(
    keywords=st.fixed_dictionaries(
        {},
        optional={
            "start_profile": st.booleans(),
            "schedule": st.one_of(GOOD_SCHEDULES, ACTIONS, st.sampled_from([3, 0, None])),
            "on_trace_ready": HANDLERS,
        },
    ),
    calls=st.lists(CALLS, max_size=12),
)
def test_profiles_go_through_the_same_states(
    genuine: Genuine, ours: Ours, keywords: dict[str, Any], calls: Program
) -> None:
    program = [("profile", keywords), *calls]
    assert ours(program) == genuine(program)


FILE_VALUES = st.sampled_from([-2, -1, 0, 1, 2, 7, 8, True, None, 2.5, "", "x", "CPU", {}, []])
FILES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("start_step", "stop_step", "analyse_mode"), FILE_VALUES),
        **dict.fromkeys(("profile_memory", "mstx", "l2_cache", "analyse", "with_stack", "sys_io"), FILE_VALUES),
        **dict.fromkeys(("prof_path", "mstx_domain_include"), FILE_VALUES),
        "aic_metrics": st.one_of(st.sampled_from(["Memory", "AiCoreNone", "None"]), FILE_VALUES),
        "profiler_level": st.one_of(st.sampled_from(["Level1", "LevelNone"]), FILE_VALUES),
        "activities": st.one_of(st.lists(st.sampled_from(["CPU", "NPU", "x", 3]), max_size=2), FILE_VALUES),
        "export_type": st.one_of(st.lists(st.sampled_from(["text", "db", "x"]), max_size=2), FILE_VALUES),
        "host_sys": st.one_of(st.lists(st.sampled_from(["cpu", "mem", "x"]), max_size=2), FILE_VALUES),
    },
)


@QUICKLY
@given(document=FILES)
def test_files_of_the_monitor_are_read_alike(genuine: Genuine, ours: Ours, document: dict[str, Any]) -> None:
    program: Program = [("dynamic_file", {"text": json.dumps(document)})]
    assert ours(program) == genuine(program)


TEXTS = st.sampled_from([0, 3, None, True, "x", "", {}, []])
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "activities": st.one_of(st.lists(st.sampled_from(["CPU", "NPU", "x", 3, []]), max_size=3), TEXTS),
        "host_sys": st.one_of(st.lists(st.sampled_from(["cpu", "mem", "x", None]), max_size=3), TEXTS),
        "export_type": st.one_of(st.lists(st.sampled_from(["text", "db", "x"]), max_size=3), st.just("db")),
        "aic_metrics": st.one_of(st.sampled_from(["Memory", "None", "AiCoreNone"]), TEXTS),
        "profiler_level": st.one_of(st.sampled_from(["Level1", "LevelNone"]), TEXTS),
        "with_stack": TEXTS,
    },
).filter(bool)


@QUICKLY
@given(options=OPTIONS)
def test_options_of_the_environment_are_read_alike(genuine: Genuine, ours: Ours, options: dict[str, Any]) -> None:
    program: Program = [("environment", {"text": json.dumps(options)})]
    answers = [ours(program), genuine(program)]
    for *_, (_, told) in answers:  # the vendor keeps lists in sets
        told.update({name: sorted(set(each)) for name, each in told.items() if isinstance(each, list)})
    assert answers[0] == answers[1]


def test_names_of_workers_are_taken_alike(genuine: Genuine, ours: Ours) -> None:
    names = ["a", None, "b", "", "c", 3, "x" * 225, "x" * 226]
    program: Program = [("worker_name", {"value": name}) for name in names]
    assert ours(program) == genuine(program)


def test_metadata_is_refused_alike(genuine: Genuine, ours: Ours) -> None:
    program: Program = [
        ("Profiler", {"start_profile": False}),
        ("add_metadata", {"key": 1, "value": "x"}),
        ("add_metadata", {"key": "a", "value": "x"}),
        ("add_metadata", {"key": "a", "value": "y"}),
        ("add_metadata_json", {"key": "a", "value": "{"}),
        ("add_metadata_json", {"key": "b", "value": 3}),
        ("add_metadata", {"key": "big", "value": "x" * (100 << 20)}),
    ]
    assert ours(program) == genuine(program)


def test_single_operators_are_refused_alike_off_ascend(
    genuine: Genuine, ours: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours.host, "target", "CPU")
    program: Program = [
        ("Profiler", {"start_profile": False}),
        ("op_analyse", {"op_name": 3}),
        ("op_analyse", {"op_name": []}),
        ("op_analyse", {"op_name": "MatMul", "device_id": "0"}),
    ]
    assert ours(program) == genuine(program)


def test_unknown_keywords_of_profile_are_an_error(genuine: Genuine, ours: Ours) -> None:
    program: Program = [("profile", {"start_profile": False, "unheard_of": 1})]
    # The vendor's destructor also complains about the object that was never made.
    assert [event for event in genuine(program) if event[0] == "raised"] == ours(program)
