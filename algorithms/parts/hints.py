"""Hints to the compiler in loops for ``compiling``, which alone imports them: speed changes, and rounding at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# callers of a hint leave out the first parameter, and are told nothing
hint: Callable[[Callable[..., Any]], Any] = intrinsic
function_of: Any = cgutils.get_or_insert_function
LEVEL_2 = 2
"""Where a core keeps what is prefetched: beside what it works on, not in place of it."""


@hint
def use_widest_vectors(_typing_context: Any) -> Any:
    """Let the function that calls this use vectors of 512 bits where the processor has them.

    LLVM takes half of that on many that do, which is better where loops are short. Other processors ignore it.
    """

    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        # llvmlite knows attributes without a value only, and checks names when they are added
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), generate


@hint
def prefetch(_typing_context: Any, values: Any, index: Any) -> Any:
    """Fetch the piece of memory around an entry of an array (n,), which need not exist."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = function_of(builder.module, kind, "llvm.prefetch.p0")
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        builder.call(function, [place, number(0), number(LEVEL_2), number(1)])  # to read, data
        return context.get_dummy_value()

    return types.none(values, index), generate
