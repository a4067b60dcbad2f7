"""The gallery: every figure with its caption and the claims that it illustrates."""

from __future__ import annotations

from pathlib import Path

from clusterproof.figures import FIGURES
from clusterproof.figures.files import alternative_of, description_of, save
from clusterproof.notes.results import STORED_FIGURES
from clusterproof.notes.site.catalogue import anchor

SYMBOLS = r"""Symbols, where a caption does not say otherwise: $m$ clients in $P$ clusters, of which cluster $p$ has the
share $l_p$ and $l$ is the smallest; models of dimension $d$; losses with curvatures between $\mu$ and $L$, and
$\kappa = L/\mu$; optima at least $\Delta$ apart; n' rows a client and round, with noise of deviation $s$; step $\eta$,
momentum $\beta$, $H$ local steps, $T$ rounds; $e_0$ is the error at the start, and ARI the adjusted Rand index.
"""


def page(pictures: Path) -> str:
    """Write the page, and the figures' pictures into a folder; one that is not stored is drawn."""
    parts = [f"# Gallery\n\nEvery figure, drawn by `clusterproof figures ID --out DIR`.\n\n{SYMBOLS}"]
    for name, figure in FIGURES.items():
        picture = pictures / f"{name}.svg"
        stored = STORED_FIGURES / picture.name
        if stored.exists():
            picture.write_bytes(stored.read_bytes())
        else:
            save(figure.draw(0), picture, title=figure.title, theme="both", caption=False)
        links = [_link(claim) for claim in figure.claims]
        shown = f"Illustrates {', '.join(links)}.\n\n" if links else ""
        words = alternative_of(picture) or figure.title
        parts.append(
            f"(figure-{name})=\n## {figure.title}\n\n"
            f"```{{figure}} pictures/{picture.name}\n:figclass: drawn\n:alt: {words}\n```\n\n"
            f"{description_of(picture)}\n\n{shown}`clusterproof figures {name} --out figures-out`\n"
        )
    return "\n".join(parts)


def _link(claim: str) -> str:
    """Point to a claim in the catalogue."""
    return f'<a href="catalogue/{claim.partition("/")[0]}.html#{anchor(claim)}">{claim}</a>'
