"""The calls that prepare images before each run of a model with dynamic AIPP (acl_mdl.h, acl_aipp_om2.cpp)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve

from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles
from drynpu_acl.runtime._aipp import AIPP_INPUT, KNOWN_FORMATS, AippSettings, ImageSettings, data_bytes
from drynpu_acl.runtime._data import DataSets
from drynpu_acl.runtime._models import Complain, Models
from drynpu_acl.runtime._onnx import misfit

_WITHOUT, _STATIC, _DYNAMIC, _SETTINGS = range(4)
"""aclmdlInputAippType: what AIPP an input has, and the input that takes its settings."""
_NO_INPUT = 0xFFFF_FFFF
"""ACL_INVALID_NODE_INDEX."""
_MATRIX = (-32677, 32676)
_IMAGE = (1, 4096)
_START = (0, 4095)
_PADDING = (0, 32)
_MEAN = (0, 255)
_MINIMUM = (0.0, 255.0)
_FACTOR = (-65504.0, 65504.0)
"""Smallest and largest values (model_common.h of the vendor's library)."""
_MOST_BATCHES = 2**16
"""Beyond it no room is made; the vendor's library runs out of memory later."""


class AippCalls:
    """All settings that programs have made, and the models that take them."""

    def __init__(self, numbers: Iterator[int], models: Models, data: DataSets, complain: Complain) -> None:
        self.settings: Handles[AippSettings] = Handles(numbers)
        self._models, self._data, self._complain = models, data, complain

    def create_aipp(self, batch: int) -> int:
        """Return the handle of settings for a batch, 0 for an empty one."""
        return self.settings.add(AippSettings([ImageSettings()] * batch)) if 0 < batch <= _MOST_BATCHES else 0

    def destroy_aipp(self, handle: int) -> int:
        """Give up settings."""
        return ReturnCode.INVALID_PARAM if self.settings.remove(handle) is None else ReturnCode.SUCCESS

    def get_aipp_data_size(self, batch: int) -> tuple[int, int]:
        """Return ``(bytes, code)`` of the settings of a batch."""
        return (data_bytes(batch), ReturnCode.SUCCESS) if batch else (0, ReturnCode.INVALID_PARAM)

    # All images -----------------------------------------------------------------------------------------------------

    def set_aipp_input_format(self, handle: int, number: int) -> int:
        """Set how the pixels of the images are stored."""
        return self._change(handle, number in KNOWN_FORMATS, format=number)

    def set_aipp_src_image_size(self, handle: int, width: int, height: int) -> int:
        """Set the size of the images."""
        fits = _within([height], _IMAGE) and _IMAGE[0] < width <= _IMAGE[1]
        return self._change(handle, fits, size=(width, height))

    def set_aipp_csc_params(self, handle: int, switch: int, *numbers: int) -> int:
        """Set the matrix of a conversion of colours, then output and input biases; *switch* 0 turns it off."""
        if switch == 0:
            return self._change(handle, True, matrix=None)
        fits = switch == 1 and _within(numbers[:9], _MATRIX)
        return self._change(
            handle, fits, matrix=tuple(numbers[:9]), output_bias=tuple(numbers[9:12]), input_bias=tuple(numbers[12:])
        )

    def set_aipp_rbuv_swap_switch(self, handle: int, switch: int) -> int:
        """Swap red and blue, or the two colours of YUV."""
        return self._change(handle, switch in (0, 1), swap_colours=bool(switch))

    def set_aipp_ax_swap_switch(self, handle: int, switch: int) -> int:
        """Put the first byte of a pixel, which is no colour, behind the colours."""
        return self._change(handle, switch in (0, 1), swap_alpha=bool(switch))

    def _change(self, handle: int, fits: bool, **fields: object) -> int:
        settings = self.settings.get(handle)
        if settings is None or not fits:
            return ReturnCode.INVALID_PARAM
        for name, value in fields.items():
            setattr(settings, name, value)
        return ReturnCode.SUCCESS

    # One image ------------------------------------------------------------------------------------------------------

    def set_aipp_crop_params(
        self, handle: int, switch: int, left: int, top: int, width: int, height: int, image: int
    ) -> int:
        """Set the part of an image that is used."""
        if switch == 0:
            return self._change_image(handle, image, True, crop=None)
        fits = switch == 1 and _within((left, top), _START) and _within((width, height), _IMAGE)
        return self._change_image(handle, image, fits, crop=(left, top, width, height))

    def set_aipp_padding_params(
        self, handle: int, switch: int, top: int, bottom: int, left: int, right: int, image: int
    ) -> int:
        """Set the rows and columns around an image."""
        if switch == 0:
            return self._change_image(handle, image, True, padding=None)
        sizes = (top, bottom, left, right)
        return self._change_image(handle, image, switch == 1 and _within(sizes, _PADDING), padding=sizes)

    def set_aipp_dtc_pixel_mean(self, handle: int, first: int, second: int, third: int, fourth: int, image: int) -> int:
        """Set what is subtracted from each channel."""
        values = (first, second, third, fourth)
        return self._change_image(handle, image, _within(values, _MEAN), mean=values)

    def set_aipp_dtc_pixel_min(
        self, handle: int, first: float, second: float, third: float, fourth: float, image: int
    ) -> int:
        """Set what is subtracted from each channel as well."""
        values = (first, second, third, fourth)
        return self._change_image(handle, image, _within(values, _MINIMUM), minimum=values)

    def set_aipp_pixel_var_reci(
        self, handle: int, first: float, second: float, third: float, fourth: float, image: int
    ) -> int:
        """Set the factor of each channel."""
        values = (first, second, third, fourth)
        return self._change_image(handle, image, _within(values, _FACTOR), factor=values)

    def _change_image(self, handle: int, image: int, fits: bool, **fields: Any) -> int:
        settings = self.settings.get(handle)
        if settings is None or image >= len(settings.images) or not fits:
            return ReturnCode.INVALID_PARAM
        settings.images[image] = evolve(settings.images[image], **fields)
        return ReturnCode.SUCCESS

    # Models ---------------------------------------------------------------------------------------------------------

    def get_aipp_type(self, model_id: int, index: int) -> tuple[int, int, int]:
        """Return ``(type, index of the input for settings, code)`` of an input."""
        model = self._models.get(model_id)
        if model is None:
            return _WITHOUT, 0, ReturnCode.MODEL_ID_INVALID
        if index >= len(model.inputs):
            return _WITHOUT, 0, ReturnCode.INVALID_PARAM
        names = [tensor.name for tensor in model.inputs]
        if names[index] == AIPP_INPUT:
            return _SETTINGS, _NO_INPUT, ReturnCode.SUCCESS
        if model.aipp is None or model.aipp.tensor.name != names[index]:
            return _WITHOUT, _NO_INPUT, ReturnCode.SUCCESS
        if model.aipp.settings is not None:
            return _STATIC, _NO_INPUT, ReturnCode.SUCCESS
        return _DYNAMIC, names.index(AIPP_INPUT), ReturnCode.SUCCESS

    def set_input_aipp(self, model_id: int, dataset: int, index: int, handle: int) -> int:
        """Use settings in runs with a data set; *index* is the number of the input for settings."""
        inputs, settings = self._data.datasets.get(dataset), self.settings.get(handle)
        if inputs is None or settings is None:
            return ReturnCode.INVALID_PARAM
        kind, _, code = self.get_aipp_type(model_id, index)
        if code:
            return code
        model = self._models.get(model_id)
        if kind != _SETTINGS or model is None or model.aipp is None or model.conversion.aipp is None:
            self._complain(f"input {index} does not take settings of AIPP")
            return ReturnCode.INVALID_PARAM
        problem = settings.problem() or misfit(settings, model.aipp.tensor)
        if settings.source_bytes > model.conversion.aipp.max_source_bytes:
            problem = f"{settings.source_bytes} bytes are more than max_src_image_size"
        buffer = self._data.buffers.get(inputs.buffers[index] if index < len(inputs.buffers) else 0)
        if problem or buffer is None or buffer.pointer == 0:
            self._complain(f"{model.name}: AIPP: {problem or 'the buffer of the settings is missing'}")
            return ReturnCode.INVALID_PARAM
        inputs.aipp = evolve(settings, images=list(settings.images))
        return ReturnCode.SUCCESS

    def set_aipp_by_input_index(self, model_id: int, dataset: int, index: int, handle: int) -> int:
        """Use settings for the image at *index* in runs with a data set."""
        inputs = self._data.datasets.get(dataset)
        if inputs is None or self.settings.get(handle) is None or index >= len(inputs.buffers):
            return ReturnCode.INVALID_PARAM
        kind, taker, code = self.get_aipp_type(model_id, index)
        if code:
            return code
        if kind != _DYNAMIC:
            return ReturnCode.FAILURE
        return self.set_input_aipp(model_id, dataset, taker, handle)


def _within(values: Sequence[float], bounds: tuple[float, float]) -> bool:
    return all(bounds[0] <= value <= bounds[1] for value in values)
