"""
Every parser of what others write: options, records, results, documents, models. Each is a function of bytes.

A parser may refuse what it gets, with an error of drynpu; anything else that it raises is a defect.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from drynpu import DrynpuError
from drynpu.deliverables.registry import RECORD_KINDS, registered_groups
from drynpu.kernels import load_calibration
from drynpu.options import acl_json, from_json, from_yaml, profiling_options
from drynpu.options.msprof_cli import parse as parse_flags
from drynpu.platforms import load_chip_file
from drynpu.products import load_profile
from drynpu.raw import ProfReader, read_flat, read_tlv
from drynpu.raw._text_files import read_rows
from drynpu.recorder import CheckCommand, CollectionCommand, ProfileCommand, WorldCommand, recover
from drynpu_msprof._reports import read_reports
from drynpu_pages.dashboard._address import read_address
from drynpu_script_check._dialects import parse_document

Parse = Callable[[bytes], object]
_TEMPORARY = tempfile.TemporaryDirectory(prefix="drynpu-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
FOLDER = Path(_TEMPORARY.name)
"""Where files are that a parser reads; one for each process, and gone with it."""


@frozen
class Parser:
    """
    One parser.

    Attributes
    ----------
    seeds:
        Inputs that it accepts, or nearly; mutation begins there.
    refusals:
        What it raises, by its docstring, beside drynpu's errors; its callers turn it into a message.
    share:
        Of all inputs, in proportion to the shares of the others: what is slow has a small one.
    """

    parse: Parse
    seeds: Sequence[bytes]
    share: int = 10
    refusals: tuple[type[Exception], ...] = ()


def _text(parse: Callable[[str], object]) -> Parse:
    return lambda data: parse(data.decode("utf-8", "surrogateescape"))


def _file(name: str, parse: Callable[[Path], object]) -> Parse:
    """Return a parser of the bytes in a file of this name."""

    def read(data: bytes) -> object:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return parse(path)

    return read


def _flags(text: str) -> object:
    words = text.split("\n")
    flags = dict(word.partition("=")[::2] for word in words if word)
    return parse_flags(flags, application=["app.py"])


def _records(data: bytes) -> object:
    """Read bytes as the records of the kind that the first byte names."""
    names = list(RECORD_KINDS.records)
    entry = RECORD_KINDS.record(names[data[0] % len(names)]) if data else RECORD_KINDS.record(names[0])
    side = "host" if entry.side == "host" else "device_0"
    prof = FOLDER / "PROF_000001_20220129014731000_AAAAAAAAAAAAAAAA"
    folder = prof / side / "data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.stem}{'' if side == 'host' else '.0'}.slice_0"
    path.write_bytes(data[1:])
    try:
        return ProfReader(prof, RECORD_KINDS).read(entry.name, 0)
    finally:
        path.unlink()


def _rows(data: bytes) -> object:
    """Read bytes as the lines of the kind of text that the first byte names."""
    names = list(RECORD_KINDS.texts)
    entry = RECORD_KINDS.text(names[data[0] % len(names)] if data else names[0])
    folder = FOLDER / "texts"
    folder.mkdir(exist_ok=True)
    stem = entry.stem.replace("{pid}", "7")
    path = folder / f"{stem}.slice_0"
    path.write_bytes(data[1:])
    try:
        return read_rows(folder, entry, stem, [])
    finally:
        path.unlink()


def _orders(text: str) -> None:
    for kind in (CheckCommand, CollectionCommand, ProfileCommand, WorldCommand):
        try:
            kind.from_text(text)
        except DrynpuError:
            continue


def _result(name: str) -> Parse:
    groups = registered_groups()

    def load(path: Path) -> None:
        profile = load_profile(path, groups)
        _ = (profile.kernels.height, profile.host_ops.height, profile.notes)

    return _file(f"{name.partition('.')[0]}/{name}", load)


def _address(text: str) -> object:
    path, _, query = text.partition("?")
    return read_address(path, query)


_TLV = np.dtype([("start", "<u8"), ("end", "<u8"), ("pid", "<u4")])
_TRACE = (
    b'[{"ph":"X","name":"MatMul","ts":"1736408883000000.000","dur":5.5,"pid":992,"tid":2,'
    b'"args":{"Task Type":"AI_CORE"}},{"ph":"M","name":"process_name","pid":992,"args":{"name":"Ascend Hardware"}}]'
)
_DETAILS = (
    b"Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us)\n"
    b"1,0,4294967295,7,2,aclnnMm_MatMul,MatMulV2,static,AI_CORE,1736408883000000.100\t,5.5\n"
)

CORE: Mapping[str, Parser] = {
    "options, any dialect": Parser(
        _text(parse_document),
        (
            b'{"profiler_level": "Level1", "aic_metrics": "PipeUtilization"}',
            b"level: l1\nswitches: {l2_cache: true}",
            b'{"switch": "on"}',
        ),
        14,
    ),
    "options, neutral JSON": Parser(from_json, (b'{"level": "l1", "sampling": {"dvpp_hz": 50}}',), 12),
    "options, neutral YAML": Parser(from_yaml, (b"level: l1\nschedule: {wait: 1, active: 2}\n",), 8),
    "profiling_options": Parser(
        _text(profiling_options.parse), (b'{"output":"/tmp","task_time":"l1","aic_metrics":"Memory"}',), 12
    ),
    "acl.json": Parser(_text(acl_json.parse), (b'{"profiler": {"switch": "on", "output": "out", "aicpu": "on"}}',), 10),
    "msprof's flags": Parser(_text(_flags), (b"output=/tmp\ntask-time=l1\nllc-profiling=read\nsys-devices=all",), 12),
    "orders": Parser(
        _text(_orders), (b'{"folder": "/tmp", "first_steps": 5, "skip_steps": 2}', b'{"size": 4, "ranks": [0]}'), 12
    ),
    "reports.json": Parser(
        _file("reports.json", read_reports), (b'{"json_process": {"ascend": true, "freq": false}}',), 6
    ),
    "addresses": Parser(_text(_address), (b"/run/a%2Fb/steps?rank=0&step=3&where=host",), 12),
    "records": Parser(_records, tuple(bytes([kind]) + bytes(range(256)) for kind in range(0, 60, 7)), 8),
    "texts of the host": Parser(_rows, (b"\x001:2 3 4\n", b"\x05time 7\neth0: 1 2 3\n"), 8),
    "TLV": Parser(_file("records", lambda path: read_tlv(path, _TLV)), (b"\x01\x00\x18\x00\x00\x00" + bytes(24),), 10),
    "fixed records": Parser(_file("flat", lambda path: read_flat(path, _TLV)), (bytes(40),), 10),
    "chips": Parser(_file("chip.yaml", load_chip_file), (b"name: Mine\nmodelled_on: Ascend910B2\n",), 3),
    "calibrations": Parser(_file("calibration.yaml", load_calibration), (b"families: {}\n",), 3),
    "trace_view.json": Parser(_result("trace_view.json"), (_TRACE,), 1),
    "kernel_details.csv": Parser(_result("kernel_details.csv"), (_DETAILS,), 1),
    "journals": Parser(
        _file(".drynpu_1/part_0", lambda path: recover(path.parents[1], lambda _: None)), (b"drynpu",), 2
    ),
}


def _adapters() -> dict[str, Parser]:
    """Return the parsers of adapters that this environment can import."""
    found: dict[str, Parser] = {}

    def add(
        name: str, make: Callable[[], Parse], seeds: Sequence[bytes], *refusals: type[Exception], share: int = 5
    ) -> None:
        try:
            found[name] = Parser(make(), seeds, share, refusals)
        except ImportError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)

    def aipp() -> Parse:
        from drynpu_acl.runtime._aipp import BadConversion, parse_conf

        def parse(text: str) -> object:
            try:
                return parse_conf(text)
            except BadConversion:
                return None

        return _text(parse)

    def graph(name: str) -> Callable[[], Parse]:
        def make() -> Parse:
            from drynpu_mindspore.capture import _forward, _ir, _wiring

            functions: dict[str, Any] = {
                "ir": _ir.read_graph,
                "forward": _forward.read_forward,
                "wiring": _wiring.read_kernel_graphs,
            }
            return _text(functions[name])

        return make

    def dynamic() -> Parse:
        import logging

        from drynpu_torch.profiler.dynamic._config import parse_config, parse_document

        log = logging.getLogger("fuzz")
        log.disabled = True
        return lambda data: parse_config(parse_document(data), log)

    def planes() -> Parse:
        from drynpu_tf.capture._planes import read_planes

        return read_planes

    add("AIPP", aipp, (b"aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n src_image_size_w: 8\n}\n",))
    add("MindSpore's IR", graph("ir"), (b"%1(a) = Add(%para1_x, %para2_y) {instance name: add}\n",))
    add("MindSpore's forward", graph("forward"), (b"  %1(out) = PrimFunc_Add(%0, %0)\n",))
    add("MindSpore's kernels", graph("wiring"), (b"kernel_graph_0\n%1 = Add(%0)\n",))
    add(
        "dynamic profiling of PyTorch",
        dynamic,
        (b'{"start_step": 2, "stop_step": 5, "activities": ["CPU", "NPU"]}',),
        ValueError,
    )
    add("planes of TensorFlow", planes, (b"\x0a\x08\x08\x01\x12\x04/cpu",), ValueError, share=2)
    return found


def all_parsers() -> dict[str, Parser]:
    """Return every parser by name."""
    return {**CORE, **_adapters()}


def survives(parser: Parser, data: bytes) -> bool:
    """Parse, and return whether it was accepted; what is no refusal of drynpu's is raised."""
    try:
        parser.parse(data)
    except (DrynpuError, *parser.refusals) as error:
        assert str(error)
        return False
    return True
