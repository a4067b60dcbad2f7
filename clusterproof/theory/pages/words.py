"""The words of a page: the answer first, then the task, the run, the result, the theorems and the next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from string import Formatter
from typing import Any, Literal, get_args

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.theory.bounds.hypotheses import Value
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.pages.facts import Facts, Outcome, OutcomeWord, RunFacts, TaskFacts
from clusterproof.theory.pages.glossary import filled, shown, table, word
from clusterproof.theory.pages.layout import LABEL, block, joined, paragraph, rows, sizes
from clusterproof.theory.pages.picture import ErrorPicture, ResidualPicture
from clusterproof.theory.pages.results import need_words, result_blocks
from clusterproof.theory.runs.run import FEWEST_RUNS

ORDER: dict[OutcomeWord, tuple[str, str]] = {
    "is broken": ("is broken", "are broken"),
    "holds": ("holds", "hold"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "says nothing": ("says nothing", "say nothing"),
    "does not apply": ("does not apply", "do not apply"),
}
"""The outcomes by importance, of one theorem and of several."""

Told = Literal["all", "not in the table", "that apply", "in doubt"]
"""Which theorems have a paragraph."""

SAMPLES = "n'"

MOST_LINES = 45
"""Lines of a page: of a longer one, paragraphs are left out, first those of which the table says all."""

USUAL = {"participation", "server_step_size", "reshuffle", "weighting", "normalisation", "momentum_owner"}
USUAL |= {"update_order", "reset_momentum", "empty_cluster", "least_share", "restarts", "trial_rounds"}
USUAL |= {"averaging", "clusters", "start", "pair_rule", "reuse_memory", "local_steps", "initialisation"}
USUAL |= {"loss_reduction", "trigger"}
"""Settings that are told only where they are not the algorithm's default."""


def page(facts: Facts) -> str:
    """Return the page: with a paragraph for each theorem, if these fit."""
    for told in get_args(Told):
        text = "\n".join(_parts(facts, told))
        if text.count("\n") < MOST_LINES:
            break
    return text


def _parts(facts: Facts, told: Told) -> Iterator[str]:
    yield from (paragraph(title(facts)), "", paragraph(answer(facts)), "", *_about(facts))
    if facts.theorems:
        yield from ("", *_theorems(facts, told))
    if facts.next:
        yield from ("", _next(facts))


def title(facts: Facts) -> str:
    """Return algorithm, task, and numbers of runs and rounds."""
    name = facts.run.algorithm
    algorithm = table("algorithms").get(name, name) if facts.run.library else name
    task = table("tasks").get(facts.task.kind, facts.task.kind)  # a task of the user's has its own name
    return f"{algorithm} on {task}: {many(facts.run.runs, 'run')} of {many(facts.run.rounds, 'round')}"


def answer(facts: Facts) -> str:
    """Say which theorems hold, are broken or say nothing."""
    if facts.no_theorem:
        return word("none", facts.no_theorem)
    said = []
    for outcome, verbs in ORDER.items():
        found = [one for one in facts.theorems if one.outcome == outcome]
        if not found:
            continue
        ratios = [one.ratio for one in found if one.ratio is not None]
        within = f", within a factor of {short(max(ratios), 2)}" if outcome == "holds" and ratios else ""
        said.append(f"{_names(found)} {verbs[len(found) > 1]}{within}.")
    return " ".join(said)


def name_of(claim: str) -> str:
    """Return the name of a theorem; a claim of the user's is called by its id."""
    known = REGISTRY.get(claim.partition("#")[0])
    if known is not None and not str(known.module).startswith("clusterproof."):
        return claim
    return word("theorems", claim)


def quantity_of(one: Outcome, name: str) -> str:
    """Return the words for a quantity; a claim of the user's has quantities of its own."""
    return (
        table("quantities").get(name, f"the {name}")
        if name_of(one.claim) == one.claim
        else word("quantities", name)
    )


def _label(group: Sequence[Outcome]) -> str:
    return f"{joined([name_of(one.claim) for one in group])} ({word('sources', group[0].source)})"


def _about(facts: Facts) -> Iterator[str]:
    yield block("Task", " ".join(task_sentences(facts.task)))
    yield block("Run", " ".join(run_sentences(facts)))
    for label, said in result_blocks(facts).items():
        yield block(label, said)


def task_sentences(task: TaskFacts) -> list[str]:
    """Return the sentences about the task."""
    known = {name: short(value) for name, value in task.constants.items()}
    clients, coordinates = many(task.clients, "client"), many(task.dimension, "coordinate")
    if len(task.sizes) > 1:
        least = "" if len(set(task.sizes)) == 1 else f" (smallest share l = {known['l']})"
        clients += f" in {len(task.sizes)} clusters of {sizes(task.sizes)}{least}"
    said = [f"{clients}, with models of d = {coordinates}."]
    if "n'" in known:
        verb = {"fresh": "draws", "fixed": "keeps"}[task.data]
        kind = {"fresh": "new samples in every round", "fixed": "samples"}[task.data]
        said.append(f"Every client {verb} n' = {known[SAMPLES]} {kind}, with the noise s = {known['s']}.")
    else:
        said.append(word("data", task.data))
    if "L" in known:
        said.append(f"Curvatures are between mu = {known['mu']} and L = {known['L']}.")
    if "Delta" in known:
        said.append(f"Optima are at least Delta = {known['Delta']} apart, with norms up to {known['norm']}.")
    elif "norm" in known:
        said.append(f"The optimum has the norm {known['norm']}.")
    if "spread" in known:
        said.append(f"Clients' own optima are within {known['spread']} of their cluster's.")
    if "sigma^2" in known:
        said.append(
            f"At the optimum, one sample's loss has the variance sigma^2 = {known['sigma^2']}, its gradient "
            f"v^2 = {known['v^2']}."
        )
    if "zeta" in known:
        said.append(
            f"At the common optimum, clients' gradients have the root mean square zeta = {known['zeta']}."
        )
    return said


def run_sentences(facts: Facts) -> list[str]:
    """Return the sentences about the run: its settings, participants and starts."""
    run, clients = facts.run, facts.task.clients
    settings = [_setting(name, value, run) for name, value in run.settings.items()]
    told = ", ".join(filter(None, settings))
    said = [f"{told[:1].upper()}{told[1:]}."] if told else []
    said.append(
        "All clients take part in every round."
        if run.participants == clients
        else f"In every round, {run.participants} of {clients} clients take part."
    )
    if run.runs > 1:
        said.append(
            "All runs start from the same models." if run.same_start else "Every run has a start of its own."
        )
    return said


def _setting(name: str, value: Value, run: RunFacts) -> str:
    """Write a setting by its name; an empty text if it is usual or not given."""
    if value is None or name == "participation" or (name in USUAL and name in run.usual):
        return ""
    if name == "step_size" and run.step is not None:
        scaled = "" if abs(run.step - 1) > 1e-9 else "1"
        return f"step size {scaled or short(run.step, 4)}/L"
    spelled = name.replace("_", " ")
    if name == "local_steps":
        return f"{value} {spelled}"
    if isinstance(value, bool):
        return spelled if value else f"no {spelled}"
    return f"{spelled} {shown(name, value)}"


def _theorems(facts: Facts, told: Told) -> Iterator[str]:
    yield theorem_table(facts.theorems)
    legend = []
    if any(one.ratio is not None for one in facts.theorems):
        legend += ["Measured: what 95 % of the runs stay below at the end."] * (facts.run.runs >= FEWEST_RUNS)
        legend.append("Ratio: allowed/measured.")
    legend.append(table("abouts").get(facts.run.algorithm, ""))
    legend += ["With --verbose every theorem has a paragraph."] * (told != "all")
    if any(legend):
        yield paragraph(" ".join(filter(None, legend)))
    said = set[str]()
    for group in alike([one for one in facts.theorems if _is_told(one, told)]):
        if text := theorem_words(group, said, brief=told != "all"):
            yield paragraph(text, "", "  ")


def _is_told(one: Outcome, told: Told) -> bool:
    """Whether a theorem has a paragraph."""
    if told == "all":
        return True
    if told == "in doubt":
        return one.outcome in ("is broken", "inconclusive")
    return not _in_table(one) and (told == "not in the table" or one.outcome != "does not apply")


def _in_table(one: Outcome) -> bool:
    """Whether the table has all that there is to say."""
    more = set(one.constants) & set(table("more"))
    return one.outcome == "holds" and not (one.reason or more or any(each.count for each in one.above))


def theorem_table(theorems: Sequence[Outcome]) -> str:
    """Return the table of theorems."""
    cells: list[tuple[str, ...]] = [("Theorem", "source", "outcome", "allowed", "measured", "ratio")]
    for one in theorems:
        numbers = [_cell(one.allowed, 3), _cell(one.measured, 3), _cell(one.ratio, 2)]
        cells.append((name_of(one.claim), word("sources", one.source), one.outcome, *numbers))
    return rows(cells, right=(3, 4, 5))


def _cell(value: float | None, digits: int) -> str:
    return "-" if value is None else short(value, digits)


def alike(theorems: Sequence[Outcome]) -> list[list[Outcome]]:
    """Join theorems with the same outcome for the same reason, of which there is one thing to say."""
    groups: list[list[Outcome]] = []
    for one in theorems:
        found = next((group for group in groups if _same(group[0], one)), None)
        if found is None:
            groups.append([one])
        else:
            found.append(one)
    return groups


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether one sentence says all about both theorems."""
    if (one.outcome, one.reason) != (other.outcome, other.reason):
        return False
    more = (set(one.constants) | set(other.constants)) & set(table("more"))
    if more or one.reason in table("remarks"):
        return False
    if one.outcome == "does not apply" and not one.reason:
        return one.unmet == other.unmet is not None
    names = [name for _, name, _, _ in Formatter().parse(table("reasons").get(one.reason, "{}"))]
    return not any(name is not None for name in names) and bool(one.reason)


def theorem_words(group: Sequence[Outcome], told: set[str], *, brief: bool = False) -> str:
    """Return the paragraph about a theorem, or about several with the same outcome for the same reason.

    ``told`` has the sentences about numbers that the page has; they are not repeated. A ``brief`` paragraph of a
    theorem that holds leaves the numbers of the table out, and is empty if there are no others.
    """
    one, several, known = group[0], len(group) > 1, _numbers(group[0])
    verb = ORDER[one.outcome][several]
    in_table = brief and one.outcome == "holds" and one.reason not in table("reasons")
    first = "" if in_table else _first(one, known)
    if several:
        first = first.replace("it needs", "they need", 1)
    name = _names(group)
    said = [f"{name} {verb}: {first}" if first else f"{name} {verb}."]
    if one.reason in table("remarks"):
        said.append(filled(word("remarks", one.reason), known))
    if one.reason not in table("reasons") and one.above:
        said.append(_above(one))
    more = [filled(sentence, known) for name, sentence in table("more").items() if name in one.constants]
    said += [sentence for sentence in more if sentence not in told]
    told.update(more)
    if one.remedy:
        said.append(f"To decide, try {one.remedy}.")
    return "" if in_table and not any(said[1:]) else " ".join(filter(None, said))


def _names(theorems: Sequence[Outcome]) -> str:
    """Name theorems with their sources, those of one source together."""
    groups = [list(group) for _, group in groupby(theorems, key=lambda one: one.source)]
    labels = [_label(group) for group in groups]
    return ", and ".join(labels) if any(len(group) > 1 for group in groups) else joined(labels)


def _numbers(one: Outcome) -> dict[str, Any]:
    """Return all numbers of an outcome by name."""
    known: dict[str, Any] = {"measured": one.measured, "allowed": one.allowed, "start": one.start}
    if one.above:
        known |= {"count": one.above[-1].count, "runs": one.above[-1].runs, "may": one.above[-1].allowed}
    for hypothesis in one.hypotheses:
        known.setdefault(hypothesis.name, hypothesis.actual)
    return known | dict(one.constants)


def _first(one: Outcome, told: dict[str, Any]) -> str:
    """Return the sentence after the outcome."""
    if one.reason in table("reasons"):
        here = one.reason == "refused" and one.constants.get("here") is not None
        return filled(word("reasons", "refused here" if here else one.reason), told)
    if one.unmet is not None:
        return f"{need_words(one.unmet)}."
    quantity = quantity_of(one, one.quantity)
    if one.worst is not None:
        high, limit = apart(one.worst.measured, one.worst.allowed)
        cluster = "" if one.worst.cluster is None else f" in cluster {one.worst.cluster}"
        what = quantity_of(one, one.worst.quantity)
        return f"{what} is {high} after round {one.worst.round}{cluster}, where {limit} is allowed."
    if one.allowed is None:
        return ""
    if one.outcome == "is broken" and one.measured is not None:
        high, limit = apart(one.measured, one.allowed)
        return f"{quantity} is {high}, and {limit} is allowed."
    if one.outcome == "says nothing" and one.start is not None:
        return f"it allows {quantity} to be {short(one.allowed)}, and the runs start at {short(one.start)}."
    times = (
        ""
        if one.ratio is None or one.reason == "rounding"
        else f", {short(one.ratio, 2)} times what is measured"
    )
    return f"{quantity} may be up to {short(one.allowed)} at the end{times}."


def _above(one: Outcome) -> str:
    """Say how many runs are above a bound; nothing of a sure bound that no run is above."""
    if not any(each.allowed for each in one.above):
        return ""
    parts = [
        f"{each.count or 'none'} of {each.runs} {each.when} ({short(each.allowed)} may)" for each in one.above
    ]
    return f"Runs above the bound: {joined(parts)}."


def _next(facts: Facts) -> str:
    cells = [
        ("" if number else "Next", f"clusterproof {one.command}", word("next", one.shows))
        for number, one in enumerate(facts.next)
    ]
    width = max(len(command) for _, command, _ in cells)
    lines = []
    for label, command, shows in cells:
        head = f"{label:<{LABEL}}{command:<{width}}  "
        lines.append(paragraph(shows, head, " " * len(head)))
    return "\n".join(lines)


# ---- what --verbose adds


def verbose_page(facts: Facts, further: Sequence[Outcome]) -> str:
    """Return the page, the theorems beside it, every hypothesis, every number, and the meaning of every symbol."""
    parts, others = list(_parts(facts, "all")), [*facts.others, *further]
    if others:
        parts += ["", "Further theorems", theorem_table(others)]
        said = set[str]()
        parts += [paragraph(theorem_words(group, said), "", "  ") for group in alike(others)]
    every = [*facts.theorems, *others]
    if needs := list(_hypothesis_rows(every)):
        parts += ["", "Hypotheses", rows([("theorem", "met", "here", "needs"), *needs])]
    if numbers := list(_number_rows(every)):
        parts += ["", "Numbers", rows([("theorem", "name", "value"), *numbers], right=(2,))]
    parts += ["", "Symbols", rows(list(_symbol_rows(facts, every)))]
    return "\n".join(parts)


def _hypothesis_rows(theorems: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    for one in theorems:
        for each in one.hypotheses:
            required, actual = each.sides()
            term = f"{each.term} = " if each.term else ""
            needed = f"{each.name} {each.relation} {term}{required}"
            if isinstance(each.required, bool):
                name = each.name if each.required == (each.relation == "=") else f"not {each.name}"
                needed, actual = word("properties", name), "yes" if each.met else "no"
            yield name_of(one.claim), "yes" if each.met else "no", actual, needed


def _number_rows(theorems: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    for one in theorems:
        for name, value in one.constants.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield name_of(one.claim), name, shown(name, value)


def _symbol_rows(facts: Facts, theorems: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
    """Yield every symbol of the page with its meaning."""
    names = {"d", *facts.task.constants}
    for one in theorems:
        names |= {name for name, value in one.constants.items() if isinstance(value, int | float)}
        names |= {each.name for each in one.hypotheses if each.numeric}
    for result in facts.results:
        names |= set(getattr(result, "constants", {}))
    for name in names:
        word("symbols", name)  # a name without a meaning is an error
    return ((name, meaning) for name, meaning in table("symbols").items() if name in names)


# ---- the caption of the picture


def caption(facts: Facts, picture: ErrorPicture | ResidualPicture | None) -> str:
    """Return what the picture shows: the task, the run, and every mark."""
    curves = () if picture is None else picture.curves
    marks = [word("marks", role) for role in dict.fromkeys(curve.role for curve in curves)]
    marks += [word("marks", "last")] * any(curve.last is not None for curve in curves)
    end = f"{many(facts.run.runs, 'run')} of {many(facts.run.rounds, 'round')}, seed {facts.run.seed}."
    told = [*task_sentences(facts.task), *run_sentences(facts), end, *marks]
    return " ".join(filter(None, told))
