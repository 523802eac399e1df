"""
One call of an operator as rules read it, whichever framework made it.

A rule asks for arguments by the neutral names of its operator (``call.tensor("weight")``, ``call.flag("training")``).
The binding says where this framework keeps them: by position, by an attribute's name, or both. A framework's own
subclass says how its signatures are laid out, how its kernels are named and in which formats it holds tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from drynpu.kernels._binding import Binding
from drynpu.kernels._elements import element_operations
from drynpu.kernels._rules import Rule
from drynpu.kernels._specs import computed_on_cpu, cube_spec, launched, vector_spec
from drynpu.kernels._types import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc

NO_DATA = "UNDEFINED"
"""Type of a tensor that holds no numbers (text, resources) or of which nothing is known; it counts no bytes."""

Key: TypeAlias = "str | int"
"""An argument: its name in the binding, the framework's name of an attribute, or a position."""

_Call = TypeVar("_Call", bound="OperatorCall")


@frozen
class OperatorCall:
    """
    One call: what it was given, what it returns as far as that is known, and the kernels that it launches.

    This class reads signatures whose ``attributes`` are values by position, and shows kernels by their type.
    """

    signature: Signature
    binding: Binding = field(factory=Binding)

    cube_on_cpu: ClassVar[bool] = True
    """Whether products of DOUBLE and complex numbers go to the AI CPU."""
    guesses: ClassVar[bool] = True
    """Whether the usual value, or the first reading that fits, is taken where a call leaves an argument open."""
    keeps_dims: ClassVar[bool] = False
    """Whether statistics per channel keep the dims of their image, and five dims have kernels of their own."""
    simplified: ClassVar[bool] = False
    """Whether a compiler leaves out calls that change nothing but the shape."""
    outputs_optional: ClassVar[bool] = False
    """Whether a kernel is stated, without outputs, where nothing is known of what the call returns."""
    kernel_types: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Kernel types of the element-wise operators that may be fused into others, by the framework's names."""

    outputs_at: ClassVar[int | None] = None
    """Which part of the signature's ``attributes`` has the outputs; ``None`` where nothing is known of them."""
    attrs_at: ClassVar[int | None] = None
    """The part of ``attributes`` that has attributes by name."""
    arguments_at: ClassVar[int | None] = None
    """The part that has values by position; without any of the three all parts are values by position."""

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the call returns, in order; empty when that is not known."""
        outputs = self._part(self.outputs_at)
        return outputs if isinstance(outputs, tuple) else ()

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes by the framework's name, lists as tuples."""
        attrs = self._part(self.attrs_at)
        return dict(attrs) if isinstance(attrs, tuple) else {}

    @property
    def arguments(self) -> tuple[object, ...]:
        """Values of the arguments that are no tensors, by position."""
        if self.outputs_at is None:
            return self.signature.attributes
        arguments = self._part(self.arguments_at)
        return arguments if isinstance(arguments, tuple) else ()

    weight_format: ClassVar[str] = "NCHW"
    """Order of the dims of a convolution's weight: NCHW for [out, in, rows, columns], or HWCN."""

    @property
    def channels_first(self) -> bool:
        """Whether images of this call are NCHW (NCL, NCDHW)."""
        return True

    @property
    def compiled(self) -> bool:
        """Whether a graph compiler chose the formats around this call and placed the kernels that change them."""
        return False

    def image(self, image: TensorDesc) -> TensorDesc:
        """Return an image in the format in which pooling, norms and element-wise kernels of this call take it."""
        return image

    def place(self, key: Key) -> int:
        """Return the position of an argument, -1 for one that this framework does not have."""
        if isinstance(key, int):
            return key
        return self.binding.arguments.index(key) if key in self.binding.arguments else -1

    def tensor(self, key: Key) -> TensorDesc | None:
        """Return an input; ``None`` for one that is left out or is not a single tensor."""
        position = self.place(key)
        return self.signature.tensor(position) if position >= 0 else None

    def tensors(self, *keys: Key) -> list[TensorDesc]:
        """Return the inputs *keys* as far as they are there; without *keys* all inputs."""
        if not keys:
            return list(self.signature.tensors())
        return [t for t in map(self.tensor, keys) if t is not None]

    def further(self, count: int) -> list[TensorDesc]:
        """Return the inputs behind the first *count*, which the graph engine gave to a node: biases and the like."""
        del count
        return []

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it is not known."""
        return self.outputs[position] if position < len(self.outputs) else None

    def attribute(self, key: Key) -> object:
        """Return the value of an argument that is no tensor, ``None`` when it is absent or not known."""
        if isinstance(key, str):
            value: object = self.attrs.get(self.binding.names.get(key, key))
            if value is not None:
                return value
        position = self.place(key)
        return self.arguments[position] if 0 <= position < len(self.arguments) else None

    def known_flag(self, key: Key) -> bool | None:
        """Return a boolean (or 0 and 1 in its place), ``None`` when it is absent."""
        value = self.attribute(key)
        return bool(value) if isinstance(value, int) and value in (0, 1) else None

    def flag(self, key: Key) -> bool:
        """Return a boolean; absent counts as false."""
        return self.known_flag(key) is True

    def text(self, key: Key, default: str = "") -> str:
        """Return a text."""
        value = self.attribute(key)
        return value if isinstance(value, str) and value else default

    def whole(self, key: Key, default: int) -> int:
        """Return an integer."""
        value = self.attribute(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def number(self, key: Key, default: float) -> float:
        """Return a number."""
        value = self.attribute(key)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default

    def integers(self, key: Key) -> tuple[int, ...]:
        """Return a list of integers, of one for a single integer; empty when there is none."""
        argument = self.attribute(key)
        if isinstance(argument, int) and not isinstance(argument, bool):
            return (argument,)
        return tuple(value for value in argument if isinstance(value, int)) if isinstance(argument, tuple) else ()

    def dtype(self, key: Key) -> str | None:
        """Return GE's name of a type that is an argument, ``None`` for none."""
        del key
        return None

    def texts(self, key: Key) -> tuple[str, ...]:
        """Return a list of texts; empty when there is none."""
        argument = self.attribute(key)
        return tuple(value for value in argument if isinstance(value, str)) if isinstance(argument, tuple) else ()

    def tensor_of(self, shape: Sequence[int], dtype: str) -> TensorDesc:
        """Return a tensor in the format that this framework gives to one of that shape."""
        return TensorDesc(tuple(shape), dtype)

    def fused_operations(self, out: TensorDesc) -> int:
        """Return the element operations of what was fused into a kernel that makes *out*: biases, activations."""
        return round(out.elements * sum(self.operations_of(name) for name in self.fused))

    @property
    def fused(self) -> tuple[str, ...]:
        """Operators fused into this one, as the framework names them."""
        return ()

    def operations_of(self, name: str) -> float:
        """Return the operations per element of a fused operator, 1 for one that is not element-wise (a bias)."""
        return element_operations(self.kernel_types.get(name, ""))

    def kernel_name(self, op_type: str, *, suffix: str = "", tail: bool = True, on_cpu: bool = False) -> str:
        """
        Return the name of a kernel.

        *suffix* is what the graph engine adds where it makes several kernels of a node; with *tail* the names of the
        nodes that were fused into this one follow.
        """
        del suffix, tail, on_cpu
        return op_type

    def needs_cpu(self, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> bool:
        """Return whether no AI core computes it: DOUBLE and complex numbers."""
        return computed_on_cpu((*inputs, *outputs))

    def kernel(
        self,
        op_type: str,
        inputs: Sequence[TensorDesc],
        outputs: Sequence[TensorDesc],
        *,
        suffix: str = "",
        tail: bool = True,
        task: TaskType = TaskType.AI_VECTOR_CORE,
        cost: float = 1,
        over: int | None = None,
        read: int | None = None,
        written: int | None = None,
    ) -> KernelSpec:
        """
        Return a vector kernel.

        Parameters
        ----------
        op_type:
            GE's operator type.
        suffix, tail:
            See :meth:`kernel_name`.
        cost:
            Element operations per element of *over* (by default the elements of the largest output or input).
        read, written:
            Bytes; by default all inputs once and all outputs once.

        Notes
        -----
        No AI core kernel computes DOUBLE or complex numbers: such calls become AI_CPU kernels.
        """
        on_cpu = task is not TaskType.DSA and self.needs_cpu(inputs, outputs)
        name = self.kernel_name(op_type, suffix=suffix, tail=tail, on_cpu=on_cpu)
        task = TaskType.AI_CPU if on_cpu else task
        return vector_spec(name, op_type, inputs, outputs, task=task, cost=cost, over=over, read=read, written=written)

    def cube_kernel(
        self,
        op_type: str,
        inputs: Sequence[TensorDesc],
        outputs: Sequence[TensorDesc],
        *,
        flops: int,
        tiles: int,
        vector_ops: int = 0,
        hf32: bool = False,
        task: TaskType = TaskType.AI_CORE,
    ) -> KernelSpec:
        """
        Return a kernel of the matrix unit; with a *task* of MIX_AIC of both units.

        *flops* counts multiply and add, *tiles* the independent output tiles. DOUBLE and complex go to the AI CPU.
        """
        on_cpu = self.cube_on_cpu and self.needs_cpu(inputs, outputs)
        return cube_spec(
            self.kernel_name(op_type),
            op_type,
            inputs,
            outputs,
            flops=flops,
            tiles=tiles,
            task=TaskType.AI_CPU if on_cpu else task,
            vector_ops=vector_ops,
            hf32=hf32 and not on_cpu,
        )

    def format_change(self, number: int, source: TensorDesc, result: TensorDesc) -> KernelSpec:
        """Return the kernel that makes *result* of *source*, the one with this *number* in the plan."""
        del number
        return vector_spec("TransData", "TransData", [source], [result], cost=0)

    def plan(self, *kernels: KernelSpec) -> KernelPlan:
        """Return the plan of a call that launches *kernels*, but for those without any element."""
        return KernelPlan(api=self.binding.api, kernels=launched(kernels))

    def under(self: _Call, api: str, function: str = "") -> _Call:
        """Return the call with kernels that another ACL API launches, by an L0 function that is not the usual one."""
        return evolve(self, binding=evolve(self.binding, api=api, function=function, kernel=""))

    def launching(self: _Call, kernel: str) -> _Call:
        """Return the call with a main kernel of another type."""
        return evolve(self, binding=evolve(self.binding, kernel=kernel))

    def _part(self, position: int | None) -> object:
        parts = self.signature.attributes
        return parts[position] if position is not None and position < len(parts) else None

    def answer(self, operator: Operator) -> KernelPlan | None:
        """Return what *operator* makes of this call; ``None`` where it has no answer."""
        return operator(self)


Operator: TypeAlias = Callable[[OperatorCall], "KernelPlan | None"]
"""A neutral operator: reads a call by the names of its arguments and states its kernels."""


def bind(operator: Operator, spelling: str, call_type: type[OperatorCall] = OperatorCall) -> Rule:
    """Return the rule of a framework's operator that *operator* describes; see :meth:`Binding.from_text`."""
    binding = Binding.from_text(spelling)

    @functools.wraps(operator)
    def complete(call: OperatorCall) -> KernelPlan | None:
        return operator(call) if len(call.tensors(*binding.required)) == len(binding.required) else None

    def rule(signature: Signature) -> KernelPlan | None:
        return call_type(signature, binding).answer(complete if binding.required else operator)

    return rule
