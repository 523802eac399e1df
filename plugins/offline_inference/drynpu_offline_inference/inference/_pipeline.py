"""Runs in a pipeline: while one input is computed, the next is copied to the device and the last result back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Queue

from attrs import define, field

from drynpu.arrays import Array
from drynpu_offline_inference.inference._console import ERROR
from drynpu_offline_inference.inference._failures import GENERAL, failure
from drynpu_offline_inference.inference._files import read_input, result_prefix, write_result
from drynpu_offline_inference.inference._library import Block
from drynpu_offline_inference.inference._options import HostMemory, PipelineOptions
from drynpu_offline_inference.inference._session import Session
from drynpu_offline_inference.inference._tensors import Tensor
from drynpu_offline_inference.inference.process import LIBRARY

_ROOM = 4
"""How many inputs wait before each stage at most."""


@define(eq=False)
class _Item:
    """One input on its way; ``owners`` keep its memory alive until it is on the device."""

    feeds: Sequence[HostMemory]
    owners: Sequence[Array] = ()
    shape: str = ""
    dims: str = ""
    prefix: str = ""
    blocks: list[Block] = field(factory=list)
    outputs: list[Tensor] = field(factory=list)


@define(eq=False)
class _Line:
    """The stages of one session, each on a thread of its own; the first error stops all work."""

    session: Session
    names: Sequence[str]
    items: Iterator[_Item]
    finish: Callable[[_Item], None]
    errors: list[Exception]
    threads: list[threading.Thread] = field(factory=list)

    def start(self) -> None:
        """Start the threads."""
        queues: list[Queue[_Item | None]] = [Queue(_ROOM) for _ in range(4)]
        works = (self._send, self._compute, self._fetch)
        self.threads.append(threading.Thread(target=self._prepare, args=(queues[0],)))
        for work, source, following in zip(works, queues, queues[1:], strict=False):
            self.threads.append(threading.Thread(target=self._pass_on, args=(work, source, following)))
        self.threads.append(threading.Thread(target=self._pass_on, args=(self.finish, queues[-1], None)))
        for thread in self.threads:
            thread.start()

    def _prepare(self, following: Queue[_Item | None]) -> None:
        try:
            for item in self.items:
                if self.errors:
                    break
                following.put(item)
        except Exception as error:  # noqa: BLE001 - it is raised where the pipeline was started
            self.errors.append(error)
        following.put(None)

    def _pass_on(
        self, work: Callable[[_Item], None], source: Queue[_Item | None], following: Queue[_Item | None] | None
    ) -> None:
        while (item := source.get()) is not None:
            if self.errors:
                continue
            try:
                self.session.enter()
                work(item)
            except Exception as error:  # noqa: BLE001 - it is raised where the pipeline was started
                self.errors.append(error)
                continue
            if following is not None:
                following.put(item)
        if following is not None:
            following.put(None)

    def _send(self, item: _Item) -> None:
        item.blocks = [LIBRARY.send_memory(feed.buf, feed.size, self.session.device_id) for feed in item.feeds]

    def _compute(self, item: _Item) -> None:
        if item.shape:
            self.session.choose_shape(item.shape)
        if item.dims:
            self.session.choose_dims(item.dims)
        self.session.check_sizes([block.size for block in item.blocks])
        item.outputs = self.session.run_on_device(self.names, item.blocks)

    def _fetch(self, item: _Item) -> None:
        for output in item.outputs:
            output.to_host()


def run_files(
    session: Session, files: Sequence[Sequence[str]], options: PipelineOptions, others: Sequence[Session]
) -> None:
    """
    Run rows of files, one for each input, and write the results.

    *others* take turns with *session*; their runs are counted with its own.

    Raises
    ------
    RuntimeError
        A file cannot be read or does not fit, two sessions share a context, a run failed.
    """
    sessions = [session, *others]
    if len({(each.device_id, each.context) for each in sessions}) < len(sessions):
        text = "InferPipeline failed: cannot have session in same context"
        LIBRARY.console.say(ERROR, text)
        raise failure(GENERAL, text)

    def save(item: _Item) -> None:
        if item.prefix:
            for number, output in enumerate(item.outputs):
                write_result(item.prefix, number, output, options.out_format)

    errors: list[Exception] = []
    lines = []
    for number, each in enumerate(sessions):
        each.runs.join(session.runs.zero_ns)
        names = [tensor.name for tensor in each.model.outputs]
        lines.append(_Line(each, names, _file_items(each, files[number :: len(sessions)], options), save, errors))
    _run_lines(lines, errors)
    for each in others:
        session.runs.extend(each.runs.summary().exec_time_list)


def run_memory(
    session: Session,
    names: Sequence[str],
    feeds: Sequence[Sequence[HostMemory]],
    shapes: Sequence[Sequence[Sequence[int]]],
    *,
    auto_shape: bool,
    auto_dims: bool,
) -> list[list[Tensor]]:
    """Run rows of inputs in the program's memory and return the outputs of each on the host."""
    results: list[list[Tensor]] = []
    inputs = [tensor.name for tensor in session.model.inputs]

    def items() -> Iterator[_Item]:
        for number, row in enumerate(feeds):
            text = _shape_text(inputs, shapes[number]) if auto_shape or auto_dims else ""
            yield _Item(row, shape=text if auto_shape else "", dims=text if auto_dims else "")

    errors: list[Exception] = []
    _run_lines([_Line(session, names, items(), lambda item: results.append(item.outputs), errors)], errors)
    return results


def _run_lines(lines: Sequence[_Line], errors: Sequence[Exception]) -> None:
    for line in lines:
        line.start()
    for line in lines:
        for thread in line.threads:
            thread.join()
    if errors:
        raise errors[0]


def _file_items(session: Session, rows: Sequence[Sequence[str]], options: PipelineOptions) -> Iterator[_Item]:
    names = [tensor.name for tensor in session.model.inputs]
    for row in rows:
        if len(row) != len(names):
            text = f"{len(row)} files for {len(names)} inputs: {', '.join(row)}"
            LIBRARY.console.say(ERROR, text)
            raise failure(GENERAL, text)
        arrays = [read_input(file, tensor.realsize) for file, tensor in zip(row, session.model.inputs, strict=True)]
        text = ""
        if options.auto_dym_shape or options.auto_dym_dims:
            text = _shape_text(names, [array.shape for array in arrays])
        yield _Item(
            [HostMemory(array.ctypes.data, array.nbytes) for array in arrays],
            arrays,
            shape=text if options.auto_dym_shape else "",
            dims=text if options.auto_dym_dims else "",
            prefix=result_prefix(options.output_dir, row[0]) if options.output_dir else "",
        )


def _shape_text(names: Iterable[str], shapes: Sequence[Sequence[int]]) -> str:
    rows = zip(names, shapes, strict=True)
    return ";".join(f"{name}:{','.join(str(int(dim)) for dim in shape)}" for name, shape in rows)
