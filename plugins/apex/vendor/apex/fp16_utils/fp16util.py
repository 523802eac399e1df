"""The facade of ``apex.fp16_utils.fp16util``."""

from __future__ import annotations

from torch.nn.utils import clip_grad_norm_ as clip_grad_norm

from drynpu_apex.networks import (
    HalfModel as FP16Model,
)
from drynpu_apex.networks import (
    ToHalf as tofp16,
)
from drynpu_apex.networks import (
    convert_module,
    convert_network,
    to_python_float,
)
from drynpu_apex.networks import (
    convert_norms_to_full as BN_convert_float,
)
from drynpu_apex.networks import (
    convert_to_half as network_to_half,
)
from drynpu_apex.networks import (
    copy_gradients_to_masters as model_grads_to_master_grads,
)
from drynpu_apex.networks import (
    copy_masters_to_model as master_params_to_model_params,
)
from drynpu_apex.networks import (
    prepare_masters as prep_param_lists,
)

__all__ = [
    "BN_convert_float",
    "FP16Model",
    "clip_grad_norm",
    "convert_module",
    "convert_network",
    "master_params_to_model_params",
    "model_grads_to_master_grads",
    "network_to_half",
    "prep_param_lists",
    "to_python_float",
    "tofp16",
]
