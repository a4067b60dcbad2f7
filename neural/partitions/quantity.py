"""SoFL's quantity skew: label shift among clients of unequal sizes."""

from __future__ import annotations

from collections.abc import Sequence

from clusterproof.algorithms.validation import check_number
from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.partitions.groups import make_groups
from clusterproof.neural.partitions.label_shift import choose_shifts, shifted_labels
from clusterproof.neural.partitions.partition import Partition, recipe


@recipe
def quantity(
    data: ImageSet,
    *,
    seed: int,
    concentration: float = 0.5,
    clusters: int = 4,
    clients_per_cluster: int | None = None,
    images: int | None = None,
    share: str = "split",
    shifts: Sequence[int] | None = None,
) -> Partition:
    """Shift labels as ``label_shift`` does, and draw the clients' sizes from a Dirichlet law.

    Source: SoFL, section 5.1.1 and Table 5, with phi = 0.5, 1 and 10 (also printed as alpha) at K = 4.
    The paper leaves out whether the law is over all 20 clients or inside each group, and what
    happens to a client without data. Here: inside each group, so that groups stay of equal size, and
    nobody gets less than a tenth of an equal share (2 % of the images of a group of five): who would
    is raised to it at the others' expense, in proportion. Whether the skewed features are meant too is
    open; Table 5's FedAvg, near 25 %, is that of shifted labels.

    Parameters
    ----------
    concentration
        phi; the larger, the more equal the sizes.

    Raises
    ------
    InvalidArgument
        If an argument breaks its rule or the images do not suffice.
    """
    remedy = "0.5, 1 and 10 are the paper's"
    check_number("concentration", concentration, at_least=1e-3, at_most=1e6, remedy=remedy)
    shifts = choose_shifts(shifts, clusters, data.train.classes)
    return make_groups(
        "quantity",
        data,
        seed=seed,
        clusters=clusters,
        clients_per_cluster=clients_per_cluster,
        images=images,
        share=share,
        concentration=concentration,
        relabel=shifted_labels(shifts, data.train.classes),
        extra={"shifts": shifts, "concentration": concentration},
    )
