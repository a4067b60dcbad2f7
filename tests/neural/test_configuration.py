"""A configuration comes back from its JSON, and whatever is wrong in one is one sentence that names the place."""

import inspect
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_training import TINY
from tiers import examples

from clusterproof.algorithms import ALGORITHMS, FPFC, IFCA
from clusterproof.common import InvalidArgument
from clusterproof.neural.configuration import (
    NETWORKS,
    SECTIONS,
    Training,
    configuration_from,
    parameters,
    places,
    read_configuration_file,
    sections_from,
    with_code,
)
from clusterproof.neural.networks import NETWORKS as REAL_NETWORKS
from clusterproof.neural.networks import Network
from clusterproof.neural.partitions import PARTITIONS
from clusterproof.neural.training import assemble

EXAMPLE = """
[data]
name = "digits"

[partition]
name = "rotated-groups"
clusters = 2
clients_per_cluster = 3

[network]
name = "mlp"
hidden = [16, 8]

[algorithm]
name = "ifca"
clusters = 3
averaging = "model"
step_size = 1
local_steps = 4

[training]
rounds = 30
step_size_decay = 0.99
client_metrics = true
"""
CODE = """
from dataclasses import dataclass, field
from clusterproof.algorithms import FedAvg

@dataclass(frozen=True, kw_only=True)
class Own(FedAvg):
    name = "own"
    rates: tuple[float, ...] = (1.0, 0.5)
    sub: dict = field(default_factory=dict)
    made: float = field(init=False, default=2.0)

@dataclass(frozen=True, kw_only=True)
class Unbounded(Own):
    farthest: float = float("inf")
"""


def test_an_example_means_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(EXAMPLE)
    found = configuration_from(read_configuration_file(tmp_path / "run.toml"))
    algorithm = found.make_algorithm()
    assert algorithm == IFCA(clusters=3, averaging="model", step_size=1.0, local_steps=4)
    assert isinstance(algorithm.settings["step_size"], float)
    assert found.partition.options == {"clusters": 2, "clients_per_cluster": 3}
    assert found.network.options == {"hidden": [16, 8]}
    assert found.training == Training(rounds=30, step_size_decay=0.99, client_metrics=True)
    (tmp_path / "run.json").write_text(json.dumps(found.sections))
    assert configuration_from(read_configuration_file(tmp_path / "run.json")) == found


def test_nothing_at_all_is_a_configuration() -> None:
    found = configuration_from({})
    assert (found.data.name, found.algorithm.name, found.training) == ("digits", "cfl-mgd", Training())
    # those of CFL-MGD's experiments on MNIST
    assert (found.algorithm.options["step_size"], found.algorithm.options["momentum"]) == (0.1, 0.9)
    assert configuration_from({"algorithm": {"name": "fpfc", "step_size": 1}}).make_algorithm() == FPFC(
        step_size=1.0
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_parameter_of_an_algorithm_is_written_out(name: str) -> None:
    found = configuration_from({"algorithm": {"name": name}})
    values = {key: value for key, value in vars(found.make_algorithm()).items() if value is not None}
    assert set(found.sections["algorithm"]) == {"name", *values}


def test_the_options_are_those_of_what_is_made() -> None:
    assert set(NETWORKS) == set(REAL_NETWORKS)
    for name, kind in REAL_NETWORKS.items():
        own = set(inspect.signature(kind).parameters) - set(inspect.signature(Network).parameters)
        assert set(NETWORKS[name]) == own


def test_an_option_belongs_to_one_section_whatever_is_combined() -> None:
    for partition in PARTITIONS:
        for algorithm in ALGORITHMS:
            names = {"partition": partition, "network": "cnn", "algorithm": algorithm}
            keys = [
                (section, key) for section in SECTIONS for key in parameters(section, names.get(section, ""))
            ]
            flags = Counter("models" if pair == ("algorithm", "clusters") else pair[1] for pair in keys)
            assert max(flags.values()) == 1
            assert {pair for pair in places(names).values() if pair[1] != "name"} == set(keys)


def test_flat_options_are_sorted_into_sections() -> None:
    flat = {"algorithm": "ifca", "models": 3, "clusters": 2, "rounds": 5, "hidden": [4]}
    assert sections_from(flat) == {
        "data": {},
        "partition": {"clusters": 2},
        "network": {"hidden": [4]},
        "algorithm": {"name": "ifca", "clusters": 3},
        "training": {"rounds": 5},
    }
    with pytest.raises(InvalidArgument, match="Write step_size"):
        sections_from({"algorithm": "ifca", "step_sise": 3})


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("step_size = 1", "step_sise = 1", ["algorithm.step_sise", "Write step_size"]),
        ("step_size = 1", "step_size = -1", ["algorithm.step_size is -1", "greater than 0"]),
        ("step_size = 1", "step_size = nan", ["algorithm.step_size", "finite"]),
        ("step_size = 1", "step_size = '1'", ["algorithm.step_size", "Expected float, got text"]),
        ("step_size = 1", "momentum = 0.5", ["algorithm.momentum", "is not a setting", "averaging"]),
        ('"ifca"', '"ifka"', ["algorithm.name is 'ifka'", "Write ifca"]),
        ("[network]", "[netwerk]", ["netwerk", "Write network"]),
        ("rounds = 30", "rounds = 3.5", ["training.rounds is 3.5", "Expected int, got float"]),
        ("rounds = 30", "threads = 1025", ["training.threads", "at most 1024"]),
        ("rounds = 30", "rounds = 30\nrounds = 31", ["Cannot overwrite a value (at line 23"]),
        ("hidden = [16, 8]", 'hidden = [16, "8"]', ["network.hidden"]),
        ("clusters = 3", "clusters = 0", ["algorithm.clusters", "at least 1"]),
        ("0.99", "1.01", ["training.step_size_decay", "at most 1"]),
        ("[training]", "[[training]]", ["training", "Expected table, got list"]),
        ("rounds = 30", "rounds = 1" + "0" * 20_000, ["must be a TOML file", "integer string conversion"]),
        ("rounds = 30", "rounds" + ".a" * 20_000 + " = 1", ["must be a TOML file", "levels deep"]),
        ("rounds = 30", "rounds = " + "[" * 20_000, ["must be a TOML file", "levels deep"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(
    tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    assert old in EXAMPLE
    (tmp_path / "run.toml").write_text(EXAMPLE.replace(old, new, 1))
    with pytest.raises(InvalidArgument) as caught:
        configuration_from(read_configuration_file(tmp_path / "run.toml"))
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    for part in parts:
        assert part in message


@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_change_of_a_file_leads_to_anything_but_a_configuration_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("toml") / "run.toml"
    content = bytearray(EXAMPLE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 6))
        content[place : place + length] = data.draw(
            st.binary(max_size=5) | st.text(max_size=4).map(str.encode)
        )
    path.write_bytes(content)
    message = ""
    try:
        found = configuration_from(with_code(read_configuration_file(path), {}))
    except InvalidArgument as error:
        message = str(error)
    assert "\n" not in message
    assert message or configuration_from(found.sections) == found


def test_parameters_of_user_supplied_code_are_stored_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE)
    given = {"name": "own.py:Own", "rates": [1, 2], "sub": {"on": True}, "step_size": 0.5}
    found = configuration_from({"algorithm": given})
    algorithm: Any = found.make_algorithm()
    assert (algorithm.rates, algorithm.sub, algorithm.made) == ((1.0, 2.0), {"on": True}, 2.0)
    assert configuration_from(json.loads(json.dumps(found.sections))) == found
    with pytest.raises(
        InvalidArgument, match=r"algorithm.farthest .* must consist of strings, finite numbers"
    ):
        configuration_from({"algorithm": {"name": "own.py:Unbounded", "step_size": 0.5}})
    sections = {"algorithm": given}
    with pytest.raises(
        InvalidArgument, match=r"a file alone may not request this\. .* --algorithm own\.py:Own"
    ):
        with_code(sections, {})
    assert with_code(sections, {"algorithm": "own.py:Unbounded"})["algorithm"]["name"] == "own.py:Unbounded"


@pytest.mark.parametrize(
    ("section", "options", "argument", "words"),
    [
        ("data", {"crop": 9}, "data.crop", "at most 8"),
        ("partition", {"clusters": 3}, "partition.clusters", "1, 2 or 4"),
        ("network", {"name": "cnn", "hidden": [4]}, "network.image_shape", "too small"),
        ("algorithm", {"clusters": 9}, "algorithm.clusters", "number of clients"),
        ("training", {"device": "tpu"}, "training.device", "one of"),
    ],
)
def test_what_does_not_fit_together_is_named(section: str, options: Any, argument: str, words: str) -> None:
    values: dict[str, Any] = {**TINY, "algorithm": {"name": "ifca"}, "data": {"name": "digits"}}
    values[section] = {**values[section], **options}
    with pytest.raises(InvalidArgument, match=words) as refusal:
        assemble(configuration_from(values))
    assert refusal.value.argument == argument
