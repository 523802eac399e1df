"""Where the times of a run come from: a simulation, a device, or a copy of other ranks."""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.views.runs import Rank


def synthetic_label(rank: Rank) -> Mapping[str, object] | None:
    """Return what ``drynpu synth`` says of a rank that it made; ``None`` of a recorded one."""
    simulated = rank.profile.metadata.get("drynpu")
    label = simulated.get("synthetic") if isinstance(simulated, Mapping) else None
    return label if isinstance(label, Mapping) else None


def kind_of_run(rank: Rank) -> str:
    """Return ``synthetic``, ``simulated``, or ``genuine`` for a profile that neither synthesis nor simulation left."""
    if synthetic_label(rank) is not None:
        return "synthetic"
    return "simulated" if rank.modelled else "genuine"


def synthetic_text(label: Mapping[str, object]) -> str:
    """Return in a sentence from what a synthetic rank was made, and what was changed."""
    sources = label.get("made_from")
    names = ", ".join(map(str, sources)) if isinstance(sources, list) else ""
    changes = []
    if label.get("slow_rank") is not None:
        changes.append(f"rank {label['slow_rank']} is {label.get('slow_factor')} times as slow")
    link = label.get("slow_link")
    if isinstance(link, list):
        changes.append(f"the link {'-'.join(map(str, link))} is {label.get('link_factor')} times as slow")
    changed = f" There, {' and '.join(changes)}." if changes else ""
    one = f"this rank, one of {label.get('ranks')}, from {names or 'recorded ones'}"
    return f"Synthetic: drynpu synth made {one}.{changed}"
