"""The catalogue: one page per paper with every claim's statement and stored verdict, and a searchable table.

A Sphinx extension with two directives: ``claims PAPER`` and ``claim-table``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from clusterproof import theory
from clusterproof.theory import Claim
from clusterproof.theory.bounds.audit_settings import NAMES, SIZES
from clusterproof.theory.claims.claim import source_of
from clusterproof.theory.headlines import HEADLINES
from clusterproof.theory.report.stored_verdicts import read_verdicts
from clusterproof.theory.report.tables import NEEDED, TIMES, number
from notes.site.notation import GREEK, written

PAPERS = {
    "baselines": "Baselines: fixed points of FedAvg and its relatives",
    "cfl": "CFL: clustering by cosines of updates",
    "cfl-mgd": "CFL-MGD: momentum gradient descent (Zhao et al. 2023)",
    "fedavg": "FedAvg: local steps and their drift",
    "fedlin": "FedLin: the rate of a round",
    "fedprox": "FedProx: the gain of a round (Li et al. 2020)",
    "fpfc": "FPFC: fusion penalties (Yu et al.)",
    "gradient-loss": "GL-CFL: gradients and losses (Lin et al. 2023)",
    "ifca": "IFCA: the basin of attraction",
    "local-gd": "Local GD (Khaled et al. 2019)",
    "proxskip": "ProxSkip: skipped communication (Mishchenko et al. 2022)",
    "scaffold": "SCAFFOLD: control variates (Karimireddy et al. 2020)",
    "sofl": "SoFL: dual clustering (Zhang and Qiao 2024)",
    "sproxskip": "SProxSkip: ProxSkip with stochastic gradients",
}
"""Titles of the pages; a paper without an entry has its name as title."""

MEANINGS = {
    "certified": "proved for every instance of the stated class",
    "consistent": "not refuted on the instances that were tried",
    "violated": "an instance meets the hypotheses and breaks the conclusion; the smallest one found is shown",
    "vacuous": "no instance meets the hypotheses, or the conclusion says no more than they do",
    "inconclusive": "not refuted, and what was tried was too little, or none of it decides",
    "ill-posed": "as printed it has no unique meaning; the reading that is checked instead is a claim of its own",
}

SETTINGS = (
    r"""## Named settings

Bounds are compared with runs in these settings, which claims and figures name. Always $L = \eta = 1$ and $\Delta = 2$;
models start at half of the radius $\frac14\sqrt{\mu/L}\,\Delta$ from their optima. *Two curved* has losses that are not
quadratic, with curvatures from 0.1 to 1: $P = 2$, $d = 30$, $m = 50$ and $T = 60$. *Tuned* is the momentum $(1 -
\sqrt{l\mu/L})^2$.

| setting | shares of the clusters | d | κ | m | n' | s | T |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
    + "".join(
        f"| {NAMES[key]} | {' : '.join(map(str, shares))} | "
        + " | ".join(f"{value:,.12g}".replace(",", "\N{NO-BREAK SPACE}") for value in numbers)
        + " |\n"
        for key, (shares, *numbers) in SIZES.items()
    )
    + "\n"
)
"""The section that defines the settings."""

READING = """## How to read an entry

After the verdict follow the place in the paper, where *reading* marks a meaning that is given to an ambiguous or
informal sentence, *(ours)* a statement that is not the paper's (our theorems are proved in the notes and in their
entries, and not refereed). *(misprint)* marks that a counterexample refutes a slip that the context corrects, and
*(wording)* a sentence of prose or a rounded number on which nothing depends. Then follows how *sharp* a bound is:
within &times;2, say, if an instance breaks the half of it, and *not exercised* if none comes near it.

An *instance* is a choice of all quantities of a statement for which its hypotheses hold. Instances are listed on a
*grid* or drawn at random; quantities without an end of their own are also taken *beyond the ranges*. *Measured* is
the quantity that the claim bounds, and *bound* what it allows, at the instance where the two are closest. So *at x =
1: 3 > 2 = start 1 + noise 1* is a counterexample: the left side is 3 there, and the right side 2, the sum of two
terms. A claim about a probability is tried in independent repetitions.

A claim can have several lines, each with a verdict of its own: those of its statement, and steps of its proof. The
verdict of the claim is that of the first line that is false; if none is, of the least certain one. The proof of
*symbolically* proved lines is a computation with formulas. A line that fails *only where* an earlier one does may be
right by itself. *Read* introduces the meaning that is given to an ill-posed statement.

An algorithm *rests* at a fixed point of its rounds. *Own* clients of a model are those that chose it and belong to
its cluster, *false members* those that chose it and belong to another.

"""
"""The section that explains an entry."""

NOT_STORED, IDLE = "not evaluated", "not exercised"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the report that they read."""
    app.add_directive("claims", ClaimsOfPaper)
    app.add_directive("claim-table", ClaimTable)
    return {"parallel_read_safe": True}


def pages() -> dict[str, str]:
    """Return the source of every page of the catalogue by its name below ``catalogue/``."""
    papers = sorted({claim.paper for claim in theory.catalogue()})
    found = {
        paper: f"# {PAPERS.get(paper, paper)}\n\n[How to read an entry](index.md#how-to-read-an-entry)\n\n"
        f"{SETTINGS if paper == 'cfl-mgd' else ''}```{{claims}} {paper}\n```\n"
        for paper in papers
    }
    listed = "\n".join(papers)
    found["index"] = (
        "# The catalogue\n\n"
        "Every claim, with the verdict of a stored run of `clusterproof check --all`; a claim's name leads to its "
        "statement, its counterexample and the claim that repairs it. `clusterproof show ID` evaluates it again.\n\n"
        "| verdict | meaning |\n| --- | --- |\n"
        + "".join(f"| {kind} | {meaning} |\n" for kind, meaning in MEANINGS.items())
        + f"\n{READING}## All claims\n\n```{{claim-table}}\n```\n\n"
        f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return found


def page_of(claim_id: str) -> str:
    """Return a claim's place below ``catalogue/``: its paper's page, and its id with dashes as permanent anchor."""
    return f"{claim_id.partition('/')[0]}.html#{claim_id.replace('/', '-')}"


def sharpness(record: dict[str, Any] | None) -> str:
    """State within which factor a claim is sharp, if the verdict contains it."""
    numbers = ((record or {}).get("tightness") or {}).get("all")
    if numbers is None:
        return ""
    ratio = numbers["ratio"]
    return IDLE if ratio is None or ratio > 1 / NEEDED else f"within {TIMES}{ratio:.3g}"


class ClaimTable(SphinxDirective):
    """A row for every claim; the script ``catalogue.js`` puts a search field and filters above it."""

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        verdicts = read_verdicts()
        head = nodes.row()
        for title in ("claim", "what it says", "verdict", "sharp"):
            head += nodes.entry("", nodes.paragraph(text=title))
        body = nodes.tbody()
        for claim in theory.catalogue():
            record = verdicts.get(claim.id)
            cells = ([_link(claim.id)], _marked(claim.title), [_badge(record)])
            row = nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))
            factor = sharpness(record)
            row += nodes.entry("", *([nodes.paragraph(text=factor)] if factor else []))
            body += row
        columns = [nodes.colspec(colwidth=width) for width in (25, 50, 12, 13)]
        group = nodes.tgroup("", *columns, nodes.thead("", head), body, cols=4)
        return [nodes.table("", group, classes=["claim-table"])]


class ClaimsOfPaper(SphinxDirective):
    """The claims of a paper, each as a section with its statement and verdict: headlines first, the others folded."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        verdicts = read_verdicts()
        claims = sorted(theory.catalogue(self.arguments[0]), key=lambda claim: claim.id not in HEADLINES)
        return [self._section(claim, verdicts) for claim in claims]

    def _section(self, claim: Claim[..., Any], verdicts: dict[str, dict[str, Any]]) -> nodes.section:
        """Write a claim: title, verdict, reason, lines, counterexample, repair, statement."""
        anchor, record = page_of(claim.id).partition("#")[2], verdicts.get(claim.id)
        section = nodes.section("", nodes.title(text=claim.id), ids=[anchor], classes=["claim"])
        self.state.document.note_explicit_target(section)
        if claim.id not in HEADLINES:
            section += nodes.raw("", "<details><summary>", format="html")
            section += nodes.inline("", "", _badge(record), nodes.Text(" "), *_marked(claim.title))
            section += nodes.raw("", "</summary>", format="html")
        else:
            section += nodes.paragraph("", "", nodes.strong("", "", *_marked(claim.title)))
        line = nodes.paragraph("", "", _badge(record))
        said = {"": "", IDLE: f" · {IDLE}"}.get(known := sharpness(record), f" · sharp {known}")
        failed = (claim.failure,) if record and record["verdict"] == "violated" else ()
        line += written(f" {source_of(claim.label, claim.judges, *failed)}{said}")
        section += line
        if record is not None:
            section += nodes.paragraph("", "", *_marked(sentence(record["reason"])))
            section += nodes.paragraph("", "", *written(_numbers(record)))
            section += _lines(claim, verdicts)
            if record["counterexample"]:
                text = json.dumps(record["counterexample"], indent=2, ensure_ascii=False)
                section += nodes.paragraph(text="Counterexample")
                section += nodes.literal_block(text, text, language="json")
        if claim.repaired_by:
            links = [node for name in claim.repaired_by for node in (nodes.Text(", "), _link(name))]
            section += nodes.paragraph("", "Repaired by ", *links[1:])
        for part in re.split(r"\n(?=\S)", claim.text):
            heading, _, text = part.partition("\n")
            text = re.sub(r"(?<=[a-z]-)\n\s*(?=[a-z])", "", text)  # a word that was divided at its hyphen
            body = nodes.paragraph("", "", *_marked(" ".join(text.split())))
            item = nodes.definition_list_item("", nodes.term(text=heading), nodes.definition("", body))
            section += nodes.definition_list("", item, classes=["card"])
        if claim.id not in HEADLINES:
            section += nodes.raw("", "</details>", format="html")
        return section


def _lines(claim: Claim[..., Any], verdicts: dict[str, dict[str, Any]]) -> list[nodes.Node]:
    """Write the verdict of each line of a claim that has several, with what the line has of its own."""
    lines = {name.partition("#")[2]: one for name, one in verdicts.items() if name.startswith(f"{claim.id}#")}
    items = []
    mixed = len(claim.of_lines["judges"]) + len(claim.of_lines["failure"]) > 2
    for name, record in lines.items():
        own = claim.of_line(name)
        failed = (own["failure"],) if record["verdict"] == "violated" else ()
        title = name or "the statement"
        source = source_of(title, own["judges"], *failed) if mixed else title
        paragraph = nodes.paragraph("", "", *written(f"{source} "), _badge(record))
        paragraph += _marked(f": {record['reason']}")
        if own["repaired_by"] != claim.repaired_by:
            for repair in own["repaired_by"]:
                paragraph += [nodes.Text("; repaired by "), _link(repair)]
        items.append(nodes.list_item("", paragraph))
    return [nodes.paragraph(text="Lines"), nodes.bullet_list("", *items)] if items else []


def _badge(record: dict[str, Any] | None) -> nodes.inline:
    """Write a verdict in its colour."""
    verdict = record["verdict"] if record else NOT_STORED
    return nodes.inline("", verdict, classes=["verdict", f"verdict-{verdict.replace(' ', '-')}"])


def _link(claim_id: str) -> nodes.reference:
    """Point from a page of the catalogue to a claim."""
    return nodes.reference("", claim_id, refuri=page_of(claim_id), internal=True)


def _marked(text: str) -> list[nodes.Node]:
    """Split text at its double backticks into words and names."""
    parts = re.split(r"``(.+?)``", text)
    said = [[nodes.literal(text=part)] if odd % 2 else written(part) for odd, part in enumerate(parts)]
    return [node for part in said for node in part]


def sentence(text: str) -> str:
    """Begin with a capital, unless a symbol is first, and end with a full stop."""
    word = re.match(r"[a-z]{2,}(?= [^=]|-|:)", text)
    begun = text if word is None or word[0] in GREEK else text[0].upper() + text[1:]
    return begun if begun.endswith(".") else f"{begun}."


def _numbers(record: dict[str, Any]) -> str:
    """State what was measured and how many instances were evaluated."""
    said = [f"{name} {number(record[name])}" for name in ("measured", "bound") if record[name] is not None]
    if (count := record.get("instances")) is not None:
        are = "is" if count == 1 else "are"
        known = "and the proof covers all others" if record["verdict"] == "certified" else f"which {are} all"
        all_of_them = f", {known}" if record.get("exhausted") else ""
        said.append(f"{count} {'instance' if count == 1 else 'instances'}{all_of_them}")
    if record.get("trials") is not None:
        said.append(f"{record['trials']} repetitions, of which {record['failures']} fail")
    return sentence("; ".join([*said, f"random seed {record['seed']}"]))
