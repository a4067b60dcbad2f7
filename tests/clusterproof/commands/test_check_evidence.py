"""``check --replay``: true evidence is accepted, and no evidence of another statement, or that was altered."""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command_line import refused

from clusterproof import checker
from clusterproof.checker import REGISTRY, Claim, Verdict
from clusterproof.commands import check_unit
from clusterproof.commands.application import main
from clusterproof.library import library_evidence

FILE = """
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import Function, at_most, choice, claim, functions, integers, rationals, suppose

Step = Annotated[Fraction, rationals(0, 2, 2)]

@claim("mine/certified", evaluations=20)
def certified(step: Step):
    return at_most(step * (2 - step), one=1)

@claim("mine/every-function")
def every_function(f: Annotated[Function, functions(smoothness=1)], rounds: Annotated[int, choice(1, 2)]):
    x = f.start
    for _ in range(rounds):
        x = x - f.gradient(x)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (4 * rounds + 2))

@claim("mine/false", evaluations=20)
def false(step: Step):
    return {"true": at_most(step, two=2), "false": at_most(step, one=1)}

@claim("mine/of-nothing", evaluations=20)
def of_nothing(n: Annotated[int, integers(1, 4)]):
    suppose("there are none", n < 0)
    return at_most(n, nothing=0)

@claim("mine/tried", evaluations=20)
def tried(step: Step):
    return at_most(0.5 * float(step), one=1)
"""
(EVERY_FUNCTION,) = re.findall(r'(?s)@claim\("mine/every-function"\).*?(?=@claim)', FILE)
QUICK = FILE.replace(EVERY_FUNCTION, "")
"""The same without the claim whose search takes seconds."""
WORDS = {
    "mine/certified": "certified",
    "mine/every-function": "certified",
    "mine/false#true": "certified",
    "mine/false#false": "violated",
    "mine/of-nothing": "vacuous",
}


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run a check, require its exit status, and return the lines that it prints."""

    def run(status: int, *words: str) -> list[str]:
        capsys.readouterr()
        assert main(["check", *words]) == status
        output, errors = capsys.readouterr()
        assert errors == ""
        return output.splitlines()

    return run


def said(printed: list[str]) -> dict[str, str]:
    """The word of each record."""
    found = (re.match(r"(\S+/.*?)  ([a-z-]+)  \S+  \d+ bytes", line) for line in printed)
    return {match[1]: match[2] for match in found if match}


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a check of the file writes."""
    folder = tmp_path_factory.mktemp("mine")
    path = folder / "mine.py"
    path.write_text(FILE)
    with patch.dict(REGISTRY, clear=True), patch("os.cpu_count", lambda: 1):
        assert main(["check", str(path), "--evidence", str(folder / "evidence")]) == 0
    return (folder / "evidence" / "mine.json").read_text()


@pytest.fixture
def folder(registry: dict[str, Any], evidence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with mine.py and its evidence."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILE)
    Path("evidence").mkdir()
    Path("evidence/mine.json").write_text(evidence)
    return tmp_path


REPLAY = ("mine.py", "--replay", "--evidence", "evidence")


def test_the_shipped_evidence_of_a_paper_is_accepted(lines: Callable[..., list[str]]) -> None:
    evidence = {
        path.stem: json.loads(path.read_text())["evidence"] for path in library_evidence().glob("*.json")
    }
    stored = {record["claim"] for records in evidence.values() for record in records}
    assert stored <= {each.id for each in checker.catalogue()}
    printed = lines(0, "--paper", "sofl", "--replay")
    assert len(said(printed)) == len(evidence["sofl"]) > 1
    assert "inconclusive" not in said(printed).values()
    claims = {each.id for each in checker.catalogue("sofl")}
    assert printed[-1] == f"without evidence, only searched: {len(claims - stored)} of {len(claims)} claims"


def test_named_claims_and_lines_alone_are_replayed(lines: Callable[..., list[str]]) -> None:
    printed = lines(0, "fedlin/convex#sum", "cfl-mgd/theorem-a", "fedlin/convex#none", "--replay")
    assert list(said(printed)) == ["fedlin/convex#sum"]
    assert printed[-1] == "without evidence, only searched: fedlin/convex#none, cfl-mgd/theorem-a"


def test_the_evidence_of_a_users_file_gives_the_words_that_were_found(
    folder: Path, lines: Callable[..., list[str]]
) -> None:
    printed = lines(0, *REPLAY)
    assert said(printed) == WORDS
    assert printed[-1] == "without evidence, only searched: mine/tried"
    assert "evidence for 5 lines: 3 certified, 1 violated, 1 vacuous" in printed
    assert lines(0, "--replay", "mine/tried")[-1] == "without evidence, only searched: mine/tried"


TEXT = """def small(n):
    return at_most(n, 9)


def key(n):
    return at_most(n, BOUND)


claim("a/b")
statement("", small, {"n": integers(0, 5)}, {}, lines=("",), role="statement")
statement("key", key, {"n": integers(0, 5)}, {}, lines=("",), role="lemma")
"""


@pytest.mark.parametrize(
    ("bound", "proved", "expected"),
    [(9, True, "a/b  certified"), (9, False, "a/b  not decided"), (0, True, "a/b  violated")],
)
def test_a_claim_with_several_lines_has_a_verdict_of_its_own(
    tmp_path: Path, lines: Callable[..., list[str]], bound: int, proved: bool, expected: str
) -> None:
    rule = {"rule": "exhausted"} if bound == 9 else {"rule": "instance", "instance": {"n": 5}}
    evidence = [{"claim": "a/b", "statement": "", "line": "", "rule": "exhausted"}]
    evidence += [{"claim": "a/b", "statement": "key", "line": "", **rule}] if proved else []
    stored = {"texts": {"a/b": TEXT.replace("BOUND", str(bound))}, "evidence": evidence, "verdicts": []}
    (tmp_path / "a.json").write_text(json.dumps(stored))
    printed = lines(0, "--replay", "--evidence", str(tmp_path))
    assert printed[0].startswith(expected)
    assert ("key" in printed[0]) is not proved
    assert "a/b" not in said(printed)  # no row of a line looks like a verdict on the claim


def test_names_that_look_like_others_are_quoted(tmp_path: Path, lines: Callable[..., list[str]]) -> None:
    names = ("a", "\u0430", "a ", "a  certified  exhausted  9 bytes: a/b#c")
    quoted = ", ".join(map(ascii, names))
    text = f"""def f(n):
    return dict((name, at_most(n, 9)) for name in ({quoted}))


claim("a/b")
statement("", f, {{"n": integers(0, 5)}}, {{}}, lines=({quoted}), role="statement")
"""
    evidence = [{"claim": "a/b", "statement": "", "line": name, "rule": "exhausted"} for name in names]
    (tmp_path / "a.json").write_text(
        json.dumps({"texts": {"a/b": text}, "evidence": evidence, "verdicts": []})
    )
    printed = lines(0, "--replay", "--evidence", str(tmp_path))
    assert [line[:6] for line in printed[:5]] == ["a/b  c", "a/b#a ", "'a/b#\\", "'a/b#a", "'a/b#a"]


@pytest.mark.parametrize("content", [b"{" * 100_000, b"[" * 100_000, b"\xff"])
def test_a_damaged_file_of_an_unfinished_search_is_ignored(
    registry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(QUICK)
    Path("evidence").mkdir()
    Path("evidence/unfinished-search.txt").write_bytes(b'{"seeds":[0],"claims":[],"x":' + content)
    assert main(["check", "mine.py", "mine/certified", "--search", "--evidence", "evidence"]) == 0
    assert not Path("evidence/unfinished-search.txt").exists()


def test_a_statement_that_has_changed_is_searched_again(
    folder: Path, lines: Callable[..., list[str]]
) -> None:
    Path("mine.py").write_text(FILE.replace('one=1)\n\n@claim("mine/every', 'one=2)\n\n@claim("mine/every'))
    assert said(lines(0, *REPLAY)) == WORDS  # of the texts that are stored: nothing of the file is read
    printed = lines(0, "mine.py", "mine/certified", "--evidence", "evidence")  # the others' records are kept
    assert "mine/certified was searched again: its statement has changed." in printed
    text = json.loads(Path("evidence/mine.json").read_text())["texts"]["mine/certified"]
    assert "one=2" in text
    assert said(lines(0, *REPLAY)) == WORDS


def test_records_that_are_none_are_one_line(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    path = tmp_path / "mine.json"
    record = '"claim": "mine/false", "statement": "", "line": "", "digest": "0"'
    for text in (
        "",
        "\ud800",
        "{",
        "[]",
        "3",
        '{"evidence": 3}',
        '{"evidence": [3]}',
        f'{{"evidence": [{{{record}}}]}}',
        f'{{"evidence": [{{{record}, "rule": ["instance"]}}]}}',
        f'{{"evidence": [{{{record}, "rule": "instance", "rule": "empty"}}]}}',
        f'{{"evidence": [{{{record}, "rule": "empty", "n": {"9" * 10**5}}}]}}',
        f'{{"evidence": {"[" * 10**5}',
    ):
        path.write_text(text, errors="surrogatepass")
        for words in (["--replay", "--evidence"], ["--evidence"]):
            line = refused(capsys, "check", str(tmp_path / "mine.py"), *words, str(tmp_path))
            assert f"'{path}', but it must " in line


def test_a_check_says_what_its_author_can_change(
    registry: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a claim that is consistent; of random numbers and drawn objects nothing can be changed."""
    monkeypatch.chdir(tmp_path)
    head = (
        "from fractions import Fraction\nfrom typing import Annotated\nfrom clusterproof.theorem import *\n"
    )
    head += "from clusterproof.theorem import Replicates, Stream, drawn, probability\n"
    claims = {
        "tried": "(n: Annotated[int, integers(0, 99)]):\n    return at_most(0.5 * n, bound=50)",
        "false": "(n: Annotated[int, integers(0, 99)]):\n    return at_most(0.5 * n, bound=5)",
        "random": "(stream: Stream, replicates: Replicates):\n"
        "    return probability(stream.uniform(size=replicates) < 0.1, at_most=0.4)",
        "drawn": "(x: Annotated[float, drawn(lambda stream: float(stream.random()), write=float, read=float)]):\n"
        "    return at_most(x, one=1.0)",
    }
    stated = [f'@claim("mine/{name}")\ndef {name}{text}\n' for name, text in claims.items()]
    Path("mine.py").write_text(head + "\n".join(stated))
    assert main(["check", "mine.py"]) == 0
    printed = capsys.readouterr().out.splitlines()
    words = {line.split("  ")[0]: line.split("  ")[1] for line in printed if line.startswith("mine/")}
    assert words == {f"mine/{name}": "violated" if name == "false" else "consistent" for name in claims}
    place = printed.index(next(line for line in printed if line.startswith("mine/tried")))
    assert [line for line in printed if "not certified" in line] == [printed[place + 1]]
    assert printed[place + 1] == (
        "  not certified, because the kernel cannot read it: mine.py, line 7, in tried: "
        "0.5 is a float: write Fraction(1, 2)"
    )


# ---- the cache of a user's claims, and a search that is stopped


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's file, nothing of which is in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "mine.py"
    path.write_text(QUICK)
    with patch.dict(REGISTRY, clear=True), patch("os.cpu_count", lambda: 1):
        yield path


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the claims that are searched; the search of a third one is interrupted."""
    names: list[str] = []
    decide = check_unit.decide

    def count(claim: Claim[..., Any], seed: int) -> Verdict:
        if len(names) == 2:
            names.append("interrupted")
            raise KeyboardInterrupt
        names.append(claim.id)
        return decide(claim, seed)

    monkeypatch.setattr(check_unit, "decide", count)
    return names


def test_a_users_claims_are_searched_once(mine: Path, lines: Any) -> None:
    before = lines(0, str(mine))
    with patch.object(check_unit, "decide", side_effect=AssertionError("searched again")):
        again = lines(0, str(mine))
    assert [each for each in again if "mine/" in each] == [each for each in before if "mine/" in each]
    assert any("checked the evidence for" in each for each in again)
    mine.write_text(QUICK.replace("one=1)", "one=2)", 1))
    assert any(each.startswith("mine/certified was searched again") for each in lines(0, str(mine)))


def test_a_cache_that_cannot_be_written_is_no_error(mine: Path, lines: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    mine.write_text(QUICK.partition('@claim("mine/false"')[0])
    assert any("mine/certified" in each for each in lines(0, str(mine)))


def test_a_search_that_was_stopped_leaves_whole_files_and_goes_on(
    mine: Path, lines: Any, tmp_path: Path, searched: list[str]
) -> None:
    folder = tmp_path / "evidence"
    command = ["check", str(mine), "--search", "--evidence", str(folder)]
    assert main(command) == 130
    first = searched[:2]
    kept = json.loads((folder / "mine.json").read_text())
    assert {each["claim"] for each in kept["verdicts"]} == set(first)
    assert main(command) == 0
    assert set(first) & set(searched[3:]) == set()
    assert len(set(first) | set(searched[3:])) == 4
    del searched[:]
    assert main(command) == 130  # what has ended is searched again
    assert searched[:2] == first
    assert main([*command, "--seeds", "2"]) == 0  # verdicts of other seeds are none of this search
    assert set(first) < set(searched[3:])


@pytest.mark.parametrize("content", ["", "{", '{"seeds": [0], "claims": 5}', '{"seeds": 0, "claims": []}'])
def test_a_damaged_mark_of_a_stopped_search_is_no_mark(
    mine: Path, lines: Any, tmp_path: Path, content: str
) -> None:
    mine.write_text(QUICK.partition('@claim("mine/false"')[0])
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence/unfinished-search.txt").write_text(content)
    printed = lines(0, str(mine), "--search", "--evidence", str(tmp_path / "evidence"))
    assert any("mine/certified" in each for each in printed)


def test_show_prints_the_points_that_a_reader_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a worst case: each point with its gradient, and the bound there, as fractions; and commands that run."""
    path = tmp_path / "descent.py"
    path.write_text(FILE[: FILE.index("Step = ")] + EVERY_FUNCTION.replace("4 * rounds", "8 * rounds"))
    kept = tmp_path / "report.json"
    assert main(["check", str(path), "--json", str(kept)]) == 0
    (record,) = json.loads(kept.read_text())["claims"]
    capsys.readouterr()
    words = ["mine/every-function", str(path)]
    assert main(["show", *words]) == 0
    page = capsys.readouterr().out
    function, rounds = record["counterexample"]["f"], record["counterexample"]["rounds"]
    for x, g, _ in function["triplets"][0]:
        assert f"at ({', '.join(map(str, x))}): gradient ({', '.join(map(str, g))})" in page
    allowed = sum(Fraction(each) ** 2 for each in function["start"]) / (8 * rounds + 2)
    assert f"> {allowed} (bound)" in page
    for more in ("--evidence FOLDER", "--replay --evidence FOLDER"):
        assert f"    clusterproof check {' '.join(words)} {more}\n" in page
        assert main(["check", *words, *more.replace("FOLDER", str(tmp_path / "kept")).split()]) == 0
    assert "mine/every-function  violated  instance" in capsys.readouterr().out
