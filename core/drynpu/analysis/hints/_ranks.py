"""What the ranks of a run say together: who holds the others up, and which link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.analysis._cluster import cluster_links, cluster_steps
from drynpu.analysis._outliers import slow_links, slow_ranks
from drynpu.analysis._summary import Summary
from drynpu.analysis.hints._finding import Finding, per_text
from drynpu.tables import Profile

_NAMED = 5
"""Ranks and links that a finding names."""


def rank_findings(ranks: Sequence[tuple[str, Profile, Summary]]) -> Iterator[Finding]:
    """Yield which ranks and links are slow; nothing for one rank."""
    if len(ranks) < 2:
        return
    slow = slow_ranks(cluster_steps([(label, summary) for label, _, summary in ranks]))
    if slow.height:
        named = ", ".join(f"{rank} (+{share:.0%})" for rank, share in slow.head(_NAMED).select("rank", "share").rows())
        more = f" and {slow.height - _NAMED} more" if slow.height > _NAMED else ""
        longest, share = slow.select("us", "share").row(0)
        yield Finding(
            name="slow-ranks",
            title=f"Rank {slow['rank'][0]} of {len(ranks)} ranks holds the others up",
            evidence=f"Computing and free time is {longest / 1000:.2f} ms {per_text(ranks[0][2].steps)}, the mean of"
            f" all ranks {longest / (1 + share) / 1000:.2f} ms. Slow: {named}{more}.",
            remedy="Look at its data, its host and its clock: all others wait for it in every collective.",
            cost_us=longest - longest / (1 + share),
            per=per_text(ranks[0][2].steps),
            page="cluster",
            rank=slow["rank"][0],
        )
    links = slow_links(cluster_links([profile for _, profile, _ in ranks], between_ranks=True))
    if links.height:
        rows = links.head(_NAMED).select("source", "target", "transport", "gb_s", "share").rows()
        named = ", ".join(f"{a} to {b} over {how} {rate:.1f} GB/s (-{share:.0%})" for a, b, how, rate, share in rows)
        yield Finding(
            name="slow-links",
            title="Links that are slower than others of their kind",
            evidence=f"{named}{f' and {links.height - _NAMED} more' if links.height > _NAMED else ''}.",
            remedy="Check the cabling and the topology of these ranks, and what else uses the link.",
            page="cluster",
        )
