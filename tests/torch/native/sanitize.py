"""
Build the npu device with a sanitizer of the compiler, and run stress and acceptance on it.

    python tests/torch/native/sanitize.py thread     # races between threads that use the same tensors
    python tests/torch/native/sanitize.py address    # memory errors and undefined behaviour, in 285 values of a device

Ends with 1 if the sanitizer reports anything, with 2 if it cannot run here. Needs g++ with libtsan, libasan, libubsan.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attrs import frozen

from drynpu_torch.extension import compile_device, find_build, find_compiler

HERE = Path(__file__).parent
# PyTorch and Python are not instrumented: what they do among themselves is theirs, and what an interpreter that ends
# does not free is no finding either.
OPTIONS = {
    "thread": {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 exitcode=66"},
    "address": {"ASAN_OPTIONS": "detect_leaks=0 exitcode=66", "UBSAN_OPTIONS": "print_stacktrace=1 halt_on_error=1"},
}
FLAGS = {"thread": ["-fsanitize=thread"], "address": ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]}
LIBRARIES = {"thread": ["libtsan.so"], "address": ["libasan.so", "libubsan.so"]}
# The allocator of polars does not start under ThreadSanitizer. The stress makes no tables, so it does without.
WITHOUT_POLARS = """
import sys
from unittest.mock import MagicMock
for name in ("", ".selectors", ".exceptions", ".datatypes"):
    sys.modules["polars" + name] = MagicMock()
"""
# Recordings begin and end while the threads of the stress compute.
RECORDED = """
import time, torch, torch_npu, threading
from drynpu_torch.capture import ColumnTracer

def record():
    while not over.is_set():
        tracer = ColumnTracer()
        tracer.start()
        time.sleep(0.02)
        rows.append(len(tracer.stop().name))

over, rows = threading.Event(), []
recorder = threading.Thread(target=record)
recorder.start()
"""
RECORDED_ALL = """
over.set()
recorder.join()
assert sum(rows) > 1000, rows
"""
RACE = """
#include <thread>
static int counter;
extern "C" int run() {
    auto work = [] { for (int i = 0; i < 100000; ++i) counter = counter + 1; };
    std::thread first(work), second(work);
    first.join(); second.join();
    return counter;
}
"""
FAULT = 'extern "C" int run() { int* volatile numbers = new int[4]; return numbers[4]; }'


@frozen
class Sanitizer:
    """A sanitizer of the compiler, and a folder for what is built."""

    kind: str
    compiler: str
    folder: Path

    def compile(self, source: str) -> Path:
        """Compile a small library with the sanitizer."""
        path, output = self.folder / "control.cpp", self.folder / "control.so"
        path.write_text(source, encoding="utf-8")
        command = [self.compiler, "-shared", "-fPIC", "-O1", "-g", *FLAGS[self.kind], str(path), "-o", str(output)]
        subprocess.run(command, check=True)
        return output

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python under the sanitizer."""
        found = [
            subprocess.run([self.compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
            for name in LIBRARIES[self.kind]
        ]
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
        environ = {
            **kept,
            **OPTIONS[self.kind],
            "LD_PRELOAD": " ".join(each.stdout.strip() for each in found),
            "XDG_CACHE_HOME": str(self.folder),
            "DRYNPU_DEVICE": "native",
            "DRYNPU_QUIET": "1",
            "KINETO_LOG_LEVEL": "99",
        }
        # Without fixed addresses ThreadSanitizer finds its own memory taken on some kernels.
        fixed = ["setarch", "-R"] if shutil.which("setarch") else []
        command = [*fixed, sys.executable, *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=1800)


def main() -> int:
    """Show that the sanitizer sees a fault, then that the device has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(FLAGS))
    kind = parser.parse_args().kind
    compiler = find_compiler()
    if compiler is None:
        print("sanitize: SKIPPED, there is no C++ compiler", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        sanitizer = Sanitizer(kind, compiler, Path(name))
        control = sanitizer.compile(RACE if kind == "thread" else FAULT)
        seen = sanitizer.run("-c", f"import ctypes; ctypes.CDLL({str(control)!r}).run()")
        if "Sanitizer" not in seen.stderr:
            print(f"sanitize: SKIPPED, the {kind} sanitizer does not see a fault here\n{seen.stderr}", file=sys.stderr)
            return 2
        library = find_build({"XDG_CACHE_HOME": name}).path
        library.parent.mkdir(parents=True)
        compile_device(compiler, library, [*FLAGS[kind], "-g", "-O1"])
        return _report(kind, sanitizer.run(*_script(kind)))


def _script(kind: str) -> list[str]:
    if kind == "address":
        return [str(HERE / "acceptance.py")]
    script = re.search(r'^SCRIPT = """\n(.*?)^"""', (HERE / "test_threads.py").read_text(), re.DOTALL | re.MULTILINE)
    assert script is not None
    return ["-c", "".join((WITHOUT_POLARS, RECORDED, script[1], RECORDED_ALL))]


def _report(kind: str, done: subprocess.CompletedProcess[str]) -> int:
    reports = len(re.findall(r"WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error:", done.stderr))
    print(f"sanitize {kind}: {reports} reports, exit {done.returncode}")
    if reports or done.returncode:
        print(done.stderr[-20_000:], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
