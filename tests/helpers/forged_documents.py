"""Certificates with another claim than was proved, which only the arithmetic can refuse."""

from clusterproof.checker.claims.in_language import statement_of
from clusterproof.theory.certificates import Document
from clusterproof.theory.certificates.document import stated


def with_source(document: Document, source: str) -> Document:
    """The evidence beside another source, whose digests it is given."""
    with stated(source) as claims:
        digests = {claim.id: statement_of(claim.statements[0]).digest for claim in claims}
    evidence = [{**each, "digest": digests[each["claim"]]} for each in document.evidence]
    return Document(source, evidence)


def with_number(document: Document, name: str, number: object) -> Document:
    """The evidence beside a source with another value of a constant."""
    lines = document.source.splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(lines) if line.startswith(f"{name} = "))
    lines[place] = f"{name} = {number!r}\n"
    return with_source(document, "".join(lines))
