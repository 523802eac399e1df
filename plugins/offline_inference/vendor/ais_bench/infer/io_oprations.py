"""Files of inputs."""

from __future__ import annotations

from drynpu_offline_inference.bench import PADDING as PADDING_INFER_FAKE_FILE
from drynpu_offline_inference.bench import PURE as PURE_INFER_FAKE_FILE
from drynpu_offline_inference.bench import (
    create_infileslist_from_inputs_list,
    create_pipeline_fileslist_from_inputs_list,
    get_narray_from_files_list,
    get_pure_infer_data,
)
from drynpu_offline_inference.inference import RANDOM as PURE_INFER_FAKE_FILE_RANDOM
from drynpu_offline_inference.inference import ZERO as PURE_INFER_FAKE_FILE_ZERO

__all__ = [
    "PADDING_INFER_FAKE_FILE",
    "PURE_INFER_FAKE_FILE",
    "PURE_INFER_FAKE_FILE_RANDOM",
    "PURE_INFER_FAKE_FILE_ZERO",
    "create_infileslist_from_inputs_list",
    "create_pipeline_fileslist_from_inputs_list",
    "get_narray_from_files_list",
    "get_pure_infer_data",
    "get_tensor_from_files_list",
]


def get_tensor_from_files_list(files_list, session, size, pure_data_type, no_combine_tensor_mode=False):  # noqa: ANN001, ANN201
    array = get_narray_from_files_list(files_list, size, pure_data_type, no_combine_tensor_mode)
    return session.create_tensor_from_arrays_to_device(array)
