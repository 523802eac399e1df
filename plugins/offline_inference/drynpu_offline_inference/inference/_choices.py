"""What is chosen before a run: batch, height and width, dims or shapes, with the checks of the vendor's module."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import field, frozen

from drynpu_offline_inference.inference._console import ERROR, INFO, Console
from drynpu_offline_inference.inference._failures import GENERAL, INVALID, failure
from drynpu_offline_inference.inference._model import LoadedModel, TensorDescription

_IMAGE_RANK = 4
_IMAGE_AXES = (2, 3)


@frozen
class Choice:
    """
    A choice.

    ``kind`` is static, batch, image, dims or shape; ``numbers`` are those that the library gets, ``shapes`` the shapes
    of the inputs as far as the choice says them.
    """

    kind: str = "static"
    numbers: tuple[int, ...] = ()
    shapes: dict[str, tuple[int, ...]] = field(factory=dict)


def choose_batch(model: LoadedModel, batch: int, console: Console) -> Choice:
    """Choose the first dim of inputs that leave it open, and set their real sizes."""
    gears = ",".join(map(str, model.batches))
    _check_gear(batch in model.batches, model, ("dynamic_batch_size", gears), f"batch {batch}", console)
    console.say(INFO, "check dynamic batch success")
    shapes = {each.name: _bind(each.shape, {0: batch}) for each in model.inputs}
    return Choice("batch", (batch,), _resize(model.inputs, shapes))


def choose_image(model: LoadedModel, height: int, width: int, console: Console) -> Choice:
    """Choose height and width of images that leave them open, and set their real sizes."""
    gears = ";".join(f"{each[0]},{each[1]}" for each in model.images)
    fits = (height, width) in model.images
    _check_gear(fits, model, ("dynamic_image_size", gears), f"image size {height},{width}", console)
    console.say(INFO, "check dynamic image size success.")
    lengths = dict(zip(_IMAGE_AXES, (height, width), strict=True))
    shapes = {
        each.name: _bind(each.shape, lengths) if len(each.shape) == _IMAGE_RANK else tuple(each.shape)
        for each in model.inputs
    }
    return Choice("image", (height, width), _resize(model.inputs, shapes))


def choose_dims(model: LoadedModel, text: str, console: Console) -> Choice:
    """Choose the dims of all inputs, ``"name:1,3;other:1,5"``, and set their real sizes."""
    shapes = parse_shapes(text, console)
    row = [dim for dims in shapes.values() for dim in dims]
    gears = ";".join(_list(each) for each in model.dims)
    _check_gear(row in model.dims, model, ("dynamic_dims", gears), f"dims {_list(row)} of all inputs", console)
    return Choice("dims", tuple(row), _resize(model.inputs, shapes))


def choose_shape(model: LoadedModel, text: str, console: Console) -> Choice:
    """Choose the shapes of all inputs, ``"name:1,3;other:1,5"``, and set their real sizes."""
    shapes = parse_shapes(text, console)
    names = [each.name for each in model.inputs]
    if len(shapes) != len(names):
        raise _refuse(console, f"om has {len(names)} input, but dymShape parametet give {len(shapes)}")
    missing = [name for name in names if name not in shapes]
    if missing:
        raise _refuse(
            console,
            "the dymShape parameter set error, please check input name: "
            f"{', '.join(shapes)} is not allowed; allowed: {', '.join(names)}",
        )
    return Choice("shape", (), _resize(model.inputs, shapes))


def parse_shapes(text: str, console: Console) -> dict[str, tuple[int, ...]]:
    """
    Return shapes by name of ``"name:1,3;other:1,5"``; names may hold colons.

    Raises
    ------
    RuntimeError
        It is written otherwise.
    """
    shapes = {}
    for part in filter(None, text.split(";")):
        name, colon, dims = part.rpartition(":")
        try:
            shape = tuple(int(dim) for dim in dims.split(",") if dim.strip())
        except ValueError:
            shape, colon = (), ""
        if not colon or min(shape, default=0) < 0:
            raise _refuse(console, f"shape {part!r} is not allowed; write name:1,3,224,224;other:1,5")
        shapes[name] = shape
    return shapes


def _check_gear(fits: bool, model: LoadedModel, option: tuple[str, str], chosen: str, console: Console) -> None:
    """Raise where a model has no such gear. One without gears whose dims are free takes any."""
    if fits or model.has_free_dims:
        return
    name, gears = option
    if not gears:
        reason = f"the {name} parameter is not specified for model conversion (docs/pyacl.md, Gears)"
    else:
        reason = f"{chosen} is not allowed; the model was converted for --{name}={gears}"
    raise _refuse(console, reason, INVALID)


def _refuse(console: Console, text: str, code: int = GENERAL) -> RuntimeError:
    console.say(ERROR, text)
    return failure(code, text)


def _bind(shape: Sequence[int], lengths: dict[int, int]) -> tuple[int, ...]:
    return tuple(lengths.get(axis, dim) if dim < 0 else dim for axis, dim in enumerate(shape))


def _resize(inputs: Sequence[TensorDescription], shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Set the real sizes of inputs whose shapes are known now, and return the shapes."""
    for tensor in inputs:
        shape = shapes.get(tensor.name, (-1,))
        if min(tensor.shape, default=1) < 0 and min(shape, default=1) >= 0:
            tensor.realsize = math.prod(shape) * tensor.item_bytes
    return shapes


def _list(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
