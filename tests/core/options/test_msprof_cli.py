"""The flag table, single values and their messages."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from drynpu._errors import OptionError
from drynpu.options import (
    BlockTrace,
    CustomEvents,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Kind,
    Level,
    LlcMode,
    MetricGroup,
    Origin,
    ProfilingRequest,
    leaf_values,
    msprof_cli,
)
from drynpu.options.msprof_cli import FLAGS, Launch, MsprofParsed
from drynpu.platforms import known_series, resolve_platform


def parse(flags: dict[str, str], **keywords: Any) -> MsprofParsed:
    keywords.setdefault("application", ["./app"])
    keywords.setdefault("environ", {})
    keywords.setdefault("cwd", "/job")
    return msprof_cli.parse(flags, **keywords)


def refused(flags: Any, **keywords: Any) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        parse(flags, **keywords)
    return caught.value.problems


# -- the table ------------------------------------------------------------------------------------------------------

REFERENCE_NAMES = (
    "output task-time environment ascendcl storage-limit runtime-api type model-execution ai-core hccl aic-mode aicpu "
    "aic-freq ge-api aic-metrics task-memory l2 task-block sys-hardware-mem sys-hardware-mem-freq llc-profiling "
    "sys-io-profiling sys-io-sampling-freq sys-interconnection-profiling sys-interconnection-freq sys-cpu-profiling "
    "sys-cpu-freq sys-profiling sys-sampling-freq sys-pid-profiling sys-pid-sampling-freq dvpp-profiling dvpp-freq "
    "instr-profiling instr-profiling-freq host-sys host-sys-pid host-sys-usage host-sys-usage-freq msproftx "
    "mstx-domain-include mstx-domain-exclude delay duration dynamic pid sys-lp sys-lp-freq sys-period sys-devices "
    "python-path application"
)
REFERENCE = REFERENCE_NAMES.split()
BEYOND = {"task-trace", "task-tsfw", "optype", "sys-mem-serviceflow"}


def test_every_flag_of_the_reference_is_there() -> None:
    assert set(FLAGS) == {*REFERENCE, *BEYOND}


def test_a_command_can_be_made_from_the_table() -> None:
    paths = set(leaf_values(ProfilingRequest()))
    launch = {f"launch.{attribute.name}" for attribute in attrs.fields(Launch)}
    for name, flag in FLAGS.items():
        assert flag.option == f"--{name}"
        assert flag.help.endswith(".")
        assert flag.help[0].isupper()
        assert flag.path in {"", *paths, *launch}
        assert (flag.limits is not None) is (flag.kind in (Kind.INTEGER, Kind.STORAGE, Kind.PIDS))
        assert flag.needs in {"", *FLAGS}


def test_every_default_is_a_value_of_its_flag() -> None:
    for name, flag in FLAGS.items():
        chip = "950" if name.startswith(("sys-lp", "task-block")) else "5"
        if flag.default and name not in ("dynamic", "instr-profiling-freq"):
            assert parse({name: flag.default}, chip=chip).request == parse({}, chip=chip).request, name


def test_a_flag_may_carry_its_hyphens() -> None:
    assert parse({"--l2": "on"}).request.switches.l2_cache
    assert refused({"--l2": "on", "l2": "on"}) == ("--l2: given twice, as l2 and as --l2.",)


def test_unknown_flags() -> None:
    assert refused({"task-tiem": "on", "x\ny": "1"}) == (
        "--task-tiem: unrecognized option '--task-tiem'. Did you mean '--task-time'?",
        "--'x\\ny': unrecognized option '--'x\\ny''.",
    )
    assert refused([])[0] == "msprof: [] is not a mapping of flags."


@pytest.mark.parametrize(
    ("names", "without"),
    [
        (["task-block", "sys-lp", "sys-lp-freq", "optype"], {"310", "310B", "310P", "910", "A2", "A3"}),
        (["instr-profiling", "instr-profiling-freq", "sys-mem-serviceflow"], {"310", "310B", "310P", "910"}),
        (["sys-io-profiling", "sys-io-sampling-freq"], {"310P"}),
        (["sys-interconnection-profiling", "sys-interconnection-freq"], {"310", "310B"}),
        (["l2", "storage-limit", "dynamic", "pid", "delay", "duration"], {"310"}),
        (["task-time", "aicpu", "dvpp-profiling", "sys-cpu-profiling", "host-sys"], set()),
    ],
)
def test_flags_that_a_chip_lacks(names: list[str], without: set[str]) -> None:
    for chip in known_series():
        for name in names:
            assert FLAGS[name].is_on(resolve_platform(chip)) is (chip not in without)
            if chip in without:
                (line,) = refused({name: "on"}, chip=chip)
                label = resolve_platform(chip).label
                assert line.startswith(f"--{name}: unrecognized option '--{name}' on {label}; chips with it: ")


# -- values ---------------------------------------------------------------------------------------------------------


def test_every_flag_reaches_the_model() -> None:
    flags = {
        "output": "out",
        "storage-limit": "300MB",
        "type": "db",
        "python-path": "/usr/bin/python3",
        "environment": "A=1;B=x=y",
        "delay": "3",
        "duration": "4",
        "task-time": "l2",
        "ascendcl": "off",
        "runtime-api": "on",
        "hccl": "on",
        "aicpu": "on",
        "ge-api": "l1",
        "task-memory": "on",
        "task-tsfw": "on",
        "task-block": "all",
        "optype": "MatMul,Add",
        "aic-mode": "sample-based",
        "aic-freq": "30",
        "aic-metrics": "L2Cache",
        "l2": "on",
        "msproftx": "on",
        "mstx-domain-include": "default,comm",
        "sys-hardware-mem": "on",
        "sys-hardware-mem-freq": "99",
        "sys-mem-serviceflow": "a,b",
        "llc-profiling": "write",
        "sys-io-profiling": "on",
        "sys-io-sampling-freq": "98",
        "sys-interconnection-profiling": "on",
        "sys-interconnection-freq": "49",
        "sys-cpu-profiling": "on",
        "sys-cpu-freq": "48",
        "sys-profiling": "on",
        "sys-sampling-freq": "9",
        "sys-pid-profiling": "on",
        "sys-pid-sampling-freq": "8",
        "dvpp-profiling": "on",
        "dvpp-freq": "97",
        "sys-lp": "on",
        "sys-lp-freq": "96",
        "host-sys": "cpu,mem,disk,network,osrt,numa",
        "host-sys-usage": "cpu,mem",
        "host-sys-usage-freq": "11",
    }
    parsed = parse(flags, chip="950", application=["python3", "train.py", "--lr=1"])
    request = parsed.request
    assert request.level is Level.L2
    assert request.aic_metrics is MetricGroup.L2_CACHE
    switches = request.switches
    assert not switches.acl_api
    assert (switches.runtime_api, switches.communication, switches.aicpu, switches.l2_cache) == (True,) * 4
    assert (switches.tx, switches.task_memory, switches.task_scheduler) == (True,) * 3
    assert switches.graph_api is GraphApi.L1
    assert switches.task_block is BlockTrace.ALL
    assert request.filters.op_types == ("MatMul", "Add")
    assert request.filters.tx_domains_include == ("default", "comm")
    sampling = request.sampling
    assert (sampling.hardware_memory_hz, sampling.io_hz, sampling.interconnection_hz) == (99, 98, 49)
    assert (sampling.cpu_hz, sampling.dvpp_hz, sampling.low_power_hz, sampling.ai_core_hz) == (48, 97, 96, 30)
    assert (sampling.device_system_hz, sampling.device_process_hz, sampling.host_usage_hz) == (9, 8, 11)
    assert sampling.service_flow == "a,b"
    assert sampling.llc is LlcMode.WRITE
    assert sampling.host_systems == tuple(HostSystem)
    assert sampling.host_usage == tuple(HostUsage)
    assert (request.window.delay_s, request.window.duration_s) == (3, 4)
    output = request.output
    assert (output.directory, output.storage_limit_mb, output.export) == ("/job/out", 300, (ExportType.DB,))
    launch = parsed.launch
    assert launch.application == ("python3", "train.py", "--lr=1")
    assert launch.environment == {"A": "1", "B": "x=y"}
    assert launch.python_path == "/usr/bin/python3"
    assert {name: parsed.effective[name] for name in flags} == {**flags, "output": "/job/out"}
    assert parsed.origins["sampling.dvpp_hz"] is parsed.origins["level"] is Origin.GIVEN


GROUPS = "ArithmeticUtilization|PipeUtilization|Memory|MemoryL0|MemoryUB|L2Cache|ResourceConflictRatio"


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("l2", "yes", "Argument --l2: invalid value: yes. Please input 'on' or 'off'."),
        ("l2", "", "Argument --l2: invalid value: . Please input 'on' or 'off'."),
        (
            "task-time",
            "l4",
            "Argument --task-time: invalid value: l4. Please input 'on', 'off', 'l0', 'l1', 'l2' or 'l3'.",
        ),
        ("ge-api", "on", "Argument --ge-api: invalid value: on. Please input 'off', 'l0' or 'l1'."),
        (
            "aic-mode",
            "task",
            "Argument --aic-mode: invalid value: task.Please input 'task-based' or 'sample-based'.",
        ),
        ("aic-freq", "101", "Argument --aic-freq: invalid int value: 101.Please input data is in 1 to 100."),
        ("aic-freq", "1.5", "Argument --aic-freq: invalid value: 1.5.Please input an integer value in 1-100."),
        ("dvpp-freq", "0", "Argument --dvpp-freq: invalid int value: 0.Please input data is in 1 to 100."),
        (
            "sys-interconnection-freq",
            "51",
            "Argument --sys-interconnection-freq: invalid int value: 51.Please input data is in 1 to 50.",
        ),
        (
            "sys-sampling-freq",
            "11",
            "Argument --sys-sampling-freq: invalid int value: 11.Please input data is in 1 to 10.",
        ),
        (
            "instr-profiling-freq",
            "299",
            "Argument --instr-profiling-freq: invalid int value: 299.Please input data is in 300 to 30000.",
        ),
        ("delay", "0", "Argument --delay: invalid int value: 0.Please input data is in 1 to 4294967295."),
        ("duration", "-1", "Argument --duration: invalid value: -1.Please input an integer value in 1-4294967295."),
        (
            "sys-period",
            "2592001",
            "Argument --sys-period: invalid int value: 2592001.The range of period is 1~2592000 seconds.",
        ),
        (
            "sys-period",
            "1h",
            (
                "Argument --sys-period: invalid value: 1h.Please input an integer value."
                "The range of period is 1~2592000 seconds."
            ),
        ),
        (
            "host-sys-pid",
            "me",
            "Argument --host-sys-pid: invalid value: me.Please input an integer value.The min value is 0.",
        ),
        ("aic-metrics", "", f"Argument --aic-metrics is empty. Please input in the range of [{GROUPS}|MemoryAccess]"),
        (
            "aic-metrics",
            "Pipe",
            f"Argument --aic-metrics: invalid value:Pipe. Please input in the range of [{GROUPS}|MemoryAccess].",
        ),
        (
            "aic-metrics",
            "Custom:1,2,3,4,5,6,7,8,9",
            (
                "Argument --aic-metrics: invalid value:Custom:1,2,3,4,5,6,7,8,9. "
                f"Please input in the range of [{GROUPS}|MemoryAccess] (9 custom events; allowed are 1 to 8.)"
            ),
        ),
        (
            "storage-limit",
            "199MB",
            "Argument --storage-limit 199MB is invalid, valid range is 200MB~4294967295MB",
        ),
        ("storage-limit", "300", "Argument --storage-limit 300 is invalid, valid range is 200MB~4294967295MB"),
        ("storage-limit", "", "Argument --storage-limit: expected one argument"),
        ("type", "csv", "Argument --type: invalid value: csv. Please input 'text' or 'db'."),
        ("llc-profiling", "", "Argument --llc-profiling is empty.Please input in the range of 'read|write'"),
        (
            "llc-profiling",
            "capacity",
            "Argument --llc-profiling: invalid value: capacity. Please input in the range of 'read|write'",
        ),
        (
            "host-sys",
            "cpu,gpu",
            "Argument --host-sys: invalid value:gpu. Please input in the range of 'cpu|mem|disk|network|osrt'",
        ),
        ("host-sys", "", "Argument --host-sys is empty. Please input in the range of 'cpu|mem|disk|network|osrt'"),
        (
            "host-sys-usage",
            "disk",
            "Argument --host-sys-usage=disk is invalid. Please input in the range of 'cpu|mem'.",
        ),
        ("host-sys-usage", "", "Argument --host-sys-usage is empty. Please input in the range of 'cpu|mem'."),
        ("sys-devices", "", "Argument --sys-devices is empty,Please enter a valid --sys-devices value."),
        ("sys-devices", "0,64", "Argument --sys-devices: invalid value: 64.Please input a valid device id."),
        ("output", "", "Argument --output: expected one argument"),
        ("output", "a;b", "Argument --output /job/a;b contains invalid character."),
        (
            "output",
            "x" * 1024,
            "Argument --output is invalid because of exceeds the maximum length of 1024",
        ),
        ("python-path", "", "Argument --python-path: expected one argument"),
        ("application", "", "Argument --application: expected one argument"),
        ("environment", "A", "Argument --environment: invalid value: A. Please input K=V, or K=V;K=V."),
        ("sys-mem-serviceflow", "", "Argument --sys-mem-serviceflow: expected one argument"),
    ],
)
def test_messages_are_the_commands_own(flag: str, text: str, message: str) -> None:
    assert refused({flag: text})[0] == message


def test_messages_that_depend_on_the_chip() -> None:
    assert refused({"task-time": "l3"}, chip="910") == ("Argument --task-time: l3 is not supported on this platform.",)
    line = "Argument --task-time: invalid value: l4. Please input 'on', 'off', 'l0', 'l1' or 'l2'."
    assert refused({"task-time": "l4"}, chip="910")[0].startswith(line)
    line = "Argument --llc-profiling: invalid value: read. Please input in the range of 'capacity|bandwidth'"
    assert refused({"llc-profiling": "read"}, chip="310") == (line,)
    (line,) = refused({"aic-metrics": "L2Cache"}, chip="310P")
    assert "|MemoryUB|ResourceConflictRatio]" in line
    (line,) = refused({"aic-metrics": "x"}, chip="310B")
    assert line.endswith(f"[{GROUPS}|PipelineExecuteUtilization].")
    assert parse({"sys-hardware-mem-freq": "10000"}, chip="950").request is not None
    (line,) = refused({"sys-hardware-mem-freq": "10001"}, chip="950")
    assert line.endswith("Please input data is in 1 to 10000.")
    (line,) = refused({"task-block": "some"}, chip="950")
    assert line == "Argument --task-block: invalid value: some. Please input 'all', 'on' or 'off'."


def test_operator_types() -> None:
    assert refused({"optype": ""}, chip="950") == ("Argument --optype: Failed to check empty opType.",)
    (line,) = refused({"optype": "x" * 257}, chip="950")
    assert line.endswith("..., the max input size is 256.")


def test_all_problems_come_together() -> None:
    assert len(refused({"l2": "x", "aic-freq": "0", "foo": "1", "output": "a|b"})) == 4


def test_what_is_not_text() -> None:
    assert refused({"l2": None, "aic-freq": 5}) == (
        "Argument --aic-freq: expected one argument",
        "Argument --l2: expected one argument",
    )


def test_custom_counters() -> None:
    assert parse({"aic-metrics": "Custom:0x49,11"}).request.aic_metrics == CustomEvents((0x49, 11))


# -- where the data goes --------------------------------------------------------------------------------------------


def test_output() -> None:
    assert parse({"output": "../o"}).request.output.directory == "/o"
    work = {"ASCEND_WORK_PATH": "/w"}
    from_work = parse({}, environ=work)
    assert from_work.request.output.directory == "/w/profiling_data"
    assert from_work.origins["output.directory"] is Origin.ENVIRONMENT
    assert parse({"output": "/o"}, environ=work).request.output.directory == "/o"
    here = parse({})
    assert here.request.output.directory == "/job"
    assert here.origins["output.directory"] is Origin.DEFAULT


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        ("/home/u/main a b", "/home/u"),
        ("bin/run.sh", "/job/bin"),
        ("python3 src/train.py", "/job/src"),
        ("main", "/job"),
    ],
)
def test_output_beside_the_application(command: str, directory: str) -> None:
    assert parse({"application": command}, application=()).request.output.directory == directory
