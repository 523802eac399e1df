"""The options of ``amp.initialize``: what each optimization level sets, and what may be changed beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from attrs import field, frozen

from drynpu_apex.amp._state import warn_or_raise


@frozen
class Level:
    """An optimization level: its text, and the options that it sets."""

    brief: str
    options: Mapping[str, Any] = field(factory=dict)


LEVELS: Final[Mapping[str, Level]] = {
    "O3": Level(
        "O3:  Pure FP16 training.",
        {
            "cast_model_type": torch.float16,
            "patch_torch_functions": False,
            "keep_batchnorm_fp32": False,
            "master_weights": False,
            "loss_scale": 1.0,
        },
    ),
    "O2": Level(
        "O2:  FP16 training with FP32 batchnorm and FP32 master weights.\n",
        {
            "cast_model_type": torch.float16,
            "patch_torch_functions": False,
            "keep_batchnorm_fp32": True,
            "master_weights": True,
            "loss_scale": "dynamic",
        },
    ),
    "O1": Level(
        "O1:  Insert automatic casts around Pytorch functions and Tensor methods.\n",
        {
            "cast_model_type": None,
            "patch_torch_functions": True,
            "keep_batchnorm_fp32": None,
            "master_weights": None,
            "loss_scale": "dynamic",
            "combine_grad": None,
        },
    ),
    "O0": Level(
        "O0:  Pure FP32 training.\n",
        {
            "cast_model_type": torch.float32,
            "patch_torch_functions": False,
            "keep_batchnorm_fp32": None,
            "master_weights": False,
            "loss_scale": 1.0,
        },
    ),
}


class Properties:
    """
    The options in force. Setting one checks it against the level.

    Raises
    ------
    RuntimeError
        The option does not go with the level.
    """

    options: dict[str, Any]

    def __init__(self) -> None:
        options: dict[str, Any] = {
            "enabled": False,
            "opt_level": None,
            "cast_model_type": None,
            "patch_torch_functions": False,
            "keep_batchnorm_fp32": None,
            "master_weights": None,
            "loss_scale": 1.0,
            "combine_grad": None,
            "combine_ddp": None,
            "ddp_replica_count": 4,
            "check_combined_tensors": None,
            "user_cast_preferred": None,
        }
        object.__setattr__(self, "options", options)

    def take_level(self, name: str) -> None:
        """Set everything that level *name* sets, unchecked."""
        self.options.update({"enabled": True, "opt_level": name, **LEVELS[name].options})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["options"][name]
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.options:
            object.__setattr__(self, name, value)
            return
        if name == "keep_batchnorm_fp32":
            value = _truth(value)
        elif name == "loss_scale" and value != "dynamic":
            value = float(value)
        refusal = _refusal(name, value, self.options)
        if refusal:
            warn_or_raise(refusal)
        self.options[name] = value


def _truth(value: object) -> bool | None:
    value = {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value
    if value is not None and not isinstance(value, bool):
        raise AssertionError(
            "keep_batchnorm_fp32 must be a boolean, the string 'True' or 'False', "
            f"or None, found keep_batchnorm_fp32={value}"
        )
    return value


def _refusal(name: str, value: object, options: Mapping[str, object]) -> str:
    """Return why *name* may not be *value* beside *options*, ``""`` where it may."""
    level = options["opt_level"]
    if level == "O1" and value is not None:
        if name == "cast_model_type" and value not in (False, torch.float32):
            return (
                "O1 inserts casts around Torch functions rather than model weights, so with O1, the model weights "
                "themselves should remain FP32. If you wish to cast the model to a different type, use "
                f"opt_level='O2' or 'O3'. cast_model_type was {value}"
            )
        if name == "keep_batchnorm_fp32":
            return (
                "With opt_level O1, batchnorm functions are automatically patched to run in FP32, so "
                f"keep_batchnorm_fp32 should be None. keep_batchnorm_fp32 was {value}"
            )
        if name == "master_weights":
            return (
                "It doesn't make sense to use master_weights with O1. "
                "With O1, your model weights themselves should be FP32."
            )
    if level != "O1" and value and name == "patch_torch_functions":
        return "Currently, patch_torch_functions=True should only be set by selecting opt_level='O1'."
    if level != "O1" and value and name == "user_cast_preferred":
        return "Currently, user_cast_preferred=True should only be set by selecting opt_level='O1'."
    if level not in ("O1", "O2") and value and name in ("combine_grad", "check_combined_tensors"):
        return (
            "Currently, combine_grad=True or check_combined_tensors=True should only be set "
            "by selecting opt_level='O1' or opt_level='O2'."
        )
    if name == "combine_ddp" and not options["combine_grad"]:
        return "Combine_grad should be True when combine_ddp using.. \n"
    return ""
