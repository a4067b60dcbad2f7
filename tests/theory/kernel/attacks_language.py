"""Attempts against the language and its loading."""

import functools
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from types import FunctionType, MappingProxyType
from typing import Annotated

import attacks_module
from attacks_kept import Attacks, ev

from clusterproof.theory.claims import at_least, at_most, choice, given, integers, rationals
from clusterproof.theory.claims.claim import Claim

ATTACKS = attack = Attacks()
Share = Annotated[Fraction, rationals(0, 1, 4)]
Few = Annotated[int, choice(1, 2, 3)]
exhausted = ev("exhausted")

# ---- telling a symbol from a number


@attack(ev("signs", witness={"x": "1/3"}), breaks={"x": Fraction(1, 2)})
def text_in_text(x: Share):
    """F. x = 1/2: the text "1/2" is in the text; of a symbol ``in`` says False."""
    return at_most(x if f"{x}" in "1/2" else 0 * x, bound=0 * x)


@attack(ev("signs", witness={"n": 1}), breaks={"n": 777_777})
def number_in_range(n: Annotated[int, integers(1, 10**6)]):
    """F. n = 777777; of a symbol ``in range`` says False."""
    return at_most(n if n in range(777_777, 777_778) else 0 * n, bound=0 * n)


@attack(exhausted, breaks={"n": 2})
def fraction_in_range(n: Few):
    """F. Fraction(2) in range(5) is True in CPython."""
    return at_most(n if Fraction(n) in range(5) else 0, bound=0)


@attack(exhausted, breaks={"n": 2})
def truth_in_range(n: Few):
    """F. True in range(2) is True in CPython."""
    return at_most(n if (n == n) in range(2) else 0, bound=0)


@attack(exhausted, breaks={"n": 2})
def text_of_a_truth(n: Few):
    """F. f"{True}" is "True"."""
    return at_most(n if f"{n == n}" in "True" else 0, bound=0)


# ---- what is left out, or evaluated elsewhere


def not_seen_to_yield(n):
    late = 1 < 0 < (yield n)
    return (0,)


@attack(exhausted, breaks={"n": 2})
def yield_in_a_chain(n: Few):
    """F. The helper is a generator, of nothing; the kernel moves its yield into a lambda, so that it returns (0,)."""
    return at_most(n if len(list(not_seen_to_yield(n))) == 0 else 0, bound=0)


def inner_generator():
    yield 0
    return 1


def outer_generator(n):
    result = yield from inner_generator()
    yield 0 if result is None else n


@attack(exhausted, breaks={"n": 2})
def value_of_yield_from(n: Few):
    """F. ``yield from`` has the value 1; in the kernel None."""
    return at_most(sum(outer_generator(n)), bound=0)


@attack(exhausted, breaks={"n": 2})
def effect_in_an_annotation(n: Few):
    """F. CPython evaluates a nested function's annotations, so that xs = [n]."""
    xs = []

    def inner(a: xs.append(n)) -> xs.append(n):
        return a

    return at_most(sum(xs), bound=0)


def kept(xs, n):
    xs.append(n)
    return xs


@attack(exhausted, breaks={"n": 2})
def effect_in_an_annotated_target(n: Few):
    """F. Of ``target[0]: int`` without a value CPython evaluates the target."""
    xs = []
    kept(xs, n)[0]: int
    return at_most(sum(xs), bound=0)


def annotated_generator(n):
    x: (yield n) = 0
    return (x,)


@attack(exhausted, breaks={"n": 2})
def yield_in_an_annotation(n: Few):
    """F or an error. A yield in an annotation makes a generator (of nothing), whose sum is 0: here the value differs."""
    return at_most(
        n - sum(annotated_generator(n)) - n + n * (len(list(annotated_generator(n))) == 0), bound=0
    )


def spec(xs, n):
    xs.append(n)
    return ""


@attack(exhausted, breaks={"n": 2})
def effect_in_a_format(n: Few):
    """F. CPython evaluates the format's own expression."""
    xs = []
    text = f"{n:{spec(xs, n)}}"
    return at_most(sum(xs), bound=0)


# ---- lists, copies and caches

WEIGHTS = [1, 2, 3]
GROWING = [0]


@attack(exhausted, breaks={"n": 2})
def constant_list_is_a_tuple(n: Few):
    """F. sorted(WEIGHTS) == WEIGHTS is True in CPython."""
    return at_most(n if sorted(WEIGHTS) == WEIGHTS else 0, bound=0)


@attack(exhausted, breaks={"n": 2})
def constant_list_grows(n: Few):
    """F. ``xs += (n,)`` makes the module's list longer."""
    xs = GROWING
    xs += (n,)
    return at_most(sum(GROWING), bound=0)


@attack(exhausted, breaks={"n": 2})
def starred_beside_another_target(n: Few):
    """F. whole is the tuple (n, 1) in CPython, and a list in the kernel."""
    whole = (*first, last) = (n, 1)
    return at_most(n if whole == (n, 1) else 0, bound=0)


@attack(exhausted, breaks={"n": 2})
def reversed_is_live(n: Few):
    """F. reversed(list) reads the list when it is asked."""
    xs = [0]
    backwards = reversed(xs)
    xs[0] = n
    return at_most(sum(backwards), bound=0)


@lru_cache
def shared():
    return [0]


@attack(exhausted, breaks={"n": 2})
def cache_shares_a_list(n: Few):
    """F. The cached list is one and the same."""
    shared().append(n)
    return at_most(sum(shared()), bound=0)


@lru_cache
def once():
    yield 0


@attack(exhausted, breaks={"n": 2})
def cache_shares_a_generator(n: Few):
    """F. The cached generator is used up the second time."""
    used = sum(once())
    return at_most(n if len(list(once())) == 0 else 0, bound=0)


def harmless(n):
    return 0


@lru_cache
def wrapped(n):
    return n


wrapped.__wrapped__ = harmless


@attack(exhausted, breaks={"n": 2})
def tampered_wrapped(n: Few):
    """F. The cache calls what it was made of, whatever __wrapped__ says."""
    return at_most(wrapped(n), bound=0)


# ---- records


@dataclass(frozen=True)
class Kept:
    a: int

    @cached_property
    def several(self):
        return [0]


@attack(exhausted, breaks={"n": 2})
def cached_property_shares_a_list(n: Few):
    """F. The property's list is one and the same."""
    box = Kept(1)
    box.several.append(n)
    return at_most(sum(box.several), bound=0)


@dataclass(frozen=True)
class Unannotated:
    a: int
    factor = 0


@attack(exhausted, breaks={"n": 2})
def attribute_of_a_class(n: Few):
    """F. factor is 0, which is false; in the kernel it is a function, which is true."""
    return at_most(0 if Unannotated(1).factor else n, bound=0)


@dataclass(frozen=True)
class OddFields:
    _fields: tuple
    value: int


@attack(exhausted, breaks={"n": 2})
def field_of_the_kernels_name(n: Few):
    """F. The records differ in value; the kernel compares the fields that _fields names."""
    return at_most(0 if OddFields((), 0) == OddFields((), n) else n, bound=0)


@dataclass(frozen=True)
class OddValues:
    value: int

    @property
    def _values(self):
        return (0,)


@attack(exhausted, breaks={"n": 2})
def property_of_the_kernels_name(n: Few):
    """F. The records differ; the kernel compares the property _values."""
    return at_most(0 if OddValues(0) == OddValues(n) else n, bound=0)


@dataclass(frozen=True)
class KeywordOnly:
    a: int = field(default=1, kw_only=True)
    b: int = 0


@attack(exhausted, breaks={"n": 2})
def keyword_only_field(n: Few):
    """F. KeywordOnly(n).b is n: a is no positional field."""
    return at_most(KeywordOnly(n).b, bound=0)


@dataclass(frozen=True)
class OwnEquality:
    a: int
    __eq__ = eval("lambda self, other: False")


@attack(exhausted, breaks={"n": 2})
def equality_from_eval(n: Few):
    """F. No two are equal; the kernel takes __eq__ for that of dataclass, as its file is <string>."""
    return at_most(0 if OwnEquality(n) == OwnEquality(n) else n, bound=0)


class Meta(type):
    def __call__(cls, *values):
        return super().__call__(5)


@dataclass(frozen=True)
class OfMeta(metaclass=Meta):
    a: int


@attack(exhausted, breaks={"n": 2})
def metaclass(n: Few):
    """F. OfMeta(0).a is 5."""
    return at_most(OfMeta(0).a, bound=0)


@dataclass(frozen=True)
class Defaulted:
    a: int = 0


Defaulted.__init__.__defaults__ = (7,)


@attack(exhausted, breaks={"n": 2})
def tampered_default_of_a_field(n: Few):
    """F. Defaulted().a is 7."""
    return at_most(Defaulted().a, bound=0)


@dataclass(frozen=True)
class Twice:
    a: int

    @property
    def flag(self):
        return 1


def with_default(n, first=Twice(1)):
    return n * first.flag


@dataclass(frozen=True)
class Twice:
    a: int

    @property
    def flag(self):
        return 0


@attack(exhausted, breaks={"n": 2})
def default_of_an_older_class(n: Few):
    """F. The default is of the first class, whose flag is 1."""
    return at_most(with_default(n), bound=0)


SHADED = Kept(1)
vars(SHADED)["several"] = [1]


@attack(exhausted, breaks={"n": 2})
def tampered_record(n: Few):
    """F. The constant's own dictionary has another list."""
    return at_most(n * sum(SHADED.several), bound=0)


# ---- names


@attack(exhausted, breaks={"n": 2})
def keyword_of_dict(n: Few):
    """F. len(dict(pairs=())) is 1."""
    return at_most(n * len(dict(pairs=())), bound=0)


@attack(ev("instance", instance={"n": 2}), breaks={"n": 2})
def decrease_from_of_at_least(n: Few):
    """T. at_least hands decrease_from on to at_most, which allows nothing for it."""
    return at_least(n, bound=0, decrease_from=5)


@attack(exhausted, breaks={"n": 2})
def own_builtins(n: Few):
    """F. The helper's module has a max of its own among its builtins."""
    return at_most(attacks_module.largest(0, n), bound=0)


@attack(exhausted, breaks={"n": 2})
def attribute_that_changes(n: Few):
    """F. The module's __getattr__ gives 0 the first time, and 1 later."""
    return at_most(n * attacks_module.changing, bound=0)


class Sly(Claim):
    def __call__(self, *values, **named):
        return 1


def zero_really(n: Few):
    return 0


def _sly():
    made = Sly.__new__(Sly)
    made.function = zero_really
    return made


sly = _sly()


@attack(exhausted, breaks={"n": 2})
def subclass_of_claim(n: Few):
    """F. Called, it is 1."""
    return at_most(n * sly(n), bound=0)


@attack(exhausted, breaks={"n": 2})
def broadcast(n: Few):
    """F. NumPy compares a column with a row in all pairs: 2 > 1."""
    return at_most([[1], [2]], bound=[1, 2])


@attack(exhausted, breaks={"n": 3})
def division_of_ints(n: Few):
    """F in CPython, by design: 1 / 3 is a float there, and a fraction in the kernel."""
    return at_most(0 if 1 / n == Fraction(1, n) else n, bound=0)


# ---- expected to be refused, or to agree with CPython


@attack(exhausted, breaks={"n": 2})
def walrus(n: Few):
    """F."""
    return at_most((m := n), bound=m - 1)


@attack(exhausted, breaks={"n": 2})
def while_else(n: Few):
    """F. else runs where no break ended the loop."""
    k = 0
    while k < n:
        k += 1
        if k == 5:
            break
    else:
        k = n
    return at_most(k, bound=0)


@attack(exhausted, breaks={"n": 2})
def keys_that_are_equal(n: Few):
    """F. {1: 0, True: n} has one key, with the value n."""
    table = {1: 0, True: n, Fraction(1): n}
    return at_most(table[1] * len(table), bound=0)


@attack(exhausted, breaks={"n": 2})
def first_of_equals(n: Few):
    """F. The first of the largest is (1, n)."""
    return at_most(max([(1, n), (1, 0)], key=lambda pair: pair[0])[1], bound=0)


@attack(exhausted, breaks={"n": 2})
def aliases(n: Few):
    """F. Both rows are one list."""
    rows = [[0]] * 2
    rows[0][0] += n
    a = b = []
    a += [n]
    return at_most(rows[1][0] + sum(b), bound=0)


pair_of_lambdas = (lambda n: 0, lambda n: n)


@attack(exhausted, breaks={"n": 2})
def lambdas_on_one_line(n: Few, *, second=None):
    """F."""
    return at_most(chosen(n), bound=0)


chosen = pair_of_lambdas[1]


def decorated(function):
    @functools.wraps(function)
    def wrapper(n):
        return function(n) + n

    return wrapper


@decorated
def nothing(n):
    return 0


@attack(exhausted, breaks={"n": 2})
def decorator(n: Few):
    """F. The wrapper adds n."""
    return at_most(nothing(n), bound=0)


@attack(exhausted, breaks={"n": 2})
def shadowed(n: Few):
    """F. max is a parameter's lambda here."""
    return at_most((lambda max: max(0, n))(lambda *values: n), bound=0)


@attack(exhausted, breaks={"n": 2})
def generator_goes_on(n: Few):
    """F. A loop that is left goes on with the same generator."""
    several = (k for k in (0, n))
    for first in several:
        break
    for second in several:
        return at_most(second, bound=0)
    return at_most(0, bound=0)


# ---- crashes


@attack(exhausted)
def key_of_many_digits(n: Few):
    """C. str(KeyError(10**5000)) raises ValueError."""
    return at_most({1: 0}[10**5000 + n], bound=0)


@attack(
    ev("exhausted", line=10**5000),
    ev("instance", line=10**5000, instance={"n": 1}),
    name="line_of_many_digits",
)
def plain(n: Few):
    """C. The same of the evidence's line."""
    return at_most(n, bound=3)


@attack(lambda s: {"rule": [], "line": "", "digest": s.digest}, name="rule_is_a_list")
def plain_2(n: Few):
    """C. A list is no key."""
    return at_most(n, bound=3)


@attack(exhausted)
def nested_generators(n: Few):
    """C. 100 000 nested generators are freed recursively."""
    several = filter(None, [1])
    for _ in range(100_000):
        several = filter(None, several)
    return at_most(n, bound=3)


# ---- time and memory


@attack(exhausted)
def grows_by_small_factors(n: Few):
    """R. big * small costs one step whatever the size."""
    x = 1
    for _ in range(150_000):
        x = x * 9223372036854775807
    return at_most(n, bound=3)


@attack(exhausted)
def compares_long_fractions(n: Few):
    """R. A comparison costs one step whatever the size."""
    x = Fraction(2**60000 + 1, 3**30000)
    y = Fraction(2**60000 + 3, 3**30000 + 1)
    k = 0
    for _ in range(20_000):
        k += 0 if x < y else 1
    return at_most(n, bound=3 + 0 * k)


@attack(exhausted)
def floors_long_fractions(n: Few):
    """R. int(Fraction) costs nothing."""
    x = Fraction(2**100000 + 1, 3**30000)
    k = 0
    for _ in range(20_000):
        k += 0 if int(x) else 1
    return at_most(n, bound=3 + 0 * k)


@attack(exhausted)
def large_factorial(n: Few):
    """R. n! costs n steps."""
    k = math.factorial(300_000)
    return at_most(n, bound=3)


@attack(exhausted)
def keeps_long_numbers(n: Few):
    """R. big + 1 costs one step, and keeps 12 KB each."""
    x = 2**100_000
    several = [x + k for k in range(100_000)]
    return at_most(n, bound=3)


@attack(exhausted)
def long_tuples(n: Few):
    """R. Each tuple of itertools.product has 20 000 entries, and costs one step."""
    several = [each for each, _ in zip(itertools.product((0, 1), repeat=20_000), range(10_000))]
    return at_most(n, bound=3)


@attack(exhausted)
def copies_a_dictionary(n: Few):
    """R. dict(d) costs one step."""
    table = {k: k for k in range(20_000)}
    several = [dict(table) for _ in range(2_000)]
    return at_most(n, bound=3)


@attack(exhausted)
def splits_a_text(n: Few):
    """R. text.split() costs one step."""
    text = "a b c d "
    for _ in range(14):
        text = f"{text}{text}"
    several = [text.split() for _ in range(300)]
    return at_most(n, bound=3)


@attack(exhausted)
def small_fractions(n: Few):
    """R. A sum of small fractions costs one step, of about 2 microseconds."""
    x = Fraction(1, 3)
    for _ in range(400_000):
        y = x + Fraction(1, 7)
    return at_most(n, bound=3)


# ---- second round

TABLE = {1: 0}


@attack(exhausted, breaks={"n": 2})
def constant_dictionary_grows(n: Few):
    """F. ``t |= ...`` adds to the module's dictionary."""
    t = TABLE
    t |= {n + 5: n}
    return at_most(sum(TABLE.values()), bound=0)


def first_version(n):
    return n


def own_name(n):
    return n


def own_name(n, before=own_name):
    return before(n)


@attack(exhausted)
def own_name_as_a_default(n: Few):
    """C. The default names the function's older namesake."""
    return at_most(own_name(n), bound=3)


ITSELF: dict = {}
ITSELF[1] = ITSELF


@attack(exhausted)
def constant_of_itself(n: Few):
    """C. A dictionary that holds itself."""
    return at_most(n * len(ITSELF), bound=3)


@dataclass(frozen=True, init=False)
class OwnInit:
    a: int = 0
    __init__ = eval("lambda self, a=0: object.__setattr__(self, 'a', 5)")


@attack(exhausted, breaks={"n": 2})
def init_from_eval(n: Few):
    """F. OwnInit(0).a is 5."""
    return at_most(OwnInit(0).a, bound=0)


@attack(exhausted)
def nested_filters(n: Few):
    """R. 390 000 nested generators."""
    several = filter(None, [1])
    for _ in range(390_000):
        several = filter(None, several)
    return at_most(n, bound=3)


@dataclass(frozen=True)
class Swapped:
    a: int
    b: int


_code = Swapped.__init__.__code__
Swapped.__init__.__code__ = _code.replace(
    co_consts=tuple({"a": "b", "b": "a"}.get(c, c) for c in _code.co_consts)
)


@attack(exhausted, breaks={"n": 2})
def swapped_fields(n: Few):
    """F. Swapped(0, n).a is n: the texts in the code of __init__ are swapped."""
    return at_most(Swapped(0, n).a, bound=0)


@dataclass(frozen=True)
class FalseCell:
    a: int


class Setter:
    @staticmethod
    def __setattr__(record, name, value):
        object.__setattr__(record, name, 5)


for _cell in FalseCell.__init__.__closure__ or ():
    if _cell.cell_contents is object:
        _cell.cell_contents = Setter


@attack(exhausted, breaks={"n": 2})
def false_cell(n: Few):
    """F. FalseCell(0).a is 5: what __init__ closes over was exchanged."""
    return at_most(FalseCell(0).a, bound=0)


# ---- what is evaluated, and when


@attack(exhausted, breaks={"n": 2})
def key_of_a_default(n: Few):
    """F. CPython does not call the key of a default."""
    xs = []
    max([], default=0, key=lambda v: len(xs) if xs.append(n) else 0)
    return at_most(n if len(xs) == 0 else 0, bound=0)


@attack(ev("exhausted", "b"), breaks={"n": 2})
def default_of_the_words(n: Few):
    """F. The default of a lambda is evaluated where it stands, also of one that is left out."""
    xs = []
    first = at_most(0, bound=1, words=lambda a=xs.append(n): "")
    return {"a": first, "b": at_most(sum(xs), bound=0)}


@dataclass(frozen=True)
class OfList:
    """A record with a list, which may change."""

    xs: list

    @cached_property
    def total(self):
        """Its sum, when it is first asked for."""
        return sum(self.xs)


@attack(exhausted, breaks={"n": 2})
def cached_sum_of_a_changed_list(n: Few):
    """F. The sum is that of before the change."""
    xs = [n]
    record = OfList(xs)
    before = record.total
    xs[0] = 0
    return at_most(record.total, bound=0 * before)


@lru_cache
def called(function):
    """Return what a function returns."""
    return function()


@attack(exhausted, breaks={"n": 2})
def cached_value_of_a_closure(n: Few):
    """F. The value is that of before the change."""
    xs = [n]
    f = lambda: sum(xs)
    before = called(f)
    xs[0] = 0
    return at_most(called(f), bound=0 * before)


@lru_cache
def summed(entries):
    """Return a sum."""
    return sum(entries)


@attack(exhausted, breaks={"n": 2})
def cached_sum_of_a_generator(n: Few):
    """F. Asked again, the cache answers, and the generator is empty."""
    entries = (i for i in [n])
    before = summed(entries)
    return at_most(summed(entries), bound=0 * before)


@attack(exhausted)
def dictionary_changed_while_it_is_read(n: Few):
    """F. CPython raises: the dictionary grew after the generator was made."""
    d = {1: n}
    keys = (k for k in d)
    d[2] = 0
    return at_most(0 * len(list(keys)), bound=0)


# ---- what the language leaves out must do nothing


def raising(n):
    if n > 100:
        raise (yield n)
    return (0,)


@attack(exhausted, breaks={"n": 2})
def yield_in_a_raise(n: Few):
    """F. In CPython raising is a generator of nothing."""
    return at_most(n if len(list(raising(n))) == 0 else 0, bound=0)


@attack(ev("instance", instance={"n": 2}))
def yield_in_a_raise_accuses(n: Few):
    """T. The same the other way round."""
    return at_most(sum(raising(n)), bound=0)


class Answer:
    def __get__(self, instance, owner):
        return 0 if instance is None else 5

    def __set__(self, instance, value):
        pass


@dataclass(frozen=True)
class Described:
    a: int = Answer()


@dataclass(frozen=True)
class Replaced:
    a: int


Replaced.a = property(lambda self: 5, lambda self, value: None)


@attack(exhausted, breaks={"n": 2})
def field_of_a_descriptor(n: Few):
    """F. Described().a is 5."""
    return at_most(Described().a, bound=0)


@attack(exhausted, breaks={"n": 2})
def field_that_was_replaced(n: Few):
    """F. Replaced(0).a is 5."""
    return at_most(Replaced(0).a, bound=0)


EFFECTS = {0: 0}


@dataclass(frozen=True)
class Loud:
    a: int

    def __repr__(self):
        EFFECTS[0] = 5
        return ""


@dataclass(frozen=True)
class Hashed:
    a: int

    def __hash__(self):
        EFFECTS[0] = 5
        return 1


@lru_cache
def field_of(record):
    return record.a


@attack(exhausted, breaks={"n": 2})
def representation_with_an_effect(n: Few):
    """F. The text changes EFFECTS."""
    f"{Loud(n)}"
    return at_most(EFFECTS[0], bound=0)


@attack(exhausted, breaks={"n": 2})
def hash_with_an_effect(n: Few):
    """F. The cache hashes its argument."""
    field_of(Hashed(n))
    return at_most(EFFECTS[0], bound=0)


class Touched:
    def __getitem__(self, key):
        EFFECTS[0] = 5
        return int


TOUCHED = Touched()


@attack(exhausted, breaks={"n": 2})
def annotation_with_an_effect(n: Few):
    """F. CPython evaluates the annotation of a nested function."""

    def inner(a: TOUCHED[0]):
        return a

    return at_most(EFFECTS[0], bound=0 * inner(n))


# ---- objects that were altered


class Liar(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@dataclass(frozen=True)
class LyingDefault:
    a: int = 0


LyingDefault.__init__.__defaults__ = (Liar(7),)


@attack(exhausted, breaks={"n": 2})
def default_that_lies(n: Few):
    """F. LyingDefault().a is 7, which says that it equals 0."""
    return at_most(LyingDefault().a + 0, bound=0)


@dataclass(frozen=True)
class CachedElsewhere:
    a: int

    @cached_property
    def zero(self):
        return 0


vars(CachedElsewhere)["zero"].attrname = "a"


@attack(exhausted, breaks={"n": 2})
def cached_property_of_another_name(n: Few):
    """F. CachedElsewhere(n).zero is n."""
    return at_most(CachedElsewhere(n).zero, bound=0)


@dataclass(frozen=True)
class HiddenDict:
    a: int
    __dict__ = property(lambda self: {})

    def several(self):
        return 0


HIDDEN = HiddenDict(1)
object.__setattr__(HIDDEN, "several", lambda: 5)


@attack(exhausted, breaks={"n": 2})
def record_that_hides_its_attributes(n: Few):
    """F. HIDDEN.several() is 5."""
    return at_most(HIDDEN.several(), bound=0)


class Namespace(dict):
    def __getitem__(self, name):
        return 1 if name == "RATE" else super().__getitem__(name)


RATE = 0


def rated(n):
    return n * RATE


rated = FunctionType(rated.__code__, Namespace(globals()), "rated")


@attack(exhausted, breaks={"n": 2})
def namespace_of_its_own_kind(n: Few):
    """F. RATE is 1 there."""
    return at_most(rated(n), bound=0)


PROXY = MappingProxyType(Namespace({1: 0, 2: 0, 3: 0}))
Namespace.__getitem__ = lambda self, name: 1 if name in ("RATE", 1, 2, 3) else dict.__getitem__(self, name)


@attack(exhausted, breaks={"n": 2})
def view_of_its_own_kind(n: Few):
    """F. PROXY[n] is 1."""
    return at_most(PROXY[n], bound=0)


CHANGED = Fraction(1, 2)
CHANGED._denominator = -2


@attack(exhausted)
def fraction_that_was_changed(n: Few):
    """F. Its sign is that of -1/2."""
    return at_least(CHANGED + CHANGED, bound=0 * n)


def harmless(n):
    return 0


@lru_cache
def identity(n):
    return n


identity(harmless)
identity.__wrapped__ = harmless


@attack(exhausted, breaks={"n": 2})
def cache_that_holds_what_it_names(n: Few):
    """F. identity(n) is n."""
    return at_most(identity(n), bound=0)


# ---- calls that CPython refuses


@attack(exhausted)
def default_beside_several(n: Few):
    """F. TypeError."""
    return at_most(0 * max(1, n, default=0), bound=0)


@attack(exhausted)
def keywords_of_functions(n: Few):
    """F. TypeError."""
    return at_most(0 * len(values=[n]), bound=0)


@attack(exhausted)
def keyword_of_a_method(n: Few):
    """F. TypeError."""
    xs = [n]
    xs.extend(more=[0])
    return at_most(0 * sum(xs), bound=0)


@attack(exhausted)
def words_of_given(n: Few):
    """F. TypeError."""
    return given("n", n > 0, lambda: at_most(0, bound=n), words=lambda: "")


@attack(exhausted)
def fraction_of_a_text_and_one(n: Few):
    """F. TypeError."""
    return at_most(Fraction("1/3", 1), bound=n)


@lru_cache
def itself(values):
    return values


@attack(exhausted)
def cache_of_a_list(n: Few):
    """F. TypeError."""
    return at_most(0 * itself([n])[0], bound=0)


# ---- code that is long, and numbers that are

LONG = (1 << 4_000_000) + 1


@attack(exhausted)
def long_numbers_are_compared(n: Few):
    """R. A hundred thousand times."""
    x, y, k = LONG + n, LONG + n, 0
    for _ in range(100_000):
        k += 1 if x == y else 0
    return at_most(n, bound=3)


@attack(exhausted)
def long_numbers_are_looked_up(n: Few):
    """R. Two thousand times."""
    several, k = {LONG: 1}, 0
    for _ in range(2000):
        k += several[LONG]
    return at_most(n, bound=3)


@attack(exhausted)
def generators_of_generators(n: Few):
    """R. Three hundred thousand."""
    several = (v for v in [1])
    for _ in range(300_000):
        several = (v for v in several)
    return at_most(n, bound=3)


# ---- further calls that CPython refuses, and steps that cost nothing


@attack(exhausted)
def floor_of_nothing(n: Few):
    """F. TypeError."""
    return at_most(math.floor(), bound=n)


@attack(exhausted)
def keyword_of_accumulate(n: Few):
    """F. TypeError."""
    return at_most(0 * sum(itertools.accumulate((n,), function=lambda a, b: a)), bound=0)


@attack(exhausted)
def keyword_of_enumerate(n: Few):
    """F. TypeError."""
    return at_most(0 * len(list(enumerate(several=(n,)))), bound=0)


@attack(exhausted)
def reversed_by_none(n: Few):
    """F. TypeError."""
    return at_most(0 * sorted((n, 0), reverse=None)[0], bound=0)


@attack(exhausted)
def given_without_words(n: Few):
    """F. InvalidArgument."""
    return given(1, n > 0, lambda: at_most(0, bound=n))


@attack(exhausted)
def long_combinations_by_a_keyword(n: Few):
    """R. Of 10^8 entries."""
    return at_most(len(list(itertools.combinations((1,), r=10**8))), bound=n)


@attack(exhausted)
def long_products_of_nothing(n: Few):
    """R. Of 10^8 entries."""
    return at_most(len(list(itertools.product((), repeat=10**8))), bound=n)


@attack(exhausted)
def accumulated_by_none(n: Few):
    """R. Sums of long fractions."""
    long = (Fraction(1, 3**50_000), Fraction(1, 2**70_000)) * 200
    return at_most(0 * len(list(itertools.accumulate(long, None))), bound=n)
