"""
Kernels of the CPU whose work is a function of Python.

MindSpore creates them as it creates its own, infers shapes, differentiates, launches and profiles them alike. Each is a
kernel of MindSpore with another table of virtual functions: the one that launches calls back.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from drynpu_mindspore.inside import (
    ALWAYS,
    LAUNCH,
    WORD_BYTES,
    new_table,
    read_text,
    read_vector,
    read_word,
    write_word,
)
from drynpu_mindspore_kernels import _binding as binding
from drynpu_mindspore_kernels._binding import KernelTable
from drynpu_mindspore_kernels.compositions._attributes import AttributeLibrary, Attributes
from drynpu_mindspore_kernels.compositions._bfloat import BFLOAT16_BITS, narrow, widen
from drynpu_mindspore_kernels.compositions._factory import CREATE, KernelFactory
from drynpu_mindspore_kernels.compositions._tensors import TensorLibrary

Composition = Callable[..., Any]
"""
Takes the arguments of a primitive by position as arrays; returns its results, one or several in a tuple.

A parameter that is annotated as ``Numbers`` gets a tuple of numbers as one array. GRAPH mode may pass each number of it
on its own; parameters annotated as ``Flag`` help to find out which belong together. A parameter that only has a name
gets the attribute of the primitive that is called so.
"""

Collective = Callable[[Attributes, Sequence[Any], Sequence[Any]], None]
"""
Takes the attributes of a primitive that communicates, its arguments and its results as arrays; writes the results.

Numbers of 16 bits are as MindSpore stores them.
"""

LATE = frozenset(
    {"Unique2", "UniqueDim", "InnerUnique", "InnerNonZero", "NonMaxSuppressionV3", "ComputeAccidentalHits"}
)
"""Primitives whose results have shapes that are known once they are computed."""
AS_STORED = frozenset({"GenerateEodMaskV2", "TensorDump"})
"""Primitives that work on the bits of numbers: numbers of 16 bits are not widened for them."""
WRONG = frozenset({"ApplyAdagradDA", "ApplyFtrl", "NMSWithMask", "RGBToHSV", "SearchSorted"})
"""
Primitives whose kernel of the CPU computes another thing than their documentation says of Ascend.

The first two of them with ``l1``; NMSWithMask puts the boxes in another order; RGBToHSV has infinite saturations in
float16; SearchSorted has neither int32 nor an order of the sequence.
"""
NUMBERS, FLAG = "Numbers", "Flag"
PATTERN = "RaggedTensorToSparse"
"""A kernel of MindSpore that holds nothing but what every kernel holds, and accepts all types."""
_IN_PLACE = "Inplace"
_CHANGED = {
    "InplaceMatmulAdd": (2,),
    "InplaceGroupedMatmulAdd": (3,),
    "ReshapeAndCache": (2, 3),
    "KVCacheScatterUpdate": (0,),
    "AdamW": (0, 1, 2, 3),
    "ApplyAdamW": (0, 1, 2),
    "ApplyFtrl": (0, 1, 2),
    "ApplyAdagradDA": (0, 1, 2),
    "ApplyKerasMomentum": (0, 1),
    "ApplyNesterovMomentum": (0, 1),
    "Lamb": (0, 1, 2),
    "BatchNormGatherStatsWithCounts": (3, 4),
    "BNTrainingUpdate": (5, 6),
    "SparseApplyProximalAdagrad": (0, 1),
    "SparseApplyAdadelta": (0, 1, 2),
}
"""Places of the arguments that change in place, where it is not the first one of a primitive called so."""
_UPDATE_TYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)


def find_resize(hardware: ctypes.CDLL) -> int:
    """
    Return the address of ``KernelMod::Resize``, which works out the sizes of outputs from their shapes.

    Raises
    ------
    AttributeError
        MindSpore's library has no such function.
    """
    resize = hardware["_ZN9mindspore6kernel9KernelMod6ResizeERKSt6vectorIPNS0_12KernelTensorESaIS4_EES8_"]
    return ctypes.cast(resize, ctypes.c_void_p).value or 0


@define(eq=False)
class CompositionKernels:
    """Adds compositions to MindSpore's table of kernels; lives as long as the process."""

    factory: KernelFactory
    tensors: TensorLibrary
    resize: int
    """As :func:`find_resize` returns it."""
    attributes: AttributeLibrary
    kernel_table: KernelTable
    collectives: Mapping[str, Collective] = field(factory=dict)
    """What computes primitives that communicate, in place of MindSpore's kernels as well."""
    _compositions: dict[str, Composition] = field(factory=dict)
    _table: int = 0
    _late_table: int = 0
    _pattern: int = 0
    _late: dict[int, list[Any]] = field(factory=dict)
    """Results of the last launch of kernels, by address, whose shapes have to be said."""
    _callbacks: tuple[Any, ...] = ()

    def add(self, compositions: Mapping[str, Composition]) -> tuple[str, ...]:
        """
        Add those that MindSpore has no kernel for, or a wrong one; return their names.

        Raises
        ------
        LookupError
            MindSpore's kernels look otherwise. Nothing is added.
        """
        known = self.factory.names()
        self._prepare(known)
        new = [name for name in compositions if name not in known or name in WRONG]
        new += self.collectives
        create, create_late = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in self._callbacks[:2])
        for name in new:
            if name in compositions:
                self._compositions[name] = compositions[name]
            if name in known:
                self.factory.replace(known[name], self._pattern, create)
            else:
                self.factory.add(name, self._pattern, create_late if name in LATE else create)
        return tuple(new)

    # N12, docs/tricks.md
    def _prepare(self, known: Mapping[str, int]) -> None:
        """Make the table of virtual functions. Raises as :meth:`add`."""
        self._pattern = known[PATTERN]
        if self._callbacks:
            return
        functions = list(self.kernel_table.plain)
        create = CREATE(self._create), CREATE(self._create_late)
        calls = LAUNCH(self._launch), LAUNCH(self._launch_late), _UPDATE_TYPE(self._update)
        self._callbacks = (*create, *calls)
        launch, launch_late, update = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in calls)
        functions[binding.INIT], functions[binding.RESIZE] = ALWAYS, self.resize
        functions[binding.LAUNCH] = functions[binding.SHORT_LAUNCH] = launch
        self._table = new_table(self.kernel_table.address, functions)
        functions[binding.LAUNCH] = functions[binding.SHORT_LAUNCH] = launch_late
        functions[binding.NEEDS_UPDATE], functions[binding.UPDATE] = ALWAYS, update
        self._late_table = new_table(self.kernel_table.address, functions)

    def _create(self, result: int, function: int) -> int:
        """Create a kernel into the shared pointer at *result*."""
        del function
        CREATE(read_word(self._pattern + binding.CALL * WORD_BYTES))(result, self._pattern)
        write_word(read_word(result), self._table)
        return result

    def _create_late(self, result: int, function: int) -> int:
        """Create a kernel, which knows the shapes of its results once they are computed."""
        self._create(result, function)
        write_word(read_word(result), self._late_table)
        return result

    def _launch_late(self, kernel: int, inputs: int, workspace: int, outputs: int, stream: int) -> bool:
        """Compute one launch into memory that has room for the largest results there may be."""
        del workspace, stream
        name = read_text(kernel + binding.NAME_AT)
        try:
            arguments = [self.tensors.read(tensor) for tensor in read_vector(inputs)]
            composition = self._compositions[name]
            attributes = self._attributes(kernel, composition)
            results = composition(*map(_wide, arguments), **attributes)
            results = results if isinstance(results, tuple) else (results,)
            self._late[kernel] = [
                self.tensors.write(tensor, value) for tensor, value in zip(read_vector(outputs), results, strict=True)
            ]
        except Exception:  # noqa: BLE001 - whatever it is, C++ gets to know
            return _failed(name)
        return True

    def _attributes(self, kernel: int, composition: Composition) -> dict[str, Any]:
        """Return the attributes that a composition takes, where the primitive of a kernel has them."""
        names = _named(composition)
        attributes = self.attributes.of_kernel(kernel) if names else None
        values = {name: attributes.value(name) for name in names} if attributes else {}
        return {name: value for name, value in values.items() if value is not None}

    def _update(self, kernel: int, inputs: int, outputs: int) -> None:
        """Say the shapes of the results of the last launch."""
        del inputs
        for tensor, shape in zip(read_vector(outputs), self._late.pop(kernel, []), strict=False):
            self.tensors.reshape(tensor, shape)

    def _launch(self, kernel: int, inputs: int, workspace: int, outputs: int, stream: int) -> bool:
        """Compute one launch; a failure is printed, because nothing may be raised through C++."""
        del workspace, stream
        name = read_text(kernel + binding.NAME_AT)
        try:
            arguments = [self.tensors.read(tensor) for tensor in read_vector(inputs)]
            results = [self.tensors.read(tensor) for tensor in read_vector(outputs)]
            if name in self.collectives:
                self.collectives[name](self.attributes.of_kernel(kernel), arguments, results)
                return True
            # A primitive that works in place returns an argument, which may be another piece of memory here.
            places = _CHANGED.get(name, (0,) if name.startswith(_IN_PLACE) else ())
            changed = [arguments[place] for place in places]
            composition = self._compositions[name]
            attributes = self._attributes(kernel, composition)
            compute(composition, arguments, results, changed, attributes, widens=name not in AS_STORED)
        except Exception:  # noqa: BLE001 - whatever it is, C++ gets to know
            return _failed(name)
        return True


def _failed(name: str) -> bool:
    """Print the failure that is being handled; return what tells C++ of it."""
    sys.stderr.write(f"[drynpu] {name} cannot be computed:\n{traceback.format_exc()}")
    return False


def compute(
    composition: Composition,
    arguments: Sequence[Any],
    results: Sequence[Any],
    changed: Sequence[Any] = (),
    attributes: Mapping[str, Any] | None = None,
    *,
    widens: bool = True,
) -> None:
    """
    Compute a composition and write what it returns into *results*, and into *changed* what it returns behind them.

    Where it returns nothing more, what changes gets the first result as well. Numbers of 16 bits are computed in
    float32, unless *widens* is false, and rounded once at the end. *attributes* are the primitive's attributes by name.

    Raises
    ------
    ValueError
        The composition cannot be computed with these arguments.
    """
    with np.errstate(all="ignore"):
        wide = [_wide(argument) for argument in arguments] if widens else list(arguments)
        sizes = [0 if place is None else place.size for place in results]
        returned = _results(composition, wide, sizes, len(changed), attributes or {})
    more = returned[len(results) :] or returned[:1]
    for value, place in [*zip(returned, results, strict=False), *zip(more, changed, strict=False)]:
        if value is None or place is None or not place.size:
            continue
        value = np.asarray(value)
        value = value.reshape(place.shape) if value.ndim else value
        if place.dtype == BFLOAT16_BITS:
            value = narrow(value)
        place[...] = value.astype(place.dtype, copy=False)


def _results(
    composition: Composition, arguments: list[Any], sizes: list[int], changes: int, attributes: Mapping[str, Any]
) -> tuple[Any, ...]:
    """
    Return what a composition makes of *arguments* whose numbers of tuples may have been passed one by one.

    How many numbers belong to which tuple is not said. So it is tried, tuples of equal length first, until the results
    have the *sizes* that the primitive infers.

    Raises
    ------
    ValueError
        No way of joining them gives such results.
    """
    failure: Exception | None = None
    for joined in joinings(_parameters(composition), arguments):
        try:
            results = composition(*joined, **attributes)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            failure = failure or error
            continue
        results = results if isinstance(results, tuple) else (results,)
        if len(results) in (len(sizes), len(sizes) + changes) and all(map(_fits, results, sizes)):
            return results
    raise failure or ValueError(f"results of {sizes} elements are expected")


def _fits(value: Any, size: int) -> bool:
    return value is None or np.size(value) == size or not np.ndim(value)


def joinings(parameters: Sequence[str], arguments: list[Any]) -> Iterator[list[Any]]:
    """Yield *arguments* with as many as there are parameters, numbers joined to tuples in all possible ways."""
    extra, tuples = len(arguments) - len(parameters), list(parameters).count(NUMBERS)
    if extra <= 0 or not tuples:
        yield arguments
        return
    ways = [way for way in itertools.product(range(extra + 1), repeat=tuples) if sum(way) == extra]
    for way in sorted(ways, key=_oddness):
        rest, more = iter(arguments), iter(way)
        parts = [
            [next(rest) for _ in range(1 + (next(more) if parameter == NUMBERS else 0))] for parameter in parameters
        ]
        if all(map(_suits, parameters, parts)):
            yield [np.array(part) if len(part) > 1 else part[0] for part in parts]


def _oddness(way: tuple[int, ...]) -> tuple[Any, ...]:
    """Order ways: tuples of equal length first, and where some are one number, the last ones, which have defaults."""
    return len({count for count in way if count}), way.count(0), tuple(-count for count in way)


def _suits(parameter: str, part: list[Any]) -> bool:
    if parameter == FLAG:
        return len(part) == 1 and getattr(part[0], "dtype", None) == np.bool_
    return len(part) == 1 or all(each is not None and not each.ndim and each.dtype != np.bool_ for each in part)


@functools.cache
def _parameters(composition: Composition) -> tuple[str, ...]:
    """Return the annotations of parameters by position; a function of C has none."""
    try:
        named = inspect.signature(composition).parameters.values()
    except ValueError:
        return ()
    return tuple(str(each.annotation) for each in named if each.kind not in (each.VAR_POSITIONAL, each.KEYWORD_ONLY))


@functools.cache
def _named(composition: Composition) -> tuple[str, ...]:
    """Return the parameters that only have a name; a function of C has none."""
    try:
        named = inspect.signature(composition).parameters.values()
    except ValueError:
        return ()
    return tuple(each.name for each in named if each.kind is each.KEYWORD_ONLY)


def _wide(argument: Any) -> Any:
    if isinstance(argument, np.ndarray) and argument.dtype == np.float16:
        return argument.astype(np.float32)
    return widen(argument)
