"""The referee's folder: for each line that the kernel decides its text, its evidence, a page, and a file for Rocq."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.export.latex import page
from clusterproof.checker.export.rocq import rocq_file
from clusterproof.checker.kernel import Refused
from clusterproof.checker.report.stored_evidence import read_evidence, replay_evidence
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import naming_folder, write_whole

HERE = Path(__file__).parent
MAKEFILE = """\
# make -j2: let Rocq check every file, and say on what axioms all theorems rest: those of the real numbers
FILES := $(wildcard */*.v)
NAMES := $(subst /,.,$(FILES:.v=))
KNOWN := ^(Axioms:|ClassicalDedekindReals.sig_|FunctionalExtensionality.functional_extensionality_dep)

axioms: $(FILES:.v=.vo)
\t{ echo 'From Clusterproof Require $(NAMES).'; echo 'Definition all := $(NAMES:%=let _ := %.theorems in) tt.'; \\
\t  echo 'Print Assumptions all.'; } > all.v
\tcoqc -q -Q . Clusterproof all.v > $@.txt
\tcat $@.txt
\tgrep -q '^Axioms:' $@.txt
\t! grep '^[A-Za-z]' $@.txt | grep -vE '$(KNOWN)'
prelude.vo: prelude.v
\tcoqc -q -Q . Clusterproof $<
%.vo: %.v prelude.vo
\tcoqc -q -Q . Clusterproof $<
"""


@dataclass(frozen=True)
class Decided:
    """A record that the kernel accepts.

    Attributes
    ----------
    name
        ``paper/name``, of several lines ``paper/name#line``.
    claim, text, record
        What it is of, the claim's text, and the record.
    word
        That it supports.
    """

    name: str
    claim: Claim[..., Any]
    text: str
    record: dict[str, Any]
    word: Kind

    @property
    def folder(self) -> str:
        """Name of its folder, which is one of a Python package, too."""
        return re.sub(r"\W+", "_", self.name).strip("_")


def decided(claim: Claim[..., Any], evidence: Path | None = None) -> Iterator[Decided]:
    """Yield a claim's records that the kernel accepts.

    Parameters
    ----------
    claim
        Of the catalogue, or of a user's file.
    evidence
        Folder of the records; None for those that are shipped.
    """
    kept = read_evidence(claim.paper, evidence)
    records = kept.of(claim.id)
    for record, replayed in zip(records, replay_evidence(claim.id, kept), strict=True):
        if replayed.word is not Kind.INCONCLUSIVE:
            yield Decided(replayed.claim, claim, kept.texts[claim.id], record, replayed.word)


def write_folder(decisions: Sequence[Decided], out: Path) -> dict[str, str]:
    """Write the folder.

    Returns
    -------
    dict
        By name, why a line has no file for Rocq.

    Raises
    ------
    InvalidArgument
        If it cannot be written.
    """
    with naming_folder("out", out):
        out.mkdir(parents=True, exist_ok=True)
        own = out / "clusterproof" / "checker" / "kernel"
        shutil.copytree(
            Path(kernel.__file__).parent,
            own,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name in ("replay.py", "prelude.v"):
            shutil.copyfile(HERE / name, out / name)
        (out / "Makefile").write_text(MAKEFILE)
        for each in decisions:
            (out / each.folder).mkdir(exist_ok=True)
    missing = {}
    for each in decisions:
        folder = out / each.folder
        files = {"claim.txt": each.text}
        files["evidence.json"] = json.dumps({"name": each.name} | each.record, indent=1) + "\n"
        files["statement.tex"] = page(each.claim, each.text, each.record, str(each.word))
        try:
            files[f"{each.folder}.v"] = rocq_file(each.claim, each.text, each.record, str(each.word))
        except (Refused, InvalidArgument, NotImplementedError) as error:
            missing[each.name] = str(error)
        for name, text in files.items():
            write_whole("out", folder / name, text.encode())
    return missing
