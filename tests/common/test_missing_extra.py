"""The extra of a missing library is found in an import error and in its causes."""

from clusterproof.common.validation import missing_extra


def test_the_extra_is_found_in_the_causes() -> None:
    error, missing = ValueError("wrong"), ModuleNotFoundError("none", name="torch.nn")
    error.__cause__ = missing
    assert missing_extra(error) == "neural"


def test_an_error_can_be_its_own_cause() -> None:
    error = ValueError("wrong")
    error.__cause__ = error
    assert missing_extra(error) is None
