"""One timeline of runs that threads make at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType
from drynpu_acl.recording import ModelExecution, launched_executions

PLAN = KernelPlan(kernels=(KernelSpec(name="k", op_type="Relu", task_type=TaskType.AI_VECTOR_CORE),))


def run(model_id, start_ns, steps):
    calls, now_ns = [], start_ns
    for step in steps:
        calls.append(Call(Signature(f"op{model_id}", ()), now_ns, now_ns + step, thread=model_id))
        now_ns += step
    return ModelExecution(model_id, "model", 0, Operators.from_calls(calls), start_ns, now_ns)


RUNS = st.lists(st.tuples(st.integers(1, 300), st.lists(st.integers(1, 200), min_size=1, max_size=5)), max_size=8)


@given(RUNS)
def test_no_run_begins_among_the_operators_of_another(given_runs):
    runs = [run(number, start_ns, steps) for number, (start_ns, steps) in enumerate(given_runs, start=1)]
    found = launched_executions(runs, lambda _: PLAN)
    assert sorted(of.model_id for of, _ in found) == [of.model_id for of in runs]
    after_ns = 0
    for of, table in found:
        start_ns = table.start_ns.tolist()
        assert len(start_ns) == len(of.operators)
        assert start_ns[0] >= max(of.start_ns, after_ns)
        assert sorted(set(start_ns)) == start_ns
        assert table.end_ns[-1] >= of.end_ns, "the whole run is taken up"
        after_ns = start_ns[-1] + 1


def test_a_run_that_is_alone_keeps_its_times():
    alone = run(1, 1000, [200, 300])
    ((_, table),) = launched_executions([alone], lambda _: PLAN)
    assert table.start_ns.tolist() == [1000, 1200]
    assert table.end_ns.tolist() == [1200, 1500]
