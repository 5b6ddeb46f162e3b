"""Enumerates the mutants of a source file, from its text alone.

Orders. An operation of base/atom.h names its order, so weakening is renaming. Every order is weakened by one step:

    load   sc -> acq -> rlx          store  sc -> rel -> rlx
    read-modify-write                sc -> acqrel -> acq and rel -> rlx
    compare-and-swap                 likewise its first order; its second as a load

A compare-and-swap whose weakened name does not exist in atom.h (a failure order stronger than the success order) has
its failure order weakened with it.

Read-modify-writes are also split (mutants_lib/split.h) into a seq_cst load and a seq_cst store, apart from each other.

Fences. atom_fence_light() and sys_fence_heavy() are removed, each use by itself.

Locks. What a function does under a lock that it takes (lock_take, spinlock_try and so on) and drops itself, it does without: one mutant for each
lock and function.

Re-checks. A line that holds an `if (...)`, a `while (...)` or a `bool name = ...;` and the comment `/* recheck */`
gives two mutants: the condition is evaluated and its answer ignored, as false and as true. A re-check of another shape
says in its comment what the code would be without it:

    return idle_wake(idle); /* recheck, without: return IDLE_NOBODY; */

and is one mutant, in which that code stands instead of the statement on that line."""
import dataclasses, re

LOAD = {"sc": ["acq"], "acq": ["rlx"], "rlx": []}
STORE = {"sc": ["rel"], "rel": ["rlx"], "rlx": []}
RMW = {"sc": ["acqrel"], "acqrel": ["acq", "rel"], "acq": ["rlx"], "rel": ["rlx"], "rlx": []}
RMW_NAMES = ("swap", "add", "sub", "or", "and")
OPERATION = re.compile(r"\batom_(load|store|swap|add|sub|or|and)_(rlx|acq|rel|acqrel|sc)\s*\(|"
                       r"\batom_(cas)_(rlx|acq|rel|acqrel|sc)_(rlx|acq|sc)\s*\(")
FENCE = re.compile(r"\b(?:atom_fence_light|sys_fence_heavy)\s*\(\s*\)")
LOCK = re.compile(r"\b(lock|spinlock)_(take|try|drop)\s*\(")
UNLOCKED = {"take": "(void)({})", "try": "((void)({}), 1)", "drop": "(void)({})"}
MARKER = re.compile(r"/\*\s*recheck\b(.*?)\*/", re.S)
WITHOUT = re.compile(r"^,\s*without:\s*(.*?)\s*$", re.S)


@dataclasses.dataclass
class Mutant:
    file: str        # path from the root
    line: int
    function: str
    operation: str   # the text that is changed, blanks normalised
    change: str      # what becomes of it, in a word
    start: int       # text[start:end] becomes `text`
    end: int
    text: str
    ordinal: int = 1  # among those with the same file, function, operation and change

    @property
    def key(self):
        """What an argument in docs/mutants.md is filed under: no line number, so that it outlives edits elsewhere."""
        number = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.file} {self.function}: {self.operation} -> {self.change}{number}"

    def apply(self, text):
        return text[:self.start] + self.text + text[self.end:]


class SourceError(Exception):
    pass


def blanked(text):
    """Comments, strings and character constants become blanks of the same length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def closing(code, opening):
    """The index of the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if depth == 0:
            return i
    raise SourceError("a bracket is not closed")


def normal(text):
    return re.sub(r"\s+", " ", text).strip()


def functions(code):
    """[(start, end, name)] of every function body, by counting braces."""
    found, depth, head, name, start = [], 0, 0, None, 0
    lines = re.sub(r"(?m)^\s*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code)
    for i, c in enumerate(lines):
        if c == "{":
            if depth == 0:
                calls = re.findall(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", lines[head:i], flags=re.S))
                name, start = (calls[0] if calls else None), head
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                if name:
                    found.append((start, i + 1, name))
                head = i + 1
        elif c == ";" and depth == 0:
            head = i + 1
    return found


def cas_names(atom_text):
    return set(re.findall(r"#define\s+atom_cas_(\w+?)\(", atom_text))


def weaker_cas(success, failure, known):
    """The names one step weaker, each as success_failure."""
    names = []
    for step in RMW[success]:
        fallback = failure
        while f"{step}_{fallback}" not in known and LOAD[fallback]:
            fallback = LOAD[fallback][0]
        names.append(f"{step}_{fallback}")
    names += [f"{success}_{step}" for step in LOAD[failure]]
    return [name for name in dict.fromkeys(names) if name in known]


class Enumerator:
    def __init__(self, file, text, known_cas):
        self.file, self.text, self.known = file, text, known_cas
        self.code = blanked(text)
        self.functions = functions(self.code)
        self.found = []

    def function_at(self, position):
        for start, end, name in self.functions:
            if start <= position < end:
                return name
        return None

    def add(self, start, end, operation, change, text):
        function = self.function_at(start)
        if function is None:  # a macro's definition, a prototype
            return
        line = self.text.count("\n", 0, start) + 1
        self.found.append(Mutant(self.file, line, function, normal(operation), change, start, end, text))

    def operations(self):
        for match in OPERATION.finditer(self.code):
            operation = self.text[match.start():closing(self.code, match.end() - 1) + 1]
            kind, order = (match.group(1), match.group(2)) if match.group(1) else ("cas", match.group(4))
            if kind == "cas":
                begin, end = match.start(4), match.end(5)
                weaker = weaker_cas(order, match.group(5), self.known)
            else:
                begin, end = match.span(2)
                weaker = (LOAD if kind == "load" else STORE if kind == "store" else RMW)[order]
            for name in weaker:
                self.add(begin, end, operation, name, name)
            if kind not in ("load", "store"):
                self.add(match.start(), end, operation, "split", f"mutant_{kind}")

    def fences(self):
        for match in FENCE.finditer(self.code):
            self.add(match.start(), match.end(), match.group(0), "removed", "(void)0")

    def locks(self):
        uses = {}
        for match in LOCK.finditer(self.code):
            end = closing(self.code, match.end() - 1)
            lock = normal(self.text[match.end():end])
            uses.setdefault((self.function_at(match.start()), match.group(1), lock), []).append((match.start(), end + 1, match.group(2)))
        for (_, name, lock), places in uses.items():
            (start, _, first), (_, end, last) = places[0], places[-1]
            if first != "drop" and last == "drop":
                self.add(start, end, f"{name}_{first}({lock})", "removed", self.unlocked(lock, places))

    def unlocked(self, lock, places):
        """The text from the first to the last of these places, without the lock."""
        text, at = "", places[0][0]
        for start, end, kind in places:
            text, at = text + self.text[at:start] + UNLOCKED[kind].format(lock), end
        return text

    def rechecks(self):
        for marker in MARKER.finditer(self.text):
            begin = self.text.rfind("\n", 0, marker.start()) + 1
            without = WITHOUT.match(marker.group(1))
            if without:
                statement = self.code[begin:marker.start()]
                start = begin + len(statement) - len(statement.lstrip())
                end = begin + len(statement.rstrip())
                self.add(start, end, self.text[start:end], f"{normal(without.group(1))}", without.group(1))
                continue
            start, end, whole = self.condition(begin, marker.start())
            for answer in ("0", "1"):
                self.add(start, end, self.text[whole:end + 1], answer, f"(({self.text[start:end]}), {answer})")

    def condition(self, begin, end):
        """(start, end, start of the whole) of what is tested on a marked line, which begins at `begin`."""
        line = self.code[begin:end]
        branches = list(re.finditer(r"\b(?:if|while)\s*\(", line))
        if branches:
            opening = begin + branches[-1].end() - 1
            return opening + 1, closing(self.code, opening), begin + branches[-1].start()
        initial = re.match(r"\s*(?:const\s+)?bool\s+\w+\s*=\s*(?=\S)", line)
        if initial and ";" in line:
            start = begin + initial.end()
            return start, begin + line.index(";"), begin + len(line) - len(line.lstrip())
        number = self.text.count("\n", 0, end) + 1
        raise SourceError(f"{self.file}:{number}: a recheck without an if on its line is written "
                          "`/* recheck, without: CODE */`")

    def run(self):
        self.operations()
        self.fences()
        self.locks()
        self.rechecks()
        self.found.sort(key=lambda m: (m.start, m.change))
        seen = {}
        for mutant in self.found:
            key = (mutant.function, mutant.operation, mutant.change)
            seen[key] = mutant.ordinal = seen.get(key, 0) + 1
        return self.found


def mutants_of(file, text, atom_text):
    return Enumerator(file, text, cas_names(atom_text)).run()
