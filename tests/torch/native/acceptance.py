"""What a script sees of the native device: pairs of a value found and the value expected, run by test_acceptance.py."""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import threading
import warnings

import torch
import torch_npu  # noqa: F401 - registers the device
from torch import nn

found: dict[str, tuple[object, object]] = {}


def check(name: str, value: object, expected: object) -> None:
    """Keep a value and what it has to be; names are unique."""
    assert name not in found, name
    found[name] = (json.loads(json.dumps(value)), json.loads(json.dumps(expected)))


def raised(function: object) -> tuple[str, str]:
    """Return the type and the first line of what a call raises."""
    try:
        function()
    except Exception as error:  # noqa: BLE001 - whatever it is, its type is the value
        return type(error).__name__, str(error).splitlines()[0]
    return "nothing", ""


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same values, type and shape, wherever they are."""
    return a.dtype == b.dtype and torch.equal(a.detach().cpu(), b.detach().cpu())


x = torch.arange(6.0, device="npu").view(2, 3)
host = torch.arange(6.0).view(2, 3)
second = torch.device("npu:1")

# A tensor says where it is.
for name, tensor in {
    "factory": torch.zeros(2, device="npu"),
    "tensor": torch.tensor([1.5], device="npu"),
    "as_tensor": torch.as_tensor([1], device="npu"),
    "full": torch.full((2,), 7, device="npu"),
    "eye": torch.eye(3, device="npu"),
    "linspace": torch.linspace(0, 1, 4, device="npu"),
    "randperm": torch.randperm(5, device="npu"),
    "result": x + x,
    "in place": torch.zeros(2, device="npu").add_(1),
    "view": x.view(3, 2),
    "transposed": x.t(),
    "slice": x[0],
    "mask": x[x > 1],
    "like": torch.zeros_like(x),
    "new": x.new_ones(3),
    "moved": host.npu(),
    "to": host.to("npu"),
    "to other": host.to(x),
    "cast": x.half(),
    "detached": x.detach(),
    "cloned": x.clone(),
    "split": x.split(2, 1)[1],
    "reduced": x.sum(),
    "compared": x > 2,
    "indices": x.max(1).indices,
    "complex": torch.complex(x, x),
    "fft": torch.fft.fft(x),
    "copied": copy.deepcopy(x),
    "pickled": pickle.loads(pickle.dumps(x)),
    "vmapped": torch.func.vmap(torch.sin)(x),
    "gradient": torch.func.grad(lambda t: t.sum())(x),
    "tangent": torch.func.jvp(torch.sin, (x,), (x,))[1],
    "packed": torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)),
    "parameter": nn.Linear(1, 1).npu().weight,
    "buffer": nn.BatchNorm1d(2, device="npu").running_mean,
}.items():
    check(f"device of {name}", str(tensor.device), "npu:0")
check("device of index", str(torch.zeros(1, device="npu:3").device), "npu:3")
check("device of number", str(torch.zeros(1).npu(2).device), "npu:2")
check("device of result on 1", str((torch.ones(2, device=second) * 2).device), "npu:1")
check("device of view on 1", str(torch.ones(4, device=second).view(2, 2)[0].device), "npu:1")
check("device of host copy", str(x.cpu().device), "cpu")
check("device of host tensor", str(host.device), "cpu")
check("device of storage", str(x.untyped_storage().device), "npu:0")
check("device of new storage", str(torch.UntypedStorage(64, device="npu").device), "npu:0")
check("bytes of new storage", torch.UntypedStorage(64, device="npu").nbytes(), 64)
check("is_npu", (x.is_npu, host.is_npu, torch.zeros(1, device="meta").is_npu), (True, False, False))
check("is_cpu", (x.is_cpu, host.is_cpu), (False, True))
check("get_device", (x.get_device(), torch.zeros(1, device=second).get_device(), host.get_device()), (0, 1, -1))
check("type", x.type(), "torch.npu.FloatTensor")
check("repr", repr(torch.ones(2, device="npu")), "tensor([1., 1.], device='npu:0')")
check("branch", "right" if x.device.type == "npu" else "wrong", "right")

# Copies.
check("to itself", x.to("npu") is x, True)
check("to itself by index", x.to("npu:0") is x, True)
check("to itself by number", x.to(0) is x, True)
check("result to itself", (lambda y: y.to("npu") is y)(x + x), True)
check("to another device", str(x.to(second).device), "npu:1")
check("values on another device", x.to(second).tolist(), host.tolist())
check("cpu object copies", x.to(torch.device("cpu")).data_ptr() != x.data_ptr(), True)
check("cpu copies", x.cpu().tolist(), [[0, 1, 2], [3, 4, 5]])
check("to y.device", str(host.to(x.device).device), "npu:0")
check("dtype and device", str(host.to("npu", torch.float16).dtype), "torch.float16")
check("copy_ to device", torch.zeros(2, 3, device="npu").copy_(host).tolist(), host.tolist())
check("copy_ to host", torch.zeros(2, 3).copy_(x).tolist(), host.tolist())
check("copy_ to host stays", str(torch.zeros(2, 3).copy_(x).device), "cpu")
check("copy_ between", torch.zeros(2, 3, device=second).copy_(x).tolist(), host.tolist())
check("copy_ broadcasts", torch.zeros(2, 3, device="npu").copy_(torch.tensor([1.0, 2, 3])).tolist(), [[1, 2, 3]] * 2)
check("module to cpu", str(nn.Linear(1, 1).npu().cpu().weight.device), "cpu")
check("channels last", x.view(1, 1, 2, 3).to(memory_format=torch.channels_last).is_contiguous(), True)
# How training scripts count hits: on a device a comparison of turned operands lies in the order of its dims.
places = torch.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0], [2, 0, 1]], device="npu").t()
hits = places.eq(torch.tensor([0, 1, 1, 2], device="npu").view(1, -1).expand_as(places))
check("hits", [hits[:k].view(-1).float().sum().item() for k in (1, 2)], [3.0, 4.0])
check(
    "turned views",
    (places.is_contiguous(), (places + 1).is_contiguous(), places.float().stride()),
    (False, True, (1, 3)),
)
bytes_of_image = torch.arange(24, device="npu", dtype=torch.uint8).view(1, 2, 3, 4)
turned_image = bytes_of_image.contiguous(memory_format=torch.channels_last) + 1
check("channels last of bytes", turned_image.is_contiguous(memory_format=torch.channels_last), True)
check("strides", torch.empty_strided((2, 3), (1, 2), device="npu").stride(), (1, 2))
check("strides of a copy", x.t().cpu().stride(), (1, 3))

# Values: exactly the CPU's.
torch.manual_seed(3)
a, b = torch.randn(5, 7), torch.randn(7, 4)
image, kernel = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
F = nn.functional
for name, function in {
    "matmul": lambda d: a.to(d) @ b.to(d),
    "addmm": lambda d: torch.addmm(torch.ones(4, device=d), a.to(d), b.to(d)),
    "softmax": lambda d: a.to(d).softmax(-1),
    "layer_norm": lambda d: F.layer_norm(a.to(d), (7,)),
    "group_norm": lambda d: F.group_norm(image.to(d), 3),
    "batch_norm": lambda d: F.batch_norm(image.to(d), None, None, training=True),
    "gelu": lambda d: F.gelu(a.to(d)),
    "conv2d": lambda d: F.conv2d(image.to(d), kernel.to(d), padding=1),
    "nnpack": lambda d: (F.conv2d if d == "cpu" else torch._nnpack_spatial_convolution)(
        image.to(d), kernel.to(d), padding=2, **({"stride": 2} if d == "cpu" else {"bias": None, "stride": 2})
    ),
    "conv_transpose2d": lambda d: F.conv_transpose2d(image.to(d), kernel.transpose(0, 1).contiguous().to(d)),
    "max_pool2d": lambda d: F.max_pool2d(image.to(d), 2),
    "avg_pool2d": lambda d: F.avg_pool2d(image.to(d), 2),
    "interpolate": lambda d: F.interpolate(image.to(d), scale_factor=2, mode="bilinear"),
    "embedding": lambda d: F.embedding(torch.tensor([1, 0, 2], device=d), a.to(d)),
    "cross_entropy": lambda d: F.cross_entropy(a.to(d), torch.arange(5, device=d)),
    "attention": lambda d: F.scaled_dot_product_attention(*(image.to(d),) * 3),
    "causal attention": lambda d: F.scaled_dot_product_attention(*(image.to(d),) * 3, is_causal=True),
    "index_put": lambda d: a.to(d).index_put((torch.tensor([1], device=d),), torch.zeros(7, device=d)),
    "scatter_add": lambda d: torch.zeros(5, 7, device=d).scatter_add(
        0, torch.zeros(1, 7, dtype=int, device=d), a.to(d)
    ),
    "sort": lambda d: a.to(d).sort(1).values,
    "topk": lambda d: a.to(d).topk(3).indices,
    "cumsum": lambda d: a.to(d).cumsum(0),
    "where": lambda d: torch.where(a.to(d) > 0, a.to(d), 0.0),
    "cat": lambda d: torch.cat([a.to(d), a.to(d)], 1),
    "stack": lambda d: torch.stack([a.to(d), a.to(d)]),
    "einsum": lambda d: torch.einsum("ij,jk->ki", a.to(d), b.to(d)),
    "svd": lambda d: torch.linalg.svd(a.to(d))[1],
    "inverse": lambda d: torch.linalg.inv(a.to(d)[:, :5]),
    "qr": lambda d: torch.linalg.qr(a.to(d))[1],
    "norm": lambda d: a.to(d).norm(),
    "std": lambda d: a.to(d).std(0),
    "fft of": lambda d: torch.fft.rfft(a.to(d)).abs(),
    "conj": lambda d: torch.complex(a.to(d), a.to(d)).conj().imag,
    "nonzero": lambda d: (a.to(d) > 0).nonzero(),
    "unique": lambda d: (a.to(d) > 0).long().unique(return_counts=True)[1],
    "masked_fill": lambda d: a.to(d).masked_fill(a.to(d) > 0, 1),
    "roll": lambda d: a.to(d).roll(1, 0),
    "pad": lambda d: F.pad(a.to(d), (1, 2)),
    "grid_sample": lambda d: F.grid_sample(image.to(d), torch.zeros(2, 2, 2, 2, device=d), align_corners=False),
    "bincount": lambda d: torch.tensor([1, 1, 3], device=d).bincount(),
    "tril": lambda d: a.to(d).tril(),
    "arange": lambda d: torch.arange(0, 1, 0.25, device=d),
    "bfloat16": lambda d: a.to(d).bfloat16() @ b.to(d).bfloat16(),
    "out=": lambda d: torch.add(a.to(d), 1, out=torch.empty(0, device=d)),
    "foreach": lambda d: torch._foreach_mul([a.to(d), a.to(d)], 2)[1],
    "resize_": lambda d: a.clone().to(d).resize_(2, 2),
    "squeeze_": lambda d: a.clone().to(d).unsqueeze_(0).squeeze_(0),
    "t_": lambda d: a.clone().to(d).t_(),
    "set_": lambda d: torch.empty(0, device=d).set_(a.to(d)),
    "data =": lambda d: (lambda t: (setattr(t, "data", a.to(d)), t)[1])(torch.empty(0, device=d)),
    "view in place": lambda d: (lambda t: (t[0].zero_(), t)[1])(a.clone().to(d)),
    "as_strided": lambda d: a.to(d).as_strided((2, 2), (1, 2), 3),
    "unfold": lambda d: a.to(d).unfold(1, 3, 2),
    "lstm": lambda d: _lstm(d),
    "gru": lambda d: _gru(d),
    "transformer": lambda d: _transformer(d),
}.items():

    def _module(make: object, d: str) -> torch.Tensor:
        torch.manual_seed(1)
        module = make().to(d)
        result = module(a.view(1, 5, 7).to(d))
        return result[0] if isinstance(result, tuple) else result

    def _lstm(d: str) -> torch.Tensor:
        return _module(lambda: nn.LSTM(7, 3, batch_first=True), d)

    def _gru(d: str) -> torch.Tensor:
        return _module(lambda: nn.GRU(7, 3, batch_first=True), d)

    def _transformer(d: str) -> torch.Tensor:
        return _module(lambda: nn.TransformerEncoderLayer(7, 1, 8, 0.0, batch_first=True).eval(), d)

    there, here = function("npu"), function("cpu")
    check(f"values of {name}", equal(there, here) and there.shape == here.shape, True)
    check(f"place of {name}", str(there.device), "npu:0")

# Gradients.
weight = torch.randn(7, 4)
for name, function in {
    "linear": lambda t: (t @ weight.to(t.device)).square().sum(),
    "norm": lambda t: F.layer_norm(t, (7,)).square().sum(),
    "softmax": lambda t: t.softmax(1).square().sum(),
    "index": lambda t: t[[0, 0, 2]].square().sum(),
}.items():
    gradients = []
    for device in ("npu", "cpu"):
        leaf = a.detach().clone().to(device).requires_grad_()
        function(leaf).backward()
        gradients.append(leaf.grad)
    check(f"gradient of {name}", equal(*gradients), True)
    check(f"place of gradient of {name}", str(gradients[0].device), "npu:0")
threads: list[str] = []
hooked = torch.ones(2, device="npu", requires_grad=True)
hooked.register_hook(lambda g: threads.append(threading.current_thread().name))
hooked.sum().backward()
check("backward has its own thread", threads[0] != threading.main_thread().name, True)
early = nn.Linear(3, 2)
optimizer = torch.optim.SGD(early.parameters(), 0.1)
early.npu()(x).sum().backward()
before = early.weight.detach().clone()
optimizer.step()
check("optimizer made before the move", bool((early.weight != before).all()), True)
from torch.optim.optimizer import _default_to_fused_or_foreach  # noqa: E402

check("foreach", _default_to_fused_or_foreach([early.weight], differentiable=False), (False, True))

# Errors.
SAME = "Expected all tensors to be on the same device, but found at least two devices, "
check("mixed", raised(lambda: x + host), ("RuntimeError", SAME + "npu:0 and cpu!"))
check("forgotten", raised(lambda: nn.Linear(3, 1).npu()(host)), ("RuntimeError", SAME + "npu:0 and cpu!"))
check("two devices", raised(lambda: x + x.to(second)), ("RuntimeError", SAME + "npu:0 and npu:1!"))
check("number of the host", (x + torch.tensor(1.0)).tolist(), (host + 1).tolist())
check("indices of the host", x[torch.tensor([1])].tolist(), [[3, 4, 5]])
check(
    "numpy",
    raised(x.numpy),
    (
        "TypeError",
        "can't convert npu:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    ),
)
check("no such device", raised(lambda: torch.zeros(1, device="npu:8"))[0], "RuntimeError")
check("set no such device", raised(lambda: torch.npu.set_device(8))[0], "RuntimeError")
check(
    "generator of the host",
    raised(lambda: torch.rand(1, device="npu", generator=torch.Generator())),
    ("RuntimeError", "Expected a 'npu' device type for generator but found 'cpu'"),
)

# Devices, streams, events.
with torch.npu.device(2):
    check("context", (str(torch.zeros(1, device="npu").device), torch.npu.current_device()), ("npu:2", 2))
    check("accelerator index", torch.accelerator.current_device_index(), 2)
check("context ends", torch.npu.current_device(), 0)
with torch.device("npu"):
    check("default device", str(torch.zeros(1).device), "npu:0")
torch.accelerator.set_device_index(1)
check("set by accelerator", torch.npu.current_device(), 1)
torch.npu.set_device(0)
others: list[int] = []
torch.npu.set_device(3)
thread = threading.Thread(target=lambda: others.append(torch.npu.current_device()))
thread.start()
thread.join()
torch.npu.set_device(0)
check("device of a new thread", others, [0])
stream = torch.npu.Stream()
with torch.npu.stream(stream):
    check("stream", torch.npu.current_stream().stream_id, stream.stream_id)
    check("stream of accelerator", torch.accelerator.current_stream().stream_id, stream.stream_id)
check("stream ends", torch.npu.current_stream().stream_id, 0)
plain = torch.Stream(device="npu")
check("plain stream", (plain.query(), plain.device.type), (True, "npu"))
if hasattr(plain, "__enter__"):  # from PyTorch 2.7
    with plain:
        check("plain stream is current", torch.npu.current_stream().stream_id, plain.stream_id)
check("stream by id", torch.npu.Stream(stream_id=7, device="npu:0").stream_id, 7)
begin, end = torch.Event("npu", enable_timing=True), torch.Event("npu", enable_timing=True)
begin.record()
end.record()
end.synchronize()
check("elapsed time", 0 <= begin.elapsed_time(end) < 1000, True)
check("event has happened", end.query(), True)
check("current accelerator", str(torch.accelerator.current_accelerator()), "npu")
check("device count", torch.accelerator.device_count(), 8)

# Pinned memory.
check("pinned", torch.ones(3).pin_memory().is_pinned(), True)
check("not pinned", torch.ones(3).is_pinned(), False)
check("pinned factory", torch.empty(3, pin_memory=True).is_pinned(), True)
check("pinned view", torch.ones(8).pin_memory()[4:].is_pinned(), True)
check("pinned to device", torch.ones(3).pin_memory().npu(non_blocking=True).tolist(), [1, 1, 1])
# PyTorch 2.6 pins for CUDA, unless the loader names a device.
named = {} if hasattr(plain, "__enter__") else {"pin_memory_device": "npu"}
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(host), batch_size=1, pin_memory=True, **named)
check("pinned by a loader", [batch[0].is_pinned() for batch in loader], [True, True])

# Random numbers.
torch.manual_seed(5)
first = torch.rand(3, device="npu")
check("seed", equal(first, torch.rand(3, generator=torch.Generator().manual_seed(5))), True)
torch.rand(9)
check(
    "own sequence",
    equal(torch.rand(3, device="npu"), torch.rand(6, generator=torch.Generator().manual_seed(5))[3:]),
    True,
)
torch.npu.manual_seed(5)
check("seed of the device", equal(torch.rand(3, device="npu"), first), True)
state = torch.npu.get_rng_state()
drawn = torch.rand(2, device="npu")
torch.npu.set_rng_state(state)
check("state", equal(torch.rand(2, device="npu"), drawn), True)
generator = torch.Generator("npu").manual_seed(5)
check(
    "generator",
    (str(generator.device), equal(torch.rand(3, device="npu", generator=generator), first)),
    ("npu:0", True),
)
check("initial seed", torch.npu.initial_seed(), 5)
torch.manual_seed(5)
dropped = F.dropout(torch.ones(64, device="npu"))
torch.manual_seed(5)
check("dropout", equal(dropped, F.dropout(torch.ones(64))), True)
with torch.random.fork_rng(device_type="npu"):
    torch.rand(1, device="npu")
torch.manual_seed(5)
check(
    "native dropout",
    (torch.native_dropout(torch.ones(64, device="npu"), 0.5, True)[0] != 0).tolist(),
    (dropped != 0).tolist(),
)

# Files.
buffer = io.BytesIO()
torch.save({"x": x, "module": nn.Linear(2, 2).npu().state_dict()}, buffer)
for name, location, expected in (
    ("nothing", None, "npu:0"),
    ("cpu", "cpu", "cpu"),
    ("npu", "npu", "npu:0"),
    ("npu:2", "npu:2", "npu:2"),
    ("device", second, "npu:1"),
    ("mapping", {"npu:0": "npu:4"}, "npu:4"),
    ("mapping to cpu", {"npu:0": "cpu"}, "cpu"),
    ("callable", lambda storage, location: storage.npu(3), "npu:3"),
    ("callable that stays", lambda storage, location: storage, "cpu"),
):
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=location)["x"]
    check(f"loaded to {name}", (str(loaded.device), loaded.tolist()), (expected, host.tolist()))
check("copied values", copy.deepcopy(x).tolist(), host.tolist())
check("pickled values", pickle.loads(pickle.dumps(x.t())).tolist(), host.t().tolist())
shared = torch.ones(4, device="npu")
pair = copy.deepcopy([shared, shared[:2]])
pair[0].fill_(2)
check("copied views share", pair[1].tolist(), [2, 2])

# Autocast.
with torch.autocast("npu", dtype=torch.bfloat16):
    low = x @ x.t()
    check("lower precision", str(low.dtype), "torch.bfloat16")
    check("float32", str(low.softmax(-1).dtype), "torch.float32")
    check("float32 norm", str(F.layer_norm(low, (2,)).dtype), "torch.float32")
    check("widest", str(torch.addcmul(low, x[:, :2], x[:, :2]).dtype), "torch.float32")
    check("sum", str(low.sum().dtype), "torch.float32")
    check("relu keeps", str(low.relu().dtype), "torch.bfloat16")
    check("host stays", str((host @ host.t()).dtype), "torch.float32")
    check("loss to refuse", raised(lambda: F.binary_cross_entropy(low.sigmoid(), low.sigmoid()))[0], "RuntimeError")
with torch.autocast("npu"):
    check("default precision", str((x @ x.t()).dtype), "torch.float16")
check("autocast ends", str((x @ x.t()).dtype), "torch.float32")

# Memory: blocks of 512 bytes with 32 of padding, segments of 2 and 20 MiB.
gc.collect()
torch.npu.empty_cache()
base, reserved = torch.npu.memory_allocated(), torch.npu.memory_reserved()
one = torch.empty(120, device="npu")
check("480 bytes", torch.npu.memory_allocated() - base, 512)
two = torch.empty(121, device="npu")
check("484 bytes", torch.npu.memory_allocated() - base, 1536)
check("no new segment", torch.npu.memory_reserved(), reserved)
large = torch.empty(3 << 20, dtype=torch.int8, device="npu")
check("large segment", torch.npu.memory_reserved() - reserved, 20 << 20)
huge = torch.empty(11 << 20, dtype=torch.int8, device="npu")
check("huge fits behind", torch.npu.memory_reserved() - reserved, 20 << 20)
giant = torch.empty((21 << 20) + 1, dtype=torch.int8, device="npu")
# The rest behind it, 1 MiB less 512 bytes, is too small to be split off: the block is the segment.
check("giant has its own", torch.npu.memory_reserved() - reserved, (20 << 20) + (22 << 20))
view = large[:10]
check(
    "views take nothing",
    torch.npu.memory_allocated() - base,
    1536 + (3 << 20) + 512 + (11 << 20) + 512 + (22 << 20),
)
torch.npu.reset_peak_memory_stats()
del large
check(
    "a view keeps its storage",
    torch.npu.memory_allocated() - base,
    1536 + (3 << 20) + 512 + (11 << 20) + 512 + (22 << 20),
)
del view, huge, giant
check("freed", torch.npu.memory_allocated() - base, 1536)
check("peak", torch.npu.max_memory_allocated() - base, 1536 + (3 << 20) + 512 + (11 << 20) + 512 + (22 << 20))
check("still reserved", torch.npu.memory_reserved() - reserved, 42 << 20)
torch.npu.empty_cache()
check("emptied", torch.npu.memory_reserved(), reserved)
other = torch.empty(1, device=second)
check("another device", torch.npu.memory_allocated(1), 512)
stats = torch.npu.memory_stats()
check("stats agree", stats["allocated_bytes.all.current"], torch.npu.memory_allocated())
check(
    "pools add up",
    stats["allocated_bytes.small_pool.current"] + stats["allocated_bytes.large_pool.current"],
    stats["allocated_bytes.all.current"],
)
check(
    "sums agree",
    stats["allocated_bytes.all.allocated"] - stats["allocated_bytes.all.freed"],
    stats["allocated_bytes.all.current"],
)
snapshot = torch.npu.memory_snapshot()
check("snapshot adds up", sum(s["total_size"] for s in snapshot), torch.npu.memory_reserved())
check(
    "snapshot's blocks",
    sum(b["size"] for s in snapshot for b in s["blocks"] if b["state"] == "active_allocated"),
    torch.npu.memory_allocated(),
)
check("summary", sorted({len(line) for line in torch.npu.memory_summary().splitlines()}), [77])
scratch = torch.npu.memory_stats()["allocated_bytes.all.allocated"]
result = torch.ones(64, 64, device="npu") @ torch.ones(64, 64, device="npu")
check("scratch does not count", torch.npu.memory_stats()["allocated_bytes.all.allocated"] - scratch, 3 * (16384 + 512))
total = torch.npu.get_device_properties().total_memory
check("full", raised(lambda: torch.empty(total, dtype=torch.int8, device="npu"))[0], "OutOfMemoryError")
check(
    "full says",
    raised(lambda: torch.empty(total, dtype=torch.int8, device="npu"))[1].split(" (")[0],
    "NPU out of memory. Tried to allocate 64.00 GiB",
)
torch.npu.set_per_process_memory_fraction(0.001)
check("fraction", raised(lambda: torch.empty(80 << 20, dtype=torch.int8, device="npu"))[0], "OutOfMemoryError")
torch.npu.set_per_process_memory_fraction(1.0)

# Foreign memory and odd corners.
check("checkpointing", equal(torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False), host.sin()), True)
check("compile", torch.compile(lambda t: t * 2, backend="eager")(x).tolist(), (host * 2).tolist())
heads, causal = torch.randn(1, 2, 4, 8, device="npu"), torch.ones(1, 1, 4, 4, dtype=torch.bool, device="npu").tril()
attention = torch.nn.functional.scaled_dot_product_attention
gradients = []
for function in (attention, torch.compile(attention, backend="aot_eager")):
    wanted = heads.clone().requires_grad_()
    function(wanted, heads, heads, attn_mask=causal).sum().backward()
    gradients.append(wanted.grad.tolist())
check("compiled attention", gradients[1], gradients[0])
check("inference", str((lambda: (x * 2).device)()), "npu:0")
with torch.inference_mode():
    kept = x * 2
    check("inference values", kept.tolist(), (host * 2).tolist())
    check("inference view", (str(kept.view(3, 2).device), kept.view(3, 2).is_inference()), ("npu:0", True))
    chosen = torch.tensor([1, 0], device="npu")
    check(
        "inference index",
        (x[chosen].tolist(), x[:, chosen].tolist()),
        (host[[1, 0]].tolist(), host[:, [1, 0]].tolist()),
    )
    check("inference embedding", torch.nn.Embedding(3, 2).npu()(chosen).shape, (2, 2))
check("item", (x.sum().item(), int(x[1, 2]), bool(x[0, 1] > 0)), (15.0, 5, True))
check("iteration", [row.tolist() for row in x], host.tolist())
check("equal", torch.equal(x, x.clone()), True)
check("empty", torch.empty(0, 3, device="npu").sum().item(), 0.0)
check("storage resize", (lambda s: (s.resize_(128), s.nbytes()))(torch.UntypedStorage(64, device="npu"))[1], 128)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    F.mse_loss(x, x)
check("no warnings", [str(w.message) for w in caught], [])

print(json.dumps(found))
