"""Write Python, the kernel, and the claims' texts and evidence as scripts for pages that replay proofs.

The pages also work without a web server: from ``file://``, a browser can load scripts, but no other files. Python is
the npm package ``pyodide``, whose version and digest are in ``browser/package-lock.json``.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report.recorded import verdict_of
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.library import library_evidence

BROWSER = Path(__file__).parent / "browser"
PARTS = {"loader": "pyodide.mjs", "module": "pyodide.asm.mjs", "wasm": "pyodide.asm.wasm"}
"""Files of the package that a browser runs."""
PIECE = 750_000
"""Largest number of characters of a script. Scripts are short, so that the page can show the progress."""
SECONDS = 300
"""Time limit for npm in seconds."""


def catalogue_claims() -> dict[str, dict[str, Any]]:
    """Return the data for the page of each claim with a text: ``text``, ``records`` and stored ``lines``."""
    claims = {}
    for path in sorted(library_evidence().glob("*.json")):
        kept = read_evidence(path.stem)
        for name, record in kept.verdicts.items():
            if name in kept.texts:
                verdict = verdict_of(record, kept)
                shown = (Kind.CERTIFIED, Kind.VACUOUS)
                lines = {
                    line.name: {
                        "verdict": line.verdict,
                        "shown": line.verdict in shown or line.basis == "exact",
                        "reason": line.reason,
                    }
                    for line in verdict.lines
                }
                claims[name] = {"text": kept.texts[name], "records": kept.of_claim(name), "lines": lines}
    return claims


def files() -> dict[str, str]:
    """Return the files that run in the browser: the kernel, unchanged, and the functions that a page calls."""
    folders = {"clusterproof/checker/kernel": Path(kernel.__file__).parent, "docs/site/browser": BROWSER}
    return {
        f"{name}/{path.name}": path.read_text(encoding="utf-8")
        for name, folder in folders.items()
        for path in sorted(folder.glob("*.py"))
    }


def write(folder: Path, claims: Mapping[str, Mapping[str, Any]], theorem: str) -> str:
    """Write the scripts.

    Parameters
    ----------
    folder
        Folder for the scripts, in the built site.
    claims
        Result of ``catalogue_claims``.
    theorem
        An example of a reader's file. It is used to find the modules of the standard library that the pages need.

    Returns
    -------
    str
        The reason why there are no scripts, for example that npm is not installed, or an empty text.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if missing := [name for name in ("npm", "node") if shutil.which(name) is None]:
        return f"{' and '.join(missing)} was not found when the site was built"
    with tempfile.TemporaryDirectory() as own:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(BROWSER / name, Path(own, name))
        library, package = Path(own, "library.zip"), Path(own, "node_modules", "pyodide")
        asked = json.dumps({"files": files(), "questions": _questions(claims, theorem)})
        try:
            _run(own, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
            _run(own, "node", str(BROWSER / "library.mjs"), str(package), str(library), said=asked)
        except (OSError, subprocess.SubprocessError) as error:
            return f"npm or node failed when the site was built ({error})"
        parts = {name: (package / file).read_bytes() for name, file in PARTS.items()}
        parts["library"] = library.read_bytes()
        info = json.loads((package / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    folder.mkdir(parents=True)
    pieces = _pieces(parts)
    for place, script in enumerate(pieces):
        (folder / f"engine-{place}.js").write_text(script, encoding="utf-8")
    worker = (BROWSER / "worker.js").read_text(encoding="utf-8")
    start = {"pieces": len(pieces), "info": info, "files": files(), "worker": worker}
    (folder / "start.js").write_text(f"Object.assign(clusterproof, {json.dumps(start)});\n", encoding="utf-8")
    for paper in {name.partition("/")[0] for name in claims}:
        own_claims = {name: each for name, each in claims.items() if name.startswith(f"{paper}/")}
        script = f"Object.assign(clusterproof.claims, {json.dumps(own_claims)});\n"
        (folder / f"claims-{paper}.js").write_text(script, encoding="utf-8")
    return ""


def _run(folder: str, *command: str, said: str = "") -> None:
    subprocess.run(
        command, cwd=folder, input=said, capture_output=True, text=True, check=True, timeout=SECONDS
    )


def _questions(claims: Mapping[str, Mapping[str, Any]], theorem: str) -> list[list[Any]]:
    """Return questions that use all code of the pages: each kind of evidence, an instance, a search, and mistakes."""
    by_length = sorted(claims.values(), key=lambda each: len(str(each["records"])), reverse=True)
    shortest = {record["rule"]: (each, record) for each in by_length for record in each["records"]}
    questions: list[list[Any]] = [["verdict", each["text"], each["records"]] for each, _ in shortest.values()]
    questions += [
        ["own", said] for said in (theorem, theorem.replace("u + x", "1.5"), "def f(:", "import os")
    ]
    broken, record = shortest["instance"]
    questions += [["describe", broken["text"]], ["search", broken["text"], 100]]
    questions.append(["start", broken["text"], record["statement"]])
    return [*questions, ["look", broken["text"], record["statement"], record["instance"]]]


def _pieces(parts: Mapping[str, bytes]) -> list[str]:
    """Return scripts of limited length that contain the parts, compressed and encoded as text."""
    lines = []
    for name, data in parts.items():
        text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
        for place, at in enumerate(range(0, len(text), PIECE)):
            piece = json.dumps(text[at : at + PIECE])
            lines.append(f"(clusterproof.engine.{name} ??= [])[{place}] = {piece};\n")
    scripts = [""]
    for line in lines:
        if len(scripts[-1]) + len(line) > PIECE + 200:
            scripts.append("")
        scripts[-1] += line
    return [script for script in scripts if script]
