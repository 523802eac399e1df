"""
The model of kernel times against kernels that were measured: how far off it is, and coefficients that fit them better.

Predictions themselves, and the files of coefficients, are the core's (``drynpu.kernels``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu import lazy_room

if TYPE_CHECKING:
    from drynpu_calibration._called_kernels import LaunchComparison, compare_launches
    from drynpu_calibration._fitting import Measured, calibration_document, calibration_of, fit, predicted_us
    from drynpu_calibration._measured import (
        Errors,
        Kernels,
        Recalibration,
        measured_kernels,
        recalibrate,
        validate_kernels,
    )
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
    "fit",
    "measured_kernels",
    "predicted_us",
    "recalibrate",
    "validate_kernels",
]
