"""Statements of Section III-B on MNIST, checked on the stored runs."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files

from clusterproof.experiments.tables.gradient_loss.arrivals import Arrivals, Savings, in_words
from clusterproof.theory.checker import Family
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.verdict import Finding, Kind

PAPER = Family(
    "gradient-loss",
    {
        "Hypotheses": """
            MNIST and a perceptron, as in Fig. 4; ours has 64 and 32 units, 80 devices, step 0.1, batches of 50 and
            models that start apart, none of which the paper states. Corrected sign, mean loss, pinning in both methods.
        """,
        "Checked": """
            The iterations of the stored runs (``clusterproof table gradient-loss/mnist-mlp``), seed by seed, by the
            rule of the tables: violated where the mean saving differs from the printed number by more than chance,
            Welch's interval at 95 % with our spread for both. A run that does not arrive leaves its saving open, and
            then the number is not refuted.
        """,
    },
)

RESULTS = "gradient-loss-mnist-mlp-arrivals.json"
"""File of the stored runs in ``experiments/tables/results``."""

SETTINGS = "mnist, MLP 64-32, step 0.1, models start apart"
"""Settings of the runs on which the claims are checked."""

ITERATIONS = 150
"""Iterations of each run; one more stands for a run that does not arrive."""


def stored_runs() -> bytes:
    """Return the content of the file, a list of records with ``row``, ``settings``, ``column``, ``seed``, ``value``."""
    return (files("clusterproof.experiments.tables") / "results" / RESULTS).read_bytes()


def stored_arrivals(content: bytes, row: str, column: str) -> Arrivals:
    """Return the iteration at which each seed arrives, None for one that never does."""
    found = {
        int(record["seed"]): int(record["value"])
        for record in json.loads(content)
        if (record["settings"], record["row"], record["column"]) == (SETTINGS, row, column)
    }
    return tuple(found[seed] if found[seed] <= ITERATIONS else None for seed in sorted(found))


def judged(column: str, printed: int) -> Finding:
    """Compare a printed saving of iterations, in per cent, with that of the stored runs."""
    from clusterproof.experiments.comparison import Cell, Printed

    runs = stored_runs()
    baseline, proposed = (stored_arrivals(runs, row, column) for row in ("IFCA", "GL-CFL 0.2"))
    savings = Savings(baseline, proposed, ITERATIONS)
    cell = Cell(savings.values, Printed(float(printed), resolution=1.0), judged=savings.exact)
    refuted = cell.within_chance is False
    if not savings.exact:
        judgement = f"a run that does not arrive in {ITERATIONS} iterations leaves {printed} % open"
    elif refuted:
        judgement = f"the mean {cell.mean:.1f} differs from {printed} by more than {cell.allowed:.1f}"
    else:
        judgement = (
            f"the mean {cell.mean:.1f} differs from {printed} by no more than chance, {cell.allowed:.1f}"
        )
    return Finding(
        verdict=Kind.VIOLATED if refuted else Kind.CONSISTENT,
        reason=f"{column} on MNIST, {len(baseline)} seeds: IFCA after {in_words(baseline)} iterations, "
        f"GL-CFL with lambda = 0.2 after {in_words(proposed)}, saved {savings.words} %; {judgement} (stored "
        f"results {RESULTS}, SHA-256 {hashlib.sha256(runs).hexdigest()[:16]})",
        measured=cell.mean if savings.exact else None,
        bound=float(printed),
    )


@PAPER.decided(
    "reduction-99",
    label="Abstract and Fig. 4, 99 %",
    kind="upper",
    no_sharpness="stored runs of networks",
    repaired_by="gradient-loss/reduction-ceiling",
)
def reduction_99(context: Context) -> Finding:
    """With lambda = 0.2 the method needs 99 % fewer iterations to purity 0.9 than its baseline.

    Statement
        T <= (1 - 0.99) T_IFCA.

    Symbols
        T and T_IFCA first iterations with purity at least 0.9.

    Source
        Lin et al. (2023), abstract ("up to") and Section III-B (MNIST); one number, without seeds, batch
        size, learning rate or initialisation. The first iteration is the baseline's own, hence no reduction by
        99 % of fewer than 200 iterations exists: ``gradient-loss/reduction-ceiling``. With four models an iteration
        costs twice the baseline's passes and 9 / 5 of its numbers sent, so that 99 % of the iterations are 98 % of the
        passes: ``gradient-loss/cost-of-an-iteration``.
    """
    return judged("to purity 0.9", 99)


@PAPER.decided(
    "accuracy-14",
    label="Fig. 4, 14 %",
    kind="upper",
    no_sharpness="stored runs of networks",
    repaired_by="gradient-loss/same-start",
)
def accuracy_14(context: Context) -> Finding:
    """The method needs 14 % fewer iterations to test accuracy 0.8 than its baseline.

    Statement
        T <= (1 - 0.14) T_IFCA.

    Symbols
        T and T_IFCA first iterations with a test accuracy of at least 0.8.

    Source
        Lin et al. (2023), Section III-B and Fig. 4 (MNIST); to which network the number belongs is not stated. With
        four models an iteration costs twice the baseline's passes: 14 % fewer iterations are 72 % more passes, see
        ``gradient-loss/cost-of-an-iteration``.
    """
    return judged("to accuracy 0.8", 14)
