"""Compilations of graphs in a mode that splits them: the passes see Ascend while one is under way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from drynpu_mindspore.inside import graph_module
from drynpu_mindspore_kernels._binding import RELEASES
from drynpu_mindspore_kernels.splitting._groups import replace_groups
from drynpu_mindspore_kernels.splitting._target import TargetSwitch, load_switch

_MODES: Final = ("semi_auto_parallel", "auto_parallel")
_MISSING: Final = (
    "parallel_mode {mode!r} splits graphs over ranks by functions that drynpu compiles for MindSpore {releases} on "
    "Linux; install a C++ compiler (g++, or name one in CXX) and such a release, or take 'data_parallel'"
)
_STAGES: Final = (
    "pipeline_stages is {stages}: drynpu cuts no pipelines; take 1, and split operators (shard, model_parallel) instead"
)


@define(eq=False)
class Splitting:
    """Makes MindSpore's passes split graphs, from the first one that is to be split."""

    package: Path
    is_ascend: Callable[[], bool]
    _switch: TargetSwitch | None = None
    _kept: Any = ()
    """Functions that MindSpore calls as long as it lives."""
    _tried: bool = field(default=False)

    def begin(self, mode: str, stages: int = 1) -> None:
        """
        Have the graph that is compiled now split, if that is what the *mode* asks for.

        Raises
        ------
        RuntimeError
            There is no C++ compiler, this is another MindSpore, or the graph is to be cut into several *stages*.
        """
        if mode not in _MODES or not self.is_ascend():
            return
        if stages > 1:
            raise RuntimeError(_STAGES.format(stages=stages))
        if not self._tried:
            self._tried = True
            switch = load_switch(self.package)
            if switch is not None:
                self._kept = replace_groups(self.package)
            self._switch = switch
        if self._switch is None:
            raise RuntimeError(_MISSING.format(mode=mode, releases=" or ".join(RELEASES)))
        self._switch.split(on=True)

    def end(self) -> None:
        """Have MindSpore see the CPU again."""
        if self._switch is not None:
            self._switch.split(on=False)


# N18, docs/tricks.md
def split_on_ascend(package: Path, is_ascend: Callable[[], bool]) -> None:
    """Have graphs of scripts on Ascend split as on a device; *package* is the folder of MindSpore."""
    from mindspore import context

    api = graph_module()
    splitting = Splitting(package, is_ascend)
    genuine_begin, genuine_compile = api._init_auto_parallel_context, api._CellGraphExecutor.compile

    @functools.wraps(genuine_begin)
    def begin(*arguments: Any, **keywords: Any) -> None:
        genuine_begin(*arguments, **keywords)
        mode, stages = map(context.get_auto_parallel_context, ("parallel_mode", "pipeline_stages"))
        splitting.begin(str(mode), int(stages))

    @functools.wraps(genuine_compile)
    def compile_graph(*arguments: Any, **keywords: Any) -> Any:
        try:
            return genuine_compile(*arguments, **keywords)
        finally:
            splitting.end()

    api._init_auto_parallel_context = begin  # type: ignore[attr-defined]
    api._CellGraphExecutor.compile = compile_graph
