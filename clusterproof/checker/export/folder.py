"""The referee's folder: for each decided line its text, its evidence, a LaTeX page, and a Rocq file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.export.exported import Decided, Exported
from clusterproof.checker.export.latex import page
from clusterproof.checker.export.readme import readme
from clusterproof.checker.export.rocq import rocq_file
from clusterproof.checker.export.rocq_text import LIBRARY
from clusterproof.checker.kernel import Refused
from clusterproof.checker.report.stored_evidence import read_evidence, replay_evidence
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import naming_folder, write_whole

HERE = Path(__file__).parent
RECORD = "evidence.json"
"""Name of the file with the evidence of a line, in the line's folder."""
MAKEFILE = """\
# make -j2: let Rocq check every file, and print the axioms on which all theorems rest (of the real numbers)
FILES := $(wildcard */*.v)
NAMES := $(subst /,.,$(FILES:.v=))
KNOWN := ^(Axioms:|Closed under|ClassicalDedekindReals.sig_|FunctionalExtensionality.functional_extensionality_dep)

axioms: $(FILES:.v=.vo)
\t{ echo 'From Clusterproof Require $(NAMES).'; echo 'Definition all := $(NAMES:%=let _ := %.theorems in) tt.'; \\
\t  echo 'Print Assumptions all.'; } > all.v
\tcoqc -q -Q . Clusterproof all.v > $@.txt
\tcat $@.txt
\tif grep -qw prelude $(FILES); then grep '^Axioms:' $@.txt; else grep '^Closed under' $@.txt; fi >/dev/null
\t! grep '^[A-Za-z]' $@.txt | grep -vE '$(KNOWN)'
statements.vo: statements.v
\tcoqc -q -Q . Clusterproof $<
tuples.vo: tuples.v statements.vo
\tcoqc -q -Q . Clusterproof $<
prelude.vo: prelude.v statements.vo
\tcoqc -q -Q . Clusterproof $<
duals.vo: duals.v prelude.vo tuples.vo
\tcoqc -q -Q . Clusterproof $<
language.vo: language.v
\tcoqc -q -Q . Clusterproof $<
%.vo: %.v duals.vo language.vo
\tcoqc -q -Q . Clusterproof $<
"""


def decided(claim: Claim[..., Any], evidence: Path | None = None) -> Iterator[Decided]:
    """Yield the lines of a claim for which the kernel accepts the evidence.

    Parameters
    ----------
    claim
        A claim of the catalogue, or of a user's file.
    evidence
        Folder of the evidence files, or None for the library's own folder.
    """
    kept = read_evidence(claim.paper, evidence)
    records = kept.of_claim(claim.id)
    for record, replayed in zip(records, replay_evidence(claim.id, kept).records, strict=True):
        if replayed.word is not Kind.INCONCLUSIVE:
            yield Decided(replayed.claim, claim, kept.texts[claim.id], record, replayed.word)


def folder_names(names: Sequence[str]) -> list[str]:
    """Return for each line a folder name that Rocq can read; the names differ even if case is ignored."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        plain = plain if plain[:1].isalpha() else f"of_{plain}"
        own, k = plain, 1
        while own.casefold() in found:
            k += 1
            own = f"{plain}_{k}"
        found[own.casefold()] = own
    return list(found.values())


def write_folder(decisions: Sequence[Decided], out: Path) -> list[Exported]:
    """Write the folder, and remove the files of an earlier export from it.

    Returns
    -------
    list
        The result for each line. For a line without a Rocq file, the result contains the reason. Such a line does not
        stop the others.

    Raises
    ------
    InvalidArgument
        If the folder cannot be written.
    """
    names = folder_names([each.name for each in decisions])
    with naming_folder("out", out):
        out.mkdir(parents=True, exist_ok=True)
        for record in list(out.glob(f"*/{RECORD}")):
            _remove(record.parent)
        for pattern in (".*.aux", "all.*", "axioms.txt", *(f"{each.stem}.*" for each in LIBRARY)):
            for made in list(out.glob(pattern)):
                made.unlink()
        own = out / "clusterproof" / "checker" / "kernel"
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(
            Path(kernel.__file__).parent,
            own,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        for file in (HERE / "replay.py", *LIBRARY):
            shutil.copyfile(file, out / file.name)
        (out / "Makefile").write_text(MAKEFILE)
        for name in names:
            (out / name).mkdir(exist_ok=True)
    exported = []
    for each, name in zip(decisions, names, strict=True):
        exported.append(_with_proof(each, name))
        files = {"claim.txt": each.text}
        files[RECORD] = json.dumps({"name": each.name} | each.record, indent=1) + "\n"
        files["statement.tex"] = page(each.claim, each.text, each.record, str(each.word))
        if exported[-1].proof:
            files[f"{name}.v"] = exported[-1].proof
        for own_name, text in files.items():
            write_whole("out", out / name / own_name, text.encode())
    write_whole("out", out / "README.md", readme(exported).encode())
    return exported


def _with_proof(each: Decided, name: str) -> Exported:
    try:
        proof = rocq_file(each.claim, each.text, each.record, str(each.word))
    except (Refused, InvalidArgument, NotImplementedError) as error:
        return Exported(each, name, why=str(error))
    except Exception as error:
        return Exported(each, name, why=f"a defect of the export: {type(error).__name__}: {error}")
    return Exported(each, name, proof)


def _remove(folder: Path) -> None:
    """Remove the files that an earlier export and Rocq wrote for a line, and the folder if it is then empty."""
    for pattern in (RECORD, "claim.txt", "statement.*", f"{folder.name}.*", f".{folder.name}.aux"):
        for file in list(folder.glob(pattern)):
            file.unlink()
    with suppress(OSError):
        folder.rmdir()
