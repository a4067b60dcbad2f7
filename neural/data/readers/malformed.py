"""How a reader refuses a file."""

from clusterproof.algorithms.validation import InvalidArgument


def malformed(source: str, rule: str) -> InvalidArgument:
    """Make the refusal of a file whose content is not what its format or its data set says.

    Parameters
    ----------
    source
        The file, as the user would look for it.
    rule
        What must hold.
    """
    remedy = "delete it and run `clusterproof data fetch`, or name another folder with --data-dir"
    return InvalidArgument("data_dir", source, rule, remedy)
