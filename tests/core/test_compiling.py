"""C++ that is compiled on the user's machine."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from drynpu import CommandError
from drynpu.compiling import find_compiler, library_path, put_library, run_compiler

FLAGS = ("-shared", "-fPIC")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "twice.cpp"
    path.write_text('extern "C" int twice(int x) { return 2 * x; }\n')
    return path


def test_a_library_lies_in_the_cache_by_what_it_is_made_of(tmp_path: Path, source: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = library_path("demo", "twice.so", [source], FLAGS, environ)
    assert path.parents[3] == tmp_path / "cache"
    assert path.parent.name.startswith("demo-")
    assert library_path("demo", "twice.so", [source], FLAGS, environ) == path
    assert library_path("demo", "twice.so", [source], (*FLAGS, "-g"), environ) != path
    source.write_text("int other;\n")
    assert library_path("demo", "twice.so", [source], FLAGS, environ) != path


def test_a_library_is_compiled_and_put_there_in_one_step(tmp_path: Path, source: Path) -> None:
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    path = tmp_path / "new" / "twice.so"
    put_library(path, lambda output: run_compiler(compiler, [*FLAGS, str(source), "-o", str(output)], "twice.cpp"))
    assert [each.name for each in path.parent.iterdir()] == ["twice.so"]
    assert ctypes.CDLL(str(path)).twice(21) == 42
    source.write_text("int broken(\n")
    with pytest.raises(CommandError, match=r"could not compile twice\.cpp:\n.*twice\.cpp:1"):
        put_library(
            tmp_path / "bad" / "x.so",
            lambda output: run_compiler(compiler, [*FLAGS, str(source), "-o", str(output)], "twice.cpp"),
        )
    assert not list((tmp_path / "bad").iterdir())


def test_the_compiler_is_the_one_that_the_environment_names() -> None:
    assert find_compiler({"CXX": "no-such-compiler"}) is None
    assert (find_compiler({"CXX": "true"}) or "").endswith("/true")
