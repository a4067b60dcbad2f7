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


def word(function: str, n: int = 2) -> kernel.Word:
    end = "claim('p/one')\nstatement('', f, {'n': integers(0, 3)}, {}, lines=('',), role='statement')\n"
    record = {"statement": "", "line": "potential", "rule": "potential", "instance": {"n": n}}
    return kernel.judge(f"{function.strip()}\n\n\n{end}", [record]).word


@pytest.mark.parametrize("name", TEXTS)
def test_a_forged_potential_is_refused(name: str) -> None:
    assert word(TEXTS[name]) is kernel.Word.OPEN


def test_a_false_potential_is_violated_at_its_round_only() -> None:
    assert word(TRUE) is kernel.Word.VIOLATED
    assert word(TRUE, 1) is kernel.Word.OPEN
