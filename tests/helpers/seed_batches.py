"""What a process computes of a unit, and of several units at once, for tests of who gets which."""


def single(unit):
    return {"together": 1}


def several(units):
    return [{"together": len(units)} if unit.seed else ValueError("no\nluck") for unit in units]
