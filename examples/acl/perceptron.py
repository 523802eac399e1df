"""A small ONNX model, and what every pyACL program does around it. Saved as ``.om``, the name such programs load."""

import acl
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

BATCH, SIZES = 32, (256, 512, 64)


def build(path):
    """Write ``x [32, 256] -> MatMul -> Add -> Relu -> MatMul -> Softmax -> y [32, 64]``."""
    random = np.random.default_rng(0)
    first, hidden, last = SIZES

    def weight(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 16, name)

    def value(name, *dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"], "hidden/MatMul"),
        helper.make_node("Add", ["h", "b1"], ["s"], "hidden/Add"),
        helper.make_node("Relu", ["s"], ["a"], "hidden/Relu"),
        helper.make_node("MatMul", ["a", "w2"], ["logits"], "scores/MatMul"),
        helper.make_node("Softmax", ["logits"], ["y"], "scores/Softmax", axis=-1),
    ]
    weights = [weight("w1", first, hidden), weight("b1", hidden), weight("w2", hidden, last)]
    graph = helper.make_graph(nodes, "perceptron", [value("x", BATCH, first)], [value("y", BATCH, last)], weights)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check(ret, what):
    """End the program where a call has failed."""
    if ret != 0:
        raise SystemExit(f"{what} failed with {ret}")


class Model:
    """A loaded model with buffers for its input and output."""

    def __init__(self, path):
        self.model_id, ret = acl.mdl.load_from_file(path)
        check(ret, "acl.mdl.load_from_file")
        self.desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self.desc, self.model_id), "acl.mdl.get_desc")
        self.input, self.source, self.input_bytes = self.dataset(acl.mdl.get_input_size_by_index(self.desc, 0))
        self.output, self.result, self.output_bytes = self.dataset(acl.mdl.get_output_size_by_index(self.desc, 0))

    @staticmethod
    def dataset(size):
        pointer, ret = acl.rt.malloc(size, 0)
        check(ret, "acl.rt.malloc")
        dataset, ret = acl.mdl.add_dataset_buffer(acl.mdl.create_dataset(), acl.create_data_buffer(pointer, size))
        check(ret, "acl.mdl.add_dataset_buffer")
        return dataset, pointer, size

    def __call__(self, x):
        data = x.tobytes()
        host_to_device, device_to_host = 1, 2
        pointer = acl.util.bytes_to_ptr(data)
        check(acl.rt.memcpy(self.source, self.input_bytes, pointer, len(data), host_to_device), "acl.rt.memcpy")
        check(acl.mdl.execute(self.model_id, self.input, self.output), "acl.mdl.execute")
        host, ret = acl.rt.malloc_host(self.output_bytes)
        check(ret, "acl.rt.malloc_host")
        check(acl.rt.memcpy(host, self.output_bytes, self.result, self.output_bytes, device_to_host), "acl.rt.memcpy")
        scores = np.frombuffer(acl.util.ptr_to_bytes(host, self.output_bytes), np.float32).reshape(BATCH, -1).copy()
        acl.rt.free_host(host)
        return scores

    def unload(self):
        for dataset in (self.input, self.output):
            acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, 0))
            acl.mdl.destroy_dataset(dataset)
        acl.rt.free(self.source)
        acl.rt.free(self.result)
        acl.mdl.destroy_desc(self.desc)
        acl.mdl.unload(self.model_id)
