"""Calls each method of ``InferSession`` and of what stands beside it, and says what it changes."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import aclruntime
import numpy as np
from ais_bench.infer.interface import InferSession, MemorySummary, MultiDeviceSession, logger


def show(name, value):
    print(f"{name}={json.dumps(value)}")


def refusal(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)


def values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def masked(n, s=4):
    return [values((n, s, 8)), values((n, s, 1), 1)]


def show_runs():
    step = InferSession(0, "step.om")
    show("described", [[d.name, d.shape, d.realsize] for d in step.get_inputs() + step.get_outputs()])
    pair = [values((2, 4)), values((2, 4), 1)]
    outputs = step.run(pair)
    there = outputs[0].type.name
    early = refusal(step.convert_tensors_to_arrays, outputs)
    step.convert_tensors_to_host(outputs)
    show("host", [there, early, outputs[0].type.name])
    (array,) = step.convert_tensors_to_arrays(outputs)
    found = [array, step.run(pair, out_array=True)[0]]
    tensors = [step.create_tensor_from_arrays_to_device(each) for each in pair]
    show("device", [[each.type.name, each.device] for each in tensors])
    found.append(step.run(tensors, True)[0])
    for number, each in enumerate(pair):
        each[:1].tofile(f"first{number}.bin")
        each[1:].tofile(f"second{number}.bin")
    files = [[f"first{number}.bin", f"second{number}.bin"] for number in range(2)]
    tensors = [step.create_tensor_from_fileslist(*each) for each in zip(step.get_inputs(), files, strict=True)]
    found.append(step.run(tensors, True)[0])
    show("runs", [each.tolist() for each in found])
    show_counts(step, pair)
    show_states(step, pair)
    show_files(step)


def show_counts(step, pair):
    found = []
    for reset in (step.reset_summaryinfo, step.reset_sumaryinfo):
        before = len(step.summary().exec_time_list)
        reset()
        emptied = len(step.summary().exec_time_list)
        step.set_loop_count(3)
        step.run(pair)
        step.set_loop_count(1)
        step.run(pair)
        found.append([before, emptied, step.sumary().exec_time_list == step.summary().exec_time_list])
    show("counts", found)
    lists = [MemorySummary.get_h2d_time_list(), MemorySummary.get_d2h_time_list()]
    older = [MemorySummary.get_H2D_time_list(), MemorySummary.get_D2H_time_list()]
    MemorySummary.reset()
    step.run(pair, True)
    later = [MemorySummary.get_h2d_time_list(), MemorySummary.get_d2h_time_list()]
    show("copies", [all(map(all, lists)), lists == older, [len(each) for each in later]])


def show_states(step, pair):
    found = [step.first_inner_run(pair), step.inner_run([-1, 0])]
    (tensor,) = step.inner_run([-1, 0], get_outputs=True, mem_copy=False)
    tensor.to_host()
    show("nothing", found)
    show("states", np.array(tensor).tolist())


def show_files(step):
    for seed in range(4):
        np.save(f"x{seed}.npy", values((2, 4), seed))
        np.save(f"state{seed}.npy", values((2, 4), seed + 10))
    rows = [[f"x{seed}.npy", f"state{seed}.npy"] for seed in range(4)]
    other = InferSession(0, "step.om")
    step.reset_summaryinfo()
    step.run_pipeline(rows, "out", outfmt="NPY", extra_session=[other.session])
    show("shared", [len(each.summary().exec_time_list) for each in (step, other)])
    step.run_pipeline([["pure_infer_data_zero"] * 2], "out", pure_infer_mode=True)


def show_choices():
    gear, image, dims, free = (InferSession(0, f"{name}.om") for name in ("gear", "image", "dims", "free"))
    show("largest", [each.get_max_dym_batchsize() for each in (gear, free)])
    found = [gear.infer(masked(2), "dymbatch")]
    gear.set_dynamic_batchsize(3)
    found.append(gear.run(masked(3), True))
    gear.set_staticbatch()
    static = refusal(gear.run, masked(3))
    found.append(dims.infer(masked(2, 8), "dymdims"))
    dims.set_dynamic_dims("x:1,4,8;mask:1,4,1")
    found.append(dims.run(masked(1, 4), True))
    found.append(free.infer(masked(3, 5), "dymshape", 300))
    free.set_dynamic_shape("x:2,6,8;mask:2,6,1")
    found.append(free.run(masked(2, 6), True))
    show("choices", [each[0].tolist() for each in found])
    free.set_custom_outsize([239])
    show("refused", [static, refusal(free.run, masked(2, 6)), refusal(gear.set_dynamic_batchsize, 4)])
    found = [image.infer([values((1, 3, 4, 6))], "dymhw")[0].tolist()]
    image.set_dynamic_hw(8, 2)
    show("images", [*found, image.run([values((1, 3, 8, 2))], True)[0].tolist()])


def show_settings():
    net, plain = InferSession(0, "camera.om"), InferSession(0, "step.om")
    show("camera", [net.get_dym_aipp_input_exist(), plain.get_dym_aipp_input_exist()])
    raw = (np.arange(300) * 53 % 256).astype(np.uint8)
    code = net.load_aipp_config_file("camera.config", 2)
    unchecked = refusal(net.run, [raw])
    net.check_dym_aipp_input_exist()
    show("prepared", [code, net.run([raw], True)[0].tolist()])
    show("unprepared", [unchecked, refusal(plain.check_dym_aipp_input_exist)])
    with Path("camera.config").open("a") as file:
        file.write("rbuv_swap_switch : 2\n")
    show("switch", refusal(net.load_aipp_config_file, "camera.config", 2))


def show_log():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(levelname)s] %(message)s", force=True)
    several = MultiDeviceSession("step.om")
    pair = [values((2, 4)), values((2, 4), 1)]
    show("several", several.infer_iteration({1: [pair]}, [-1, 0], 3)[1][0][0].tolist())
    show("piped", several.infer_pipeline({0: [[pair, pair]]})[0][0][1][0].tolist())
    logger.setLevel(logging.ERROR)
    several.infer({0: [pair]})
    refusal(InferSession(0, "step.om").infer, pair, "dynamic")


def show_end():
    freed, left = InferSession(0, "step.om"), InferSession(0, "step.om")
    pair = [np.zeros((2, 4), np.float32)] * 2
    freed.free_resource()
    found = [refusal(freed.run, pair), left.run(pair, True)[0].tolist()]
    InferSession.finalize()
    tensor = aclruntime.Tensor(pair[0])
    show("end", [*found, refusal(left.run, pair), refusal(tensor.to_device, 0)])


if __name__ == "__main__":
    show_runs()
    show_choices()
    show_settings()
    show_log()
    show_end()
