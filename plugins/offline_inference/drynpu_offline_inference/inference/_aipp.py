"""Settings of images that a script gives once and each run uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from drynpu_acl.runtime import AIPP_FORMATS
from drynpu_offline_inference.inference._console import ERROR, INFO
from drynpu_offline_inference.inference._failures import INVALID, failure
from drynpu_offline_inference.inference._library import Library


@define(eq=False)
class ImageSettings:
    """
    The settings of a session's images; the lists are in the vendor's order.

    ``size`` is width and height, ``crop`` switch, left, top, width, height, ``padding`` switch, top, bottom, left,
    right, ``csc`` switch, nine factors, three output and three input biases. Each image of a batch gets the same.
    """

    library: Library
    batch: int = 1
    format: str = ""
    size: Sequence[int] = (0, 0)
    swap_colours: int = 0
    swap_alpha: int = 0
    csc: Sequence[int] = (0,) * 16
    crop: Sequence[int] = (0, 0, 0, 416, 416)
    padding: Sequence[int] = (0,) * 5
    mean: Sequence[int] = (0,) * 4
    minimum: Sequence[float] = (0.0,) * 4
    factor: Sequence[float] = (0.0,) * 4
    handle: int = field(default=0, init=False)

    def build(self) -> None:
        """
        Make what runs use of the settings.

        Raises
        ------
        RuntimeError
            A setting is out of its range.
        """
        aipp, console = self.library.process.aipp, self.library.console
        console.say(INFO, f"dynamic aipp mode. batchsize:{self.batch}")
        handle = aipp.create_aipp(self.batch)
        if not handle:
            raise self._refuse(f"batch {self.batch} is not allowed; allowed: 1 to 65536")
        if self.format not in AIPP_FORMATS:
            raise self._refuse(f"input_format {self.format!r} is not allowed; allowed: {', '.join(AIPP_FORMATS)}")
        self._check("input_format", aipp.set_aipp_input_format(handle, AIPP_FORMATS[self.format]), [self.format])
        self._check("src_image_size", aipp.set_aipp_src_image_size(handle, *self.size), self.size)
        self._check("csc", aipp.set_aipp_csc_params(handle, *self.csc), self.csc)
        self._check("rbuv_swap_switch", aipp.set_aipp_rbuv_swap_switch(handle, self.swap_colours), [self.swap_colours])
        self._check("ax_swap_switch", aipp.set_aipp_ax_swap_switch(handle, self.swap_alpha), [self.swap_alpha])
        each: tuple[tuple[str, Callable[..., int], Sequence[float]], ...] = (
            ("mean_chn", aipp.set_aipp_dtc_pixel_mean, self.mean),
            ("min_chn", aipp.set_aipp_dtc_pixel_min, self.minimum),
            ("var_reci_chn", aipp.set_aipp_pixel_var_reci, self.factor),
            ("crop", aipp.set_aipp_crop_params, self.crop),
            ("padding", aipp.set_aipp_padding_params, self.padding),
        )
        for image in range(self.batch):
            for name, function, values in each:
                self._check(name, function(handle, *values, image), values)
        if self.handle:
            aipp.destroy_aipp(self.handle)
        self.handle = handle

    def _check(self, name: str, code: int, values: Sequence[object]) -> None:
        if code:
            raise self._refuse(f"{name} {', '.join(map(str, values))} is out of range ({code})")

    def _refuse(self, text: str) -> RuntimeError:
        self.library.console.say(ERROR, f"AIPP: {text}")
        return failure(INVALID, f"AIPP: {text}")
