"""
The model of kernel times asked about tables of kernels, compared with measured kernels, and fitted to them.

The model itself, and the files of coefficients, are the core's (``drynpu.kernels``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu import lazy_room

if TYPE_CHECKING:
    from drynpu_calibration._called_kernels import LaunchComparison, compare_launches
    from drynpu_calibration._described import described_kernel
    from drynpu_calibration._fitting import Measured, calibration_document, calibration_of, fit, predicted_us
    from drynpu_calibration._measured import (
        Errors,
        Kernels,
        Recalibration,
        measured_kernels,
        recalibrate,
        validate_kernels,
    )
    from drynpu_calibration._predictions import predict_kernels, predict_transfers
    from drynpu_calibration._rows import task_type_of, tensors_of
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "Errors",
    "Kernels",
    "LaunchComparison",
    "Measured",
    "Recalibration",
    "calibration_document",
    "calibration_of",
    "compare_launches",
    "described_kernel",
    "fit",
    "measured_kernels",
    "predict_kernels",
    "predict_transfers",
    "predicted_us",
    "recalibrate",
    "task_type_of",
    "tensors_of",
    "validate_kernels",
]
