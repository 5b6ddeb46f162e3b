"""Compiling and linking: the checker's engine and the enumerator, each with the same object of scenarios.

The flags of the engine and of instrumented files are those of the check preset (compile_commands.json), so there is nothing here
to keep in step with CMake."""
import json, os, pathlib, shlex, subprocess


CXX = os.environ.get("CXX", "g++")


class BuildError(Exception):
    pass


def run(command, cwd=None, limit=600):
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit)
    if done.returncode:
        raise BuildError(f"{shlex.join(str(word) for word in command[:1])} failed:\n{done.stdout}")
    return done.stdout


class Unit:
    """One object of the check preset."""

    def __init__(self, entry):
        words = shlex.split(entry["command"])
        self.source = pathlib.Path(entry["directory"], entry["file"])
        self.object = words[words.index("-o") + 1]
        self.path = pathlib.Path(entry["directory"], self.object)
        drop = {words.index("-o"), words.index("-o") + 1, words.index("-c"), words.index("-c") + 1}
        self.words = [word for i, word in enumerate(words) if i not in drop and word not in ("-MD", "-Werror")]
        for option in ("-MT", "-MF"):
            if option in self.words:
                at = self.words.index(option)
                del self.words[at:at + 2]

    def compile(self, source, out, *more, warnings="-w"):
        run([*self.words, warnings, *more, "-c", source, "-o", out])


class Tools:
    """What is linked with every batch. `engine` and `axioms` are other folders to take the sources from."""

    def __init__(self, root, engine=None, axioms=None):
        self.root, self.work = root, root / "build" / "check-fuzz"
        self.work.mkdir(parents=True, exist_ok=True)
        database = root / "build" / "check" / "compile_commands.json"
        if not database.exists():
            run([root / "tools" / "build", "check"], limit=1800)
        units = [Unit(entry) for entry in json.loads(database.read_text())]
        self.engine_units = [unit for unit in units if unit.source.parent == root / "check" / "engine"]
        self.litmus_units = [unit for unit in units if unit.source.parent == root / "check" / "litmus"]
        if not self.engine_units or not self.litmus_units:
            raise BuildError("no engine or no litmus tests in build/check/compile_commands.json")
        self.subject = self.litmus_units[0]
        self.engine = self.engine_elsewhere(pathlib.Path(engine)) if engine else self.build(self.engine_units)
        self.engine.append(self.outcome())
        self.take_axioms(pathlib.Path(axioms) if axioms else root / "check" / "axioms")

    def build(self, units):
        """Objects of the check preset, up to date."""
        run([self.root / "tools" / "build", "check", *(unit.object for unit in units)], limit=1800)
        return [unit.path for unit in units]

    def engine_elsewhere(self, folder):
        out = self.work / "engine-elsewhere"
        out.mkdir(exist_ok=True)
        objects = []
        for source in sorted([*folder.glob("*.c"), *folder.glob("*.S")]):
            objects.append(out / (source.name + ".o"))
            self.engine_units[0].compile(source, objects[-1])
        return objects

    def outcome(self):
        out = self.work / "outcome.o"
        self.engine_units[0].compile(self.root / "check" / "axioms" / "outcome.c", out, warnings="-Werror")
        return out

    def take_axioms(self, folder):
        """The enumerator's objects; of a folder elsewhere only what differs is compiled."""
        home, out = self.root / "check" / "axioms", self.work / "axioms"
        out.mkdir(exist_ok=True)
        headers = [*home.glob("*.hh"), self.root / "check" / "chk.h", self.root / "include" / "weft" / "chk.h", self.root / "src" / "sys" / "sys.h"]
        newest = max(path.stat().st_mtime for path in headers)
        same_headers = all((folder / path.name).read_bytes() == path.read_bytes() for path in home.glob("*.hh"))
        self.axioms = objects = []
        for source in [*sorted(home.glob("*.cc")), home / "outside.c"]:
            objects.append(out / (source.name + ".o"))
            other = folder / source.name
            if not same_headers or other.read_bytes() != source.read_bytes():
                objects[-1] = out / (source.name + ".elsewhere.o")
                self.compile_axioms(other, objects[-1], "-w")
            elif not objects[-1].exists() or objects[-1].stat().st_mtime <= max(newest, source.stat().st_mtime):
                self.compile_axioms(source, objects[-1], "-Werror")

    def compile_axioms(self, source, out, warnings):
        if source.suffix == ".c":
            self.engine_units[0].compile(source, out, warnings=warnings)
        else:
            run([CXX, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wundef", warnings, "-fno-pie",
                 f"-I{self.root / 'check'}", f"-I{self.root / 'include'}", "-c", source, "-o", out])

    def link_checker(self, subjects, out):
        statics = self.root / "check" / "engine" / "statics.ld"
        run([self.subject.words[0], "-no-pie", f"-Wl,-T,{statics}", "-o", out, *self.engine, *subjects])
        return out

    def link_axioms(self, subjects, out):
        run([CXX, "-no-pie", "-o", out, *self.axioms, *subjects])
        return out
