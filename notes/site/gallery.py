"""The gallery: every figure with its caption, its files and the claims that it illustrates."""

from __future__ import annotations

import html
import inspect
import shutil
import sys
from pathlib import Path

from clusterproof.figures import FIGURES, Illustration
from clusterproof.figures.files import alternative_of, description_of, save
from notes.site.both_themes import save_in_both_themes
from notes.site.catalogue import page_of

NARROW = {"tightness": 13.0}
"""Centimetres of the figures for telephones whose names are too long for 8.9."""

STORED_FIGURES = Path(__file__).parents[1] / "stored" / "figures"
"""Figures that the gallery does not draw again; ``notes/README.md`` has the command that does."""

SYMBOLS = r"""Symbols, where a caption does not say otherwise: $m$ clients in $P$ clusters, of which cluster $p$ has the
share $l_p$ and $l$ is the smallest; models of dimension $d$; losses with curvatures between $\mu$ and $L$, and
$\kappa = L/\mu$; optima at least $\Delta$ apart; n' rows a client and round, with noise of deviation $s$; step $\eta$,
momentum $\beta$, $H$ local steps, $T$ rounds; $e_0$ is the error at the start, and ARI the adjusted Rand index.
"""


def page(files: Path) -> str:
    """Write the page, and the figures' files into a folder: svg in two widths, pdf and source."""
    (files / "narrow").mkdir(parents=True)
    thumbnails, sections = [], []
    for name, figure in FIGURES.items():
        _write_files(name, figure, files)
        picture = files / f"{name}.svg"
        words = html.escape(alternative_of(picture) or figure.title)
        thumbnails.append(
            f'<a href="#figure-{name}"><img src="figures/{name}.svg" alt="">'
            f"<span>{html.escape(figure.title)}</span></a>"
        )
        telephone = f'<source media="(max-width: 46rem)" srcset="figures/narrow/{name}.svg">'
        narrow = telephone if (files / "narrow" / picture.name).exists() else ""
        downloads = ", ".join(
            f'<a href="figures/{name}.{suffix}" download>{kind}</a>'
            for suffix, kind in (("svg", "SVG"), ("pdf", "PDF"), ("py", "source in Python"))
        )
        links = [f'<a href="catalogue/{page_of(claim)}">{claim}</a>' for claim in figure.claims]
        illustrated = f"Illustrates {', '.join(links)}.\n\n" if links else ""
        wide = "" if narrow else ' wide" tabindex="0" role="group" aria-label="figure'
        sections.append(
            f"(figure-{name})=\n## {figure.title}\n\n"
            f'<figure class="drawn{wide}"><picture>{narrow}'
            f'<img src="figures/{name}.svg" alt="{words}"></picture></figure>\n\n'
            f"{description_of(picture)}\n\n{illustrated}Download: {downloads}. "
            f"Draw it: `clusterproof figures {name} --out figures-out`\n"
        )
    return "\n".join(
        (
            "# Gallery\n\nEvery figure of the toolkit. A caption names every parameter and the seed.\n",
            f'<div class="thumbnails">{"".join(thumbnails)}</div>\n',
            SYMBOLS,
            *sections,
        )
    )


def _write_files(name: str, figure: type[Illustration], files: Path) -> None:
    """Copy the stored files of a figure, or draw them, and copy the module that draws it."""
    stored = [STORED_FIGURES / part for part in (f"{name}.svg", f"{name}.pdf", f"narrow/{name}.svg")]
    if stored[0].exists():
        for path in filter(Path.exists, stored):
            shutil.copyfile(path, files / path.relative_to(STORED_FIGURES))
    else:
        draw(name, files)
    shutil.copyfile(inspect.getfile(figure), files / f"{name}.py")


def draw(name: str, folder: Path) -> None:
    """Draw a figure into a folder: as an svg for both themes and a pdf, and for telephones if it has a narrow form."""
    figure = FIGURES[name]()
    drawn = figure.plot()
    (folder / "narrow").mkdir(parents=True, exist_ok=True)
    save(drawn, folder / f"{name}.pdf", alt=figure.description)
    for path, width in (
        (folder / f"{name}.svg", None),
        (folder / "narrow" / f"{name}.svg", NARROW.get(name, 8.9)),
    ):
        save_in_both_themes(drawn, path, alt=figure.description, width=width, caption=False)


if __name__ == "__main__":
    for each in sys.argv[1:] or FIGURES:
        draw(each, STORED_FIGURES)
