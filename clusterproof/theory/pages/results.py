"""Sentences about the results of a run: clusters, errors, factors, fixed points and distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.pages.facts import (
    Choices,
    Cuts,
    ErrorFacts,
    Facts,
    GroupFacts,
    Law,
    Rate,
    Rest,
    Told,
)
from clusterproof.theory.pages.text import between, filled, joined, table, word

MOST_CUTS = 2
"""Largest number of splits that the page lists."""

MOST_PAIRS = 3
"""Largest number of merged pairs that the page lists."""

UNLIKELY = 1e-9
"""The page does not state a probability of a wrong choice that is at most this number."""

SETTLED = 0.01
"""A run is at its fixed point if the final model is nearer to it than this share of the distance to the optimum."""


def need_words(one: Hypothesis) -> str:
    """Return a sentence about the requirement of a hypothesis and the actual value."""
    required, actual = one.sides()
    if isinstance(one.required, bool):
        name = one.name if one.required == (one.relation == "=") else f"not {one.name}"
        return f"it needs {word('properties', name)}"
    if isinstance(one.required, str):
        if one.name.startswith("--"):
            return f"it needs {one.name} {required}, but this run uses {one.name} {actual}"
        return f"it needs {required}, but this run has {actual}"
    word("symbols", one.name)  # with this, the table of symbols explains the name
    term = f"{one.term} = " if one.term else ""
    return f"it needs {one.name} {one.relation} {term}{required}, but here it is {actual}"


def result_blocks(facts: Facts) -> dict[str, str]:
    """Return the sentences about every result of a page, indexed by label."""
    found: dict[str, list[str]] = {}
    for one in facts.results:
        label = LABELS.get(type(one)) or list(found or {"Result": []})[-1]
        found.setdefault(label, []).extend(filter(None, WORDS[type(one)](one, facts)))
    return {label: " ".join(said) for label, said in found.items()}


def _choices(one: Choices, facts: Facts) -> list[str]:
    runs = facts.run.runs
    said = []
    for lost in one.lost:
        where = "" if lost.runs == runs else f" in {lost.runs} of {many(runs, 'run')}"
        said.append(
            f"Cluster {lost.cluster} ({many(lost.clients, 'client')}) is lost{where}: "
            f"its clients choose model {lost.model}."
        )
    if one.lost:
        said.append("Try --restarts 10, or --least-share 0.1.")
    elif one.found:
        names = {1: "The cluster is", 2: "Both clusters are"}
        said.append(f"{names.get(one.clusters, f'All {one.clusters} clusters are')} found.")
    wrong = {0: "none is", 1: "one is"}.get(one.wrong, f"{one.wrong:,} are")
    chance = ""
    if one.chance is not None and one.chance > UNLIKELY:
        chance = f" (probability of a wrong one in the first round: at most {short(one.chance, 2)})"
    of = f"{one.total:,} choices of a cluster, by all clients in all rounds"
    return [*said, f"Of {of}{' and runs' * (runs > 1)}, {wrong} wrong{chance}."]


def _groups(one: GroupFacts, facts: Facts) -> list[str]:
    if one.since is None:
        return ["No round was run."]
    number = between(str(one.fewest), str(one.most))
    clients = f"The clients end in {number} group{'s' * (one.most > 1)}:"
    if one.runs == 1:
        clients += " the true ones." if one.right else f" not the {one.true} true ones."
    else:
        clients += f" the true ones in {one.right} of {one.runs} runs."
    purity = ""
    if one.purity is not None:
        least = f" (median; least {short(one.least_purity or 0.0)})" if one.purity != one.least_purity else ""
        purity = f", with purity {short(one.purity)}{least}"
    said = [clients, f"From round {one.since} on they do not change{purity}."]
    if one.absent:
        said.append(f"{many(one.absent, 'client')} never took part.")
    if one.merged:
        pairs = [f"{first} and {second}" for first, second in one.merged[:MOST_PAIRS]]
        said.append(f"True clusters in one group: {'; '.join(pairs)}.")
    if one.empty:
        where = f" in {one.empty_runs} of {one.runs} runs" * (one.runs > 1)
        models = joined([str(model) for model in one.empty])
        verb = "model has" if len(one.empty) == 1 else "models have"
        said.append(f"In the end no client chooses the {verb} number {models}{where}.")
    if one.remedy:
        said.append(f"Try {one.remedy}.")
    if one.distance is not None:
        where = "its optimum" if one.right == one.runs else "the nearest optimum"
        said.append(f"The mean of each group ends within {short(one.distance)} of {where}.")
    return said


def _cuts(one: Cuts, facts: Facts) -> list[str]:
    said = []
    for cut in one.cuts[:MOST_CUTS]:
        cosine = "" if cut.cosine is None else f", and the largest cosine across is {cut.cosine:.3f}"
        first, second = cut.sizes
        said.append(
            f"Round {cut.round} cuts a cluster of {first + second} clients into {first} and {second}{cosine}."
        )
    more = len(one.cuts) - MOST_CUTS
    return said + [f"There are {more} more cuts."] * (more > 0) or ["No cluster is cut."]


def _error(one: ErrorFacts, facts: Facts) -> list[str]:
    median = " (median)" if facts.run.runs > 1 else ""
    said = [f"{word('distances', one.quantity)} goes from {short(one.start)} to {short(one.end)}{median}."]
    if one.upper is not None:
        said.append(f"95 % of the runs end below {short(one.upper)}.")
    elif one.largest is not None:
        said.append(f"The largest is {short(one.largest)} in the end.")
    if one.nearest is not None and one.farthest is not None:
        away = between(short(one.nearest), short(one.farthest))
        said.append(f"The one model ends {away} from the optima of the clusters.")
    if one.stepped is not None:
        low, high = one.stepped
        said.append(f"After a step of each client it is {between(short(low), short(high))} from them.")
    return said


def _rest(one: Rest, facts: Facts) -> list[str]:
    said = [f"{filled(word('points', one.point), one.constants)}."]
    if one.distance is not None:
        away = f"exactly {short(one.distance)} from" if one.distance else "exactly"
        said.append(f"This point is {away} the common optimum.")
    if one.assumes:
        return [*said, f"The fixed point assumes {joined(list(one.assumes))}, unlike the run."]
    if one.factor is not None and one.factor >= 1:
        return [
            *said,
            f"The rounds do not lead there: one multiplies the distance by {short(one.factor, 4)}.",
        ]
    if one.end is None:
        return said
    near = one.end <= max(one.rounding, SETTLED * (one.distance or 0.0))
    said.append("The run ends there." if near else f"The run ends {short(one.end)} from there.")
    if one.factor is not None and facts.result(Rate) is None:
        said.append(f"The computed factor of a round is {one.factor:.4f} after many rounds.")
    return said


def _rate(one: Rate, facts: Facts) -> list[str]:
    said = []
    of = word("distances", one.of)
    if one.value is not None:
        slowest = " of the slowest cluster" if one.cluster is not None and len(facts.task.sizes) > 1 else ""
        said.append(
            f"A round multiplies {of}{slowest} by {one.value:.4f} "
            f"(rounds {one.first} to {one.last}{_interval(one, facts)})."
        )
        if not one.of_all:
            said.append("Other clusters are too fast to be measured.")
        if one.exact is not None:
            late = f", and {one.limit:.4f} in the limit of many rounds" if one.limit is not None else ""
            said.append(f"Computed without noise: {one.exact:.4f} for these rounds{late}.")
    elif one.unmet is not None:
        said.append(f"No factor is measured: {need_words(one.unmet)}.")
    else:
        known = {"cluster": one.cluster, "next": one.last + 1}
        said.append(filled(word("rates", one.reason), known))
    if one.limit is not None and (one.value is None or one.exact is None):
        said.append(f"Computed in the limit of many rounds: {one.limit:.4f}.")
    if one.root_mean_square is not None:
        said.append(
            f"The factor of the root mean square error, including rare coins, is exactly {one.root_mean_square:.4f}."
        )
    if one.remedy:
        said.append(f"Try {one.remedy}.")
    return said + (_floor(one, facts) if one.value is not None else [])


def _interval(one: Rate, facts: Facts) -> str:
    if one.low is None or one.high is None:
        return "; median" if one.spread and facts.run.runs > 1 else ""
    ends = f"{one.low:.4f} to {one.high:.4f}"
    if not one.spread:
        return f"; 95 % interval {ends}"
    return f"; median; {'95 % of' if facts.run.runs >= 20 else 'all'} runs have {ends}"


def _floor(one: Rate, facts: Facts) -> list[str]:
    if one.floor is None:
        return []
    if one.computed_floor is not None:
        computed = short(one.computed_floor, 2)
        whose = "this cluster's error" if len(facts.task.sizes) > 1 else "the error"
        return [f"Noise keeps {whose} near {short(one.floor, 2)} (computed: {computed})."]
    if one.floor_reached and one.exact is None:
        return [f"Over the last {one.window} rounds its error is {short(one.floor, 2)}."]
    return [f"The noise floor is not reached in {many(facts.run.rounds, 'round')}."]


def _law(one: Law, facts: Facts) -> list[str]:
    runs = "run does" if facts.run.runs == 1 else "runs do"
    follow = "run follows" if facts.run.runs == 1 else "runs follow"
    if one.outcome == "not compared":
        if one.unmet is None:
            return [word("laws", one.reason)]
        exact = "law" if one.kind == "law" else "path"
        return [f"There is no comparison with an exact {exact}: {need_words(one.unmet)}."]
    if one.outcome == "follows":
        its = "its" if facts.run.runs == 1 else "their"
        return [f"The {follow} {_followed(one, its)}."]
    if one.kind == "law" and facts.run.runs == 1:
        times = f"it is {one.noise or 0.0:.3g} times as far from the mean path as its noise explains"
        return [f"The run does not follow the exact law of the settings: {times}."]
    if one.kind == "law":
        parts = ["its mean path differs (step, momentum, weights)"] * one.path_differs
        parts += [f"its noise is {one.noise or 0.0:.3f} times the expected noise"] * one.noise_differs
        return [f"The {runs} not follow the exact law of the settings: {joined(parts)}."]
    if one.round is not None:
        away = short(one.distance or 0.0)
        return [f"The {runs} not follow the rounds of the settings: round {one.round} ends {away} from them."]
    return [f"The {runs} not have the coins of the settings: {one.heads} of {one.coins} communicate."]


def _followed(one: Law, its: str) -> str:
    if one.kind == "law":
        ratio = f"{one.noise or 0.0:.3f} times the computed standard deviation"
        how = "its distance from the mean path is" if its == "its" else "models vary between runs with"
        return f"the distribution computed from the settings: {how} {ratio}"
    if one.kind == "coins":
        heads = f"; {one.heads} of {one.coins} coins communicate" if one.coins else ""
        return f"the exact path of the coins{heads}"
    return "the exact path of the settings" + (
        f", to within {short(one.distance, 2)}" if one.distance else ""
    )


def _told(one: Told, facts: Facts) -> list[str]:
    return [filled(table("told")[one.sentence], one.constants)]


WORDS: dict[type, Callable[[Any, Facts], list[str]]] = {
    Choices: _choices,
    GroupFacts: _groups,
    Cuts: _cuts,
    ErrorFacts: _error,
    Rest: _rest,
    Rate: _rate,
    Law: _law,
    Told: _told,
}
"""For each kind of result, the function that writes the sentences."""

LABELS: dict[type, str] = {
    Choices: "Clusters",
    GroupFacts: "Groups",
    Cuts: "Cuts",
    ErrorFacts: "Error",
    Rest: "Limit",
    Rate: "Rate",
    Law: "Law",
}
"""Labels of the results. Additional numbers belong to the label of the previous result."""
