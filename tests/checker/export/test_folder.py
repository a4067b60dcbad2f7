"""The referee's folder: it says the words again on a bare Python, and has a page that LaTeX sets."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof import checker
from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.export.exported import Decided
from clusterproof.checker.export.folder import decided, folder_names, write_folder
from clusterproof.checker.export.latex import of_verdict, page, text_of
from clusterproof.checker.export.latex_squares import squares_in
from clusterproof.checker.export.rocq_text import LIBRARY, PROOF

NAMES = (
    "cfl-mgd/lemma-2",
    "cfl-mgd/theorem-1",
    "fedlin/every-loss",
    "gradient-loss/class-overlap",
    "cfl-mgd/equation-12",
    "cfl-mgd/a7-step",
    "cfl-mgd/appendix-a39",
    "proxskip/identity",
    "cfl-mgd/appendix-a1",
)


@pytest.fixture(scope="module")
def found() -> list[Decided]:
    """Lines that are decided by each of the rules."""
    return [each for name in NAMES for each in decided(find_claim(name))]


@pytest.fixture(scope="module")
def out(found: list[Decided], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder."""
    path = tmp_path_factory.mktemp("referee")
    assert all(each.proof for each in write_folder(found, path))
    return path


def test_a_bare_python_says_the_words_again(found: list[Decided], out: Path) -> None:
    rules = {"instance", "exhausted", "signs", "empty", "dual", "induction", "squares"}
    assert {each.record["rule"] for each in found} == rules
    words = {each.name: each.word for each in found}
    assert {"certified", "vacuous", "violated", "ill-posed"} == {str(word) for word in words.values()}
    command = [sys.executable, "-I", "-S", str(out / "replay.py")]
    run = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=True)
    assert sorted(run.stdout.splitlines()) == sorted(f"{name}: {word}" for name, word in words.items())


def test_a_changed_text_is_not_believed(out: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(out, tmp_path / "copy")
    file = copy / "cfl_mgd_lemma_2" / "claim.txt"
    changed = file.read_text().replace("c_4=Fraction(1, 4)", "c_4=4")
    assert changed != file.read_text()
    file.write_text(changed)
    command = [sys.executable, "-I", "-S", str(copy / "replay.py"), str(copy / "cfl_mgd_lemma_2")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "cfl-mgd/lemma-2: open (the evidence does not show it)" in run.stdout


def test_the_theorem_is_the_claim_by_name(out: Path) -> None:
    text = (out / "cfl_mgd_lemma_2" / "cfl_mgd_lemma_2.v").read_text()
    _, _, after = text.partition("*)\n")
    for written in (
        '("momentum", Rationals 0 (9 / 10));',
        'function := "',
        '("momentum", Number (2 # 3))',
        "Theorem cfl_mgd_lemma_2 :\n  is_inside the_claim the_instance = true",
        'line_of the_claim "" the_instance = Found (Line false).',
    ):
        assert written in after
    assert "claim('cfl-mgd/lemma-2')" in text.partition("*)\n")[0], "the text stands above"


def test_the_head_says_what_a_reader_compares(out: Path, tmp_path: Path) -> None:
    others = ("fpfc/theorem-1-mapping", "scaffold/bias", "fedavg/theorem-4")
    write_folder([each for name in others for each in decided(find_claim(name))], tmp_path)

    def head(out: Path, name: str) -> str:
        return (out / name / f"{name}.v").read_text().partition("*)\n")[0]

    def shown(out: Path, name: str) -> str:
        return " ".join(head(out, name).partition("What is shown:")[2].split())

    of_a_line = head(out, "cfl_mgd_theorem_1_A38")
    assert "claim's words.\n   After a stated number of rounds" in of_a_line, "the title"
    assert "This file states the claim's step '(A38)' of the proof.\nNot in this theorem:\n" in of_a_line
    assert "rho_0 is at least four times the largest value that (A38) allows." in of_a_line, (
        "the step's words"
    )
    assert "    'root_of_kappa': rationals(1, None),\n" in of_a_line, "a range"
    assert "def allowed_floor(share" in of_a_line, "a helper's source"
    assert "    'own': integers(1, lambda clients: clients - 1),\n" in head(
        out, "cfl_mgd_a7_step_at_least"
    ), "an end"
    assert "one of the cases applies" in shown(tmp_path, "fedavg_theorem_4")
    assert "one of the cases applies" not in shown(out, "cfl_mgd_a7_step_at_least"), "it has no case"
    assert "meet the hypotheses" in shown(out, "cfl_mgd_a7_step_at_least")
    assert "meet the hypotheses" not in shown(tmp_path, "fedavg_theorem_4"), "it has none"
    text = (tmp_path / "fedavg_theorem_4" / "fedavg_theorem_4.v").read_text().partition(PROOF)[0]
    assert text.count("Definition rest_of ") == 1, (
        "the cases differ only in an exponent, which is a parameter"
    )
    assert "Only this is proved" in head(out, "cfl_mgd_a7_step_at_least_printed"), "ill-posed"
    assert "Because no values meet the hypotheses" in head(out, "cfl_mgd_theorem_1")
    of_everything = head(tmp_path, "fpfc_theorem_1_mapping_theta_beyond_lambda")
    assert re.search(r"Because\s+the\s+line\s+holds", of_everything)
    renamed = (tmp_path / "scaffold_bias" / "scaffold_bias.v").read_text()
    assert re.search(r"Variables .* the_power .*\(\* the_power is power of the source", renamed)


def test_a_program_has_the_sources_words_and_no_run(out: Path) -> None:
    """Its functions are those that the line uses, a loop stands as in the text, and no number of the run is stated."""
    text, own = ((out / "cfl_mgd_lemma_2" / name).read_text() for name in ("cfl_mgd_lemma_2.v", "claim.txt"))
    _, _, after = text.partition("*)\n")
    functions = [name for name in re.findall(r"^def (\w+)", own, re.MULTILINE) if name != "every_constant"]
    assert re.findall(r'Function_of "(\w+)"', after) == functions, "every_constant is of another statement"
    assert after.count("For ") == len(re.findall(r"^ +for ", own, re.MULTILINE))
    assert "31 # 144" not in after, "the error after the last round"


def test_the_theorem_is_stated_in_words(out: Path) -> None:
    """Above it stand the ranges, hypotheses and terms of the claim's text."""
    text = (out / "cfl_mgd_lemma_2" / "cfl_mgd_lemma_2.v").read_text()
    words = text.rpartition("Theorem cfl_mgd_lemma_2 :")[0].rpartition("(* In words.")[2]
    for said in (
        "There are values",
        "- integer own with 1 <= own <= clients - 1\n",
        "- start, one of 1/2, 1/4, 1/10\n",
        "- 1 - P lambda_5 > 0: has_positive_probability(2 * 4, min(own, clients - own))\n",
        "and at which the line is false:",
        "- after <= contraction + mismatch\n",
        "- mismatch = c_4 * smallest\n",
        "The theorem shows this at\n",
        "- momentum = 2/3\n",
    ):
        assert said in words


def test_no_two_lines_share_a_folder() -> None:
    names = ["a/x#x >= 0", "a/x#x <= 0", "a/x#X <= 0", "a/x#x_0", "a/x", "1/2", "a/x#x_0_2"]
    found = folder_names(names)
    assert len({name.casefold() for name in found}) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z]\w*", name, re.ASCII) for name in found), "names of Rocq's modules"


def test_a_second_export_leaves_nothing_of_the_first(found: list[Decided], tmp_path: Path) -> None:
    first, *_, last = found
    (a,) = write_folder([first], tmp_path)
    for built in (f"{a.folder}.vo", f".{a.folder}.aux"):
        (tmp_path / a.folder / built).touch()
    (tmp_path / "all.v").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").touch()
    (b,) = write_folder([last], tmp_path)
    kept = {"notes", "clusterproof", "Makefile", "README.md", "replay.py", b.folder}
    assert {path.name for path in tmp_path.iterdir()} == kept | {file.name for file in LIBRARY}
    assert (tmp_path / "notes" / "mine.txt").is_file()


def test_a_line_without_a_proof_stops_no_other(found: list[Decided], tmp_path: Path) -> None:
    first, second, *_ = found
    broken = replace(first, record={**first.record, "rule": "unheard"})
    (page,) = (each for each in write_folder([broken, second], tmp_path) if each.proof)
    assert page.of.name == second.name
    index = (tmp_path / "README.md").read_text()
    assert "evidence by the rule unheard has no Rocq file" in index
    assert f"({page.folder}/{page.folder}.v)" in index


def test_the_index_names_each_theorem_where_it_stands(found: list[Decided], out: Path) -> None:
    page = (out / "README.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert re.findall(r"^- `(.*?)`: This .*? Not in this theorem: \w", page, re.MULTILINE) == [
        each.name for each in found
    ]
    assert len(rows) == len(found)
    for row, each in zip(rows, found, strict=True):
        assert f"`{each.name}` | {each.word} |" in row
        place = re.search(r"\[(\w+)\.v:(\d+)\]\((.*?)\)", row)
        assert place is not None
        line = (out / place[3]).read_text().splitlines()[int(place[2]) - 1]
        assert line.startswith(f"Theorem {place[1]} ")
        words = set(re.findall(r"`(\w+)`", row.split(" | ")[3]))
        assert ("tuples" in words) is (each.name == "fedlin/every-loss")
        assert ("space" in words) is (each.record["rule"] == "dual"), (
            "other files define a space of their own"
        )


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex (Debian: apt-get install texlive-latex-base)"
)
def test_each_page_is_set_by_latex(out: Path) -> None:
    for file in sorted(out.glob("*/statement.tex")):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", file.name]
        run = subprocess.run(
            command, cwd=file.parent, capture_output=True, text=True, errors="replace", check=False
        )
        assert run.returncode == 0, f"{file.parent.name}: {run.stdout[-600:]}"


def test_the_page_says_for_which_ranges_a_line_is_proved(found: list[Decided], out: Path) -> None:
    """Also where the hypotheses of the paper are wider."""
    steps = (out / "fedlin_every_loss" / "statement.tex").read_text()
    assert r"\item $\mathit{steps}$, one of $1$, $2$, $3$" in steps
    share = (out / "cfl_mgd_theorem_1_A38" / "statement.tex").read_text()
    assert r"\item number $\mathit{root\_of\_kappa}$ with $1 \le \mathit{root\_of\_kappa}$" in share
    assert "a mean over any number of functions, each a" in steps
    assert r"phi\textsuperscript{1}(chi" in (out / "cfl_mgd_appendix_a1_A1" / "statement.tex").read_text()
    pages = [
        (out / name / "statement.tex").read_text() for name in folder_names([each.name for each in found])
    ]
    for each, page_of in zip(found, pages, strict=True):
        assert each.record["rule"] in ("instance", "exhausted") or "Proved for every" in page_of


def test_a_verdict_is_pasted_into_a_draft() -> None:
    verdict = checker.check("cfl-mgd/per-step-contraction")
    assert verdict.lines[0].evidence is not None
    text = of_verdict(find_claim(verdict.claim), verdict)
    assert r"\begin{claim}[{cfl-mgd/per-step-contraction: " in text
    counterexample = verdict.counterexample
    assert counterexample is not None
    for name in counterexample:
        assert name.replace("_", r"\_") in text
    assert r"\not\le" in text or r"\ne" in text


def test_the_page_has_the_invariant_and_the_points_of_a_function() -> None:
    pages = {
        each.name: page(each.claim, each.text, each.record, str(each.word))
        for name in ("gradient-loss/purity-bound", "cfl-mgd/lemma-2-every-loss")
        for each in decided(find_claim(name))
    }
    for said in (r"\mathit{sum\_} \leftarrow \mathit{sum\_} + 1. \end", r"\mathit{sum\_} = t. \end"):
        assert said in pages["gradient-loss/purity-bound#singletons"]
    (each,) = decided(find_claim("cfl-mgd/lemma-2-every-loss"))
    triplets = each.record["instance"]["f"]["triplets"][0]
    rows = re.findall(
        r"^\$\((.*?), (.*?)\)\$ & \$\((.*?), (.*?)\)\$ & \$(.*?)\$", pages[each.name], re.MULTILINE
    )
    written = [[_exact(text) for text in row] for row in rows]
    assert written == [[Fraction(code) for code in (*x, *g, value)] for x, g, value in triplets]


def test_the_page_states_a_minimum_and_names_the_squares() -> None:
    (each,) = (each for each in decided(find_claim("cfl-mgd/a7-step")) if each.name.endswith("#at least"))
    text = page(each.claim, each.text, each.record, str(each.word))
    assert r"\min\{\mathit{own}, \mathit{clients} - \mathit{own}\}" in text
    assert r"\,\bigl(-8\,\mathit{shared} + \mathit{clients}\bigr)^2" in text


@given(
    matrix=st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=3, max_size=3),
    at=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
)
def test_the_named_squares_add_up_to_the_form(matrix: list[list[int]], at: tuple[int, int]) -> None:
    """Q = M' M with the basis 1, x - 2 y and x y, times x + 20."""
    x, y = at
    form = [[sum(row[i] * row[j] for row in matrix) for j in range(3)] for i in range(3)]
    basis = [[[[0, 0], 1]], [[[1, 0], 1], [[0, 1], -2]], [[[1, 1], 1]]]
    block = {"factors": [1], "basis": basis, "matrix": form}
    terms = squares_in([block], ["x", "y"], ["(y)", "(x + 20)"], lambda value: f"Fraction('{value}')")
    values = 1, x - 2 * y, x * y
    wanted = sum(form[i][j] * values[i] * values[j] for i in range(3) for j in range(3)) * (x + 20)
    written = "+".join(terms) or "0"
    for old, new in ((r"\,\bigl", "*"), (r"\bigl", "*"), (r"\,", "*"), (r"\bigr)^2", ")**2")):
        written = written.replace(old, new)
    assert eval(written, {"Fraction": Fraction, "x": x, "y": y}) == wanted  # noqa: S307 - the text above


def test_mathematics_stands_between_dollars() -> None:
    text = r"a_b = $x_1 \le 2^n$ for $5 or $6, and 100 % of x^2"
    assert text_of(text) == r"a\_b = $x_1 \le 2^n$ for \$5 or \$6, and 100 \% of x\textsuperscript{2}"


def _exact(text: str) -> Fraction:
    return Fraction(re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"\1/\2", text))
