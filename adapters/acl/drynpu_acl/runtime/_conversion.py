"""
What the model compiler was asked for: options of its command line, in a file beside the model.

An ONNX file has dims without a number; the offline model that the compiler makes of it has a list of shapes for them
(gears), of which the program chooses one before each run. ``X.atc`` beside ``X.om`` or ``X.onnx`` holds the command
line that names them (docs/pyacl.md).
"""

from __future__ import annotations

import enum
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from drynpu_acl.runtime._aipp import AippConf, BadConversion, parse_conf

GEAR_INPUT = "ascend_mbatch_shape_data"
"""ACL_DYNAMIC_TENSOR_NAME: the input that tells a model with gears which of them to run (acl_mdl.h)."""
GEAR_SUFFIX = "_ascend_mbatch_batch_"
"""Behind the names of the operators of a gear, with its number (multi_batch_clone_pass.cc)."""
_IN_IMAGE = {"NCHW": (2, 3), "NHWC": (1, 2)}
_WITHOUT_EFFECT = frozenset({"model", "framework", "output", "soc_version", "log", "weight", "mode", "help"})
"""Options that change nothing which a program or its profile sees here."""


class GearKind(enum.Enum):
    """What a program chooses: the value is the compiler's option."""

    BATCH = "dynamic_batch_size"
    IMAGE = "dynamic_image_size"
    DIMS = "dynamic_dims"


@frozen
class Conversion:
    """
    Options of a conversion.

    Attributes
    ----------
    shapes:
        Dims by the name of the input, in the order of the command line; -1 for those that gears give.
    kind, gears:
        What a gear gives, and the gears: one batch; height and width; or a number for each -1 of *shapes* in order.
    image_axes:
        Where height and width of an image are.
    ignored:
        Options that are not simulated.
    aipp:
        How images are prepared, None for models that take them as they are.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(factory=dict)
    kind: GearKind | None = None
    gears: tuple[tuple[int, ...], ...] = ()
    image_axes: tuple[int, int] = _IN_IMAGE["NCHW"]
    ignored: tuple[str, ...] = ()
    aipp: AippConf | None = None

    def bind(self, gear: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all named inputs under a gear."""
        rest = list(gear)
        shapes = {}
        for name, dims in self.shapes.items():
            bound = []
            for axis, dim in enumerate(dims):
                if dim >= 0:
                    bound.append(dim)
                elif self.kind is GearKind.BATCH:
                    bound.append(gear[0])
                elif self.kind is GearKind.IMAGE:
                    bound.append(gear[self.image_axes.index(axis)])
                else:
                    bound.append(rest.pop(0))
            shapes[name] = tuple(bound)
        return shapes

    @property
    def largest(self) -> int:
        """The number of the gear with the most elements."""
        sizes = [sum(math.prod(dims) for dims in self.bind(gear).values()) for gear in self.gears]
        return sizes.index(max(sizes))


def find_conversion(path: Path) -> Conversion:
    """
    Return the conversion of the file ``X.atc`` beside a model, an empty one where there is none.

    Raises
    ------
    BadConversion
        It cannot be read, or its options contradict each other.
    """
    file = path.with_suffix(".atc")
    if not file.is_file():
        return Conversion()
    try:
        return parse_conversion(file.read_text(encoding="utf-8"), file.parent)
    except (OSError, ValueError) as error:
        raise BadConversion(f"{file.name}: {error}") from error
    except BadConversion as error:
        raise BadConversion(f"{file.name}: {error}") from None


def parse_conversion(text: str, folder: Path) -> Conversion:
    """
    Return the conversion of a command line: ``atc --input_shape="x:-1,3,224,224" --dynamic_batch_size="1,2,4"``.

    Files that it names are looked for in *folder*.

    Raises
    ------
    BadConversion
        The options contradict each other.
    """
    options = _options(text)
    conf = options.pop("insert_op_conf", "")
    aipp = parse_conf((folder / conf).read_text(encoding="utf-8")) if conf else None
    shapes = _shapes(options.pop("input_shape", ""))
    axes = _IN_IMAGE.get(options.pop("input_format", "NCHW").upper(), _IN_IMAGE["NCHW"])
    kinds = [kind for kind in GearKind if kind.value in options]
    if len(kinds) > 1:
        raise BadConversion(f"--{kinds[0].value} and --{kinds[1].value} exclude each other")
    ignored = tuple(name for name in options if name not in _WITHOUT_EFFECT and name not in [k.value for k in kinds])
    if aipp is not None:
        ignored += tuple(f"insert_op_conf ({name})" for name in aipp.ignored)
    if not kinds:
        return Conversion(shapes, image_axes=axes, ignored=ignored, aipp=aipp)
    if aipp is not None:
        raise BadConversion("gears and AIPP in one model are not simulated")
    kind = kinds[0]
    gears = _gears(kind, options[kind.value])
    open_dims = {name: [axis for axis, dim in enumerate(dims) if dim < 0] for name, dims in shapes.items()}
    _check(kind, gears, open_dims, axes)
    return Conversion(shapes, kind, gears, axes, ignored)


def _check(
    kind: GearKind, gears: Sequence[Sequence[int]], open_dims: Mapping[str, Sequence[int]], axes: Sequence[int]
) -> None:
    """Raise where the open dims of the shapes are not those that gears of this kind give."""
    count = sum(map(len, open_dims.values()))
    places = {axis for each in open_dims.values() for axis in each}
    if not count:
        raise BadConversion(f"--{kind.value} needs a dim -1 in --input_shape")
    if kind is GearKind.BATCH and places != {0}:
        raise BadConversion("--dynamic_batch_size: only the first dim of --input_shape may be -1")
    if kind is GearKind.IMAGE and places != set(axes):
        raise BadConversion("--dynamic_image_size: height and width of --input_shape have to be -1, and nothing else")
    width = {GearKind.BATCH: 1, GearKind.IMAGE: 2, GearKind.DIMS: count}[kind]
    wrong = [gear for gear in gears if len(gear) != width or min(gear) < 1]
    if wrong:
        raise BadConversion(f"--{kind.value}: {','.join(map(str, wrong[0]))} is no gear; {width} numbers are needed")


def _options(text: str) -> dict[str, str]:
    """Return what stands behind the names of options, as ``--name=value`` or ``--name value``."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    options: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name] = value
            name = "" if equals else name
        elif name:
            options[name], name = word, ""
    return options


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for part in filter(None, text.split(";")):
        name, _, dims = part.rpartition(":")
        if not name.strip() or not re.fullmatch(r"\s*-?\d+(\s*,\s*-?\d+)*\s*", dims):
            raise BadConversion(f"--input_shape: {part!r} is no name with dims (x:-1,3,224,224)")
        shapes[name.strip()] = tuple(int(dim) for dim in dims.split(","))
    return shapes


def _gears(kind: GearKind, text: str) -> tuple[tuple[int, ...], ...]:
    parts = text.replace(",", ";") if kind is GearKind.BATCH else text
    try:
        gears = tuple(tuple(int(dim) for dim in part.split(",")) for part in parts.split(";") if part.strip())
    except ValueError:
        gears = ()
    if not gears:
        raise BadConversion(f"--{kind.value}: {text!r} has no gears")
    return gears
