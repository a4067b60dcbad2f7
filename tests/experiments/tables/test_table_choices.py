"""What can be chosen in the papers' tables: which runs each choice reaches."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from made_tables import table

from clusterproof.experiments.choices import Choice, Value
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit

pytestmark = pytest.mark.usefixtures("without_data")


NAMES = (
    "cfl-mgd/table-2-cifar10",
    "cfl-mgd/table-2-mnist",
    "fpfc/figure-1",
    "fpfc/table-1",
    "gradient-loss/iterations",
    "gradient-loss/mnist-cnn",
    "gradient-loss/mnist-mlp",
    "sofl/table-2",
    "sofl/table-3-mnist",
    "sofl/table-4-cifar10",
)
"""One of each kind; the others differ in their data or network."""


def identities(units: list[Unit]) -> dict[tuple[str, int], str]:
    """What tells stored units apart, as it is written into files."""
    return {
        (unit.method, unit.seed): json.dumps(dict(unit.settings), sort_keys=True)
        for unit in sorted(units, key=lambda unit: unit.name)
    }


def another(choice: Choice) -> Value:
    """Return a valid value that is not the default."""
    default = choice.default
    if isinstance(default, tuple) and all(isinstance(width, int) for width in default):
        return tuple(int(width) + 3 for width in default) or (17,)
    if isinstance(default, str):
        words = choice.kind.words.removeprefix("one of ").split(", ")
        return next(word for word in words if word != default)
    for text in ("0.125", "20", "2", "0.5", "1.5", "0.125,0.75"):
        try:
            value = choice.kind.read(text)
        except ValueError:
            continue
        if value != default:
            return value
    raise AssertionError(choice.name)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_what_is_taken_without_a_choice(name: str) -> None:
    """Nothing that is stored is lost by saying what is the default anyway."""
    definition = table(name)
    for scale in ("full", "small"):
        plain = identities(definition.units(Request(2, None, scale)))
        for choice in definition.choices:
            if choice.only_full and scale == "small":
                continue
            given = {choice.name: choice.default_at(scale)}
            assert identities(definition.units(Request(2, None, scale, given))) == plain, choice.name
        every = {
            choice.name: choice.default_at(scale) for choice in definition.choices if not choice.only_full
        }
        assert identities(definition.units(Request(2, None, scale, every))) == plain


def always(unit: str) -> bool:
    return True


def of(*words: str) -> Callable[[str], bool]:
    return lambda unit: any(word in unit for word in words)


def but(*words: str) -> Callable[[str], bool]:
    return lambda unit: not any(word in unit for word in words)


KEYS = {
    "step-size": {"step_size", "inner_step_size"},
    "hidden-mlp": {"hidden"},
    "hidden-cnn": {"hidden"},
    "fedbcd-penalty": {"proximal"},
    "momentum": {"momentum", "step_size"},
    "step-size-decay": {"decay"},
    "clustering-round": {"pretraining", "warm_up", "rounds"},
    "map-start": {"initialisation"},
    "cfl-thresholds": {"mean_threshold", "client_threshold"},
    "ifca-restarts": {"restarts"},
    "ifca-least-share": {"least_share"},
    "cfl-noise-ratio": {"noise_ratio"},
    "network": {"name"},
}
"""Where in the settings of a unit a choice may be seen; all others under their names, with underscores."""

REACHED: dict[tuple[str, str], Callable[[str], bool]] = {
    ("cfl-mgd", "local-steps"): but("H = 3"),
    ("cfl-mgd", "momentum"): of("CFL-MGD", "momentum", "effective"),
    ("cfl-mgd", "fedbcd-penalty"): of("FedBCD"),
    ("cfl-mgd", "least-share"): of("IFCA", "CFL-MGD"),
    ("cfl-mgd", "restarts"): of("IFCA", "CFL-MGD"),
    ("sofl/table-3", "ifca-least-share"): of("IFCA"),
    ("sofl/table-3", "cfl-noise-ratio"): of("CFL"),
    ("sofl/table-3", "grid"): of("SoFL"),
    ("sofl/table-3", "map-start"): of("SoFL"),
    ("sofl/table-3", "cfl-thresholds"): of("CFL, thresholds"),
    ("sofl/table-3", "weighting"): but("IFCA"),
    ("sofl/table-3", "ifca-restarts"): of("IFCA"),
    ("sofl/table-3", "clustering-round"): of("SoFL", "CFL"),
    ("gradient-loss", "ifca-restarts"): of("apart, IFCA"),
    ("gradient-loss", "hidden-mlp"): of("MLP"),
    ("gradient-loss", "hidden-cnn"): of("CNN"),
    ("gradient-loss", "channels"): of("CNN"),
    ("fpfc/figure-1", "strength"): lambda unit: "FPFC" in unit and "lambda" not in unit,
    ("fpfc/table-1", "step-size"): but("oracle", "data"),
    ("fpfc/table-1", "local-steps"): but("oracle", "data", "cfl", "ifca, published"),
    ("fpfc/table-1", "participation"): but("oracle", "data", "local"),
    ("fpfc/table-1", "augmentation"): of("fpfc"),
}
"""Which units, by the beginning of the table's id and the choice; all of them where nothing is said."""


def reached(name: str, choice: str) -> Callable[[str], bool]:
    kind = "sofl/table-3" if name.startswith(("sofl/table-4", "sofl/table-5")) else name
    for (family, chosen), which in REACHED.items():
        if kind.startswith(family) and chosen == choice:
            return which
    return always


def leaves(settings: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        below = leaves(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
        found |= below
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_reaches_the_runs_that_depend_on_it_and_no_other_setting(name: str) -> None:
    definition = table(name)
    assert definition.choices
    plain = definition.units(Request(2))
    for choice in definition.choices:
        value = another(choice)
        units = definition.units(Request(2, choices={choice.name: value}))
        which = reached(name, choice.name)
        keys = KEYS.get(choice.name, {choice.name.replace("-", "_")})
        changed = 0
        for before, after in paired(plain, units):
            own, chosen = leaves(before.settings), leaves(after.settings)
            differ = {key for key in own.keys() | chosen.keys() if own.get(key) != chosen.get(key)}
            assert bool(differ) == which(before.name), (choice.name, before.name)
            assert {key.rpartition(".")[2] for key in differ} <= keys, (choice.name, before.name)
            changed += bool(differ)
            if differ:
                shown = [chosen[key] for key in sorted(differ, reverse=True) if key in chosen]
                assert shown in as_stored(choice.name, value), (choice.name, before.name)
        assert changed or choice.default is None, choice.name
        assert set(identities(units).values()) != set(identities(plain).values()), choice.name


def paired(plain: list[Unit], units: list[Unit]) -> list[tuple[Unit, Unit]]:
    """The same runs without and with a choice: by their order, in which names may say what is chosen."""
    if len(plain) == len(units):
        return list(zip(plain, units, strict=True))
    names = {unit.name: unit for unit in units}  # there are more
    return [(unit, names[unit.name]) for unit in plain]


def as_stored(name: str, value: Value) -> list[list[Any]]:
    """How a value may be found in the settings of a unit, by key from the last."""
    if name == "cfl-thresholds":
        assert isinstance(value, tuple)
        return [list(value)]
    if name == "share":  # the rows of the other reading change places
        return [["full"], ["split"]]
    if name == "momentum":  # of the control at eta / (1 - beta) the step size
        assert isinstance(value, float)
        return [[value], [0.1 * (1 / (1 - value))]]
    if value == "yes":
        return [[True]]
    stored = list(value) if isinstance(value, tuple) else value
    return [[stored], [stored, stored]]
