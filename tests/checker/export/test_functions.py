"""A line about every function of a class is a theorem about functions, for every number of rounds; Rocq checks it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from families_by_hand import Share, Smooth, member

from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.export.rocq import rocq_file
from clusterproof.checker.freeze import freeze
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.checker.search.families import family_of
from clusterproof.theorem import Sides, at_most, claim

pytestmark = [
    pytest.mark.skipif(shutil.which("coqc") is None, reason="no coqc (Debian: apt-get install coq)"),
    pytest.mark.slow(reason="some seconds of Rocq"),
]
STATED = """\
  forall (S : space) (curvature length : R) (rounds : nat) (f : V S -> R) (g : V S -> V S),
  0 <= curvature ->
  curvature <= 1 ->
  0 <= length ->
  length <= 1 ->
  1 <= INR rounds ->
  (* mu < L *) curvature < 1 ->
  strongly_convex curvature f g ->
  upper_smooth 1 f g ->
  forall start minimiser : V S, g minimiser = origin S ->
"""


def file_of(claim: str, statement: str) -> str:
    """The file of a statement's line."""
    kept = read_evidence(find_claim(claim).paper, None)
    (record,) = (each for each in kept.of_claim(claim) if each["statement"] == statement)
    return rocq_file(find_claim(claim), kept.texts[claim], record, "certified")


def accepts(prelude: Path, text: str) -> bool:
    """Whether Rocq accepts a file."""
    (prelude / "functions_of.v").write_text(text)
    command = ["coqc", "-q", "-Q", ".", "Clusterproof", "functions_of.v"]
    return subprocess.run(command, cwd=prelude, capture_output=True, check=False).returncode == 0


def stated(text: str) -> str:
    """The theorem that a file states, without its proof."""
    return text.split("\nTheorem ")[1].split("\nProof.")[0]


@pytest.fixture(scope="module")
def descent() -> str:
    """Gradient descent, for every curvature and step, after every number of rounds."""
    return file_of("cfl-mgd/theorem-1-without-noise", "no momentum")


def test_a_line_for_every_number_of_rounds_is_a_theorem_about_functions(prelude: Path, descent: str) -> None:
    assert STATED in descent
    assert accepts(prelude, descent)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("upper_smooth 1 f g ->", "upper_smooth 2 f g ->"),
        ("after_rounds one_round first rounds in", "after_rounds one_round first (rounds + 1) in"),
        ("g minimiser = origin S ->", "g start = origin S ->"),
        ("<<apart, apart>> <= rate", "<<apart, apart>> <= rate / 2"),
    ],
)
def test_a_changed_statement_is_refused(prelude: Path, descent: str, old: str, new: str) -> None:
    assert descent.count(old) == 1
    assert not accepts(prelude, descent.replace(old, new))


@pytest.fixture(scope="module")
def rounds_of_fedlin() -> str:
    """A round of FedLin for any number of clients."""
    return file_of("fedlin/every-loss", "")


def test_a_line_on_any_number_of_clients_is_a_theorem_about_their_functions(
    prelude: Path, rounds_of_fedlin: str
) -> None:
    _, _, theorem = rounds_of_fedlin.rpartition("Definition in_every_space")
    for said in (
        "(forall index : Fin.t n, strongly_convex (1 / 10) (f index) (g index)) ->",
        "vector_average (fun index => g index minimiser) = origin S ->",
        "line (tuples n S) (mean_of_tuple n) (mean_value f) (gradients g) (shared n start)",
        "(* steps = 3 *)\n  (in_every_space line_3).",
    ):
        assert said in theorem
    assert accepts(prelude, rounds_of_fedlin)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("let mean_1 := mean (g start) in", "let mean_1 := g start in"),
        ("upper_smooth 1 ", "upper_smooth 2 "),
        (
            "vector_average (fun index => g index minimiser)",
            "vector_average (fun index => g index start)",
        ),
        ("mean (g minimiser) = origin S -> ", ""),
        ("(1 - 1 / steps * (1 / 10)) ^ 2 *", "(1 - 1 / steps * (1 / 9)) ^ 2 *"),
        ("(mean_projects n S)", "(every_vector (tuples n S))"),
    ],
)
def test_a_changed_statement_on_clients_is_refused(
    prelude: Path, rounds_of_fedlin: str, old: str, new: str
) -> None:
    assert old in rounds_of_fedlin
    assert not accepts(prelude, rounds_of_fedlin.replace(old, new))


def test_no_name_of_a_quantity_breaks_a_proof_about_clients(prelude: Path) -> None:
    kept = read_evidence("fedlin", None)
    (record,) = kept.of_claim("fedlin/every-number-of-steps")
    text = kept.texts["fedlin/every-number-of-steps"]
    for old, new in {
        "curvature": "index",
        "pace": "mean",
        "steps": "n",
        "y": "line_1",
        "star": "shared",
    }.items():
        text = re.sub(rf"\b{old}\b", new, text)
    written = rocq_file(find_claim("fedlin/every-number-of-steps"), text, record, "certified")
    assert "forall (S : space) (n_1 : nat) (index mean : R) (n : nat)" in written
    assert accepts(prelude, written)


ROUNDS = {
    "baselines/halpern": "let next_state_0 := (1 / (k + 2)) [*] start [+] (1 / (k + 2)) [*] (k + 1) [*] A x in",
    "baselines/best-subgradient-iterate": "if Rle_dec (f x) (f best) then let next_state_0 := x [-] step_size [*] g",
}
"""A line of a round, as its paper writes the step."""


@pytest.mark.parametrize("claim", list(ROUNDS))
def test_a_round_is_the_step_of_the_method(claim: str) -> None:
    assert ROUNDS[claim] in file_of(claim, "")


@pytest.mark.parametrize(
    ("claim", "statement", "old", "new"),
    [
        ("baselines/best-subgradient-iterate", "", "lipschitz 1 f", "lipschitz 2 f"),
        ("baselines/halpern", "", "lipschitz_operator 1 A", "lipschitz_operator 2 A"),
        ("fpfc/local-steps-every-loss", "pairs", "smooth 1 f g", "smooth 2 f g"),
        ("proxskip/every-loss", "", "(2 / (1 + curvature))", "(3 / (1 + curvature))"),
        ("fpfc/round-every-loss", "", "proximal 1 f_3 prox", "proximal 2 f_3 prox"),
        (
            "cfl-mgd/theorem-1-without-noise",
            "inexact gradients",
            "point index [-] minimiser>> <= 1",
            "point index [-] minimiser>> <= 2",
        ),
    ],
)
def test_each_class_has_its_definition(prelude: Path, claim: str, statement: str, old: str, new: str) -> None:
    text = file_of(claim, statement)
    assert accepts(prelude, text)
    assert old in text
    assert not accepts(prelude, text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(Multiple (Num 1) (Base 9))", "(Multiple (Num 2) (Base 9))"),
        ("U_2' prox'", "U_1' prox'"),
    ],
)
def test_a_changed_proof_about_a_proximal_step_is_refused(prelude: Path, old: str, new: str) -> None:
    text = file_of("fpfc/round-every-loss", "")
    changed = text.replace(old, new)
    assert changed != text
    assert stated(changed) == stated(text)
    assert not accepts(prelude, changed)


def test_a_hypothesis_times_another_square_proves_nothing(prelude: Path) -> None:
    text = file_of("proxskip/every-loss", "")
    times = re.search(r"Times \(Sub .*\) \(Inner (?P<along>\(.*\)) (?P=along)\)\)", text)
    assert times is not None
    changed = text.replace(times["along"], "(Base 2)")
    assert "Inner (Base 2) (Base 2)" in changed
    assert not accepts(prelude, changed)


def test_a_hypothesis_of_another_round_proves_nothing(prelude: Path) -> None:
    text = file_of("cfl-mgd/theorem-1-without-noise", "inexact gradients")
    assert text.count("(Y_0' m')") == 1
    assert not accepts(prelude, text.replace("(Y_0' m')", "(Y_0' O)"))


def shrinks(step: Share, f: Smooth) -> Sides:
    """A step of at most 1 / L does not lead away from the minimiser; the bound has no name."""
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, f.distance**2)


@pytest.mark.usefixtures("registry")
def test_a_bound_may_have_no_name(prelude: Path) -> None:
    own = claim("toy/unnamed")(shrinks)
    frozen = freeze(own)
    witness = {"f": member(), "step": 1}
    record = {"statement": "", "line": "", **family_of(frozen.statement(""), ""), "witness": witness}
    assert frozen.text is not None
    text = rocq_file(own, frozen.text, record, "certified")
    assert accepts(prelude, text)
    assert not accepts(prelude, text.replace("<<apart, apart>> <=", "2 * <<apart, apart>> <="))
