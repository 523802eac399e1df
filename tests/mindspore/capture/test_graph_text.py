"""Graphs as MindSpore saves them."""

from __future__ import annotations

from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._forward import read_forward, same_graph
from drynpu_mindspore.capture._ir import read_graph
from drynpu_mindspore.capture._wiring import GraphParameter, read_kernel_graphs

GRAPH = """\
# IR entry: @kernel_graph0
%para1_fc.weight: <Ref[Tensor[Float32]], (3, 4), ref_key=fc.weight, is_parameter>  :  has_default

subgraph @kernel_graph0() {
  %0(equiv_1_load) = Load(%para1_fc.weight, UMonad[U]) cnode_attrs: {checkpoint: Bool(1)}
      : (<Ref[Tensor[Float32]], (3, 4), ref_key=fc.weight, is_parameter>, <UMonad, NoShape>) -> \
(<Tensor[Float32], (3, 4)>)
      # Fullname with scope: (Default/Load-op0)
  %1(equiv_2_out) = PrimFunc_MatMul(%para2_inputs0, %0, Bool(0), Bool(1)) {instance name: matmul} primitive_attrs: \
{IsFeatureMapInputList: (0, 1), dst_type: F32, format: "DefaultFormat"} cnode_attrs: {checkpoint: Bool(1)}
      : (<Tensor[Float32], (2, 4)>, <Tensor[Float32], (3, 4)>, <Bool, NoShape>, <Bool, NoShape>) -> \
(<Tensor[Float32], (2, 3)>)
      : (<Float32xDefaultFormat[const vector]{2, 4}>, <BoolxDefaultFormat[const vector]{}>) -> (<Float32x[]{2, 3}>)
      # Fullname with scope: (Default/net-Net/fc-Dense/MatMul-op0)
      # In file net.py:5, 4~9/    def construct(self, x):/
  %2(CNode_7) = PrimFunc_RealDiv(Tensor(shape=[2, 2], dtype=Float32, value=
[[ 1.00000000e+00  1.00000000e+00]
 [ 1.00000000e+00  1.00000000e+00]]), Tensor(shape=[], dtype=Float32, value=8)) primitive_attrs: \
{names: [a, b], k: I64(-3)}
      : (<Tensor[Float32], (2, 2), value=...>, <Tensor[Float32], (), value=...>) -> (<Tensor[Float32], (2, 2)>)
      # Fullname with scope: (Gradients/Default/Grad_ReduceMean/RealDiv-op1)
  %3(CNode_8) = PrimFunc_BatchNorm(%1, %0, Bool(1), F32(1e-05), (I64(-1), I64(2)), %2) {instance name: norm}
      : (<Tensor[Float16], (2, 6)>, <Tensor[Float32], (6)>, <Bool, NoShape>, <Float32, NoShape>, <Tuple[Int64*2], \
TupleShape(NoShape, NoShape)>, <UMonad, NoShape>) -> (<Tuple[Tensor[Float16],Tensor[Float32]*2], \
TupleShape((2, 6), (6), (6))>)
      # Fullname with scope: (Default/BatchNorm-op0)
  %4(CNode_9) = AddN(%3) primitive_attrs: {n: I64(2)}
      : (<Tuple[Tensor[Int32]*2], TupleShape((5), (5))>) -> (<Tensor[Int32], (-1)>)
      # Fullname with scope: (Default/AddN-op0)
}
"""


def f32(*shape):
    return TensorDesc(shape, "FLOAT")


def test_nodes_of_a_graph():
    load, product, quotient, norm, total = read_graph(GRAPH)
    assert (load.name, load.primitive, load.inputs) == ("Default/Load-op0", "Load", (f32(3, 4),))
    assert product.name == "Default/net-Net/fc-Dense/MatMul-op0"
    assert product.inputs == (f32(2, 4), f32(3, 4), None, None)
    assert product.outputs == (f32(2, 3),)
    assert product.arguments == (None, None, False, True)
    assert product.attrs == (("format", "DefaultFormat"),)
    assert quotient.inputs == (f32(2, 2), f32())
    assert dict(quotient.attrs) == {"k": -3, "names": (None, None)}
    assert norm.outputs == (TensorDesc((2, 6), "FLOAT16"), f32(6), f32(6))
    assert norm.arguments == (None, None, True, 1e-05, (-1, 2))
    assert total.inputs == (TensorDesc((5,), "INT32"),) * 2


def test_what_is_not_known_before_the_run_is_not_known():
    assert read_graph(GRAPH)[-1].outputs is None
    assert read_graph("") == ()
    assert read_graph(GRAPH[: GRAPH.index("      : (<Ref")]) == ()


FORWARD = """\
# Params:
%para1_: <Tensor[Float32], (2, 4)>
%para2_fc.weight: <Ref[Tensor[Float32]], (3, 4), ref_key=fc.weight>  :  has_default

subgraph @pynative_forward_graph_9() {
  %0(CNode_1) = PrimFunc_MatMul(%para1_Parameter_5, %para2_fc.weight, Bool(0), Bool(1))
      : (<Tensor[Float32], (2, 4)>, <Ref[Tensor[Float32]], (3, 4)>, <Bool, NoShape>) -> (<Tensor[Float32], (2, 3)>)
}
# Order:
#   1: @pynative_forward_graph_9:CNode_1{[0]: ValueNode<Primitive> PrimFunc_MatMul, [1]: param_Parameter_5, \
[2]: param_fc.weight, [3]: ValueNode<BoolImm> false, [4]: ValueNode<BoolImm> true}
#   2: @pynative_forward_graph_9:CNode_2{[0]: ValueNode<Primitive> PrimFunc_ReLU, [1]: CNode_1}
#   3: @pynative_forward_graph_9:CNode_3{[0]: ValueNode<Primitive> PrimFunc_AddExt, [1]: CNode_2, \
[2]: ValueNode<Tensor> Tensor(shape=[3], dtype=Float32, value=[1 2 3]), [3]: ValueNode<Int64Imm> 1}
#   4: @pynative_forward_graph_9:CNode_4{[0]: ValueNode<PrimitivePy> PrimFunc_ReduceMean, [1]: CNode_3, \
[2]: ValueNode<ValueTuple> (0, 1), [3]: ValueNode<BoolImm> false}
#   5: @pynative_forward_graph_9:CNode_6{[0]: ValueNode<Primitive> Return, [1]: CNode_4}
"""


def test_calls_of_a_forward_graph():
    product, relu, total, mean = read_forward(FORWARD)
    assert product.inputs == (f32(2, 4), f32(3, 4), None, None)
    assert product.arguments == (None, None, False, True)
    assert product.gradient == (False, True, False, False)  # the network's input needs none
    assert relu.inputs == relu.outputs == (f32(2, 3),)
    assert (total.inputs, total.outputs) == ((f32(2, 3), f32(3), None), (f32(2, 3),))
    assert total.gradient == (True, None, False)  # behind a view it does not show
    assert (mean.outputs, mean.arguments) == (None, (None, (0, 1), False))


def test_steps_that_differ_in_numbers_and_values_are_the_same_graph():
    later = (
        FORWARD.replace("CNode_", "CNode_70").replace("graph_9", "graph_709").replace("Parameter_5", "Parameter_705")
    )
    assert same_graph(later) == same_graph(FORWARD)
    assert same_graph(FORWARD.replace("[1 2 3]", "[4 5 6]")) == same_graph(FORWARD)
    assert same_graph(FORWARD.replace("(2, 4)", "(8, 4)")) != same_graph(FORWARD)
    assert same_graph(FORWARD.replace("[1]: CNode_3", "[1]: CNode_2")) != same_graph(FORWARD)


def test_the_wiring_of_a_graph():
    text = GRAPH.replace("-> (<Tensor[Int32], (-1)>)", "-> (<Ref[Tensor[Int32]], (5), ref_key=n, is_parameter>)")
    body, _, _ = text.rpartition("}")
    inputs = "%para2_inputs0: <Tensor[Float32], (2, 4)> : [2, 4]  :  <Float32x[]{2, 4}>  :  IsWeight: false\n"
    weight = "%para3_t: <Tensor[Int8], (7)>  :  <Int8x[]{7}>  :  IsWeight: true\n%para4_n: <Bool, NoShape>  :  true\n"
    (graph, other) = read_kernel_graphs(inputs + weight + body + "  Return(%4, %1)\n}\n" + GRAPH)
    assert graph.parameters == (
        GraphParameter("%para2_inputs0", f32(2, 4), ""),
        GraphParameter("%para3_t", TensorDesc((7,), "INT8"), "%para3_t"),
        GraphParameter("%para4_n", None, ""),
        GraphParameter("%para1_fc.weight", f32(3, 4), "fc.weight"),
    )
    assert graph.results == ("%4", "%1")
    assert [node.label for node in graph.nodes] == ["%0", "%1", "%2", "%3", "%4"]
    assert [node.in_place for node in graph.nodes] == [False, False, False, False, True]
    load, product, quotient, norm, total = (node.operands for node in graph.nodes)
    assert (load, product, total) == (("%para1_fc.weight",), ("%para2_inputs0", "%0", "", ""), ("%3",))
    assert norm == ("%1", "%0", "", "", "")
    assert quotient[1] == "Tensor(shape=[], dtype=Float32, value=8)"
    assert quotient[0].startswith("Tensor(shape=[2, 2], dtype=Float32, value=")
    assert other.results == ()
    assert other.parameters == graph.parameters[3:]
