"""Calls of ``aten`` operators as rules read them, and the names of the kernels that aclnn launches for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import evolve

from drynpu.kernels import Binding, Copy, KernelSpec, Key, OperatorCall, TensorDesc, computed_on_cpu, copy_kernel
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._signature import native_format

_L0_FUNCTIONS: Final = """
    MatMulV2=MatMulCommon MatMulV3=MatMulV3Common BatchMatMulV2=BatchMatMulNd DropOutDoMask=DropoutDoMaskAiCore
    GLU=SigmoidAiCore IndexFillD=IndexFillDAiCore MultinomialWithReplacement=MultinomialWithReplacementAiCpu
    NonZero=NonzeroAiCore Range=ArangeAiCore ReduceMax=ReduceMaxAiCore ReduceMean=ReduceMeanAiCore
    ReduceMin=ReduceMinAiCore ReduceProd=ReduceProdAiCore ReduceSum=ReduceSumOpAiCore ScatterUpdate=ScatterUpdateAiCore
    StatelessRandperm=StatelessRandpermAiCpu TopKV2=TopkV2AiCore SoftmaxV2=SoftmaxAiCore
    LogSoftmaxV2=LogSoftmaxAiCore TransData=TransDataSpecial
"""
"""
Kernel types with the L0 function that launches them (device_and_cost_model.md 4, and the public operator sources).

The function of any other type is ``<type>AiCore``, or ``<type>AiCpu`` where no AI core computes the type.
"""
_FUNCTIONS: Final = {row.partition("=")[0]: row.partition("=")[2] for row in _L0_FUNCTIONS.split()}
_NUMBER_DTYPES: Final = frozenset({"DOUBLE", "INT64", "BOOL", "COMPLEX128"})
"""Types that torch gives to Python's numbers: the widest of each category."""
_SAME_NAME: Final = """
    ArgMaxWithValue ArgMinWithValue AvgPoolV2 AvgPoolV2Grad BN3DTrainingReduce BN3DTrainingReduceGrad
    BN3DTrainingUpdate BN3DTrainingUpdateGrad BNInfer BNTrainingReduce BNTrainingReduceGrad BNTrainingUpdate
    BNTrainingUpdateGrad BinaryCrossEntropy BinaryCrossEntropyGrad ConcatD DSAGenBitMask DSARandomNormal
    DSARandomUniform Dot EmbeddingDenseGradV2 FlashAttentionScore FlashAttentionScoreGrad GatherElementsV2 Gelu
    GroupNorm GroupNormGrad IndexPutV2 InplaceIndexAdd LayerNormGradV3 LayerNormV3 Lerp LogSoftmaxGrad LpNormV2
    MaskedSelectV3 MemSet MseLoss MseLossGrad OneHot ReduceAll ReduceAny ReduceStdV2Update Relu ScatterElements
    SmoothL1LossV2 SmoothL1LossV2Grad SoftMarginLoss SoftMarginLossGrad SoftmaxGrad Tril Triu
"""
_NAMED_AS_TYPE: Final = frozenset(_SAME_NAME.split())
"""Kernel types whose L0 function has the name of the type."""

_MOVED_FROM_BYTES: Final = 2**18
"""
Bytes from which a copy inside the device is a kernel; smaller ones are tasks of the copy engine.

Measured on the Ascend910B2: copies of 92 928 bytes and less are MEMCPY_ASYNC, of 1 228 800 bytes and more TensorMove.
"""


def scalar(dtype: str) -> TensorDesc:
    """Return a scalar operand, which measured profiles list with an empty shape."""
    return TensorDesc((), dtype)


def is_wrapped_number(operand: TensorDesc) -> bool:
    """
    Return whether an operand is a Python number that torch wrapped into a tensor.

    Those arrive as 0-dim tensors of the widest type. A genuine 0-dim DOUBLE or INT64 tensor looks the same and counts
    as a number, too.
    """
    return operand.shape == () and operand.dtype in _NUMBER_DTYPES


class AtenCall(OperatorCall):
    """
    A call as Kineto recorded it: arguments by position, without the results.

    Kernels are named ``<aclnn api>_<L0 function>_<type>`` (device_and_cost_model.md 4). An operator without an API is
    compiled when it is called, and its kernels show the bare type (4.1). Kernels of the matrix unit have the number of
    their compilation there (``Conv2D4``). A plan is worked out once per signature, so numbers count within the plan.
    """

    cube_on_cpu = False
    keeps_dims = True

    @property
    def in_place(self) -> bool:
        """Whether the operator writes into its first tensor: ``add_``, ``__iadd__``."""
        name = self.signature.name.removeprefix("aten::")
        return name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))

    @property
    def form(self) -> AtenCall:
        """The call itself, or, where the operator works in place, the call of the interface for that."""
        api = self.binding.api.replace("aclnn", "aclnnInplace", 1)
        return evolve(self, binding=evolve(self.binding, api=api)) if self.in_place else self

    @property
    def lists(self) -> list[tuple[TensorDesc, ...]]:
        """The arguments that are lists of tensors."""
        return [value for value in self.signature.inputs if isinstance(value, tuple)]

    @property
    def parts(self) -> list[TensorDesc]:
        """The tensors of the first argument, if that is a list of them."""
        first = self.signature.inputs[0] if self.signature.inputs else None
        return list(first) if isinstance(first, tuple) else []

    def spelled(self, spelling: str) -> AtenCall:
        """Return the call as one of the operator that *spelling* describes."""
        return evolve(self, binding=Binding.from_text(spelling))

    def dims(self, key: Key) -> tuple[int, ...] | None:
        """Return an argument that is an integer or several integers as a tuple, ``None`` for any other."""
        value = self.attribute(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,)
        return value if isinstance(value, tuple) and all(isinstance(item, int) for item in value) else None

    def main_kernel(self, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], **options: Any) -> KernelSpec:
        """Return the vector kernel that the table of rules names for the operator, with its cost per element."""
        cost = options.pop("cost", self.binding.operations)
        return self.kernel(self.binding.kernel, inputs, outputs, cost=cost, **options)

    def copy_to_host(self, source: TensorDesc) -> KernelSpec:
        """Return the copy of a small result to the host."""
        return copy_kernel(source, Copy.DEVICE_TO_HOST)

    def tensor_of(self, shape: Sequence[int], dtype: str) -> TensorDesc:
        """Return a tensor in the format that torch_npu gives to one of that rank."""
        return TensorDesc(tuple(shape), dtype, native_format(len(shape)))

    def dtype(self, key: Key) -> str | None:
        """Return GE's name of a dtype argument, ``None`` where the call has none."""
        return ge_dtype_of_code(self.attribute(key))

    def needs_cpu(self, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> bool:
        """Return whether no AI core computes these types."""
        # Scalars may be DOUBLE without any DOUBLE being computed (Range lists its bounds so): only tensors count.
        return computed_on_cpu(outputs) or computed_on_cpu(t for t in inputs if t.shape)

    def kernel_name(self, op_type: str, *, suffix: str = "", tail: bool = True, on_cpu: bool = False) -> str:
        """Return the name of a kernel of the call's API."""
        del suffix, tail
        api = self.binding.api
        return f"{api}_{self._function(op_type, on_cpu=on_cpu)}_{op_type}" if api else op_type

    def _function(self, op_type: str, *, on_cpu: bool) -> str:
        if self.binding.function and op_type == (self.binding.kernel or op_type):
            return self.binding.function
        usual = op_type if op_type in _NAMED_AS_TYPE else f"{op_type}AiCpu" if on_cpu else f"{op_type}AiCore"
        return _FUNCTIONS.get(op_type, usual)

    def cube_kernel(self, op_type: str, *args: Any, **options: Any) -> KernelSpec:
        """Return a kernel of the matrix unit, with a number in its name where no API launches it."""
        spec = super().cube_kernel(op_type, *args, **options)
        return spec if self.binding.api else evolve(spec, name=f"{op_type}1")

    def format_change(self, number: int, source: TensorDesc, result: TensorDesc) -> KernelSpec:
        """Return the kernel that changes the format of *source*, with *number* in its name where no API launches it."""
        spec = self.kernel("TransData", [source], [result], cost=0)
        return spec if self.binding.api else evolve(spec, name=f"trans_TransData_{number}")


def copy_on_device(call: OperatorCall, x: TensorDesc) -> KernelSpec:
    """Return the copy of a tensor that stays as it is: a kernel, or a task of the copy engine for a small one."""
    if x.size_bytes < _MOVED_FROM_BYTES:
        return copy_kernel(x, Copy.DEVICE_TO_DEVICE)
    return call.kernel("TensorMove", [x], [x], cost=0, over=0)
