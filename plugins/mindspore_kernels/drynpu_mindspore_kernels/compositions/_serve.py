"""Compositions in place: all of them are added to MindSpore's kernels of the CPU when a script imports it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from drynpu import say_once
from drynpu_mindspore.inside import CORE, HARDWARE, Tried
from drynpu_mindspore_kernels._binding import known_release, read_kernel_table
from drynpu_mindspore_kernels.compositions._activations import ACTIVATIONS
from drynpu_mindspore_kernels.compositions._attention import ATTENTION
from drynpu_mindspore_kernels.compositions._attributes import load_attributes
from drynpu_mindspore_kernels.compositions._batch_statistics import BATCH_STATISTICS
from drynpu_mindspore_kernels.compositions._blocks import BLOCKS
from drynpu_mindspore_kernels.compositions._boxes import BOXES
from drynpu_mindspore_kernels.compositions._caches import CACHES
from drynpu_mindspore_kernels.compositions._class_losses import CLASS_LOSSES
from drynpu_mindspore_kernels.compositions._colours import COLOURS
from drynpu_mindspore_kernels.compositions._convolutions import CONVOLUTIONS
from drynpu_mindspore_kernels.compositions._deformable import DEFORMABLE
from drynpu_mindspore_kernels.compositions._dumps import DUMPS
from drynpu_mindspore_kernels.compositions._elementwise import ELEMENTWISE
from drynpu_mindspore_kernels.compositions._experts import EXPERTS
from drynpu_mindspore_kernels.compositions._factory import find_factory
from drynpu_mindspore_kernels.compositions._faults import FAULTS
from drynpu_mindspore_kernels.compositions._feed_forward import FEED_FORWARD
from drynpu_mindspore_kernels.compositions._gradients import keep_inputs
from drynpu_mindspore_kernels.compositions._grouped import GROUPED
from drynpu_mindspore_kernels.compositions._indexing import INDEXING
from drynpu_mindspore_kernels.compositions._inference_attention import INFERENCE_ATTENTION
from drynpu_mindspore_kernels.compositions._interpolation import INTERPOLATION
from drynpu_mindspore_kernels.compositions._kernels import (
    PATTERN,
    Collective,
    Composition,
    CompositionKernels,
    find_resize,
)
from drynpu_mindspore_kernels.compositions._losses import LOSSES
from drynpu_mindspore_kernels.compositions._matrices import MATRICES
from drynpu_mindspore_kernels.compositions._norms import NORMS
from drynpu_mindspore_kernels.compositions._optimizers import OPTIMIZERS
from drynpu_mindspore_kernels.compositions._pooling import POOLING
from drynpu_mindspore_kernels.compositions._quantised import QUANTISED
from drynpu_mindspore_kernels.compositions._random import RANDOM
from drynpu_mindspore_kernels.compositions._recurrent import RECURRENT
from drynpu_mindspore_kernels.compositions._reductions import REDUCTIONS
from drynpu_mindspore_kernels.compositions._repairs import RepairedKernels
from drynpu_mindspore_kernels.compositions._second_order import SECOND_ORDER
from drynpu_mindspore_kernels.compositions._sparse_steps import SPARSE_STEPS
from drynpu_mindspore_kernels.compositions._speed_attention import SPEED_ATTENTION
from drynpu_mindspore_kernels.compositions._tensors import load_tensors
from drynpu_mindspore_kernels.compositions._transducer import TRANSDUCER
from drynpu_mindspore_kernels.compositions._unique import UNIQUE
from drynpu_mindspore_kernels.compositions._views import VIEWS
from drynpu_mindspore_kernels.compositions._wide import WideKernels, load_wide

COMPOSITIONS: Final[Mapping[str, Composition]] = MappingProxyType(
    {
        **ACTIVATIONS,
        **ATTENTION,
        **CONVOLUTIONS,
        **ELEMENTWISE,
        **INDEXING,
        **LOSSES,
        **MATRICES,
        **NORMS,
        **POOLING,
        **RANDOM,
        **RECURRENT,
        **REDUCTIONS,
        **VIEWS,
        **UNIQUE,
        **DUMPS,
        **COLOURS,
        **TRANSDUCER,
        **SPARSE_STEPS,
        **SPEED_ATTENTION,
        **SECOND_ORDER,
        **QUANTISED,
        **OPTIMIZERS,
        **INTERPOLATION,
        **INFERENCE_ATTENTION,
        **GROUPED,
        **EXPERTS,
        **DEFORMABLE,
        **CLASS_LOSSES,
        **CACHES,
        **BOXES,
        **BLOCKS,
        **FAULTS,
        **FEED_FORWARD,
        **BATCH_STATISTICS,
    }
)
"""By primitive."""

_PYNATIVE = "lib/libmindspore_pynative.so"
_KERNELS = "lib/plugin/libmindspore_ops_cpu.so"


@frozen(eq=False)
class Served:
    """The compositions that were added; the kernels have to live as long as MindSpore, which calls them."""

    names: tuple[str, ...]
    kernels: CompositionKernels = field(repr=False)
    wide: WideKernels = field(repr=False)
    repaired: RepairedKernels = field(repr=False)

    def widen(self) -> None:
        """Add types of 16 bits to MindSpore's own kernels, now that a script uses one or compiles a graph."""
        try:
            self.wide.add()
        except LookupError as error:
            say_once(f"bf16 and fp16 are not added to kernels of the CPU that lack them: {error}")


def serve_compositions(
    package: Path,
    tried: Tried,
    compositions: Mapping[str, Any] = COMPOSITIONS,
    collectives: Mapping[str, Collective] = MappingProxyType({}),
) -> Served:
    """
    Add *compositions* to the MindSpore in the folder *package*, except where it has a kernel of its own.

    *collectives* are added as well, and stand in the place of its own.

    Raises
    ------
    UnknownInside
        The inside of this MindSpore is not known.
    OSError, AttributeError
        Its libraries are not there, or lack a function.
    LookupError
        Its table of kernels, or what a kernel is, looks otherwise.
    """
    release = known_release()
    core, hardware, cpu = (ctypes.CDLL(str(package / file)) for file in (CORE, HARDWARE, _KERNELS))
    pynative = ctypes.CDLL(str(package / _PYNATIVE))
    factory, tensors = find_factory(hardware), load_tensors(hardware, release.tensor)
    resize, wide_library = find_resize(hardware), load_wide(hardware, cpu)
    attributes, kernel_table = load_attributes(core), read_kernel_table(factory.create(PATTERN))
    # Nothing has been changed yet. What MindSpore calls from here on has to live, whatever fails behind it.
    kernels = CompositionKernels(factory, tensors, resize, attributes, kernel_table, collectives)
    wide = WideKernels(factory, tensors, wide_library, kernel_table)
    repaired = RepairedKernels(factory, tensors, attributes, kernel_table)
    served = Served(kernels.add(compositions), kernels, wide, repaired)
    tried.attempt("repairs of kernels of the CPU", repaired.add)
    tried.attempt("gradients of sorted tensors in PyNative", lambda: keep_inputs(pynative))
    tried.attempt("functions that MindSpore refuses on the CPU", _replace_methods)
    return served


def _replace_methods() -> None:
    from drynpu_mindspore_kernels.compositions._methods import replace_methods

    replace_methods()
