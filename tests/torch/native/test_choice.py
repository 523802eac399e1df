"""Which device serves, why, and what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drynpu import CommandError
from drynpu.options import Settings, TorchDevice
from drynpu_torch.extension import Build, find_build
from drynpu_torch.extension._build import string_form
from drynpu_torch.extension.choice import choose

TRAINING = """
import torch, torch_npu
x = torch.ones(8, 8, device="npu")
with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("out")):
    y = x @ x
print(y.device)
"""
UNBUILT = "because the native device has not been built for torch"


@pytest.mark.parametrize(
    ("environ", "built", "device", "is_asked", "is_missing"),
    [
        ({}, True, "native", False, False),
        ({}, False, "sink", False, False),
        ({"DRYNPU_DEVICE": "sink"}, True, "sink", True, False),
        ({"DRYNPU_DEVICE": "sink"}, False, "sink", True, False),
        ({"DRYNPU_DEVICE": "native"}, True, "native", True, False),
        ({"DRYNPU_DEVICE": "native"}, False, "native", True, True),
        ({"DRYNPU_COMPUTE": "0"}, False, "native", True, True),
        ({"DRYNPU_COMPUTE": "0", "DRYNPU_DEVICE": "sink"}, True, "native", True, False),
    ],
)
def test_the_native_device_serves_where_it_is_built(
    tmp_path: Path, environ: dict[str, str], built: bool, device: str, is_asked: bool, is_missing: bool
) -> None:
    path = tmp_path / "npu.so"
    if built:
        path.touch()
    choice = choose(Settings.from_environ(environ), Build("2.13.0", path), lambda: "g++")
    assert (choice.device.value, choice.is_asked, choice.is_missing) == (device, is_asked, is_missing)
    assert ("drynpu native build" in choice.other) == (not built)
    for name, value in environ.items():
        assert f"{name}={value}" in choice.sentence or name == "DRYNPU_DEVICE"


def test_without_a_compiler_that_is_what_is_missing(tmp_path: Path) -> None:
    choice = choose(Settings(), Build("2.13.0", tmp_path / "npu.so"), lambda: None)
    assert choice.other.startswith("to get it install a C++ compiler (apt-get install g++;")
    assert choice.other.endswith(", then run: drynpu native build")


@pytest.mark.parametrize(
    ("version", "device", "is_missing"),
    [("2.7.1+cu126", "native", True), ("2.9.1", "native", True), ("2.10.0", "sink", False), ("nightly", "sink", False)],
)
def test_a_release_that_the_sink_cannot_serve_needs_the_native_device(
    tmp_path: Path, version: str, device: str, is_missing: bool
) -> None:
    choice = choose(Settings(), Build(version, tmp_path / "npu.so"), lambda: "g++")
    assert (choice.device.value, choice.is_missing) == (device, is_missing)
    if is_missing:
        assert "run: drynpu native build" in choice.sentence
        sink = choose(Settings(device=TorchDevice.SINK), Build(version, tmp_path / "npu.so"), lambda: "g++")
        assert sink.is_missing
        assert "the sink needs torch 2.10 or newer" in sink.sentence


def test_a_release_that_is_too_old_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "2.5.1+cu124")
    with pytest.raises(CommandError) as refused:
        find_build()
    assert str(refused.value) == "PyTorch 2.5.1+cu124 is installed; drynpu needs 2.6 or newer"


@pytest.mark.parametrize(
    ("symbol", "flags"),
    [
        (b"_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", []),
        (b"_ZN3c105ErrorC1ENS_14SourceLocationESs", ["-D_GLIBCXX_USE_CXX11_ABI=0"]),
    ],
)
def test_strings_have_the_form_of_pytorchs_libraries(tmp_path: Path, symbol: bytes, flags: list[str]) -> None:
    (tmp_path / "libc10.so").write_bytes(b"\0" + symbol + b"\0")
    assert string_form(tmp_path) == flags


COMPILER = """#!/bin/sh
echo "module.cpp:1:1: error: no member named 'x' in 'c10::Y'" >&2
exit 1
"""


def test_a_build_that_failed_is_not_advised_again(scripts: Any, tmp_path: Path) -> None:
    """By the command, by its status and where a script starts."""
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CXX": str(compiler)}

    def native(verb: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "drynpu", "native", verb]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = native("build")
    assert code
    assert "no member named 'x'" in said
    code, said = native("status")
    assert code == 1
    assert "the last attempt failed" in said
    assert "no member named 'x'" in said
    assert "run: drynpu native build" not in said
    _, named, _ = train(scripts, XDG_CACHE_HOME=environ["XDG_CACHE_HOME"], CXX=environ["CXX"])
    assert named[1].endswith(" failed; to get it see: drynpu native status")
    find_build(environ).note_failure(None)
    assert native("status")[1].splitlines()[0].endswith(": not built")


def train(scripts: Any, **environ: str) -> tuple[str, list[str], dict[str, Any]]:
    """Run the training and return its last line, the lines of the summary that name a device, and drynpu's metadata."""
    done = scripts(TRAINING, environment={"COLUMNS": "200", **environ})
    (metadata,) = done.folder.glob("out/*/profiler_metadata.json")
    lines = done.stdout.splitlines()
    said = next(line for line in lines if line.startswith(("cpu", "npu")))
    named = [line for line in lines if "native device" in line or "sink device" in line]
    return said, named, json.loads(metadata.read_text())["drynpu"]


@pytest.mark.slow
def test_the_summary_names_the_device_once(scripts: Any) -> None:
    said, named, described = train(scripts)
    assert said == "npu:0"
    assert len(named) == 1
    assert named[0].endswith("npu: native device.")
    assert described["served_by"] == "native device"


@pytest.mark.slow
def test_without_a_build_the_summary_has_the_command(scripts: Any, tmp_path: Path) -> None:
    said, named, described = train(scripts, XDG_CACHE_HOME=str(tmp_path / "empty"))
    assert said == "cpu"
    assert len(named) == 2
    assert named[0].endswith("npu: sink device.")
    assert "note: " in named[1]
    assert UNBUILT in named[1]
    assert "run: drynpu native build" in named[1] or "install a C++ compiler" in named[1]
    assert described["served_by"] == "sink device"


@pytest.mark.slow
def test_who_chose_the_sink_gets_no_note(scripts: Any) -> None:
    said, named, _ = train(scripts, DRYNPU_DEVICE="sink")
    assert said == "cpu"
    assert len(named) == 1


@pytest.mark.slow
def test_a_build_that_does_not_load_is_left_alone(scripts: Any, tmp_path: Path, library: Path) -> None:
    broken = tmp_path / "cache" / Path(*library.parts[-4:])
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"of another machine")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    said, named, _ = train(scripts, **environ)
    assert said == "cpu"
    assert "the native device does not load" in named[1]
    assert "drynpu native build --again" in named[1]
    done = subprocess.run(
        [sys.executable, "-c", "import torch_npu"],
        env={**os.environ, **environ, "DRYNPU_DEVICE": "native"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "the native device does not load" in done.stderr


def test_the_status_says_why_and_how_to_get_the_other(tmp_path: Path) -> None:
    def status(**environ: str) -> tuple[int, list[str]]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("DRYNPU_")}
        command = [sys.executable, "-m", "drynpu", "native", "status"]
        done = subprocess.run(command, env={**kept, **environ}, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    code, (_, line) = status()
    assert code == 0
    assert line.startswith("the npu is served by the native device, because it is built for torch")
    assert "DRYNPU_DEVICE=sink" in line
    code, (first, line) = status(XDG_CACHE_HOME=str(tmp_path))
    assert code == 1
    assert first.endswith(": not built")
    assert f"the npu is served by the sink device, {UNBUILT}" in line
