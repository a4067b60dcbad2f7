"""A run that breaks off before its first checkpoint leaves its folder as it was."""

from pathlib import Path

import pytest
from small_training import configure

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    LOCK,
    UNFINISHED,
    held_folder,
    new_folder,
    write_configuration,
)


@pytest.mark.parametrize("present", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_only_a_checkpoint_is_kept(tmp_path: Path, present: bool, kept: bool) -> None:
    folder = tmp_path / "far" / "run"
    if present:
        folder.mkdir(parents=True)
        (folder / f"{UNFINISHED}0").mkdir()  # of processes that were killed
        (folder / f"{UNFINISHED}1").write_text("half")
    with pytest.raises(KeyboardInterrupt), new_folder(folder) as made:  # noqa: PT012
        write_configuration(made, configure())
        assert {path.name for path in made.iterdir()} >= {CONFIGURATION}
        assert not list(made.glob(f"{UNFINISHED}*"))
        (made / CHECKPOINTS).mkdir()
        if kept:
            (made / CHECKPOINTS / "checkpoint-000001.json").write_text("{}")
        raise KeyboardInterrupt
    assert folder.is_dir() == (present or kept)
    assert (folder / CONFIGURATION).is_file() == (folder / CHECKPOINTS).is_dir() == kept
    assert kept or not present or not list(folder.iterdir())


def test_a_folder_that_does_not_take_its_lock_is_named_and_let_go(tmp_path: Path) -> None:
    """A folder stands in the place of the lock."""
    write_configuration(tmp_path, configure())
    (tmp_path / LOCK).mkdir()
    with pytest.raises(InvalidArgument) as refusal, held_folder(tmp_path):
        raise AssertionError
    assert (refusal.value.argument, refusal.value.value) == ("out", str(tmp_path))
    (tmp_path / LOCK).rmdir()
    with held_folder(str(tmp_path)) as held:
        assert held == tmp_path
