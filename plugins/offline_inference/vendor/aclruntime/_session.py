"""Sessions under the vendor's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drynpu_offline_inference.inference import (
    RunSummary,
    Session,
    SessionOptions,
    Tensor,
    TensorDescription,
    finalize,
    join_files,
    run_pipeline,
)

_OK = 0


class InferenceSession:
    def __init__(self, model_path: str, device_id: int, options: SessionOptions | None) -> None:
        self._session = Session(model_path, device_id, options)

    def run(self, output_names: Sequence[str], feeds: Sequence[Any] | Mapping[str, Tensor]) -> list[Tensor]:
        return self._session.run(output_names, feeds)

    def first_inner_run(self, output_names: Sequence[str], feeds: Sequence[Any]) -> list[Tensor]:
        self._session.run_first(feeds)
        return []

    def inner_run(
        self, in_out_list: Sequence[int], output_names: Sequence[str], get_outputs: bool, mem_copy: bool
    ) -> list[Tensor]:
        return self._session.run_next(in_out_list, output_names, get_outputs, mem_copy)

    def run_pipeline(self, *arguments: Any) -> list[list[Tensor]] | None:
        return run_pipeline(self._session, lambda each: each._session, *arguments)

    def options(self) -> SessionOptions:
        return self._session.options

    def sumary(self) -> RunSummary:
        return self._session.runs.summary()

    def get_inputs(self) -> list[TensorDescription]:
        return self._session.model.inputs

    def get_outputs(self) -> list[TensorDescription]:
        return self._session.model.outputs

    def reset_sumaryinfo(self) -> int:
        self._session.runs.clear()
        return _OK

    def set_staticbatch(self) -> int:
        self._session.choose_static()
        return _OK

    def set_dynamic_batchsize(self, batchsize: int) -> int:
        self._session.choose_batch(batchsize)
        return _OK

    def set_dynamic_hw(self, width: int, height: int) -> int:
        # The first number is the height: both go on to the library in this order.
        self._session.choose_image(width, height)
        return _OK

    def set_dynamic_dims(self, dims: str) -> int:
        self._session.choose_dims(dims)
        return _OK

    def set_dynamic_shape(self, shape: str) -> int:
        self._session.choose_shape(shape)
        return _OK

    def set_custom_outsize(self, sizes: Sequence[int]) -> int:
        self._session.set_output_sizes(sizes)
        return _OK

    def create_tensor_from_fileslist(self, description: TensorDescription, files: Sequence[str]) -> Tensor:
        self._session.enter()
        return join_files(description, files, self._session.device_id)

    def free_resource(self) -> int:
        self._session.free()
        return _OK

    @staticmethod
    def finalize() -> int:
        finalize()
        return _OK

    def get_max_dym_batchsize(self) -> int:
        return max(self._session.model.batches, default=0)

    def get_dym_aipp_input_exist(self) -> int:
        return self._session.model.count_aipp_inputs()

    def check_dym_aipp_input_exist(self) -> int:
        self._session.check_images()
        return _OK

    def set_dym_aipp_info_set(self) -> int:
        self._session.images.build()
        return _OK

    def aipp_set_max_batch_size(self, batch_size: int) -> int:
        self._session.images.batch = batch_size
        return _OK

    def aipp_set_input_format(self, input_format: str) -> int:
        self._session.images.format = input_format
        return _OK

    def aipp_set_src_image_size(self, size: Sequence[int]) -> int:
        self._session.images.size = size
        return _OK

    def aipp_set_rbuv_swap_switch(self, switch: int) -> int:
        self._session.images.swap_colours = switch
        return _OK

    def aipp_set_ax_swap_switch(self, switch: int) -> int:
        self._session.images.swap_alpha = switch
        return _OK

    def aipp_set_csc_params(self, parameters: Sequence[int]) -> int:
        self._session.images.csc = parameters
        return _OK

    def aipp_set_crop_params(self, parameters: Sequence[int]) -> int:
        self._session.images.crop = parameters
        return _OK

    def aipp_set_padding_params(self, parameters: Sequence[int]) -> int:
        self._session.images.padding = parameters
        return _OK

    def aipp_set_dtc_pixel_mean(self, means: Sequence[int]) -> int:
        self._session.images.mean = means
        return _OK

    def aipp_set_dtc_pixel_min(self, minimums: Sequence[float]) -> int:
        self._session.images.minimum = minimums
        return _OK

    def aipp_set_pixel_var_reci(self, factors: Sequence[float]) -> int:
        self._session.images.factor = factors
        return _OK

    def __str__(self) -> str:
        return str(self._session)

    __repr__ = __str__
