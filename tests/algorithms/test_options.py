"""Options of the command line, from parameters that several classes share."""

from clusterproof.algorithms.options import Option, merge_options


def test_options_of_one_flag_have_all_types_and_owners_and_the_usual_description() -> None:
    given = [
        ("step", int, "Rare words.", ("a",)),
        ("rounds", int, "", ()),
        ("step", float, "Usual.", ("b", "c")),
    ]
    given += [("step", int, "Usual.", ("d",)), ("models", int, "Printed.", ("a",))]
    step, rounds, models = merge_options(
        Option("algorithm", flag, flag, kind, text, owners) for flag, kind, text, owners in given
    )
    assert (step.flag, step.annotation, step.help) == ("step", int | float, "Usual.")
    assert step.owners == ("a", "b", "c", "d")
    assert (rounds.flag, rounds.annotation, rounds.help, rounds.owners) == ("rounds", int, "", ())
    assert (models.flag, models.help) == ("models", "Number of the algorithm's models, its `clusters`.")
