"""The gallery: every figure with its caption and the claims that it illustrates."""

from __future__ import annotations

from pathlib import Path

from clusterproof.figures import FIGURES, save
from clusterproof.figures.style import description_of
from clusterproof.notes.results import STORED_FIGURES
from clusterproof.notes.site.catalogue import anchor

ILLUSTRATES = {
    "contraction-map": ("cfl-mgd/lemma-2", "cfl-mgd/per-step-region"),
    "drift": ("baselines/fedavg-optimum", "baselines/fedavg", "cfl-mgd/model-averaging-drift"),
    "error-per-round": ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d"),
    "fusion-strength": ("fpfc/window", "fpfc/convex"),
    "model-averaging-map": ("cfl-mgd/model-averaging-stability", "cfl-mgd/model-averaging-reset"),
    "power-table": ("cfl-mgd/theorem-d", "cfl-mgd/theorem-b"),
    "purity-per-iteration": ("gradient-loss/sooner", "gradient-loss/equation-3-worst"),
    "similarity-matrices": ("cfl/stationary-cosine", "gradient-loss/equation-3"),
    "success-map": ("ifca/basin", "ifca/certain-in-basin", "ifca/monotone-in-basin"),
    "tightness": ("cfl-mgd/theorem-b", "cfl-mgd/theorem-d"),
    "u-matrix": ("sofl/equation-10",),
    "winners-elbow": ("sofl/elbow-below-chord", "sofl/elbow-exact-winners"),
}
"""Claims that a figure illustrates, by its id; a figure that is missing here illustrates none in particular."""


def page(pictures: Path) -> str:
    """Write the page, and the figures' pictures into a folder; one that is not stored is drawn."""
    parts = ["# Gallery\n\nEvery figure, drawn by `clusterproof figures ID --out DIR`.\n"]
    for name, figure in FIGURES.items():
        picture = pictures / f"{name}.svg"
        stored = STORED_FIGURES / picture.name
        if stored.exists():
            picture.write_bytes(stored.read_bytes())
        else:
            save(figure.draw(0), picture, caption=False)
        links = [_link(claim) for claim in ILLUSTRATES.get(name, ())]
        shown = f"Illustrates {', '.join(links)}.\n\n" if links else ""
        parts.append(
            f"(figure-{name})=\n## {figure.title}\n\n"
            f"```{{image}} pictures/{picture.name}\n:alt: {figure.title}\n:width: 100%\n```\n\n"
            f"{description_of(picture)}\n\n{shown}`clusterproof figures {name} --out figures-out`\n"
        )
    return "\n".join(parts)


def _link(claim: str) -> str:
    """Point to a claim in the catalogue."""
    return f'<a href="catalogue/{claim.partition("/")[0]}.html#{anchor(claim)}">{claim}</a>'
