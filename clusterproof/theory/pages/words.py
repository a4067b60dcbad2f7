"""The text of a page: first the answer, then task, run, results, theorems and next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from clusterproof.theory.bounds.hypotheses import Value
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.pages.facts import Facts, RunFacts, TaskFacts
from clusterproof.theory.pages.records import ErrorPicture, Outcome, ResidualPicture
from clusterproof.theory.pages.results import result_blocks
from clusterproof.theory.pages.text import LABEL, block, paragraph, rows, shown, sizes, table, word
from clusterproof.theory.pages.theorem_words import (
    ORDER,
    alike,
    name_of,
    names_of,
    theorem_table,
    theorem_words,
)
from clusterproof.theory.runs.run import FEWEST_RUNS

Told = Literal["all", "not in the table", "that apply", "in doubt"]
"""Outcomes of the theorems that get a paragraph."""

SAMPLES = "n'"

MOST_LINES = 50
"""Largest number of lines of a page.

A longer page omits paragraphs, beginning with paragraphs that only repeat the table.
"""


def page(facts: Facts) -> str:
    """Return the text of a page, with one paragraph per theorem if there is enough space."""
    for told in get_args(Told):
        text = "\n".join(parts(facts, told))
        if text.count("\n") < MOST_LINES:
            break
    return text


def parts(facts: Facts, told: Told) -> Iterator[str]:
    """Yield the blocks of a page, with paragraphs about the given theorems."""
    sources = {one.source for one in facts.theorems}
    legend = " ".join(words for source, words in table("sourcewords").items() if source in sources)
    yield from (paragraph(title(facts)), "", paragraph(answer(facts)))
    if legend:
        yield paragraph(legend)
    yield from ("", *_about(facts))
    if facts.theorems:
        yield from ("", *_theorems(facts, told))
    if facts.next:
        yield from ("", _next(facts))


def title(facts: Facts) -> str:
    """Return algorithm, task, and numbers of runs and rounds."""
    name = facts.run.algorithm
    algorithm = table("algorithms").get(name, name) if facts.run.library else name
    task = table("tasks").get(facts.task.kind, facts.task.kind)  # a user's task may have another name
    return f"{algorithm} on {task}: {many(facts.run.runs, 'run')} of {many(facts.run.rounds, 'round')}"


def answer(facts: Facts) -> str:
    """Write which theorems hold, are broken or say nothing."""
    if facts.no_theorem:
        return word("none", facts.no_theorem)
    said = []
    for outcome, verbs in ORDER.items():
        found = [one for one in facts.theorems if one.outcome == outcome]
        if not found:
            continue
        bounds = [one for one in found if one.reason not in table("reasons")]
        ratios = [one.ratio for one in bounds if one.ratio is not None]
        room = ""
        if outcome == "holds" and ratios:
            bound, measured = ("bounds are at most", "values") if len(found) > 1 else ("bound is", "value")
            room = f"; the {bound} {short(max(ratios), 2)} times the measured {measured}"
        said.append(f"{names_of(found)} {verbs[len(found) > 1]}{room}.")
    return " ".join(said)


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
    said = [f"{clients}. A model has d = {coordinates}."]
    if "n'" in known:
        verb = {"fresh": "draws", "fixed": "keeps"}[task.data]
        kind = {"fresh": "new samples in every round", "fixed": "samples"}[task.data]
        said.append(f"Every client {verb} n' = {known[SAMPLES]} {kind}.")
        said.append(f"The noise in labels has the standard deviation s = {known['s']}.")
    else:
        said.append(word("data", task.data))
    if "L" in known:
        same = known["mu"] == known["L"]
        said.append(
            f"All curvatures are mu = L = {known['L']}."
            if same
            else f"Curvatures are between mu = {known['mu']} and L = {known['L']}."
        )
    if "Delta" in known:
        said.append(
            f"Optima are at least Delta = {known['Delta']} apart. Their norms are at most {known['norm']}."
        )
    elif "norm" in known:
        said.append(f"The optimum has the norm {known['norm']}.")
    if "spread" in known:
        said.append(f"Clients' own optima are within {known['spread']} of their cluster's.")
    if "zeta" in known:
        said.append(
            f"At the common optimum, clients' gradients have the root mean square zeta = {known['zeta']}."
        )
    return said


def run_sentences(facts: Facts) -> list[str]:
    """Return the sentences about the run: its settings, participants and initial models."""
    run, clients = facts.run, facts.task.clients
    chosen = [_setting(name, value, run) for name, value in run.settings.items() if _is_chosen(name, run)]
    said = [f"{told[:1].upper()}{told[1:]}." for told in filter(None, [", ".join(chosen)])]
    if len(chosen) + 1 < len(run.settings):
        said.append("Other settings have their defaults.")
    said.append(
        "All clients take part in every round."
        if run.participants == clients
        else f"In every round, {run.participants} of {clients} clients take part."
    )
    if run.runs > 1:
        said.append(
            "All runs start from the same models." if run.same_start else "Every run has its own start."
        )
    return said


def _is_chosen(name: str, run: RunFacts) -> bool:
    """Return whether a setting differs from its default, except for participation, which has its own sentence."""
    return name != "participation" and name not in run.usual and run.settings[name] is not None


def _setting(name: str, value: Value, run: RunFacts) -> str:
    """Write a setting with its name."""
    if name == "step_size" and run.step is not None:
        scaled = "" if abs(run.step - 1) > 1e-9 else "1"
        return f"step size {scaled or short(run.step, 4)}/L"
    spelled = name.replace("_", " ")
    if name == "local_steps":
        return many(value, "local step") if isinstance(value, int) else f"{value} {spelled}"
    if isinstance(value, bool):
        return spelled if value else f"no {spelled}"
    return f"{spelled} {shown(name, value)}"


def _theorems(facts: Facts, told: Told) -> Iterator[str]:
    yield theorem_table(facts.theorems)
    legend = ["An outcome is about these runs; `check` judges the theorem itself."]
    if any(one.ratio is not None for one in facts.theorems):
        legend += ["Measured: 95 % of the runs end below this value."] * (facts.run.runs >= FEWEST_RUNS)
        legend.append("Ratio: allowed/measured, before rounding.")
    legend.append(table("abouts").get(facts.run.algorithm, ""))
    legend += ["--verbose explains every theorem and symbol."] * (told != "all")
    if any(legend):
        yield paragraph(" ".join(filter(None, legend)))
    said = set[str]()
    for group in alike([one for one in facts.theorems if _is_told(one, told)]):
        if text := theorem_words(group, said, brief=told != "all"):
            yield paragraph(text, "", "  ")


def _is_told(one: Outcome, told: Told) -> bool:
    """Return whether a theorem gets a paragraph."""
    if told == "all":
        return True
    if told == "in doubt":
        return one.outcome in ("is broken", "inconclusive")
    return not _in_table(one) and (told == "not in the table" or one.outcome != "does not apply")


def _in_table(one: Outcome) -> bool:
    """Return whether the table contains everything about an outcome."""
    more = set(one.constants) & set(table("more"))
    return one.outcome == "holds" and not (one.reason or more or any(each.count for each in one.above))


def _next(facts: Facts) -> str:
    cells = [
        ("" if number else "Next", f"clusterproof {one.command}", f"# {word('next', one.shows)}")
        for number, one in enumerate(facts.next)
    ]
    width = max(len(command) for _, command, _ in cells)
    lines = []
    for label, command, shows in cells:
        head = f"{label:<{LABEL}}{command:<{width}}  "
        lines.append(paragraph(shows, head, " " * len(head)))
    return "\n".join(lines)


def caption(facts: Facts, picture: ErrorPicture | ResidualPicture | None) -> str:
    """Return a description of the picture: the task, the run, and every mark."""
    curves = () if picture is None else picture.curves
    marks = [word("marks", role) for role in dict.fromkeys(curve.role for curve in curves)]
    marks += [word("marks", "last")] * any(curve.last is not None for curve in curves)
    end = f"{many(facts.run.runs, 'run')} of {many(facts.run.rounds, 'round')}, seed {facts.run.seed}."
    told = [*task_sentences(facts.task), *run_sentences(facts), end, *marks]
    return " ".join(filter(None, told))


def verbose_page(facts: Facts, further: Sequence[Outcome]) -> str:
    """Return the page with all theorems, every hypothesis, every number, and the meaning of every symbol."""
    told_parts, others = list(parts(facts, "all")), [*facts.others, *further]
    if others:
        told_parts += ["", "Further theorems", theorem_table(others)]
        said = set[str]()
        told_parts += [paragraph(theorem_words(group, said), "", "  ") for group in alike(others)]
    every = [*facts.theorems, *others]
    settings = [(name, _value(name, value)) for name, value in facts.run.settings.items()]
    told_parts += ["", "Settings", rows([("name", "value"), *settings])]
    if needs := list(_hypothesis_rows(every)):
        told_parts += ["", "Hypotheses", rows([("theorem", "met", "here", "needs"), *needs])]
    if numbers := list(_number_rows(every)):
        told_parts += ["", "Numbers", rows([("theorem", "name", "value"), *numbers], right=(2,))]
    told_parts += ["", "Symbols", rows(list(_symbol_rows(facts, every)))]
    return "\n".join(told_parts)


def _value(name: str, value: Value) -> str:
    return "not set" if value is None else shown(name, value)


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
