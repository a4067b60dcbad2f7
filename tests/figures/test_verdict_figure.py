"""What verdicts and traces draw of themselves, as slides and papers want it."""

from dataclasses import replace

import pytest

from clusterproof.algorithms import IFCA, InvalidArgument, run
from clusterproof.figures import FIGURES, verdict_figure
from clusterproof.figures.style import new_figure
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import catalogue, check


def test_a_verdict_draws_its_numbers_and_the_share_of_each_term():
    verdict = check("cfl-mgd/appendix-a3#(A8)")
    figure = verdict.plot(width=14, caption=False)
    numbers, terms = figure.axes
    assert [bar.get_width() for bar in numbers.patches] == [verdict.measured, verdict.bound]
    shares = {name: 1 / numbers["ratio"] for name, numbers in verdict.tightness.items()}
    assert [bar.get_width() for bar in terms.patches] == list(shares.values())
    assert [label.get_text() for label in terms.get_yticklabels()] == list(shares)
    assert figure.get_figwidth() == pytest.approx(14 / 2.54)
    assert figure.get_supxlabel() == ""
    for missing in (None, float("inf"), float("nan")):
        with pytest.raises(InvalidArgument, match="must have two finite numbers"):
            replace(verdict, measured=missing).plot()


def test_a_verdict_on_a_claim_with_a_figure_draws_that_figure(monkeypatch):
    seen = []
    (shown,) = (one for one in FIGURES.values() if "cfl-mgd/lemma-2" in one.claims)
    assert shown.name == "contraction-map"

    def compute(figure):
        seen.append(figure.seed)

    monkeypatch.setattr(shown, "compute", compute)
    monkeypatch.setattr(shown, "draw", lambda figure, _: new_figure("Of the claim.", panels=2)[0])
    verdict = check("cfl-mgd/lemma-2", seed=5)
    assert len(verdict_figure(verdict).axes) == 2
    assert seen == [5]


def test_a_trace_draws_itself_in_a_width_and_a_theme():
    task = QuadraticMixture.random(clusters=2, clients=4, dimension=2, seed=1)
    figure = run(IFCA(step_size=0.1, clusters=2), task, rounds=3, seed=0).plot(width=8.5, theme="dark")
    assert figure.get_figwidth() == pytest.approx(8.5 / 2.54)
    assert max(figure.get_facecolor()[:3]) < 0.1


def test_every_claim_that_a_figure_illustrates_exists():
    known = {claim.id for claim in catalogue()}
    assert [claim for figure in FIGURES.values() for claim in figure.claims if claim not in known] == []
