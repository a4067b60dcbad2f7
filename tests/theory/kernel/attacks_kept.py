"""How attempts to fool the kernel are kept.

``ATTACKS`` of a module is a list of (name, function of a claim, evidence of a kernel statement). The function's
docstring says what is false (F: must not be certified or vacuous), true (T: must not be violated), or too much (R: must
end within a second and 500 MB, C: must not crash). ``breaks`` are arguments with which CPython shows it.
"""


class Attacks(list):
    def __init__(self):
        self.breaks = {}

    def __call__(self, *evidences, breaks=None, name=None):
        def keep(function):
            for number, make in enumerate(evidences):
                own = (name or function.__name__) + (f"/{number}" if number else "")
                self.append((own, function, make))
                self.breaks[own] = breaks
            return function

        return keep


def ev(rule, line="", **data):
    return lambda statement: {"rule": rule, "line": line, "digest": statement.digest, **data}
