"""The syntax tree of a claim's text: its statements, and the definitions that a statement uses."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from clusterproof.checker.kernel.evaluation import Refused

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign


def name_of(node: Definition) -> str:
    """Return the name that a definition gives to a value."""
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else node.name


class ClaimTree:
    """The tree of a text.

    Parameters
    ----------
    text
        Text of a claim.

    Attributes
    ----------
    statements
        Arguments of each call ``statement(...)``, by the name of the statement.
    """

    def __init__(self, text: str) -> None:
        self.statements: dict[str, list[ast.expr]] = {}
        self._definitions: list[Definition] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                if ast.unparse(node.value.func) == "statement":
                    self.statements[ast.literal_eval(node.value.args[0])] = node.value.args
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign):
                self._definitions.append(node)
            else:
                raise Refused(f"line {node.lineno}: no file for Rocq has {type(node).__name__} yet")

    def used_by(self, statement: str) -> Sequence[Definition]:
        """Return the definitions that a statement uses, directly or not, in the order of the text."""
        by_name = {name_of(node): node for node in self._definitions}
        used = set[str]()
        waiting: list[ast.AST] = list(self.statements[statement])
        while waiting:
            for node in ast.walk(waiting.pop()):
                if isinstance(node, ast.Name) and node.id in by_name and node.id not in used:
                    used.add(node.id)
                    waiting.append(by_name[node.id])
        return [node for name, node in by_name.items() if name in used]


def text_of(node: ast.expr | None) -> str:
    """Return the value of a string in the tree."""
    assert isinstance(node, ast.Constant)
    return str(node.value)


def fields(node: ast.expr) -> Mapping[str, ast.expr]:
    """Return the values of a dictionary with strings as keys."""
    assert isinstance(node, ast.Dict)
    return dict(zip(map(text_of, node.keys), node.values, strict=True))
