"""The oracle: does a run keep to a theorem? Holds, broken, or too little of it to tell."""

from clusterproof.theory.oracle.comparing import (
    Answer,
    Undecidable,
    assert_holds,
    bound,
    compare,
    sensitivity,
)

__all__ = ["Answer", "Undecidable", "assert_holds", "bound", "compare", "sensitivity"]
