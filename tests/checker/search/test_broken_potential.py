"""Potentials of loops that are false: where a function breaks them, and that true ones are not accused."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from families_by_hand import Smooth, contraction_less, gaps_and_distances

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import claim
from clusterproof.checker.report.decide import check
from clusterproof.checker.report.judged import judged
from clusterproof.checker.report.recorded import record_of, verdict_of
from clusterproof.checker.report.replay import replay
from clusterproof.checker.report.stored_evidence import Kept
from clusterproof.checker.report.verdict import Verdict, line_of
from clusterproof.checker.search import every_function
from clusterproof.theorem import Sides, Z, at_most, iterate

pytestmark = pytest.mark.usefixtures("registry")


def descent_with(weight: Callable[[int], Any], name: str, open_: str = "") -> Verdict:
    """Check f(x_N) - f* <= R^2 / (2 N), which is true, by weight(n) (f(x) - f*) + |x - x*|^2 / 2 <= R^2 / 2.

    Of the goal that is open no multipliers are searched.
    """

    @claim(f"potentials/{name}", evaluations=5, multipliers={open_: []} if open_ else {})
    def descent(f: Smooth, rounds: int = Z[1:]) -> Sides:
        def potential(x, n):
            apart = x - f.minimiser
            return weight(n) * (f(x) - f.minimum) + apart @ apart / 2 <= f.distance**2 / 2

        x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
        return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * rounds))

    return check(descent.id)


@pytest.mark.parametrize(
    ("weight", "first"), [(lambda n: n + 1, 0), (lambda n: n * (n + 1) / 2, 2)], ids=["start", "round 2"]
)
def test_a_false_potential_is_violated_at_a_round(weight: Callable[[int], Any], first: int) -> None:
    """With n + 1 a function breaks it at the start; n (n + 1) / 2 is n at n = 0 and 1, and too much at n = 2."""
    verdict = descent_with(weight, f"false-{first}", "round 0")
    potential = line_of(verdict, "potential")
    assert (potential.verdict, potential.basis, potential.source) == ("violated", "exact", "ours")
    assert (
        verdict.verdict == line_of(verdict, "").verdict == "consistent"
    )  # the theorem itself is not accused
    when = f"after {first} rounds" if first else "at the start"
    assert potential.reason.endswith(when)
    function = potential.counterexample["f"]
    several = gaps_and_distances(function, first)
    keeps = [weight(Fraction(n)) * gap + apart <= several[0][1] for n, (gap, apart) in enumerate(several)]
    assert keeps == [True] * first + [False]
    said = kernel.judge(verdict.text, [potential.evidence])
    assert (said.word, said.lines) == ("open", {("", ""): "open", ("", "potential"): "violated"})
    assert judged(verdict) == verdict  # the process that prints says the same
    kept = Kept({verdict.claim: verdict.text}, {verdict.claim: [potential.evidence]}, {})
    assert verdict_of(record_of(verdict), kept).verdict == verdict.verdict
    assert replay(verdict.claim, potential.counterexample).verdict == "violated"


def test_true_potentials_are_not_accused() -> None:
    """n / 2 and n in place of n: the first is true and gives no proof of the bound, the second gives one."""
    weak, strong = descent_with(lambda n: n / 2, "weak", "line 0"), descent_with(lambda n: n, "strong")
    assert [line.name for line in (*weak.lines, *strong.lines)] == ["", ""]
    assert (strong.verdict, weak.verdict in ("consistent", "inconclusive")) == ("certified", True)


def test_the_kernel_says_no_other_word_by_a_potential() -> None:
    """Not of the line, of an instance that keeps it, or of a statement that has a line of that name."""
    verdict = descent_with(lambda n: n + 1, "false")
    record = line_of(verdict, "potential").evidence
    function = record["instance"]["f"]
    kept = {**function, "start": function["solution"]}
    for forged in (
        {**record, "line": ""},
        {**record, "rule": "instance"},
        {**record, "instance": {**record["instance"], "f": kept}},
    ):
        assert "violated" not in kernel.judge(verdict.text, [forged]).lines.values()
    named = verdict.text.replace("lines=('',)", "lines=('potential',)").replace(
        'lines=("",)', 'lines=("potential",)'
    )
    assert named != verdict.text
    with pytest.raises(kernel.Refused, match="no line 'potential'"):
        kernel.show(kernel.read(named), record)


def test_no_function_is_drawn_for_a_claim_without_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_function, "broken_potential", None)  # a call raises
    made = claim("potentials/none", evaluations=5, multipliers={"line 0": []})(contraction_less)
    assert check(made.id).verdict == "violated"
