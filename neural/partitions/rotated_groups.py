"""SoFL's feature skew: each group of clients sees its images in another rotation."""

from __future__ import annotations

from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.groups import make_groups
from clusterproof.neural.partitions.partition import Partition, recipe
from clusterproof.neural.partitions.turns_and_shares import quarter_turns


@recipe
def rotated_groups(
    data: ImageSet,
    *,
    seed: int,
    clusters: int = 4,
    clients_per_cluster: int | None = None,
    images: int | None = None,
    share: str = "split",
) -> Partition:
    """Rotate the images of each of K groups of clients by k 360/K degrees.

    Source: SoFL, section 5.1.1, "feature distribution skew": K = 4 with 0, 90, 180 and 270 degrees.
    For K = 2 the angles are not printed; here 0 and 180, as its Fig. 6 shows. What else the paper
    leaves out stands with ``clusterproof.neural.partitions.groups.make_groups``, which has the other arguments too.

    Parameters
    ----------
    clusters
        K: 1, 2 or 4.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    turns = quarter_turns(data, clusters)
    return make_groups(
        "rotated-groups",
        data,
        seed=seed,
        clusters=clusters,
        clients_per_cluster=clients_per_cluster,
        images=images,
        share=share,
        turns=turns,
    )
