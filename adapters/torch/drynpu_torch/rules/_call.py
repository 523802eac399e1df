"""Calls of ``aten`` operators as rules read them, and the names of the kernels that aclnn launches for them."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve

from drynpu.kernels import KernelSpec, Key, OperatorCall, TensorDesc, computed_on_cpu
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._signature import native_format

# L0 function of each kernel type (device_and_cost_model.md 4, and the public operator sources); others are
# <type>AiCore, or <type>AiCpu where no AI core computes the type.
_FUNCTIONS: Final = MappingProxyType(
    {
        "MatMulV2": "MatMulCommon",
        "MatMulV3": "MatMulV3Common",
        "BatchMatMulV2": "BatchMatMulNd",
        "ReduceSum": "ReduceSumOpAiCore",
        "SoftmaxV2": "SoftmaxAiCore",
        "LogSoftmaxV2": "LogSoftmaxAiCore",
        "TransData": "TransDataSpecial",
    }
)
_NAMED_AS_TYPE: Final = """
    AvgPoolV2 AvgPoolV2Grad BN3DTrainingReduce BN3DTrainingReduceGrad BN3DTrainingUpdate BN3DTrainingUpdateGrad BNInfer
    BNTrainingReduce BNTrainingReduceGrad BNTrainingUpdate BNTrainingUpdateGrad ConcatD DSAGenBitMask Dot
    FlashAttentionScore FlashAttentionScoreGrad Gelu GroupNorm GroupNormGrad LayerNormGradV3 LayerNormV3
    LogSoftmaxGrad Relu SoftmaxGrad
"""


class AtenCall(OperatorCall):
    """
    A call that Kineto recorded: arguments by position, nothing of what it returned.

    Kernels are named ``<aclnn api>_<L0 function>_<type>`` (device_and_cost_model.md 4). Without an API, on the path
    that torch_npu compiles operator by operator, they show the bare type (4.1); kernels of the matrix unit are numbered
    there, by compilation (``Conv2D4``): a plan is made once per signature, so numbers count within it.
    """

    cube_on_cpu = False
    keeps_dims = True

    def tensor_of(self, shape: Sequence[int], dtype: str) -> TensorDesc:
        """Return a tensor in the format that torch_npu gives to one of that rank."""
        return TensorDesc(tuple(shape), dtype, native_format(len(shape)))

    def dtype(self, key: Key) -> str | None:
        """Return GE's name of a type that is given by torch's number."""
        return ge_dtype_of_code(self.attribute(key))

    def needs_cpu(self, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> bool:
        """Return whether no AI core computes it."""
        # Scalar operands may be DOUBLE on the host side of the call (Range is listed so): only real tensors count.
        return computed_on_cpu(outputs) or computed_on_cpu(t for t in inputs if t.shape)

    def kernel_name(self, op_type: str, *, suffix: str = "", tail: bool = True, on_cpu: bool = False) -> str:
        """Return the name of a kernel of the call's API."""
        del suffix, tail
        api = self.binding.api
        return f"{api}_{self._function(op_type, on_cpu=on_cpu)}_{op_type}" if api else op_type

    def _function(self, op_type: str, *, on_cpu: bool) -> str:
        if self.binding.function and op_type == (self.binding.kernel or op_type):
            return self.binding.function
        usual = op_type if op_type in _NAMED_AS_TYPE.split() else f"{op_type}AiCpu" if on_cpu else f"{op_type}AiCore"
        return _FUNCTIONS.get(op_type, usual)

    def cube_kernel(self, op_type: str, *args: Any, **options: Any) -> KernelSpec:
        """Return a kernel of the matrix unit, numbered where no API launches it."""
        spec = super().cube_kernel(op_type, *args, **options)
        return spec if self.binding.api else evolve(spec, name=f"{op_type}1")

    def format_change(self, number: int, source: TensorDesc, target: TensorDesc) -> KernelSpec:
        """Return the kernel that changes the format: of the API, or numbered."""
        spec = self.kernel("TransData", [source], [target], cost=0)
        return spec if self.binding.api else evolve(spec, name=f"trans_TransData_{number}")
