"""The command line of ``python -m ais_bench``, with the vendor's options and their checks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from drynpu_offline_inference.bench._log import LOGGER, refuse

_TRUE, _FALSE = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
_LAST_DEVICE = 255
_LARGEST_CONFIG = 12800
"""Bytes of a file of AIPP settings."""
_UNSIMULATED: Final = {
    "energy_consumption": "npu-smi and the power of a chip are not simulated",
    "backend": "TensorRT is no part of drynpu",
    "perf": "TensorRT is no part of drynpu",
}
"""Options that are refused, and why."""


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """
    Return the options of a command line; ``device`` is a list where several are named.

    Raises
    ------
    SystemExit
        An option is unknown or its value not allowed; the line on stderr says so.
    RuntimeError
        Options exclude each other, or one is not simulated.
    """
    options = _parser().parse_args(arguments)
    for name, reason in _UNSIMULATED.items():
        if getattr(options, name):
            raise refuse(f"--{name} is not simulated: {reason}; leave it out")
    if options.profiler and options.dump:
        raise refuse("parameter --profiler cannot be true at the same time as parameter --dump")
    if (options.profiler or options.dump) and options.output is None:
        raise refuse("when dump or profiler, miss output path: add --output DIR")
    if options.output_dirname and Path(options.output_dirname).is_absolute():
        raise refuse("--output_dirname do not support abs path! Name a folder below --output")
    if options.output_dirname and options.output is None:
        raise refuse("parameter --output_dirname cann't be used alone: add --output DIR")
    options.no_combine_tensor_mode = options.auto_set_dymshape_mode or options.auto_set_dymdims_mode
    if options.profiler and options.warmup_count and options.input is not None:
        LOGGER.info("profiler mode with input change warmup_count to 0")
        options.warmup_count = 0
    if options.threads > 1 and not options.pipeline:
        LOGGER.info("need to set --pipeline when setting threads number to be more than one.")
        options.threads = 1
    if options.dump_npy:
        LOGGER.warning("--dump_npy: dump is not simulated: there is nothing to convert")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ais_bench", description="Run an offline model and say how fast it is. Times are modelled."
    )
    add = parser.add_argument
    add("--model", "-m", "--om-model", type=_model, required=True, help="offline model, or the ONNX file for it")
    add("--input", "-i", type=_inputs, help="files, or a folder for each input, separated by commas; else zeros")
    add("--output", "-o", help="folder of results; each run makes one of its own in it")
    add("--output_dirname", "--output-dirname", help="name of that folder, instead of the time")
    add("--outfmt", default="BIN", choices=["NPY", "BIN", "TXT"], help="form of results")
    add("--loop", "-l", type=_positive, default=1, help="turns of each run")
    add("--batchsize", "--batch-size", type=_positive, help="batch for the throughput; else the model's")
    add("--device", "-d", type=_devices, default=0, help="device, or several: 0,1")
    add("--pure_data_type", "--pure-data-type", default="zero", choices=["zero", "random"], help="data without --input")
    add("--warmup_count", "--warmup-count", type=_count, default=1, help="runs before those that count")
    add(
        "--run_mode",
        "--run-mode",
        default="array",
        choices=["array", "files", "tensor", "full"],
        help="how inputs go in",
    )
    add(
        "--output_batchsize_axis",
        "--output-batchsize-axis",
        type=_count,
        default=0,
        help="axis of the batch in results",
    )
    add("--outputSize", "--output-size", dest="output_size", type=_text(r"0-9,;"), help="bytes of each output: 1000,80")
    add("--threads", type=_positive, default=1, help="sessions that share the work of --pipeline")
    for flag, *names, text in (
        ("debug", "--debug", "print what happens"),
        ("display_all_summary", "--display_all_summary", "--display-all-summary", "show times of copies as well"),
        ("pipeline", "--pipeline", "copy beside computing"),
        ("divide_input", "--divide_input", "--divide-input", "share the inputs among several devices"),
        ("dump_npy", "--dump_npy", "--dump-npy", "not simulated"),
        ("perf", "--perf", "not simulated"),
        ("energy_consumption", "--energy_consumption", "--energy-consumption", "not simulated"),
    ):
        add(*names, dest=flag, type=_switch, default=False, help=text)
    add("--npu_id", "--npu-id", default="0", help="of --energy_consumption")
    add("--backend", choices=["trtexec"], help="not simulated")
    _add_shapes(parser)
    _add_recording(parser)
    return parser


def _add_shapes(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose shapes."""
    add, name = parser.add_argument, r"_A-Za-z0-9,;:/.\-"
    add("--dymBatch", "--dym-batch", dest="dym_batch", type=_positive, default=0, help="batch of the model's gears")
    add("--dymHW", "--dym-hw", dest="dym_hw", type=_text(name), help="height and width: 300,500")
    add("--dymDims", "--dym-dims", dest="dym_dims", type=_text(name), help="dims: data:1,600;info:1,600")
    add("--dymShape", "--dym-shape", dest="dym_shape", type=_text(name), help="shapes: data:1,600;info:1,600")
    ranges = "shapes, one after the other: data:1,600~700;info:1,600-700, or a file of such lines"
    add("--dymShape_range", "--dym-shape-range", dest="dym_shape_range", type=_text(name + "~"), help=ranges)
    for kind in ("dymshape", "dymdims"):
        spellings = (f"--auto_set_{kind}_mode", f"--auto-set-{kind}-mode")
        add(*spellings, dest=f"auto_set_{kind}_mode", type=_switch, default=False, help="take the shapes of the files")
    add("--aipp_config", "--aipp-config", dest="aipp_config", type=_config, help="settings of images (X.config)")


def _add_recording(parser: argparse.ArgumentParser) -> None:
    """Add the options that record."""
    add = parser.add_argument
    add("--profiler", type=_switch, default=False, help="record the runs into OUTPUT/profiler")
    add(
        "--profiler_rename", "--profiler-rename", type=_switch, default=True, help="put the model into names of results"
    )
    add("--dump", type=_switch, default=False, help="not simulated")
    add("--acl_json_path", "--acl-json-path", type=_existing("acl json path"), help="acl.json for the run")


# Values -------------------------------------------------------------------------------------------------------------


def _switch(text: str) -> bool:
    if text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    raise argparse.ArgumentTypeError(f"{text!r}: Boolean value expected true, 1, false, 0 with case insensitive.")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is an invalid positive int value")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is an invalid nonnegative int value")
    return int(text)


def _devices(text: str) -> int | list[int]:
    parts = text.split(",")
    if not all(part.isdigit() and int(part) <= _LAST_DEVICE for part in parts):
        raise argparse.ArgumentTypeError(f"device:{text} is invalid. valid value range is [0, {_LAST_DEVICE}]")
    return int(text) if len(parts) == 1 else [int(part) for part in parts]


def _text(allowed: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        wrong = re.search(f"[^{allowed}]", text)
        if wrong:
            raise argparse.ArgumentTypeError(f'string "{text}" is not a legal string: it has {wrong.group()!r}')
        return text

    return check


def _existing(what: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not Path(text).exists():
            raise argparse.ArgumentTypeError(f"{what}:{text} is illegal. Please check: there is no such file.")
        return text

    return check


def _model(text: str) -> str:
    path = Path(text)
    if path.suffix not in (".om", ".onnx") or not (path.is_file() or path.with_suffix(".onnx").is_file()):
        stem = re.sub(r"_linux_(x86_64|aarch64)$", "", path.stem)
        if path.suffix != ".om" or not path.with_name(f"{stem}.onnx").is_file():
            hint = f"needed: the file, or {path.with_suffix('.onnx')} beside it"
            raise argparse.ArgumentTypeError(f"om path:{text} is illegal. Please check; {hint}")
    return text


def _inputs(text: str) -> str:
    for part in filter(None, text.split(",")):
        _existing("input path")(part)
    return text


def _config(text: str) -> str:
    path = Path(_existing("aipp config path")(text))
    if path.suffix != ".config" or path.stat().st_size > _LARGEST_CONFIG:
        raise argparse.ArgumentTypeError(
            f"aipp config path:{text} is illegal. Please check: needed is a .config file of at most "
            f"{_LARGEST_CONFIG} bytes"
        )
    return text


def command_line(options: argparse.Namespace, **changed: object) -> list[str]:
    """Return the options as a command line, some of them changed; ``None`` leaves one out."""
    flags = {
        "dym_batch": "dymBatch",
        "dym_hw": "dymHW",
        "dym_dims": "dymDims",
        "dym_shape": "dymShape",
        "dym_shape_range": "dymShape_range",
        "output_size": "outputSize",
    }
    line = []
    for name, value in {**vars(options), **changed}.items():
        if name == "no_combine_tensor_mode" or value is None or value is False or (name == "dym_batch" and not value):
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        line.append(f"--{flags.get(name, name)}={text}")
    return line
