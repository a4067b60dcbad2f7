"""Options of other libraries: which one is meant here, or what to do where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clusterproof.algorithms.calls import MEANT, meant

CLIENT = "what a client does is part of the algorithm: for another one, write a class (notes/coming-from.md)"
ABSENT = [
    (
        "optimizer optim client-optimizer weight-decay wd momentum nesterov lr-decay scheduler",
        "step-size",
        CLIENT,
    ),
    ("mu proximal proximal-mu", "step-size", "it has no proximal term; fedprox has"),
    ("height size figsize", "width", "give --width, from which the height follows"),
    ("batch-size batch batchsize bs", "replicates", "a local step takes all rows here; train has batches"),
]
"""Words for what is not here, an option of the commands that may be given them, and what is said of it."""
FURTHER = [
    ("epochs local-epochs num-epochs", "local-unit", "With --local-unit epoch it counts epochs."),
    (
        MEANT["clients"].replace("_", "-"),
        "clients-per-cluster",
        "It counts those of one cluster; --partition dirichlet and iid have --clients.",
    ),
]
"""Words for an option, another option that is there, and what is said of it besides."""


def answer(option: str, known: Sequence[str], *, own: bool) -> str:
    """Return the sentence about an unknown option.

    Parameters
    ----------
    option
        As it was written.
    known
        Options that there are, without the hyphens before them.
    own
        Whether the command runs code of the user's, of which nothing is known.
    """
    said, found = f"Unknown option: {option}", meant(option, known)
    word = option.strip("-").lower().replace("_", "-")
    by_letters = found is None or word.replace("-", "_") not in MEANT.get(found.replace("-", "_"), "").split()
    if by_letters and not own and (remedy := _remark(word, known, ABSENT)):
        return f"{said}; {remedy}."
    if found is None:
        return f"{said}."
    besides = _remark(word, known, FURTHER)
    return f"{said}. Did you mean --{found}?" + (f" {besides}" if besides else "")


def _remark(word: str, known: Iterable[str], table: Sequence[tuple[str, str, str]]) -> str | None:
    return next((said for words, one, said in table if one in known and word in words.split()), None)
