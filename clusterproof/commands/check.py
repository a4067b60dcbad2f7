"""The command ``check``: evaluate claims, replay evidence, and compare a stored run with bounds and with its law."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from clusterproof import checker
from clusterproof.checker import Claim, Kind, Verdict
from clusterproof.checker.claims.claim import matching
from clusterproof.checker.freeze import may_be_rewritten
from clusterproof.checker.report import tables as reports
from clusterproof.checker.report.sentences import plural
from clusterproof.checker.report.stored_evidence import require_writable, stored_verdicts
from clusterproof.checker.report.verdict import HOLDS, line_of
from clusterproof.commands import check_child, terminal
from clusterproof.commands.check_page import page
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.common.validation import check_count, check_seed
from clusterproof.user_files import file_of

if TYPE_CHECKING:  # another process searches a file's claims, so this one need not import the search
    from clusterproof.commands.check_evidence import Recorded

MOST_SEEDS = 1024

LANGUAGE = "The kernel, which checks proofs, reads a part of Python: docs/explanation/kernel.md calls it the language."


def _next(given: Sequence[str], files: Sequence[str], shown: Sequence[Verdict]) -> str:
    """Return the commands to suggest after a check of the ``given`` names."""
    names = {verdict.claim.partition("#")[0] for verdict in shown}
    show = f"clusterproof show {names.pop() if len(names) == 1 else 'ID'} {shlex.join(files)}".rstrip()
    check = f"clusterproof check {shlex.join(given)} --verbose"
    commands = {show: "statement and counterexample", check: "numbers and evidence"}
    if files and any(line.evidence for verdict in shown for line in verdict.lines):
        commands[f"clusterproof export {shlex.join(given)} --out FOLDER"] = "what is proved, for a referee"
    width = max(map(len, commands))
    return "\n" + "\n".join(f"{command:{width}}  {shows}" for command, shows in commands.items())


def _require_file(_type: Any, path: Path | None) -> None:
    """Reject an option in the place of a file name. The only file name that may begin with a hyphen is -."""
    if str(path).startswith("-") and path != Path("-"):
        raise ValueError(f"--json requires a file, not {path}")


def check(
    *ids: Annotated[str, Parameter(completer=terminal.claim_ids)],
    all_claims: Annotated[bool, Parameter("--all", negative=())] = False,
    paper: Annotated[str | None, Parameter(completer=terminal.paper_names)] = None,
    seed: terminal.Integer = 0,
    seeds: terminal.Integer = 1,
    json_file: Annotated[
        Path | None, Parameter("--json", allow_leading_hyphen=True, validator=_require_file)
    ] = None,
    evidence: Path | None = None,
    replay: Annotated[bool, Parameter(negative=())] = False,
    trace: Path | None = None,
    fail_on: str | None = None,
    search: Annotated[bool, Parameter(negative=())] = False,
    verbose: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Evaluate the named claims, or the most important claims of the catalogue.

    The stored evidence of the catalogue, or of --evidence, is replayed. Claims without stored evidence, and claims
    whose code has changed, are searched.

    Without ids, the command prints a page: the numbers of verdicts, a sentence about each of the most important claims,
    and the claims that repair them. With ids, it prints the claims that fail, the named claims, and the numbers of
    verdicts.

    Exit status: 0 if every claim has a verdict, 1 if a check failed or a claim has a verdict listed in --fail-on, 2 for
    bad input. With --replay it is 0 if all evidence is accepted, and 1 otherwise. With --trace it is 0 if the run
    satisfies the bounds and has the law of its algorithm, 1 if not, and 3 if the comparison is inconclusive.

    Parameters
    ----------
    ids
        Claims to evaluate: ids, such as cfl-mgd/lemma-2; lines, such as 'cfl-mgd/appendix-a18#(A23)'; patterns in
        quotes, such as 'cfl-mgd/lemma-*'; and papers, such as sofl. You can also name Python files that state claims,
        such as my_paper.py, or folders of them, such as claims/; the files are executed. In a folder, files whose names
        begin with an underscore are ignored. With -, a file is read from standard input. If you also name claims of a
        file, only these claims of the file are evaluated.
    all_claims
        Evaluate every claim, including the lines of proofs. With ids or --paper, also evaluate the claims whose checks
        are slow.
    paper
        Evaluate the claims of this paper.
    seed
        Seed of the checks.
    seeds
        Number of seeds, from --seed on. The verdicts for all seeds are combined.
    json_file
        Write the report as JSON to this file, also while claims are evaluated. With -, the report goes to standard
        output, and all other text to standard error.
    evidence
        Store the verdicts and their evidence in this folder, one file per paper. If the folder has evidence for a
        claim, it is replayed instead of a search. Without this option, the verdicts on a user's file are stored in the
        user's cache.
    replay
        Replay the evidence of the named claims, or of all claims, in exact arithmetic, without a search. The exit
        status is 1 if some evidence proves nothing or belongs to a different version of the code.
    trace
        Compare a run stored by `clusterproof run --out` with the bounds of the named claims and with the law of its
        algorithm. Without names, the comparison uses the tightest bound of its algorithm whose hypotheses hold.
    search
        Search again even if a verdict is stored; a seed other than 0 has the same effect. To continue an interrupted
        search with --evidence, repeat the command.
    fail_on
        Exit with status 1 if a claim has one of these verdicts, such as violated,vacuous. The word floats stands for
        claims that are violated only in floats, without a proof.
    verbose
        Print the whole table of claims, with their numbers and evidence.
    """
    others: dict[str, object] = {"--all": all_claims, "--json": json_file, "--seed": seed}
    others |= {"--seeds": seeds - 1, "--fail-on": fail_on, "--search": search, "--verbose": verbose}
    of_trace = {"--paper": paper, "--evidence": evidence}
    for option, chooses, more in (("replay", replay, {"--trace": trace}), ("trace", trace, of_trace)):
        clash = [name for name, value in (others | more).items() if value]
        if chooses and clash:
            value = True if option == "replay" else str(trace)
            rule = f"cannot be combined with {clash[0]}"
            raise InvalidArgument(option, value, rule, "leave one of the two out")
    output = sys.stdout  # kept, since a user's file may replace sys.stdout
    names, files = terminal.split_names(ids)
    if replay:
        from clusterproof.commands import check_evidence

        return check_evidence.print_replay(*check_evidence.recorded_claims(names, files, paper, evidence))
    if trace is not None:
        return _compare(terminal.ids_and_files(ids)[0], trace)
    check_seed(seed)
    check_count("seeds", seeds, at_least=1, at_most=MOST_SEEDS, remedy="give a number of seeds")
    kinds = frozenset() if fail_on is None else reports.read_kinds(fail_on)
    headlines = not (ids or paper or all_claims)
    on_a_page = headlines and not verbose
    json_printed = json_file == Path("-")
    json_file = None if json_printed else json_file
    terminal.check_outputs(json=json_file, evidence=evidence)
    started = time.perf_counter()
    folder = None if evidence is None else str(evidence)
    order = check_child.Order(names, files, paper, all_claims, seed, seeds, folder, search)
    said = check_child.answers(order) if files else _answers(order, headlines=headlines)
    known: list[Verdict] = []
    shown: list[Verdict] = []
    failures: list[str] = []
    heard = Heard()
    interrupted = False
    chosen = _begun(said)
    width, longest = terminal.columns(), max(map(len, chosen), default=0)
    with contextlib.redirect_stdout(sys.stderr if json_printed else output):
        if verbose and chosen:
            terminal.show(reports.heading(longest))
        with terminal.progress(len(chosen), lines=True) as advance:
            advance(0, chosen[0] if chosen else "")
            for index, answer in _until_interrupted(_in_order(heard.answers(said))):
                if answer is None:
                    interrupted = True
                    break
                advance(index + 1, chosen[index + 1] if index + 1 < len(chosen) else "")
                if isinstance(answer, str):
                    failures.append(f"{chosen[index]}: the check failed: {answer}")
                    continue
                known.append(answer)
                if json_file is not None:
                    report = reports.to_json(reports.report(known, seed, heard.sources))
                    write_whole("json", json_file, report.encode())
                lines = [name.partition("#")[2] for name in names if name.startswith(f"{answer.claim}#")]
                named = [line_of(answer, line) for line in lines]
                shown += named or [answer]
                for one in [] if on_a_page else named or [answer]:
                    if verbose:
                        terminal.show(reports.row(one, longest, width))
                    elif one.verdict not in HOLDS or one.claim in (*names, *heard.stated):
                        terminal.show(reports.sentence(one, width))
                    else:
                        continue
                    if heard.remarks.get(index):
                        print(reports.wrap(f"  {heard.remarks[index]}", width, "  "))
                    sys.stdout.flush()  # Ctrl-C in a call of compiled code may end this process at once
        if interrupted and not (known or failures):
            raise KeyboardInterrupt
        faults = [f"{one.claim}: {one.word}, which --fail-on names" for one in shown if one.word in kinds]
        left = 0 if interrupted else len(chosen) - len(known) - len(failures)
        if left:
            faults.append(f"no verdict on {plural('further claim', left)}: a claim raised KeyboardInterrupt")
        for fault in [*failures, *faults]:
            terminal.print_error(fault)
        if on_a_page:
            stored = [each for each in stored_verdicts() if each.claim not in chosen]
            print(*page(known, stored, width, heard.sentences), sep="\n")
        else:
            if shown:
                print("", *reports.count_table(shown, width), sep="\n")
            used = seed if seeds == 1 else f"{seed} to {seed + seeds - 1}"
            seconds = time.perf_counter() - started
            print(reports.summary(shown, len(failures), used, seconds, width))
            for meaning in reports.legend(shown):
                print(reports.wrap(meaning, width))
            if any(heard.remarks.values()):
                print(reports.wrap(LANGUAGE, width))
            for sentence in heard.sentences:
                print(reports.wrap(sentence, width))
            given = [*ids, *(["--paper", paper] if paper else []), *(["--all"] if all_claims else [])]
            if shown:  # claims whose check fails have nothing to show
                own = [name for name in ids if name.endswith((".py", "/")) or name == terminal.STANDARD_INPUT]
                print(_next(given, own, shown))
    if json_printed:
        print(reports.to_json(reports.report(known, seed, heard.sources)), end="", file=output)
    if interrupted:
        terminal.print_remark(
            f"interrupted; {len(chosen) - len(known)} of {len(chosen)} claims have no verdict"
        )
        return 130
    return 1 if failures or faults else 0


@dataclass
class Heard:
    """Results of a check, in addition to the verdicts.

    Attributes
    ----------
    stated, sources
        Claims of the user's files, and the contents of these files; None for the catalogue.
    remarks
        Remarks, indexed by the index of a claim.
    sentences
        Sentences about replayed evidence and about repeated searches.
    """

    stated: list[str] = field(default_factory=list)
    sources: dict[str, Any] | None = None
    remarks: dict[int, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)

    def answers(self, said: Iterator[tuple[str, Any]]) -> Iterator[tuple[int, Verdict | str]]:
        """Yield the verdicts and failures, indexed by the index of their claim."""
        for kind, content in said:
            if kind == "verdict":
                index, verdict, self.remarks[index] = content
                yield index, verdict
            elif kind == "failure":
                yield content
            elif kind == "stated":
                self.stated += content
            elif kind == "sources":
                self.sources = content
            else:
                self.sentences += content


def _begun(said: Iterator[tuple[str, Any]]) -> list[str]:
    """Return the ids of the checked claims, which the first message contains."""
    kind, content = next(said, ("chosen", []))
    assert kind == "chosen"
    return list(content)


def _answers(order: check_child.Order, *, headlines: bool) -> Iterator[tuple[str, Any]]:
    """Yield the same messages as ``check_child.answers`` for claims of the catalogue, without a child process."""
    if headlines:
        chosen = [claim for claim in checker.catalogue() if claim.headline]
    else:
        chosen = chosen_of(order.ids, order.paper, [], order.all_claims)
    folder = None if order.evidence is None else Path(order.evidence)
    if folder is not None:
        require_writable({each.paper for each in chosen}, folder)
    seeds = range(order.seed, order.seed + order.seeds)
    from clusterproof.commands.check_evidence import Recorded

    recorded = Recorded(folder, seeds, search=order.search)
    yield "chosen", [claim.id for claim in chosen]
    for index, answer in evaluated(chosen, [], seeds, recorded):
        yield ("failure", (index, answer)) if isinstance(answer, str) else ("verdict", (index, answer, ""))
    recorded.end()
    yield "said", [*_left_out(order, chosen, headlines=headlines), *recorded.sentences()]


def _left_out(order: check_child.Order, chosen: Sequence[Claim[..., Any]], *, headlines: bool) -> list[str]:
    """Return the requested claims that are not checked because their checks are slow."""
    every = [] if headlines else chosen_of(order.ids, order.paper, [], all_claims=True)
    slow = [each.id for each in every if each not in chosen]
    return [f"Left out, because the check takes long: {', '.join(slow)}. Add --all."] if slow else []


def _until_interrupted(
    answers: Iterator[tuple[int, Verdict | str]],
) -> Iterator[tuple[int, Verdict | str | None]]:
    """Yield answers, and None after Ctrl-C, so that the answers until then are printed."""
    try:
        yield from answers
    except KeyboardInterrupt:
        yield 0, None


def _in_order(answers: Iterator[tuple[int, Verdict | str]]) -> Iterator[tuple[int, Verdict | str]]:
    """Yield answers in the order of the claims, each as soon as all answers before it are known."""
    waiting: dict[int, Verdict | str] = {}
    following = itertools.count()
    place = next(following)
    for index, answer in answers:
        waiting[index] = answer
        while place in waiting:
            yield place, waiting.pop(place)
            place = next(following)


def chosen_of(
    names: Sequence[str], paper: str | None, stated: Sequence[Sequence[str]], all_claims: bool
) -> list[Claim[..., Any]]:
    """Return the requested claims.

    Without --all, claims with slow checks are included only if their full id is given.

    Parameters
    ----------
    names
        Ids and patterns.
    paper, all_claims
        See ``check``.
    stated
        Ids of the claims of each file. If ``names`` contains some of them, only these are requested, otherwise all.
    """
    own = [checker.find_claim(name) for names_of_file in stated for name in names_of_file]
    candidates = checker.catalogue(paper) if names or paper or not stated else own
    chosen: dict[str, Claim[..., Any]] = {}
    for name in names:
        found = [claim for claim in matching(name) if claim in candidates]
        if not found:
            raise InvalidArgument("id", name, f"must be a claim of {paper}", "leave out --paper")
        evaluated = [
            claim for claim in found if claim.quick or all_claims or claim.id == name.partition("#")[0]
        ]
        if not evaluated:
            raise InvalidArgument("id", name, "matches claims that take long only", "add --all")
        chosen |= {claim.id: claim for claim in evaluated}
    whole = [own for own in stated if not chosen.keys() & set(own)]
    requested = [checker.find_claim(name) for own in whole for name in own]
    if not (names or stated):
        requested = candidates
    chosen |= {claim.id: claim for claim in requested if claim in candidates and (claim.quick or all_claims)}
    return list(chosen.values())


def evaluated(
    chosen: Sequence[Claim[..., Any]], files: Sequence[str], seeds: range, recorded: Recorded
) -> Iterator[tuple[int, Verdict | str]]:
    """Yield the index of each claim with its verdict or error. Replayed claims come first, then searched ones."""
    from clusterproof.commands.check_unit import evaluate

    left = dict(enumerate(chosen))
    for index, verdict in recorded.verdicts(chosen):
        del left[index]
        recorded.keep(verdict)
        yield index, verdict
    places = list(left)
    for place, answer in evaluate(list(left.values()), files, seeds):
        if isinstance(answer, Verdict) and not answer.interrupted:
            recorded.keep(answer)
        yield places[place], answer


def remark(verdict: Verdict) -> str:
    """Return the reason why a consistent claim of a user's file is not certified, if the author can change this."""
    own = verdict.paper != "falsify" and file_of(checker.find_claim(verdict.claim).module) is not None
    if not own or verdict.verdict is not Kind.CONSISTENT or not may_be_rewritten(verdict.outside):
        return ""
    return f"not certified, because the kernel cannot read it: {verdict.outside}"


def _compare(ids: Sequence[str], folder: Path) -> int:
    """Compare a stored run with the bounds of claims."""
    claims = [checker.find_claim(name).id for name in dict.fromkeys(ids)]
    from clusterproof.running.storage import load_trace  # other checks need no runs
    from clusterproof.synthetic import from_settings
    from clusterproof.theory.runs.bound import sharpest_bounds
    from clusterproof.theory.runs.bound_checks import compare_with_law

    trace = load_trace(folder)
    task = from_settings(trace.settings["task"])
    if not claims:
        claims = [claim for claim, *_ in sharpest_bounds(task, trace)]
        for claim in claims:
            print(f"the sharpest bound whose hypotheses hold is that of {claim}")
    with np.errstate(all="ignore"):
        answers = compare_with_law(claims, task, trace)
        for claim, answer in answers.items():
            slack = [f"slack {answer.slack:.3g}"] if answer.slack < np.inf else []
            print(f"{claim}  {answer.kind}  {'; '.join([answer.sentence, *slack])}")
    kinds = {answer.kind for answer in answers.values()}
    return 1 if kinds & {"broken", "other law"} else 3 if "inconclusive" in kinds else 0
