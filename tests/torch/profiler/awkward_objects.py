"""Train one layer beside objects that raise when somebody looks at them."""

from __future__ import annotations

import pickle
import sys
import types
import warnings
import weakref
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.multiprocessing.reductions import StorageWeakRef

warnings.filterwarnings("ignore")  # PyTorch's, of nested, quantised and sparse prototypes
OPTIONS = ("profile_memory", "with_stack", "with_modules", "record_shapes", "with_flops")
MAKERS = {}


def maker(function):
    MAKERS[function.__name__] = function
    return function


dist.init_process_group("cpu:gloo,npu:hccl", store=dist.HashStore(), rank=0, world_size=1)


@maker
def fake():
    with FakeTensorMode() as mode:
        return torch.empty(3, 4), mode.from_tensor(torch.ones(2))


@maker
def functional():
    with FunctionalTensorMode():
        return torch._to_functional_tensor(torch.ones(3)), FunctionalTensor.to_functional(torch.ones(3))


@maker
def wrapper_subclass():
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, value):
            return torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype, device=value.device)

        @classmethod
        def __torch_dispatch__(cls, *_):
            raise RuntimeError("nobody is to call this")

    return Wrapper(torch.ones(3)), Wrapper(torch.ones(3).npu())


@maker
def function_raises():
    class Subclass(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *_):
            raise RuntimeError("nobody is to call this")

    return torch.ones(3).as_subclass(Subclass)


@maker
def attributes_raise():
    class Subclass(torch.Tensor):
        def __getattribute__(self, name):
            raise RuntimeError(f"nobody is to read {name}")

    class Gradient(torch.Tensor):
        @property
        def grad(self):
            raise RuntimeError("nobody is to read this")

    return torch.ones(3).as_subclass(Subclass), torch.ones(3).as_subclass(Gradient)


@maker
def class_raises():
    class Object:
        @property
        def __class__(self):
            raise RuntimeError("nobody is to read this")

        def __getattr__(self, name):
            raise RuntimeError(f"nobody is to read {name}")

        def __eq__(self, other):
            raise RuntimeError("nobody is to compare this")

        __hash__ = __bool__ = __len__ = __eq__

    class Kind(type):
        def __instancecheck__(cls, _):
            raise RuntimeError("nobody is to ask this")

        __subclasscheck__ = __getattribute__ = __instancecheck__

    class OfKind(metaclass=Kind):
        pass

    return Object(), OfKind, object.__new__(OfKind)


@maker
def dtensor():
    return distribute_tensor(torch.ones(4, 4), init_device_mesh("cpu", (1,)), [Shard(0)])


@maker
def fully_sharded():
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).npu()
    fully_shard(model, mesh=init_device_mesh("npu", (1,)))
    model(torch.ones(2, 4).npu()).sum().backward()
    return model, list(model.parameters())


@maker
def nested():
    parts = [torch.ones(2, 3), torch.ones(3, 3)]
    return torch.nested.nested_tensor(parts, layout=torch.jagged), torch.nested.nested_tensor(parts)


@maker
def sparse():
    eye = torch.eye(4)
    return eye.to_sparse(), eye.to_sparse_csr(), eye.to_sparse_bsr((2, 2)), eye.npu().to_sparse()


@maker
def quantised():
    by_channel = torch.quantize_per_channel(torch.ones(2, 4), torch.ones(2), torch.zeros(2), 0, torch.qint8)
    return torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8), by_channel


@maker
def meta():
    return torch.ones(3, device="meta"), nn.Linear(2, 2, device="meta")


@maker
def uninitialised():
    return nn.LazyLinear(3), nn.UninitializedParameter(), nn.parameter.UninitializedBuffer()


@maker
def expired_storage():
    tensors = torch.ones(1000), torch.ones(1000).npu()
    for tensor in tensors:
        tensor.untyped_storage().resize_(0)
    return tensors


@maker
def dead():
    tensor, lasting = torch.ones(3), torch.ones(3)
    references = weakref.ref(tensor), weakref.proxy(tensor), StorageWeakRef(tensor.untyped_storage())
    del tensor
    return *references, lasting, weakref.proxy(lasting)


@maker
def lazy_copy():
    tensor = torch.ones(4)
    return tensor, torch._lazy_clone(tensor)


@maker
def batched():
    kept = []
    torch.func.vmap(lambda x: kept.append(x) or x)(torch.ones(3, 2))
    torch.func.grad(lambda x: kept.append(x) or x.sum())(torch.ones(3))
    return kept


@maker
def compiled():
    function = torch.compile(lambda x: torch.sin(x) + 1, backend="aot_eager")
    function(torch.ones(3))
    function(torch.ones(5))
    return function


@maker
def exported():
    return torch.export.export(nn.Linear(3, 3), (torch.ones(2, 3),))


@maker
def module_raises():
    # The last one: PyTorch and Python's own inspect fall over it, too.
    class Raising:
        def __getattribute__(self, name):
            raise RuntimeError(f"nobody is to read {name}")

    def find(name):
        raise RuntimeError(f"nobody is to read {name}")

    lazy = types.ModuleType("lazy_module")
    lazy.__getattr__ = find
    sys.modules["lazy_module"], sys.modules["raising_module"] = lazy, Raising()
    return lazy


def record(folder, model, data, after=None, **options):
    handler = torch_npu.profiler.tensorboard_trace_handler(folder)
    with torch_npu.profiler.profile(on_trace_ready=handler, **options) as prof:
        model(data).sum().backward()
        prof.step()
    if after is not None:
        after(prof, folder)


def levels():
    """Return the options that further settings make, by what the recording is named."""
    kinds = torch_npu.profiler
    settings = {level: {"profiler_level": getattr(kinds.ProfilerLevel, level)} for level in LEVELS}
    everything = {"l2_cache": True, "mstx": True, "sys_io": True, "sys_interconnection": True, "host_sys": ["cpu"]}
    both = [kinds.ExportType.Text, kinds.ExportType.Db]
    settings["experimental"] = {**everything, "gc_detect_threshold": 0.0, "export_type": both}
    return {name: kinds._ExperimentalConfig(**each) for name, each in settings.items()}


LEVELS = ("Level_none", "Level0", "Level1", "Level2")
EXPORTS = {
    "memory_timeline": lambda prof, folder: prof.export_memory_timeline(f"{folder}/memory.json"),
    "stacks": lambda prof, folder: prof.export_stacks(f"{folder}/stacks.txt", "self_npu_time_total"),
}


def record_history(model, data):
    """Return how many events a snapshot of the memory has in which the model was trained."""
    torch.npu.memory._record_memory_history(max_entries=10_000)
    model(data).sum().backward()
    torch.npu.memory._dump_snapshot("snapshot.pickle")
    torch.npu.memory._record_memory_history(enabled=None)
    return sum(map(len, pickle.loads(Path("snapshot.pickle").read_bytes())["device_traces"]))


def main():
    model, data = nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()
    record("alone", model, data)
    everything = dict.fromkeys(OPTIONS, True)
    alone = record_history(model, data)
    kept = []
    for name, make in MAKERS.items():
        objects = make()
        record(name, model, data, **everything)
        for ask in (torch_npu.npu.memory_allocated, torch_npu.npu.memory_summary):
            ask()
        kept.append(objects)
    for option in OPTIONS:
        record(option, model, data, **{option: True})
    for name, config in levels().items():
        record(name, model, data, experimental_config=config, **everything)
    for name, export in EXPORTS.items():
        record(name, model, data, after=export, **everything)
    assert record_history(model, data) == alone > 0
    lazy = kept[list(MAKERS).index("lazy_copy")]
    assert torch._C._is_cow_tensor(lazy[1]), "a look at a lazy copy has copied it"
    print("all recorded", *MAKERS, *OPTIONS, *levels(), *EXPORTS)


main()
dist.destroy_process_group()
