"""Build the lessons, the catalogue of claims and the reference as a static site: `make notes`."""

import argparse
from pathlib import Path

from clusterproof.commands.application import app
from notes.site.build import build

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make notes", description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the HTML; created if it is missing"
    )
    out = parser.parse_args().out
    warnings = build(out, command_line=app.generate_docs(output_format="markdown"))
    print(*warnings, out / "index.html", sep="\n")
    raise SystemExit(1 if warnings else 0)
