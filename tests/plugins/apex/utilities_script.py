"""The smaller rooms of apex: fp16_utils, normalization, combined tensors, amp's decorators; one JSON line."""

from __future__ import annotations

import json
from typing import Any

import apex
import torch
import torch_npu
from apex import amp
from apex.contrib.combine_tensors import (
    combine_npu,
    get_aligned_storage_size,
    get_part_combined_tensor,
    is_combined_tensor_valid,
)
from apex.fp16_utils import (
    BN_convert_float,
    DynamicLossScaler,
    FP16_Optimizer,
    FP16Model,
    LossScaler,
    clip_grad_norm,
    convert_module,
    convert_network,
    master_params_to_model_params,
    model_grads_to_master_grads,
    network_to_half,
    prep_param_lists,
    to_python_float,
    tofp16,
)
from apex.normalization import FusedLayerNorm
from torch import nn

found: dict[str, Any] = {}


def network() -> nn.Sequential:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.LSTM(4, 2)).npu()


def kinds(model: nn.Module) -> list[str]:
    return [str(parameter.dtype)[6:] for parameter in model.parameters()]


found["kinds"] = {
    "network_to_half": kinds(network_to_half(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).npu())),
    "convert_network": kinds(convert_network(network(), torch.float16))[:4],
    "BN_convert_float": kinds(BN_convert_float(network().half()))[:4],
    "tofp16": str(tofp16()(torch.ones(1).npu()).dtype)[6:],
    "FP16Model": str(FP16Model(nn.Linear(2, 2).npu())(torch.ones(1, 2).npu()).dtype)[6:],
}
single = nn.Linear(2, 2).npu()
convert_module(single, torch.float16)
found["kinds"]["convert_module"] = kinds(single)

for flat in (False, True):
    model = nn.Linear(3, 2).npu().half()
    parameters, masters = prep_param_lists(model, flat_master=flat)
    model(torch.ones(1, 3).npu().half()).sum().backward()
    model_grads_to_master_grads(parameters, masters, flat_master=flat)
    gradients = [to_python_float(master.grad.sum()) for master in masters]
    norm = clip_grad_norm(masters, 2.0).item()
    with torch.no_grad():
        for master in masters:
            master.fill_(0.5)
    master_params_to_model_params(parameters, masters, flat_master=flat)
    found[f"masters {flat}"] = [gradients, norm, [str(m.dtype)[6:] for m in masters], model.weight.sum().item()]

scaler = DynamicLossScaler(init_scale=8.0, scale_window=2)
weight = nn.Parameter(torch.ones(2).npu())
scales = []
for overflow in (False, True, False, False, False):
    scaler.backward((weight * (float("inf") if overflow else 1.0)).sum())
    scaler.update_scale(scaler.has_overflow([weight]))
    scales.append(scaler.loss_scale)
    weight.grad = None
constant = LossScaler(4)
constant.update_scale(constant.has_overflow([weight]))
constant.backward(weight.sum())
found["scalers"] = [scales, weight.grad.tolist(), constant.scale_gradient(None, (weight.grad,), None)[0].tolist()]

norm, inputs = FusedLayerNorm(6).npu(), torch.arange(12.0).reshape(2, 6).npu()
found["norm"] = [norm(inputs).tolist(), str(norm), FusedLayerNorm([2, 6], elementwise_affine=False)(inputs).tolist()]

tensors = [torch.full((3,), 1.0).npu(), torch.full((2, 2), 2.0).npu()]
sizes = [get_aligned_storage_size(tensor) for tensor in tensors]
buffer = combine_npu(tensors)
part = get_part_combined_tensor(buffer, sizes[0], sizes[1])
buffer.mul_(2)
found["combined"] = [tensors[0].tolist(), part.tolist(), is_combined_tensor_valid(buffer, tensors)]

promoted = amp.promote_function(lambda one, two: (one.dtype, two.dtype))
floating = amp.float_function(lambda one: one.dtype)
half, full = torch.ones(1).npu().half(), torch.ones(1).npu()
before = [str(kind)[6:] for kind in (*promoted(half, full), floating(half))]
amp.register_promote_function(nn.functional, "huber_loss")
amp.register_half_function(nn.functional, "softsign")
amp.register_float_function(torch, "tanh")
handle = amp.init(verbose=True)
found["decorated"] = [before, [str(kind)[6:] for kind in (*promoted(half, full), floating(half))]]
found["registered"] = [
    str(value.dtype)[6:] for value in (nn.functional.huber_loss(half, full), nn.functional.softsign(full), half.tanh())
]
found["registered"].append(str(torch.tanh(half).dtype)[6:])
handle._deactivate()
try:
    amp.register_half_function(nn.functional, "no_such_function")
except ValueError as error:
    found["missing"] = str(error)[:37]
found["kernels"] = [apex.multi_tensor_applier.available, apex.MultiTensorApply.available, FP16_Optimizer.__name__ != ""]
apex.amp.lists.functional_overrides.FP32_FUNCS.remove("softmax")
apex.amp.lists.functional_overrides.FP16_FUNCS.append("softmax")
handle = amp.init()
found["changed list"] = str(nn.functional.softmax(full, 0).dtype)[6:]
handle._deactivate()
found["rooms"] = sorted(set(dir(apex)) - {"annotations", "hand_over"} - set(dir(object)))
print(json.dumps(found))
assert torch_npu
