"""Certificates with another claim than was proved, which only the arithmetic can refuse."""

from clusterproof.theory.certificates import Document


def with_source(document: Document, source: str) -> Document:
    """The evidence beside another source."""
    return Document(source, document.evidence)


def with_number(document: Document, name: str, number: object) -> Document:
    """The evidence beside a source with another value of a constant."""
    lines = document.source.splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(lines) if line.startswith(f"{name} = "))
    lines[place] = f"{name} = {number!r}\n"
    return with_source(document, "".join(lines))
