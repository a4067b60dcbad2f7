"""The page on one's own data, network and algorithm: its example trains, stops and goes on."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import ROOT, refused

from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.neural.checkpoint import stored_configuration
from clusterproof.neural.configuration import configuration_from
from clusterproof.neural.custom import references
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.loading import load
from clusterproof.neural.partitions import partition
from clusterproof.neural.training import assemble, train

PAGE = (ROOT / "docs" / "reference" / "user-supplied-code.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"(?ms)^New file `mine.py`:\n\n```python\n(.*?)^```$", PAGE)[0]
TOML = re.findall(r"(?ms)^```toml\n(.*?)^```$", PAGE)
CODE = {"data": "mine.py:recordings", "network": "mine.py:Filters", "algorithm": "mine.py:SignIFCA"}
CODES = """

def codes():
    half = (np.arange(60).reshape(20, 3), np.arange(20) % 2)
    return {"train": [half, half], "test": [half, half]}


class SignIFCA2(SignIFCA):
    pass


def Pixels(sample_shape, classes):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(int(np.prod(sample_shape)), classes))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(EXAMPLE + CODES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sections(**more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        "data": {"name": "mine.py:recordings"},
        "network": {"name": "mine.py:Filters"},
        "algorithm": {"name": "mine.py:SignIFCA", "step_size": 0.02},
        "training": {"rounds": 6, "threads": 1, "checkpoint_every": 1},
        **more,
    }


def test_participants_of_an_algorithm_without_that_setting_are_those_of_its_step(place: Path) -> None:
    alone = "\n\nclass First(SignIFCA):\n    def step(self, state, task, randomness):\n"
    alone += "        return State(state.models, torch.arange(1), torch.zeros(1, dtype=int))\n"
    (place / "mine.py").write_text(EXAMPLE + alone, encoding="utf-8")
    algorithm, training = {"name": "mine.py:First", "step_size": 0.02}, {"rounds": 2, "threads": 1}
    trained = train(configuration_from(sections(algorithm=algorithm, training=training)), out=place / "run")
    assert trained.metrics["participants"] == [1, 1]


def test_an_algorithm_s_own_default_of_the_step_size_is_kept(place: Path) -> None:
    own = "\n\n@dataclass(frozen=True, kw_only=True)\nclass Quick(SignIFCA):\n    step_size: float = 0.5\n"
    (place / "mine.py").write_text(EXAMPLE + own, encoding="utf-8")
    options = configuration_from(sections(algorithm={"name": "mine.py:Quick"})).algorithm.options
    assert options["step_size"] == 0.5


@pytest.mark.usefixtures("place")
def test_a_network_is_made_for_what_it_sees_of_images() -> None:
    given = {"data": {"name": "digits", "crop": 5}, "network": {"name": "mine.py:Pixels"}}
    network = assemble(configuration_from(given)).task.network
    assert (network.image_shape, network.dimension) == ((1, 5, 5), (25 + 1) * 10)


def test_the_files_of_the_page_say_the_same(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "mine.toml").write_text(TOML[0], encoding="utf-8")
    command = ["train", "--config", "mine.toml", "--out", "run", "--threads", "1", "--rounds", "1"]
    for section, name in CODE.items():  # each is asked for
        remedy = f"Look at the code, then add --{section} {name}"
        assert remedy in refused(capsys, *command)
        assert not (place / "run").exists()
        command += [f"--{section}", name]
    assert main(command) == 0
    found = stored_configuration(place / "run", CODE)
    assert found.network.options == {"width": 8}
    assert found.data.name == f"{place / 'mine.py'}:recordings"
    capsys.readouterr()
    resume = ["train", "--resume", "run", "--rounds", "2"]
    assert "is code" in refused(capsys, *resume)
    assert main([*resume, *command[-6:]]) == 0
    assert "was 'mine.py:SignIFCA' when the run started" in refused(
        capsys, *resume, *command[-6:-2], "--algorithm", "mine.py:SignIFCA2"
    )


BAD: list[tuple[str, dict[str, dict[str, Any]], str]] = [
    ("no such file", {"data": {"name": "yours.py:recordings"}}, "data.name"),
    ("no such name", {"network": {"name": "mine.py:Filter"}}, "network.name"),
    ("no algorithm", {"algorithm": {"name": "mine.py:Filters"}}, "algorithm.name"),
    ("no data", {"data": {"name": "mine.py:CLUSTERS"}}, "data.name"),
    ("an unknown option", {"network": {"name": "mine.py:Filters", "depth": 3}}, "network.depth"),
    (
        "samples that cannot be turned",
        {"partition": {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 2}},
        "data.name",
    ),
    ("no clients", {"data": {"name": "digits"}, "partition": {"name": "given"}}, "partition.name"),
    ("a folder", {"data": {"name": "mine.py:recordings", "data_dir": "here"}}, "data.data_dir"),
    (
        "codes for a network of ours",
        {"data": {"name": "mine.py:codes"}, "network": {"name": "mlp"}},
        "data.name",
    ),
]


@pytest.mark.parametrize(("change", "argument"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_not_of_that_form_is_refused(
    place: Path, change: dict[str, dict[str, Any]], argument: str
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        train(configuration_from(sections(**change)), out=place / "new" / "run")
    assert refusal.value.argument == argument
    assert "\n" not in str(refusal.value)
    assert not (place / "new").exists()


PAIR = (np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1]))
MORE = (PAIR[0], PAIR[1] + 7)


def image_set(samples: Any, labels: Any) -> ImageSet:
    images = Images(samples, labels, 2)
    return ImageSet("", images, images)


DATA: list[tuple[str, Any, str]] = [
    ("a half is missing", {"train": PAIR}, "train"),
    ("a key too many", {"train": PAIR, "test": PAIR, "valid": PAIR}, "'valid'"),
    ("one half divided", {"train": [PAIR, PAIR], "test": PAIR}, "both halves"),
    ("other clients", {"train": [PAIR, PAIR], "test": [PAIR]}, "same clients"),
    ("clusters of no clients", {"train": PAIR, "test": PAIR, "clusters": [0]}, "no clients"),
    ("a gap", {"train": [PAIR, PAIR], "test": [PAIR, PAIR], "clusters": [0, 2]}, "without gaps"),
    ("too few labels", {"train": (PAIR[0], [0, 1]), "test": PAIR}, "as many labels"),
    ("real labels", {"train": (PAIR[0], [0.5] * 4), "test": PAIR}, "integers, at least 0"),
    ("not a number", {"train": (PAIR[0] * np.nan, PAIR[1]), "test": PAIR}, "finite"),
    ("ragged", {"train": ([np.zeros(2), np.zeros(3)], np.array([0, 1])), "test": PAIR}, "one shape"),
    ("other shapes", {"train": PAIR, "test": (PAIR[0][:, :2], PAIR[1])}, "one shape"),
    (
        "too few clusters",
        {"train": [PAIR, PAIR], "test": [PAIR, PAIR], "clusters": [0]},
        "of 2 integers",
    ),
    ("a set, nothing finite", image_set(PAIR[0] * np.nan, PAIR[1]), "finite"),
    ("a set, complex", image_set(PAIR[0] * 1j, PAIR[1]), "real numbers"),
]


@pytest.mark.parametrize(("value", "words"), [case[1:] for case in DATA], ids=[case[0] for case in DATA])
def test_data_of_another_form_are_refused(value: Any, words: str, plant: Any) -> None:
    plant(references, "load_own", lambda *_: value)
    with pytest.raises(InvalidArgument, match=words) as refusal:
        load("some:data")
    assert refusal.value.argument == "data.name"


def test_samples_reach_the_clients_as_they_are(plant: Any) -> None:
    random = np.random.default_rng(3)
    for kind in (np.uint8, np.int32, np.float64):
        clients = [(random.integers(0, 9, (n, 2, 5)).astype(kind), np.arange(n) % 3) for n in (3, 5)]
        value = {"train": clients, "test": clients[::-1], "clusters": [1, 0]}
        plant(references, "load_own", lambda *_, value=value: value)
        made = partition("given", load("some:data"), seed=0)
        assert (made.clusters, made.classes, made.paired) == (2, 3, True)
        for held, given in ((made.train, clients), (made.test, clients[::-1])):
            assert held.pixels.dtype == (np.int64 if kind is np.int32 else kind)
            assert held.labels.tolist() == [1, 0]
            for client, (samples, labels) in enumerate(given):
                rows = held.indices[client, : held.sizes[client]]
                assert np.array_equal(held.pixels[rows], samples)
                assert np.array_equal(held.targets[client, : held.sizes[client]], labels)


def test_floating_numbers_of_other_types_are_read_as_the_same_numbers(plant: Any) -> None:
    exact = np.random.default_rng(4).integers(-99, 99, (4, 3)) / 8  # in all of these types
    for kind in (np.longdouble, np.float64, np.float32, np.float16, ">f8", ">f4"):
        samples, expected = exact.astype(kind), np.float64 if kind is np.longdouble else kind
        half = (samples, PAIR[1])
        for value in ({"train": half, "test": half}, image_set(*half)):
            plant(references, "load_own", lambda *_, value=value: value)
            held = load("some:data").train.pixels
            assert held.dtype == np.dtype(expected).newbyteorder("=")
            assert np.array_equal(torch.from_numpy(held).double().numpy(), exact)


class Items:
    """A data set of PyTorch, as far as it is asked."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> tuple[np.ndarray, int]:
        return PAIR[0][at], int(PAIR[1][at])


ROWS = {"__getitem__": lambda _, at: PAIR[0][at], "__array__": lambda *_, **__: PAIR[0]}
SAMPLES = type("Samples", (), ROWS)()  # of which NumPy makes an array


def test_a_data_set_of_pytorch_is_a_half(plant: Any) -> None:
    found = []
    for half in (Items(), PAIR, (SAMPLES, PAIR[1].tolist())):
        value = {"train": half, "test": half}
        plant(references, "load_own", lambda *_, value=value: lambda: value)
        found.append(load("some:data"))
    assert np.array_equal(found[0].train.pixels, found[1].train.pixels)


def test_clients_of_any_sizes_and_types_are_joined_in_order(plant: Any) -> None:
    """Two data sets or pairs are two clients, black and white is 0 and 1, other integers are codes."""
    read = {}
    for name, halves in {
        "sets": [Items(), Items()],
        "pairs": [PAIR, (PAIR[0][:1], PAIR[1][:1]), PAIR],
        "lists": [(PAIR[0].tolist(), PAIR[1].tolist()), (PAIR[0][:3].tolist(), PAIR[1][:3].tolist())],
        "black and white": (PAIR[0] > PAIR[0].mean(), PAIR[1]),
        "codes": (np.arange(12, dtype=np.int16).reshape(4, 3), PAIR[1]),
    }.items():
        value = {"train": halves, "test": halves}
        if name == "pairs":
            value |= {"clusters": [1, 0, 1], "classes": 5}
        plant(references, "load_own", lambda *_, value=value: value)
        read[name] = load("some:data")
    for value in ({"train": PAIR, "test": MORE}, {"train": MORE, "test": PAIR}):  # the largest label of both
        plant(references, "load_own", lambda *_, value=value: value)
        assert load("some:data").train.classes == load("some:data").test.classes == 9
    assert np.array_equal(read["sets"].train.pixels, np.concatenate([PAIR[0]] * 2))
    owners = read["pairs"].owners
    assert owners is not None
    assert owners.train.tolist() == owners.test.tolist() == [0] * 4 + [1] + [2] * 4
    assert (owners.clusters.tolist(), read["pairs"].train.classes) == ([1, 0, 1], 5)
    plant(references, "load_own", lambda *_: read["pairs"])
    again = load("some:data")
    assert (again.owners, again.test.classes) == (owners, 5)
    assert read["sets"].owners is not None
    assert read["sets"].owners.clusters.tolist() == [0, 0]
    black = read["black and white"].train.pixels
    assert black.dtype == np.float32
    assert np.array_equal(black, PAIR[0] > PAIR[0].mean())
    codes = read["codes"]
    assert (codes.owners, codes.train.pixels.dtype, codes.train.classes) == (None, np.int64, 2)


def test_two_samples_in_lists_are_one_half_and_not_two_clients(plant: Any) -> None:
    half = ([[0.0, 0.5], [1.0, 0.25]], [1, 0])
    plant(references, "load_own", lambda *_: {"train": half, "test": half})
    made = load("some:data")
    assert made.owners is None
    assert (made.train.pixels.tolist(), made.train.labels.tolist()) == half
