"""
Scripts run in forks of a process that has imported their framework, which takes longer than most scripts do.

A script is the main module, with arguments, a working directory, an environment and standard streams of its own, and
ends as Python ends. What depends on how a process starts needs a fresh one: variables that Python or the framework
reads then, the command line that the system shows, the functions below the script's on a stack.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

RECORDING = (
    *("polars", "drynpu.deliverables.registry", "drynpu.recorder._recorder", "drynpu.simulate._simulate"),
    *("drynpu.products.registry", "drynpu.products.results", "drynpu.products.torch._export"),
    *("drynpu.products.torch._db_run", "drynpu.products.torch.db_analysis", "drynpu.recorder._joining"),
)
"""Modules that a recording imports before it ends, whatever the framework."""
_MESSAGE_BYTES = 1 << 17
"""Arguments and environment of a script are shorter, and a socket takes as much at once."""


class WarmProcess:
    """A process that has imported modules and forks for each script."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str], options: Sequence[str] = ()) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *options, __file__, str(theirs.fileno()), *modules],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float
    ) -> tuple[int, subprocess.CompletedProcess[str]]:
        """
        Run a script, the first of *arguments*, to its end; return the number of its process and how it ended.

        Raises
        ------
        subprocess.TimeoutExpired
            It takes longer; it was killed.
        """
        request = {"arguments": list(arguments), "folder": str(folder), "environment": dict(environment)}
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with here, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            with there:
                files = [there.fileno(), stdout.fileno(), stderr.fileno()]
                socket.send_fds(self._channel, [json.dumps(request).encode()], files)
            pid = int(here.recv(64))
            here.settimeout(timeout_s)
            try:
                status = int(here.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None
            texts = []
            for file in (stdout, stderr):
                file.seek(0)
                texts.append(file.read().decode().replace("\r\n", "\n"))
        return pid, subprocess.CompletedProcess(list(arguments), status, *texts)

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self._process.wait()


@contextmanager
def warm_process(
    modules: Sequence[str], environment: Mapping[str, str], options: Sequence[str] = ()
) -> Iterator[WarmProcess | None]:
    """Start a process for scripts; none with ``DRYNPU_TEST_FRESH``, nor where the system cannot tell that forks end."""
    if "DRYNPU_TEST_FRESH" in os.environ or not hasattr(os, "pidfd_open"):
        yield None
        return
    process = WarmProcess(modules, environment, options)
    try:
        yield process
    finally:
        process.close()


def serve(channel: socket.socket) -> dict[str, object] | None:
    """Fork for each request; return the request in the fork, and nothing once nobody is left to send one."""
    replies: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not channel:
                    selector.unregister(key.fileobj)
                    pid, reply = replies.pop(key.fd)
                    os.close(key.fd)
                    with reply, suppress(BrokenPipeError):  # nobody waits any more for a script that took too long
                        reply.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
                    continue
                message, files, _, _ = socket.recv_fds(channel, _MESSAGE_BYTES, 3)
                if not message:
                    return None
                pid = os.fork()
                if not pid:
                    for each, (_, reply) in replies.items():
                        os.close(each)
                        reply.close()
                    channel.close()
                    request: dict[str, object] = json.loads(message)
                    os.close(files[0])
                    for file, standard in zip(files[1:], (1, 2), strict=True):
                        os.dup2(file, standard)
                        os.close(file)
                    return request
                reply = socket.socket(fileno=files[0])
                for file in files[1:]:
                    os.close(file)
                reply.send(str(pid).encode())
                end = os.pidfd_open(pid)
                replies[end] = pid, reply
                selector.register(end, selectors.EVENT_READ)


def run_script(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run a script as Python runs it."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    deliver = sys.modules.get("drynpu.products._process")
    if deliver is not None:
        # The table engine was imported and never used: it has no threads that a fork could miss.
        deliver.__dict__["_IMPORTED_IN"] = os.getpid()
    torch = sys.modules.get("torch")
    if torch is not None and environment.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
        torch._import_device_backends()
    if torch is not None and "OMP_NUM_THREADS" in environment:
        torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))  # the library read the variable when it was loaded
    script = arguments[0]
    sys.argv[:] = arguments
    sys.path[0] = str(Path(script).resolve().parent)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=builtins)
    sys.modules["__main__"] = main
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), main.__dict__)
    except Exception as error:  # noqa: BLE001 - of any kind, as Python does
        script_only = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(script_only), script_only)
        sys.exit(1)


def main() -> None:
    """Import the modules that the command line names, and serve."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    # The collector of a fork would touch each object that was imported, and the system copy the page it is on.
    gc.collect()
    gc.freeze()
    request = serve(channel)
    if request is not None:
        run_script(**request)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
