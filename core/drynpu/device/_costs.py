"""What the host pays for a launch. Medians of device_and_cost_model.md 3.6 (A2 host), rounded as printed there."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class HostCosts:
    """
    Host time per dispatch, in ns.

    On the calling thread an operator pays ``operator_ns`` (Python binding and dispatcher), ``workspace_ns``
    (``aclnnXGetWorkspaceSize``) and ``enqueue_ns``. The launching thread pays ``dequeue_ns`` per dispatch around
    one ACL call, which is ``api_ns`` plus ``node_ns`` per kernel; ``runtime_ns`` of a node launch is the runtime.
    A call of the single-op path looks its operator up by compiling it, which takes ``compile_ns`` more.
    Of what the graph engine launches as a part of a graph the launching thread pays ``node_ns`` alone.
    """

    operator_ns: int = 2_000
    """Not stated in the reference: the cost of an operator that launches nothing, as measured on CPU builds."""
    workspace_ns: int = 12_000
    enqueue_ns: int = 3_100
    dequeue_ns: int = 8_400
    """17.4 us per dequeue of a single kernel, less the 9 us of the ACL call inside it."""
    api_ns: int = 2_200
    """9 us for an ACL call of a single kernel, less its 6.8 us node launch."""
    compile_ns: int = 900_000
    """``aclopCompileAndExecute`` takes near 0.9 ms; the launches inside it are small against that."""
    node_ns: int = 6_800
    runtime_ns: int = 3_200
    synchronize_ns: int = 8_000
    """A synchronising call on an idle stream (``aten::item``, device_and_cost_model.md 3.6)."""
