"""What was measured on the host during several stretches of one recording."""

from __future__ import annotations

from attrs import asdict

from drynpu.simulate import HostSamples


def test_samples_of_stretches_follow_each_other() -> None:
    """The mean cost is weighed by the samples: (3 x 100 + 1 x 300) / 4."""
    parts = [
        HostSamples(
            texts={"cpu": "a\n", "net": "n\n"},
            processes={"mem": {7: "p\n", 8: "r\n"}},
            disk=((1, 10, 20, 3),),
            samples=3,
            cost_ns=100,
            failures=("no disk",),
        ),
        HostSamples(
            texts={"cpu": "b\n"},
            processes={"mem": {7: "q\n"}, "io": {7: "i\n"}},
            disk=((5, 11, 22, None),),
            samples=1,
            cost_ns=300,
            failures=("no net", "no disk"),
        ),
    ]
    joined = HostSamples.join(parts)
    assert joined is not None
    assert asdict(joined) == asdict(
        HostSamples(
            texts={"cpu": "a\nb\n", "net": "n\n"},
            processes={"mem": {7: "p\nq\n", 8: "r\n"}, "io": {7: "i\n"}},
            disk=((1, 10, 20, 3), (5, 11, 22, None)),
            samples=4,
            cost_ns=150,
            failures=("no disk", "no net"),
        )
    )
    assert HostSamples.join([]) is None
