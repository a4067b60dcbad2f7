"""Numbers in prose are computed where they stand, or are no findings: what a reader is given to start from.

A number counts if it is in a sentence, or if it is a decimal, a power of ten or follows "about" in a formula. What is
left of a formula is mathematics; what is in code is run, or tested with the documents. Numbers in words are not seen.
"""

import ast
import re

import numpy as np
import pytest
from checkout import ROOT

from clusterproof.algorithms import FPFC
from clusterproof.notes.results import STORED_VERDICTS, read_verdicts
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.fpfc.repaired import models_of_alike_clients
from clusterproof.theory.fpfc.repaired_moments import AUGMENTATION, CURVATURE

SPACE = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Where a number is computed."""

LESSONS = [path.stem for path in sorted((ROOT / "notes/lessons").glob("lesson_*.py"))]

GIVEN = {
    "lesson_1_momentum_and_clusters": (
        r"At $\kappa = 10$ and $\eta = 1/L$, without momentum, an accuracy of $10^{-6}$",
        r"$\ln 10^{-6} / \ln(1 - \eta l_p \mu)$, rounded up",
        f"rounds with 2, 4 and 10 equal clusters, against {SPACE} if",
        "from error 1",
        r"$l = 1/2$, $\beta = 0.9$: the truth is",
        "How many rounds to $10^{-6}$",
        r"= 1/1000$. Without momentum: $\ln 10^{-6} / \ln(1 - 10^{-3}) \approx$",
        r"the rate is $1 - \sqrt{10^{-3}}$",
    ),
    "lesson_2_averaging_models": (
        r"$\lambda = 0.01$ and",
        "the minimiser 0. Each alone converges for every momentum below 1",
        r"With $\beta = 0.9$ and $H = 5$",
        "spectral radius below 1",
        "$c_5(0.9) =$",
    ),
    "lesson_3_basin_of_attraction": (
        "half a basin radius away, 20 rows",
        "one of 30 clients",
        r"At radius $0.45 \Delta$ the claim needs $\sqrt\kappa < 0.55/0.45$",
    ),
    "lesson_4_false_lemma": ("slower than 15/16 allows",),
    "lesson_5_vacuous_theorem": (
        "have norm 1 at most",
        "spread over 20 directions",
        "a factor that is 1 at 0",
        "is at most 1. So it exceeds",
        "(40 clients, 20 000 rows each, 20 dimensions",
        f"{SPACE} without momentum, {SPACE} at β = 0.5 and {SPACE} at β = 0.9",
        f"{SPACE} for 5 rounds, {SPACE} for 20 and {SPACE} for 200",
        r"Fraction of 400 single runs that break some round, $\delta = 0.05$",
        r"$\delta = 10^{-9}$, where one breaking run",
        "at $10^{-9}$ |",
        "The price of $10^{-9}$",
        "noise × 1.5 passes, noise × 2 does not",  # noqa: RUF001 - a product
        r"$\delta = 0.02$",
        "about 15 times what runs show",  # of benchmarks/README.md, see below
    ),
    "lesson_6_certificates": (
        "of the gap to 1 is still valid",
        "the error after 60 rounds",
        "no rate below 1",
        "least eigenvalue is $-10^{-9}$",
    ),
    "lesson_7_fusion_penalties": (
        "add to 0",
        "minimisers around 0 and four",
        r"at most 0.3 apart, $\Delta = 4$, $a = 3.7$",
        r"$4/3.7 \approx",
        "at most $-0.9$",
    ),
    "lesson_8_proof_to_network": (
        "and of norm about 1,",
        "optima of norm about 1 |",
        "bound 1/10 at",
        "the variance 1. The choice",
    ),
    "README.md": (
        "Electronics 12, 1972, 2023",
        "1 − lμ/8L",  # noqa: RUF001 - a minus
        "Python 3.11",
        # what is printed is compared with what is found by a test of the documents; the rest is by hand
        '"at clients = 2, own = 1, momentum = 2/3, start = 1/2, round = 2: 0.21528 > 0.16406 = contraction 0.039062 + '
        'mismatch 0.125"',
        "optima ±1, μ = L = 1, no noise: from e₀ = 1/2 follow e₁ = 1/4, e₂ = −1/24 and e₃ = −31/144, and",  # noqa: RUF001 - a minus
        "exceeds (1 − l/8)|e₂| + l/4 with l = 1/2",  # noqa: RUF001 - a minus
        "L = 10 μ",
        "(exit status 0), broken (1, an",
        "undecidable (3,",
        "of 10⁻⁹",
    ),
    "CONTRIBUTING.md": ("at most 60 lines a theorem", "[recipe 3]", "[recipe 4]", "the sharpness is 1 says"),
    "notes/README.md": ("10⁶ and 10⁹ clients",),
    "notes/your-own.md": ("divided by 255", "from 0 on"),
    "notes/your-own-theorem.md": (
        "step = 1, rounds = 1, the second holds on all 440 instances",  # tested with the commands of the README
        "with exit status 1",
    ),
}
"""By page, the words around numbers that a reader is given: settings, names, what is to be shown."""

CODE = re.compile(r"(?ms)^```.*?^```|`[^`]*`|^ {4}\$? ?clusterproof.*?$|\]\([^)]*\)|<details[^>]*>")
FORMULA = re.compile(r"(?s)\$\$.*?\$\$|\$[^$]*\$")
NAMED = re.compile(
    r"(?m)(?i:lessons?|theorems?|lemma|assumption|corollary|section|line|lines|model|bullet) \d+(?:( and|,) \d+)*"
    r"|^\s*(?:#+ )?(?:\*\*)?\d+\. "
)
NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d(?:[\d ]*\d)?(?:\.\d+)?")
IN_FORMULA = re.compile(r"\d*\.\d+|10\^\{-?\d+\}|10\^\d|\\approx\s*-?\d[\d.]*")


def prose_of(page: str) -> str:
    """The text of a document, or that of a lesson's cells with a mark for what is computed."""
    if page.endswith(".md"):
        return (ROOT / page).read_text(encoding="utf-8")
    tree = ast.parse((ROOT / "notes/lessons" / f"{page}.py").read_text(encoding="utf-8"))
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "mo.md" and len(node.args) == 1:
            (text,) = node.args
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            texts.append("".join(map(_shown, parts)))
    return "\n\n".join(texts)


def _shown(part: ast.expr) -> str:
    """A constant, also one in braces, as it is read."""
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    return str(inner.value) if isinstance(inner, ast.Constant) else SPACE


def unexplained(page: str, given: tuple[str, ...], text: str | None = None) -> tuple[list[str], list[str]]:
    """What is around each number that is neither computed nor given, and what is given for no number."""
    text = prose_of(page) if text is None else text
    silent = [found.span() for pattern in (CODE, NAMED) for found in pattern.finditer(text)]
    formulas = [found.span() for found in FORMULA.finditer(CODE.sub(lambda code: " " * len(code[0]), text))]
    numbers = [found.span() for found in NUMBER.finditer(text) if not _inside(found.span(), formulas)]
    for start, end in formulas:
        numbers += [found.span() for found in IN_FORMULA.finditer(text, start, end)]
    numbers = [span for span in numbers if not _inside(span, silent)]
    words = {phrase: r"\s+".join(map(re.escape, phrase.split())) for phrase in given}
    covers = {phrase: [found.span() for found in re.finditer(words[phrase], text)] for phrase in given}
    stale = [
        phrase for phrase, spans in covers.items() if not any(_inside(number, spans) for number in numbers)
    ]
    explained = [span for spans in covers.values() for span in spans]
    left = [span for span in numbers if not _inside(span, explained)]
    return [" ".join(text[max(0, start - 40) : end + 25].split()) for start, end in left], stale


def _inside(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in others)


def test_every_lesson_and_page_is_looked_at() -> None:
    proofs = {"notes/fpfc-repaired.md", "notes/planning-a-federation.md"}  # below, number by number
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "notes").glob("*.md")}
    assert set(GIVEN) == {*LESSONS, "README.md", "CONTRIBUTING.md", *(pages - proofs)}


@pytest.mark.parametrize("page", GIVEN)
def test_every_number_is_computed_or_given(page: str) -> None:
    assert unexplained(page, GIVEN[page]) == ([], [])


def test_a_finding_that_is_typed_in_is_seen() -> None:
    text = "At rate 0.91 of $10^{-6}$ `5` with $a = \\tfrac12 1.5 \\approx 3$: 12.1 away, by lesson 3, in 66 000 rows"
    found, stale = unexplained("", ("rate 0.91", "twelve"), text)
    assert len(found) == 5
    assert stale == ["twelve"]
    assert _shown(ast.parse("f'{5.4}'", mode="eval").body.values[0]) == "5.4"
    assert _shown(ast.parse("f'{x:.1f}'", mode="eval").body.values[0]) == SPACE


def test_the_tail_of_logistic_runs_is_as_loose_as_the_benchmark_printed() -> None:
    printed = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    (ratio,) = re.findall(r"(?m)^logistic, bounded rows .* ([\d.]+)$", printed)
    assert f"about {ratio} times what runs show (`python -m benchmarks.coverage`)" in " ".join(
        prose_of("lesson_5_vacuous_theorem").split()
    )


def test_what_is_needed_of_fpfcs_bounds_is_what_the_stored_verdicts_say() -> None:
    text = " ".join((ROOT / "notes/fpfc-repaired.md").read_text(encoding="utf-8").split())
    stored = read_verdicts(STORED_VERDICTS)
    models, duals = (stored[f"fpfc/repaired-{name}"]["sharpness"]["all"] for name in ("models", "duals"))
    one_term = stored["fpfc/one-term"]["sharpness"]["all"]
    assert f"A is then reached but for {100 * (1 - one_term):.0f} %" in text
    assert f"reach {models:.3f}".replace("0.", ".") in text
    assert 1 - models < 0.04
    assert "its factor cannot be lowered by 4 %" in text
    assert f"third bound {duals:.2f} is reached".replace("0.", ".") in text
    assert set(re.findall(r"(?<![\d.\w])(\d+ %|\.\d+|\d{3,})", text)) == {
        "4 %",
        "6 %",
        ".966",
        ".40",
        "10000",
    }
    assert (CURVATURE, AUGMENTATION) == (10_000, 5)
    one_in_six = models_of_alike_clients(6, 0.1)
    assert one_in_six.measured / sum(one_in_six.terms.values()) == pytest.approx(models, rel=1e-6)


def test_what_a_federation_sends_is_as_long_as_the_page_says() -> None:
    text = " ".join((ROOT / "notes/planning-a-federation.md").read_text(encoding="utf-8").split())
    dimension, models, many = 10**6, 4, 10**6
    down, up = 8 * models * dimension, 8 * (dimension + 1)
    assert f"sends {down // 10**6} MB to a client and takes {up // 10**6} MB from it" in text
    assert f"10⁶ participants are {many * up // 10**12} TB up a round" in text
    seconds = many * 8 * 8 * dimension / 10e9
    assert (
        f"At 10 Gbit/s that is {seconds / 3600:.1f} hours; 10⁹ are {1000 * seconds / 86400:.0f} days" in text
    )
    assert f"10 000 participants of either number are {10_000 * up // 10**9} GB, a bit over a minute" in text
    assert 60 < 8 * 10_000 * up / 10e9 < 70
    assert text.count(f"{8 * many * dimension // 10**12} TB at m = 10⁶, d = 10⁶") == 1
    assert f"{8 * many**2 // 10**12} TB of distances at m = 10⁶" in text
    assert f"({8 * 10**10 // 10**9} GB for one m \N{MULTIPLICATION SIGN} m matrix of float64)" in text
    assert f"1 / (2 √100 000) = {1 / (2 * 100_000**0.5):.4f}" in text


def test_the_marks_of_fpfcs_pairs_take_two_bytes_each() -> None:
    task = QuadraticMixture.random(clusters=2, clients=12, dimension=1, seed=0)
    algorithm = FPFC(step_size=0.1, threshold=0.5)
    pairs = algorithm.initialise(np.zeros((1, 1)), task).pairs
    marks = sum(getattr(pairs, name).nbytes for name in ("stored", "near")) / task.clients**2
    text = " ".join((ROOT / "notes/planning-a-federation.md").read_text(encoding="utf-8").split())
    assert f"m² of their marks alone are {marks:g} TB at m = 10⁶" in text
