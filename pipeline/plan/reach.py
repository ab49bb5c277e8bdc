"""Every definition that is reached from some classes by name, read and not run.

Of a class those methods count whose names are met anywhere on the way: so a game's luck, which only
looks at finished matches, does not. Where a name is made up at run time, all count that it could
mean.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

from pipeline.plan.sources import BODY, Source, is_library, is_module, modules_of, source
from pipeline.plan.syntax import Bindings, Name, Target, Unit

PLAYERS = ("agents", "games", "models")
HOUSE = (
    *(*PLAYERS, "benchmarks", "common"),
    *("papers", "pipeline", "stats", "training"),
)
PLAYING = (
    *("pipeline.play.match", "pipeline.play.chains", "pipeline.play.prepare"),
    *("pipeline.plan.chance", "pipeline.plan.cells"),
)
"""What of the pipeline has a say in a match; the rest moves it, keeps it and counts it."""
START = (
    *(("pipeline.play.match", "play"), ("pipeline.play.prepare", "prepare")),
    *(("pipeline.plan.cells", "Cell"), ("models.answering", "answer_each")),
)
PLAIN = ("object", "Protocol", "Generic", "NamedTuple", "Enum", "ABC", "Exception", "ValueError")
"""Bases from outside that call no method of a class by themselves."""

Key = tuple[str, str]
"""A module and a definition in it."""


Definitions = dict[str, dict[str, str]]
"""The hash of each definition, 12 hex digits, by file and name."""


def reach(games: frozenset[Key], asked: frozenset[Key]) -> Definitions:
    """All that is reached from these classes and from what plays a match; of `asked` every method
    counts. A class without a source is left out. Raises UserError where one cannot be read."""
    reached = _Reached(frozenset(module.partition(".")[0] for module, _ in games | asked))
    there = {(module, name) for module, name in games | asked if name in (source(module) or ())}
    for key in (*START, *sorted(there)):
        reached.take(*key)
    for key in sorted(there & asked):
        reached.take_whole(key)
    with _no_collecting():
        reached.go_on()
    return reached.definitions()


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Syntax trees are so many objects that looking for garbage among them, and among all that a
    run has loaded, takes twice as long as reading them."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@dataclass
class _Reached:
    """What was reached so far.

    tops: the packages of the cell's own classes, which count wherever they are installed.
    waiting: by name, the classes that have a method of it which nothing has named yet.
    """

    tops: frozenset[str]
    units: dict[Key, Unit] = field(default_factory=dict)
    todo: list[Key] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    waiting: defaultdict[str, list[Key]] = field(default_factory=lambda: defaultdict(list))
    bases: defaultdict[Key, list[Key]] = field(default_factory=lambda: defaultdict(list))
    heirs: defaultdict[Key, list[Key]] = field(default_factory=lambda: defaultdict(list))
    whole: set[Key] = field(default_factory=set)
    any: bool = False

    def definitions(self) -> Definitions:
        found: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for (module, name), unit in sorted(self.units.items()):
            found[_known(module).file][name] = unit.digest
        return dict(sorted(found.items()))

    def go_on(self) -> None:
        """Until nothing new is named."""
        while self.todo:
            key = self.todo.pop()
            if key not in self.units:
                self._add(*key)

    def take(self, module: str, name: str | None) -> None:
        """A definition, or all of a module that is handed on as a value."""
        here = source(module)
        if name is not None:
            self.todo.append((module, name))
        elif here is not None and module not in self.values:
            self.values.add(module)
            self._run(module, module)
            self.todo += [(module, each) for each in here.names]
            for each in here.bindings:
                for target in self._final(module, each, module):
                    self.take(*target)

    def take_whole(self, key: Key) -> None:
        """All methods of a class, of those that inherit from it and of those it inherits from."""
        if key in self.whole:
            return
        self.whole.add(key)
        self._take_methods(key)
        for heir in self.heirs[key]:
            self.take_whole(heir)

    def _take_methods(self, key: Key) -> None:
        module, name = key
        self.todo += [(module, f"{name}.{each}") for each in _known(module).members.get(name, ())]
        for base in self.bases[key]:
            self._take_methods(base)

    def _add(self, module: str, name: str) -> None:
        here = _known(module)
        unit = self.units[module, name] = here.unit(name)
        self._run(module, module)
        for other in unit.runs:
            self._run(other, module)
        if name in here.members:
            self._add_class(here, name)
        for one in unit.names:
            for target in self._meant(here, one, unit.imports):
                self.take(*target)
        self._meet(unit.words)
        for one in unit.open:
            self._open(here, name, one, unit.imports)
        if unit.all:
            self._take_any()
            for each in modules_of(module.partition(".")[0]):
                self.take(each, None)

    def _open(self, here: Source, name: str, of: Name, imports: Bindings) -> None:
        """Nobody can tell which attribute is meant: of `self` or a class any that it has, of a
        library none that counts, of a module all, which are taken already; else of any class."""
        owner = (here.name, name.partition(".")[0])
        found = self._meant(here, of, imports) if of else []
        known = [(module, one) for module, one in found if one is not None]
        if of in (("self",), ("cls",)) and owner[1] in here.members:
            self.take_whole(owner)
        elif found and all(one in _known(module).members for module, one in known):
            for one in known:
                self.take_whole(one)
        elif found or not (of and (of[0] in imports or of[0] in here.bindings)):
            self._take_any()

    def _take_any(self) -> None:
        """Every method of every class that is reached."""
        self.any = True
        self._meet({*self.waiting})

    def _add_class(self, here: Source, name: str) -> None:
        """Its methods wait until they are named. A base that came from a library may call any."""
        key, foreign = (here.name, name), False
        for base in here.bases(name):
            found = self._meant(here, base, {}) if base else []
            known = [(module, one) for module, one in found if one is not None]
            foreign |= not known and (base or ("",))[-1] not in PLAIN
            self.bases[key] += known
            for one in known:
                self.heirs[one].append(key)
        for each in here.members[name]:
            if self.any or each in self.words or each.startswith("__"):
                self.todo.append((here.name, f"{name}.{each}"))
            else:
                self.waiting[each].append(key)
        if key in self.whole:
            self._take_methods(key)
        elif foreign or not self.whole.isdisjoint(self.bases[key]):
            self.take_whole(key)

    def _meet(self, words: Set[str]) -> None:
        """These names were met: the methods of all classes that bear them count."""
        self.words |= words
        for word in words & self.waiting.keys():
            self.todo += [(module, f"{name}.{word}") for module, name in self.waiting.pop(word)]

    def _run(self, module: str, by: str) -> None:
        """What an import does: the statements of the module, and of those that it imports. In
        others' code also what calls other code of theirs, which may enter it in some list."""
        if module in self.modules or not self._followed(module, by):
            return
        self.modules.add(module)
        if "." in module:
            self._run(module.rpartition(".")[0], by)
        here = source(module)
        if here is None:
            return
        if BODY in here:
            self.todo.append((module, BODY))
        for name in () if module.partition(".")[0] in HOUSE else here.names:
            if any(self._meant(here, call, {}) for call in here.calls(name)):
                self.todo.append((module, name))
        for other in here.runs:
            self._run(other, module)

    def _meant(self, here: Source, name: Name, imports: Bindings) -> list[Target]:
        """What a dotted name in a definition stands for, as far as it is followed."""
        first, *rest = name
        if first in imports:
            found = [one for bound in imports[first] for one in self._bound(bound, here.name)]
        else:
            found = self._final(here.name, first, here.name)
        for part in rest:
            found = [
                target
                for module, own in found
                for target in ([(module, own)] if own else self._final(module, part, here.name))
            ]
        return found

    def _bound(self, target: Target, by: str, seen: Set[Target] = frozenset()) -> list[Target]:
        module, name = target
        if name is not None:
            return self._final(module, name, by, seen)
        return [target] if self._followed(module, by) and is_module(module) else []

    def _final(
        self, module: str, name: str, by: str, seen: Set[Target] = frozenset()
    ) -> list[Target]:
        """Where a name of a module is defined in the end, by way of whatever imports."""
        if (module, name) in seen or not self._followed(module, by):
            return []
        here, seen = source(module), seen | {(module, name)}
        found: list[Target] = [(module, name)] if here and name in here else []
        for target in here.bindings.get(name, ()) if here else ():
            found += self._bound(target, module, seen)
        for star in here.stars if here and not found else ():
            found += self._final(star, name, module, seen)
        inner = f"{module}.{name}"
        return found or ([(inner, None)] if is_module(inner) else [])

    def _followed(self, module: str, by: str) -> bool:
        """Whether a module counts that another imports."""
        top = module.partition(".")[0]
        if top in PLAYERS or module in PLAYING:
            return True
        if top in HOUSE:  # what others' players use of it does count
            return top != "common" and by.partition(".")[0] not in HOUSE
        return top in self.tops or not is_library(top)


def _known(module: str) -> Source:
    here = source(module)
    assert here is not None, module
    return here
