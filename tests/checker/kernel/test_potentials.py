"""Forged potentials: an invariant is looked at, and the loops are those of the statement all the same."""

import pytest

from clusterproof.checker import kernel

TEXTS = {
    "the invariant writes into a list that the step reads": """
def f(n):
    box = [0]
    def step(x):
        return x + box[0]
    def invariant(x, k):
        box[0] = 1
        return x <= 0
    return at_most(iterate(step, 0, n, invariant=invariant), 0)
""",
    "the invariant appends to its state": """
def f(n):
    def step(x):
        return [0]
    def invariant(x, k):
        x.append(0)
        return len(x) <= 1
    return at_most(len(iterate(step, [0], n, invariant=invariant)), 1)
""",
    "the path has no line": """
def f(n):
    x = iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1)
    return {} if n > 1 else at_most(x, 1)
""",
    "the path has another line": """
def f(n):
    x = iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1)
    return {"other": at_most(x, 99)} if n > 1 else at_most(x, 1)
""",
    "the loop is one of an invariant": """
def f(n):
    def invariant(x, k):
        return iterate(lambda y: y + 1, 0, n, invariant=lambda y, k: y <= 0) >= 0
    return at_most(iterate(lambda x: x, 0, n, invariant=invariant), 0)
""",
}
TRUE = """
def f(n):
    return at_most(iterate(lambda x: x + 1, 0, n, invariant=lambda x, k: x <= 1), 9)
"""


def judged(function: str, n: int = 2) -> kernel.Judgement:
    """Judge by an instance of the potential, and by all instances of the line."""
    end = "claim('p/one')\nstatement('', f, {'n': integers(0, 3)}, {}, lines=('',), role='statement')\n"
    record = {"statement": "", "line": "potential", "rule": "potential", "instance": {"n": n}}
    records = [record, {"statement": "", "line": "", "rule": "exhausted"}]
    return kernel.judge(f"{function.strip()}\n\n\n{end}", records)


@pytest.mark.parametrize("name", TEXTS)
def test_a_forged_potential_is_refused(name: str) -> None:
    assert ("", "potential") not in judged(TEXTS[name]).lines


def test_a_false_potential_is_violated_at_its_round_only_and_accuses_no_theorem() -> None:
    """n <= 9 of n up to 3 is true, whatever its proof says."""
    both = {("", ""): kernel.Word.CERTIFIED, ("", "potential"): kernel.Word.VIOLATED}
    assert (judged(TRUE).word, judged(TRUE).lines) == (kernel.Word.CERTIFIED, both)
    assert ("", "potential") not in judged(TRUE, 1).lines
