"""The catalogue and the gallery, made from templates: a page for each paper, and a table of all claims."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from clusterproof import checker
from clusterproof.checker import REGISTRY
from clusterproof.checker.claims.claim import heading_of
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.checker.report.tables import NEEDED, number
from clusterproof.commands.application import app
from clusterproof.figures import FIGURES
from clusterproof.figures.files import metadata_of
from clusterproof.theory.bounds.audit_settings import NAMES, SIZES
from docs.site import reference

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
"""Titles of the pages. The title of any other paper is its name."""

STORED_FIGURES = Path(__file__).parents[1] / "stored" / "figures"
NAMED = re.compile(
    r"(?s:```.*?```)|^#.*$|\[[^\]]*\]\([^)]*\)|`(?:clusterproof\s+(?:show|check)\s+)?(?P<claim>[\w/-]+)`",
    re.M,
)
"""Pattern of claims in a text. Code blocks, headings and links also match, so that they are not changed."""


def readme_theorem() -> str:
    """Return the file with a claim that the README shows."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    files: list[str] = re.findall(r"```python\n(.*?)\n```", text, re.S)
    return next(each for each in files if "@claim" in each)


def write(folder: Path, records: Mapping[str, int], theorem: str, missing: str) -> None:
    """Write the pages.

    Parameters
    ----------
    folder
        Folder of Sphinx's sources.
    records
        For each claim with a text, the number of its records of evidence, which a browser can replay.
    theorem
        Content of the example file on the page on which a reader can try a theorem.
    missing
        Reason why the pages cannot check proofs in the browser, or an empty text if they can.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        trim_blocks=True,
        autoescape=False,
    )
    environment.filters |= {
        "plain": plain,
        "page": page_of,
        "json": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    }
    claims = sorted(checker.catalogue(), key=lambda claim: not claim.headline)
    papers = {name: PAPERS.get(name, name) for name in sorted({claim.paper for claim in claims})}
    known: dict[str, Any] = {
        "claims": claims,
        "papers": papers,
        "verdicts": read_verdicts(),
    }
    known |= {"records": records, "theorem": theorem, "missing": missing}
    known |= {
        "heading": heading_of,
        "tightness": tightness,
        "number": number,
        "settings": SIZES,
        "names": NAMES,
    }
    known |= {
        "figures": FIGURES,
        "caption": lambda name: metadata_of(STORED_FIGURES / f"{name}.svg", "description"),
    }
    folder.mkdir(exist_ok=True)
    modules = reference.public_modules()
    known |= {"modules": modules, "members": reference.described(modules)}
    pages = {name: (name, "") for name in ("index", "gallery", "reference", "own-theorem")}
    pages |= {name: ("paper", name) for name in papers}
    pages |= {f"reference-{name}": ("module", name) for name in modules}
    for page, (template, name) in pages.items():
        text = environment.get_template(f"{template}.md.jinja").render(known, page=name)
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    (folder / "command-line.md").write_text(command_line(app.generate_docs()), encoding="utf-8")


def command_line(text: str) -> str:
    """Return the page of the command line, from the commands' help in Markdown."""
    text = re.sub(r"## Table of Contents\n+(?:\s*- .*\n)+", "", text)
    text = re.sub(
        r"(?m)^(clusterproof .*) -m \S+$", r"\1", text
    )  # name of the command in the site's examples
    text = re.sub(r"\[(`[^`]+`)\]\(#[^)]*/[^)]*\)", r"\1", text)  # names with a slash have no anchor
    return re.sub(r"(?m)^# clusterproof$", "# Command line", text, count=1)


def page_of(claim_id: str, suffix: str = "md") -> str:
    """Return the address of a claim below ``catalogue/``: the page of its paper, with its id as the anchor."""
    return f"{claim_id.partition('/')[0]}.{suffix}#{claim_id.replace('/', '-')}"


def linked(text: str, root: str) -> str:
    """Link the names of claims in Markdown to their entries; ``root`` is the path to ``catalogue/``."""

    def link(found: re.Match[str]) -> str:
        return f"[{found[0]}]({root}{page_of(found['claim'])})" if found["claim"] in REGISTRY else found[0]

    return NAMED.sub(link, text)


def plain(text: str) -> str:
    """Return a text in one line, with Markdown escaped outside double backticks."""
    parts = re.split(r"``(.+?)``", " ".join(text.split()))
    parts[::2] = [re.sub(r"([\\`*_\[\]<>|$&#~])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return "".join(parts)


def tightness(record: dict[str, Any] | None) -> str:
    """Return a text that states how tight a claim is, if its record contains this."""
    numbers = ((record or {}).get("tightness") or {}).get("all")
    if numbers is None:
        return ""
    ratio = numbers["ratio"]
    return "loose" if ratio is None or ratio > 1 / NEEDED else f"tight \N{MULTIPLICATION SIGN}{ratio:.3g}"
