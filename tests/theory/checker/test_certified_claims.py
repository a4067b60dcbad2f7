"""Certified claims of the catalogue: their proofs go through, and those of false variants do not."""

import dataclasses
import inspect
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from catalogue import decided
from planted_sides import altered_source, changed, loaded
from tiers import slow_after

from clusterproof import theory
from clusterproof.theory import Claim, Kind
from clusterproof.theory.checker import Sides, equal
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.proof import Unproved, certify
from clusterproof.theory.checker.statement import Statement


def proofs(claim: Claim) -> list[Statement]:
    """The parts whose proofs certify a claim; none where other parts are needed, too."""
    parts = [] if claim.parts is None else claim.parts.parts
    whole = [part for part in parts if part.whole]
    return whole or (parts if all(part.prove for part in parts) else [])


PROVED = [claim for claim in theory.catalogue() if not claim.repaired_by and proofs(claim)]


def false_variant(_: str, sides: Sides) -> Sides:
    """The other direction of an inequality; an equation that is off by a millionth."""
    if sides.identity:
        return dataclasses.replace(sides, measured=[gap + Fraction(1, 10**6) for gap in sides.measured])
    return dataclasses.replace(sides, lower=not sides.lower)


def slightly_false(_: str, sides: Sides) -> Sides:
    """A tenth is taken off what an inequality allows, or added to what it asks for."""
    if sides.identity:
        return false_variant(_, sides)
    factor = Fraction(11, 10) if sides.lower else Fraction(9, 10)
    return dataclasses.replace(sides, terms={key: factor * term for key, term in sides.terms.items()})


def goes_through(part: Statement, change: Any) -> bool:
    altered = dataclasses.replace(part, function=changed(part.function, change))
    try:
        certify(altered.space, altered.conclude)
    except Unproved:
        return False
    return True


@pytest.mark.parametrize("claim", PROVED, ids=lambda claim: claim.id)
def test_the_proof_goes_through_and_that_of_the_opposite_does_not(claim: Claim) -> None:
    for part in proofs(claim):
        assert goes_through(part, lambda _, sides: sides)
        assert not goes_through(part, false_variant)


LOOSE_STEPS = ("cfl-mgd/a10", "sofl/", "gradient-loss/class-overlap")
"""Inequalities with room, exact numbers of tables among them, of which a tenth may be taken."""


@pytest.mark.parametrize(
    "claim", [one for one in PROVED if not one.id.startswith(LOOSE_STEPS)], ids=lambda claim: claim.id
)
def test_a_tenth_less_is_not_certified(claim: Claim) -> None:
    assert not any(goes_through(part, slightly_false) for part in proofs(claim))


@pytest.mark.parametrize("name", ["cfl-mgd/equation-28", "cfl-mgd/a2-sharp", "sofl/running-mean"])
def test_a_claim_with_a_false_proof_is_not_certified(name: str) -> None:
    claim = theory.find_claim(name)
    assert claim.parts is not None
    parts = [
        dataclasses.replace(part, function=changed(part.function, false_variant)) if part.whole else part
        for part in claim.parts.parts
    ]
    found = decide(Parts(name, parts), Context(0, 5, CLAIM_SIGNIFICANCE, name))
    assert found.verdict is Kind.VIOLATED
    assert theory.check(name, trials=5).verdict is Kind.CERTIFIED


APPENDIX, LEMMA_2 = "papers.cfl_mgd.appendix", "papers.cfl_mgd.lemma_2.equations_34_to_38"
LEMMA_1, PARTS = "papers.cfl_mgd.lemma_1.equations_24_to_28", "papers.sofl.theorem_1_parts"
ALTERED: dict[str, tuple[str, str, str]] = {
    "cfl-mgd/a1": (f"{APPENDIX}.a1_to_a3", "return equal((error - one", "return equal((error - 2 * one"),
    "cfl-mgd/a2": (f"{APPENDIX}.a1_to_a3", "(1 - step * mu * smooth", "(1 - step / 2 * mu * smooth"),
    "cfl-mgd/a2-sharp": (f"{APPENDIX}.a1_to_a3", "(1 - step * models", "(1 - step / 2 * models"),
    "cfl-mgd/a7": (
        f"{APPENDIX}.a7_a8",
        "/ (8 * task.smoothness)\n    step",
        "/ (9 * task.smoothness)\n    step",
    ),
    "cfl-mgd/a7-step": (f"{APPENDIX}.a7_a8", "quarter=one.smallest / 4", "quarter=one.smallest / 5"),
    "cfl-mgd/a9": (
        f"{APPENDIX}.runs",
        "(values * chosen).sum(axis=-2)",
        "(2 * values * chosen).sum(axis=-2)",
    ),
    "cfl-mgd/a10": (
        f"{APPENDIX}.a9_a10",
        "at_most(reach, nine=9)}\n\n\ndef of",
        "at_most(reach, nine=10)}\n\n\ndef of",
    ),
    "cfl-mgd/a10-meant": (
        f"{APPENDIX}.a9_a10",
        "task.diameter + task.basin",
        "task.diameter + 2 * task.basin",
    ),
    "cfl-mgd/a18": (f"{APPENDIX}.a18_to_a22", "own + foreign), r", "own - foreign), r"),
    "cfl-mgd/a19-sums": (f"{APPENDIX}.a18_to_a22", "share * (one.past", "2 * share * (one.past"),
    "cfl-mgd/a22": (f"{APPENDIX}.a18_to_a22", "left = weight * one.sum", "left = 2 * weight * one.sum"),
    "cfl-mgd/a23-meant": (f"{APPENDIX}.a23", "martingale=clients * var", "martingale=2 * clients * var"),
    "cfl-mgd/a28": (
        f"{APPENDIX}.a28_to_a32",
        "one.deviations(one.past_gradients)",
        "one.deviations(one.gradients)",
    ),
    "cfl-mgd/a39": (
        f"{APPENDIX}.a39_to_a42",
        "floors=recursion.floor / recursion.d",
        "floors=2 * recursion.floor / recursion.d",
    ),
    "cfl-mgd/equation-26": (LEMMA_1, "separation=9 / 32", "separation=8 / 32"),
    "cfl-mgd/equation-27-squared": (LEMMA_1, "separation=1 / 32", "separation=1 / 31"),
    "cfl-mgd/equation-28": (LEMMA_1, "separation=1 / 4", "separation=1 / 5"),
    "cfl-mgd/equation-34": (
        LEMMA_2,
        "descent, noise = round_.error - step",
        "descent, noise = round_.error + step",
    ),
    "cfl-mgd/equation-37": (LEMMA_2, "parts[0] + share", "parts[0] - share"),
    "fedavg/drift": ("papers.fedavg.drift", "self.step_size**2 * clients", "self.step_size**2 / 4 * clients"),
    "gradient-loss/equation-1-mean": (
        "papers.gradient_loss.equation_1",
        "(each / len(batch.targets) for each",
        "(each / (1 + len(batch.targets)) for each",
    ),
    "fedlin/convex": ("papers.fedlin.rates", "gap=-round_.length / 4", "gap=-round_.length / 5"),
    "fedlin/sharp": ("papers.fedlin.rates", "spared=-THIRD * round_", "spared=-THIRD / 2 * round_"),
    "gradient-loss/equation-2-descent": (
        "papers.gradient_loss.equation_2",
        "-step_size * one.gradients",
        "-2 * step_size * one.gradients",
    ),
    "gradient-loss/equation-3-worst": (
        "papers.gradient_loss.equation_3",
        "(axis=-1), -lengths)",
        "(axis=-1), lengths)",
    ),
    "gradient-loss/purity-bound": (
        "papers.gradient_loss.purity",
        "correct_devices(found, truth) / devices),",
        "correct_devices(found, truth) / 2 / devices),",
    ),
    "proxskip/identity": ("papers.proxskip.identity", "start.probability**2) *", "start.probability) *"),
    "proxskip/sharp": ("papers.proxskip.rates", "max(flat**2, (1 - start.step_length) ** 2)", "flat**2"),
    "proxskip/theorem-6": ("papers.proxskip.rates", "rate**iterations", "rate ** (2 * iterations)"),
    "scaffold/bias": (
        "papers.scaffold.bias",
        "(5 * local_steps - 1), local_steps)",
        "(4 * local_steps), local_steps)",
    ),
    "scaffold/bias-larger": ("papers.scaffold.bias", "own.floor() - fedavg", "fedavg.floor() - fedavg"),
    "scaffold/bias-ratio": ("papers.scaffold.bias", "(second, Fraction(5 *", "(second, Fraction(6 *"),
    "scaffold/convex": ("papers.scaffold.convex", 'psi("I", QUARTER)', 'psi("I", 2 * QUARTER)'),
    "scaffold/sharp": ("papers.scaffold.sharp", 'psi("II")', 'psi("II", Fraction(1, 2))'),
    "scaffold/sharp-option-1": (
        "papers.scaffold.sharp_option_1",
        'psi("I", THIRD)',
        'psi("I", Fraction(1, 4))',
    ),
    "sofl/frozen-cell-variance": (
        PARTS,
        "kept_variance(rate, updates) *",
        "2 * kept_variance(rate, updates) *",
    ),
    "sproxskip/additive": (
        "papers.sproxskip.additive",
        "for k in range(iterations)), start",
        "for k in range(iterations - 1)), start",
    ),
    "sofl/running-mean": (PARTS, "sum(won) / len(won)) for", "sum(won) / 2 / len(won)) for"),
}
"""For each claim that a separate function proves: module, what it states, and a false or another statement."""


SECONDS = pytest.mark.slow(reason="compares long rounds with their proof")
LONG = ("cfl-mgd/a7-step", "fedavg/drift", "proxskip/sharp", "proxskip/theorem-6", "sproxskip/additive")
ALTERATIONS = [pytest.param(name, marks=SECONDS if name in LONG else ()) for name in ALTERED]

HOMES = {f"{APPENDIX}.runs": f"{APPENDIX}.a9_a10"}
"""Where the claims are stated whose sides another module computes."""


def test_every_claim_that_a_separate_function_proves_is_altered() -> None:
    assert set(ALTERED) == {claim.id for claim in PROVED if any(part.whole for part in proofs(claim))} - {
        "cfl-mgd/assumption-5-resampled",
        "gradient-loss/reduction-ceiling",
    }  # whose proof is a step


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_statement_is_not_certified(
    name: str, monkeypatch: pytest.MonkeyPatch, registry: dict[str, object], tmp_path: Path
) -> None:
    module, printed, instead = ALTERED[name]
    loaded(module, altered_source(module, printed, instead, tmp_path), monkeypatch)
    if module in HOMES:
        stated = HOMES[module]
        source = Path(inspect.getsourcefile(sys.modules[f"clusterproof.theory.{stated}"]) or "")
        loaded(stated, source, monkeypatch)
    assert name in registry
    assert decided(name, trials=5).verdict is not Kind.CERTIFIED


@pytest.mark.parametrize(
    "name", slow_after(12, "searches to the end", sorted(ALTERED, key=LONG.__contains__))
)
def test_sides_that_the_proof_did_not_give_are_not_certified(name: str) -> None:
    claim = theory.find_claim(name)
    assert claim.parts is not None
    first, *others = claim.parts.parts
    altered = dataclasses.replace(first, function=changed(first.function, weaker))
    found = decide(Parts(name, [altered, *others]), Context(0, 5, CLAIM_SIGNIFICANCE, name))
    assert found.verdict is not Kind.CERTIFIED


def weaker(_: str, sides: Sides) -> Sides:
    """A tenth more is allowed, a tenth less asked for; an equation's sides are twice as large."""
    if sides.identity:
        return equal(*((2 * left, 2 * right) for left, right in sides.pairs), rounding=1e-6)
    factor = Fraction(9, 10) if sides.lower else Fraction(11, 10)
    return dataclasses.replace(sides, terms={key: factor * term for key, term in sides.terms.items()})
