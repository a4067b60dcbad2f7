"""A configuration survives its file, and whatever is wrong in one is said in a line with its place."""

import inspect
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import TINY

from clusterproof.algorithms import ALGORITHMS, FPFC, IFCA, InvalidArgument
from clusterproof.neural.networks import NETWORKS as REAL_NETWORKS
from clusterproof.neural.networks import Network
from clusterproof.neural.partitions.by_name import PARTITIONS
from clusterproof.neural.runs.assembly import assemble
from clusterproof.neural.runs.configuration import Configuration, configuration_from, read_toml, to_toml
from clusterproof.neural.runs.options import NETWORKS, SECTIONS, all_options, parameters
from clusterproof.neural.runs.training_settings import TrainingSettings

EXAMPLE = """
# rotated digits
[data]
name = "digits"

[partition]
name = "rotated-groups"
clusters = 2            # true ones
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


def test_an_example_means_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(EXAMPLE)
    found = read_toml(tmp_path / "run.toml")
    assert found.algorithm == IFCA(clusters=3, averaging="model", step_size=1.0, local_steps=4)
    assert isinstance(found.algorithm.step_size, float)
    assert found.partition.options == {"clusters": 2, "clients_per_cluster": 3}
    assert found.network.options == {"hidden": [16, 8]}
    assert found.training == TrainingSettings(rounds=30, step_size_decay=0.99, client_metrics=True)


def test_nothing_at_all_is_a_configuration() -> None:
    found = configuration_from({})
    assert (found.data, found.algorithm.name, found.training) == ("digits", "cfl-mgd", TrainingSettings())


def drawn_value(draw: st.DrawFn, annotation: Any) -> Any:
    text = str(annotation)
    if "Sequence" in text:
        return draw(st.lists(st.integers(1, 300), min_size=0, max_size=3))
    if "bool" in text:
        return draw(st.booleans())
    if "float" in text:
        return draw(st.floats(1e-12, 1.0, exclude_max=True))
    return draw(st.integers(1, 10**20)) if "int" in text else draw(st.text())


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Every section and name, with any parameters that are accepted."""
    sections: dict[str, dict[str, Any]] = {}
    for section, names in SECTIONS.items():
        name = draw(st.sampled_from(list(names))) if names else ""
        sections[section] = {"name": name} if names else {}
        for key, annotation in parameters(section, name).items():
            if draw(st.booleans()):
                sections[section][key] = drawn_value(draw, annotation)
        while True:
            try:
                configuration_from({section: sections[section]})
                break
            except InvalidArgument as error:
                key = error.argument.partition(".")[2]
                sections[section].pop(key if key in sections[section] else list(sections[section])[-1])
    return configuration_from(sections)


@settings(max_examples=examples(40))
@given(configuration=configurations())
def test_it_comes_back_from_its_file(
    tmp_path_factory: pytest.TempPathFactory, configuration: Configuration
) -> None:
    path = tmp_path_factory.mktemp("toml") / "configuration.toml"
    path.write_text(to_toml(configuration), encoding="utf-8")
    assert read_toml(path) == configuration
    assert tomllib.loads(path.read_text(encoding="utf-8")) == configuration.sections
    assert configuration_from(configuration.sections) == configuration


def test_every_algorithms_defaults_are_written_out() -> None:
    for name, kind in ALGORITHMS.items():
        written = tomllib.loads(to_toml(configuration_from({"algorithm": {"name": name}})))["algorithm"]
        values = configuration_from({"algorithm": written}).algorithm
        assert values == configuration_from({"algorithm": {"name": name}}).algorithm
        unset = {field.name for field in fields(kind) if getattr(values, field.name) is None}
        assert set(written) == {"name"} | {field.name for field in fields(kind)} - unset


def test_the_options_are_those_of_what_is_made() -> None:
    assert set(NETWORKS) == set(REAL_NETWORKS)
    for name, kind in REAL_NETWORKS.items():
        own = set(inspect.signature(kind).parameters) - set(inspect.signature(Network).parameters)
        assert set(NETWORKS[name]) == own
    flags = [option.flag for option in all_options()]
    assert len(flags) == len(set(flags))
    assert all(option.help for option in all_options())
    known = {(option.section, option.key) for option in all_options()}
    for name in PARTITIONS:
        assert {("partition", key) for key in parameters("partition", name)} <= known
    for name in ALGORITHMS:
        assert {("algorithm", key) for key in parameters("algorithm", name)} <= known


def refusal(path: Path, text: str) -> InvalidArgument:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument) as caught:
        read_toml(path)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("step_size = 1", "step_sise = 1", ["line 19, [algorithm] step_sise", "nearest is step_size"]),
        ("step_size = 1", "step_size = -1", ["line 19, [algorithm] step_size", "greater than 0"]),
        ("step_size = 1", "step_size = nan", ["line 19, [algorithm] step_size", "finite"]),
        ("step_size = 1", "step_size = '1'", ["line 19, [algorithm] step_size", "Expected float, got text"]),
        ("step_size = 1", "momentum = 0.5", ["[algorithm] momentum", "no parameter of algorithm ifca"]),
        ('"ifca"', '"ifka"', ["line 16, [algorithm] name", "nearest is ifca"]),
        ('"ifca"', "7", ["line 16, [algorithm] name"]),
        ("[network]", "[netwerk]", ["line 11, [netwerk]", "nearest is network"]),
        ("rounds = 30", "rounds = 3.5", ["line 23, [training] rounds", "Expected int, got float"]),
        ("rounds = 30", "rounds = true", ["line 23, [training] rounds", "got bool"]),
        ("rounds = 30", "rounds = -1", ["line 23, [training] rounds", "at least 0"]),
        ("rounds = 30", "threads = 1025", ["line 23, [training] threads", "at most 1024"]),
        ("rounds = 30", "rounds = 1979-05-27", ["line 23, [training] rounds"]),
        ("rounds = 30", "rounds = {a = 1}", ["line 23, [training] rounds", "got table"]),
        ("rounds = 30", "rounds = 30\nrounds = 31", ["Cannot overwrite a value (at line 24"]),
        ("rounds = 30", "rounds =", ["Invalid value (at line 23"]),
        ("hidden = [16, 8]", 'hidden = [16, "8"]', ["line 13, [network] hidden"]),
        ("hidden = [16, 8]", "hidden = 16", ["line 13, [network] hidden", "Expected list"]),
        ("clusters = 3", "clusters = 0", ["line 17, [algorithm] clusters", "at least 1"]),
        ("0.99", "1.01", ["line 24, [training] step_size_decay", "at most 1"]),
        ("client_metrics = true", "client_metrics = 1", ["line 25, [training] client_metrics"]),
        ('"digits"', '"digit"', ["line 4, [data] name", "nearest is digits"]),
        ("[training]", "[training.more]", ["[training] more", "no parameter of training"]),
        ("[training]", "[[training]]", ["[training]", "must be a section"]),
    ],
)
def test_a_mistake_is_named_with_its_line_and_section(
    tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    assert old in EXAMPLE
    message = str(refusal(tmp_path / "run.toml", EXAMPLE.replace(old, new, 1)))
    for part in ["run.toml", *parts]:
        assert part in message


@pytest.mark.parametrize(
    "text", ["training = 3", "name = 'x'", "a.b.c = 1", "[" * 5000, "x = " + "[" * 5000, "x = " + "9" * 5000]
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    refusal(tmp_path / "run.toml", text)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "nothing", "."):
        with pytest.raises(InvalidArgument, match="config = "):
            read_toml(tmp_path / name)


@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_change_of_a_file_leads_to_anything_but_a_configuration_or_one_line(
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
        found = read_toml(path)
    except InvalidArgument as error:
        message = str(error)
    if message:
        assert "\n" not in message
        assert str(path) in message
    else:
        assert configuration_from(found.sections) == found


def test_a_number_is_a_number_however_it_is_written() -> None:
    one = configuration_from({"algorithm": {"name": "fpfc", "step_size": 1, "strength": 2}})
    assert one.algorithm == FPFC(step_size=1.0, strength=2.0)
    assert replace(one, data_dir=None) == one


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
