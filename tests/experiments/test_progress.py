"""Words on how far a computation is, and when they are due."""

import pytest

from clusterproof.experiments.progress import Progress, RoundLines, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (89.0, "89 s"),
        (90.0, "2 min"),
        (5399.0, "90 min"),
        (5400.0, "1.5 h"),
        (36000.0, "10.0 h"),
    ],
)
def test_a_time_is_in_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_line_is_due_at_each_tenth_and_each_minute_but_not_within_ten_seconds() -> None:
    now = [0.0]
    progress = Progress(100, 0, 100.0, lambda: now[0])

    def due(seconds: float, units: int) -> bool:
        now[0] += seconds
        for _ in range(units):
            progress.add(1.0, failed=False)
        return progress.due

    assert not due(9.0, 10)  # a tenth, too soon
    assert due(2.0, 0)
    assert not due(50.0, 1)  # no tenth
    assert due(10.0, 1)  # a minute since
    assert not due(59.0, 1)
    progress.add(1.0, failed=True)
    # 130 seconds for 14 of 100
    assert progress.text == "13 of 100 done, 1 failed, 13 min left"
    for _ in range(6):
        progress.add(1.0, failed=True)
    assert due(0.0, 0)  # two tenths have ended


def test_a_line_every_interval_has_round_words_and_the_time_left() -> None:
    now = [0.0]
    lines = RoundLines(100, 30.0, lambda: now[0])

    def at(seconds: float, done: int) -> str | None:
        now[0] = seconds
        return lines.line(done, "accuracy 0.5")

    assert at(0, 0) is None
    assert at(29.9, 1) is None
    assert at(32, 8) == "round 8 of 100, accuracy 0.5, 6 min left"  # 4 s a round
    assert at(61, 15) is None
    assert at(62, 16) == "round 16 of 100, accuracy 0.5, 5 min left"  # 3.875 s
    assert at(350, 100) == "round 100 of 100, accuracy 0.5"


def test_the_rounds_before_a_resumption_took_no_time() -> None:
    now = [0.0]
    lines = RoundLines(100, 10.0, lambda: now[0])
    now[0] = 5.0
    assert lines.line(91, "") is None
    now[0] = 10.0
    assert lines.line(92, "accuracy 0.5") == "round 92 of 100, accuracy 0.5, 40 s left"
