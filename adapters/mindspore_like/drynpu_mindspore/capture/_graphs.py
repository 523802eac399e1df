"""
The graphs that MindSpore compiles and saves as text.

MindSpore saves graphs while ``save_graphs`` is set in its context; ``MS_DEV_DUMP_IR_PASSES`` chooses them by parts of
their names. Saving all of them takes five times as long as compiling and 80 MB for 30 layers; docs/mindspore.md has the
figures of the three kinds that are read here:

- ``graph_build``: a graph of kernels as it runs, with the full names under which the profiler lists its launches;
- ``hwopt_d_after_optimization_without_backend_graph_4000``: operators that PyNative compiles one by one;
- ``fg``: in PyNative what was computed forward, once for every step that computes gradients.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
import time
from bisect import insort
from collections import defaultdict
from operator import itemgetter
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu.recorder import OptionalParts
from drynpu_mindspore.capture._forward import ForwardCall, read_forward, same_graph
from drynpu_mindspore.capture._ir import GraphNode, read_graph
from drynpu_mindspore.capture._wiring import KernelGraph, read_kernel_graphs

_PASSES = "MS_DEV_DUMP_IR_PASSES"
_USERS_OWN = "MS_DEV_SAVE_GRAPHS"
_KERNELS, _SINGLE, _FORWARD = "graph_build_", "hwopt_d_after_optimization_without_backend_graph_4000", "fg_"
_COMPILED = re.compile(r"_graph_(\d+)_")
_LOST = "shapes and types from graphs"
_ANY_SHAPE = "input_is_dynamic_shape"
"""Attribute of what is compiled once for inputs of all lengths."""
# Between recordings every step of a training leaves a forward graph; a sweep a second keeps the folder small.
_SWEEP_S = 1.0

Shapes = tuple[tuple[int, ...], ...]


def shapes_of(node: GraphNode) -> Shapes:
    """Return the shapes of the tensors among the inputs of a node."""
    return tuple(t.shape for t in node.inputs if t is not None)


@define
class GraphStore:
    """
    The graphs that this process compiled since :meth:`begin`.

    Graphs are compiled once and run many times, so a store is kept as long as the process may record. The folder is
    temporary: :meth:`close`, and the end of the process, remove it. Where the script saves graphs itself, nothing is
    changed; the graphs are read from its folder.
    """

    parts: OptionalParts = field(factory=OptionalParts)
    """Names what is lost where MindSpore saves no graphs, or such as are not read here."""
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None)
    _path: Path | None = field(default=None)
    _begun_s: float = 0.0
    _own_passes: bool = False
    _seen: set[Path] = field(factory=set)
    _named: defaultdict[str, list[GraphNode]] = field(factory=lambda: defaultdict(list))
    _kernel_graphs: list[KernelGraph] = field(factory=list)
    _single: dict[tuple[str, Shapes], GraphNode] = field(factory=dict)
    _compiled: defaultdict[str, list[tuple[int, GraphNode]]] = field(factory=lambda: defaultdict(list))
    """What PyNative compiled one by one, by primitive: numbers of graphs and their nodes, in order."""
    _calls: dict[bytes, tuple[ForwardCall, ...]] = field(factory=dict)
    _quiet: threading.Event = field(factory=threading.Event)

    @property
    def folder(self) -> str | None:
        """Where graphs are saved; ``None`` before :meth:`begin` and after :meth:`close`."""
        return None if self._path is None else str(self._path)

    def begin(self) -> None:
        """
        Have MindSpore save graphs from now on; graphs that were compiled before stay unknown.

        A value of ``MS_DEV_DUMP_IR_PASSES`` that the script set stays in force and may leave graphs out.
        """
        if self._path is None:
            self.parts.gather(_LOST, self._begin, None)

    def _begin(self) -> None:
        context, parameters = _context()
        self._begun_s = time.time()
        if os.environ.get(_USERS_OWN, "0") != "0" or context.get_param(parameters.save_graphs):
            self._path = Path(
                os.environ.get("MS_DEV_SAVE_GRAPHS_PATH") or context.get_param(parameters.save_graphs_path)
            )
            return
        self._own_passes = _PASSES not in os.environ
        # MindSpore reads it once, and a script may go over to the other mode later.
        os.environ.setdefault(_PASSES, ",".join(part.rstrip("_") for part in (_KERNELS, _SINGLE, _FORWARD)))
        self._folder = tempfile.TemporaryDirectory(prefix="drynpu-graphs-")
        self._path = Path(self._folder.name)
        context.set_param(parameters.save_graphs_path, str(self._path))
        context.set_param(parameters.save_graphs, 1)
        self.idle()

    def close(self) -> None:
        """Have MindSpore save no more graphs, and remove the folder; graphs that were read stay known."""
        self._quiet.set()
        if self._folder is not None:
            self.collect()
            context, parameters = _context()
            if context.get_param(parameters.save_graphs_path) == self._folder.name:
                context.set_param(parameters.save_graphs, 0)
                context.set_param(parameters.save_graphs_path, ".")
            if self._own_passes:
                os.environ.pop(_PASSES, None)
            self._folder.cleanup()
        self._folder = self._path = None

    def idle(self) -> None:
        """Until :meth:`busy`, throw away all but compiled graphs: what PyNative writes in every step fills a disk."""
        if self._folder is None or _FORWARD.rstrip("_") not in os.environ.get(_PASSES, ""):
            return
        self._quiet = threading.Event()
        threading.Thread(target=_sweep, args=(Path(self._folder.name), self._quiet), daemon=True).start()

    def busy(self) -> None:
        """Keep everything from now on, because a recording begins."""
        self._quiet.set()
        self.collect()

    def collect(self) -> list[tuple[ForwardCall, ...]]:
        """Read what was saved since the last call; return the forward graphs of PyNative among it, in their order."""
        forward: list[tuple[int, tuple[ForwardCall, ...]]] = []
        no_files: list[Path] = []
        for path in self.parts.gather(_LOST, self._new_files, no_files):
            self.parts.gather(_LOST, functools.partial(self._read, path, forward), None)
            if path not in self._seen:
                path.unlink(missing_ok=True)
        return [calls for _, calls in sorted(forward, key=lambda pair: pair[0])]

    def _read(self, path: Path, forward: list[tuple[int, tuple[ForwardCall, ...]]]) -> None:
        """Read one file; what was computed forward goes to *forward*."""
        if path.name.startswith(_FORWARD):
            forward.append((_number(path), self._forward(_text(path))))
        elif path.name.startswith(_KERNELS):
            for graph in read_kernel_graphs(_text(path)):
                self._kernel_graphs.append(graph)
                for node in graph.nodes:
                    self._named[node.name].append(node)
        elif path.name.startswith(_SINGLE):
            for node in read_graph(_text(path)):
                self._single.setdefault((node.primitive, shapes_of(node)), node)
                insort(self._compiled[node.primitive], (_graph_number(path), node), key=itemgetter(0))

    def kernel_graphs(self) -> tuple[KernelGraph, ...]:
        """Return the graphs of kernels that are known, in the order in which they were compiled."""
        return tuple(self._kernel_graphs)

    def named(self, name: str) -> list[GraphNode]:
        """Return the nodes with that full name; several if graphs share it."""
        return self._named.get(name, [])

    def compiled(self, primitive: str, number: int, shapes: Shapes) -> GraphNode | None:
        """
        Return the operator of the launches ``Default/<primitive>-op<number>``, if it takes these shapes or any.

        Such numbers count what PyNative compiled of a primitive. Where some of it was compiled before :meth:`begin`,
        the count differs from the number of known graphs.
        """
        graphs = self._compiled.get(primitive, [])
        node = graphs[number][1] if number < len(graphs) else None
        if node is None:
            return None
        known = shapes_of(node)
        of_any = dict(node.attrs).get(_ANY_SHAPE) is True and list(map(len, known)) == list(map(len, shapes))
        return node if known == shapes or of_any else None

    def single(self, primitive: str, shapes: Shapes) -> GraphNode | None:
        """Return the operator that PyNative compiled for these shapes, if it did: the first of several."""
        return self._single.get((primitive, shapes))

    def types(self, primitive: str, tensors: int) -> tuple[str, ...]:
        """
        Return the types of the tensors with which PyNative compiled an operator, whatever their shapes.

        Nothing if it was compiled with several, or never.
        """
        variants = {
            tuple(t.dtype for t in node.inputs if t is not None)
            for (name, _), node in self._single.items()
            if name == primitive
        }
        fitting = [types for types in variants if len(types) == tensors]
        return fitting[0] if len(fitting) == 1 else ()

    def _forward(self, text: str) -> tuple[ForwardCall, ...]:
        """Read a forward graph; graphs of steps differ mostly in the numbering of nodes and in values of tensors."""
        key = same_graph(text)
        if key not in self._calls:
            self._calls[key] = read_forward(text)
        return self._calls[key]

    def _new_files(self) -> list[Path]:
        """Return new files of our folder, and of one that the script named, before or since :meth:`begin`."""
        if self._path is None:
            return []
        context, parameters = _context()
        ours = None if self._folder is None else Path(self._folder.name)
        named = self._path if ours is None else Path(context.get_param(parameters.save_graphs_path))
        others = [] if named == ours else _saved_in(named)
        new = [path for path in others if path not in self._seen and self._is_recent(path)]
        self._seen.update(new)
        return [*(path for path in sorted(ours.rglob("*")) if path.is_file()), *new] if ours is not None else new

    def _is_recent(self, path: Path) -> bool:
        return path.stat().st_mtime >= self._begun_s


def _context() -> tuple[Any, Any]:
    from mindspore._c_expression import MSContext, ms_ctx_param

    return MSContext.get_instance(), ms_ctx_param


def _saved_in(folder: Path) -> list[Path]:
    """Return the graphs that are wanted in a folder of the script's; several ranks have one each below it."""
    kinds = (_KERNELS, _SINGLE, _FORWARD)
    return sorted(path for place in ("", "rank_*/") for kind in kinds for path in folder.glob(f"{place}{kind}*.ir"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # swept away, or the user's folder was emptied
        return ""


def _number(path: Path) -> int:
    digits = path.stem.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else 0


def _graph_number(path: Path) -> int:
    """Return the number of a graph that PyNative compiled, which the names of files hold between others."""
    match = _COMPILED.search(path.name)
    return int(match.group(1)) if match else 0


def _sweep(folder: Path, quiet: threading.Event) -> None:
    while not quiet.wait(_SWEEP_S):
        for path in folder.rglob("*.ir"):
            if not path.name.startswith((_KERNELS, _SINGLE)):
                path.unlink(missing_ok=True)
