"""A model checker with one source text changed: compiles what the change touches, links it with all else as it is.

The commands are those of the check preset (compile_commands.json, and Ninja's link command), so there is nothing here
to keep in step with CMake. A changed file is put into a folder of its own, which comes first among the include paths,
and its place in that folder is its place in the tree."""
import json, os, pathlib, re, shlex, subprocess


SPLIT = pathlib.Path(__file__).resolve().parent / "split.h"


class BuildError(Exception):
    pass


def run(command, cwd, limit=None):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=limit)


class Unit:
    """One object of the checker: its source, and the command that makes it."""

    def __init__(self, root, folder, entry):
        self.folder = folder
        self.source = pathlib.Path(os.path.join(entry["directory"], entry["file"])).resolve()
        self.name = self.source.relative_to(root).as_posix() if self.source.is_relative_to(root) else str(self.source)
        words = shlex.split(entry["command"])
        self.object = words[words.index("-o") + 1]
        self.words, skip = [], False
        for word in words:
            if skip or word in ("-MD", "-MMD", "-c", str(self.source), entry["file"]):
                skip = False
            elif word in ("-o", "-MF", "-MT", "-MQ"):
                skip = True
            elif word != "-Werror":
                self.words.append(word)
        self.subject = "-fsanitize=thread" in words

    def command(self, mode, source, out, overlay):
        compiler, *flags = self.words
        first = []
        if overlay:
            first = ["-include", str(SPLIT), *(f"-I{overlay / name}" for name in ("src", "check", "tools"))]
        return [compiler, "-w", *first, *flags, *mode, str(source), "-o", str(out)]


class Tree:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        database = folder / "compile_commands.json"
        if not database.exists():
            raise BuildError(f"{database} is missing: tools/build check makes it")
        self.units = [Unit(root, folder, entry) for entry in json.loads(database.read_text())]
        self.link = self.link_command()
        self.objects = {unit.object: unit for unit in self.units}
        self.includes = {unit.object: set() for unit in self.units}
        self.extra = {}  # object -> where it is
        self.read_dependencies()

    def link_command(self):
        done = run(["ninja", "-t", "commands", "weft-check"], self.folder)
        lines = [line for line in done.stdout.splitlines() if " -o weft-check" in line]
        if done.returncode or not lines:
            raise BuildError(f"no link command for weft-check in {self.folder}")
        line = re.sub(r"^: && (.*?) && :$", r"\1", lines[-1])
        return shlex.split(line)

    def read_dependencies(self):
        done = run(["ninja", "-t", "deps"], self.folder)
        current = None
        for line in done.stdout.splitlines():
            if line and not line.startswith(" "):
                current = line.split(":")[0]
            elif line.strip() and current in self.includes:
                self.includes[current].update(self.in_tree([line.strip()]))

    def in_tree(self, names):
        """Paths from the root, of those that are below it."""
        for name in names:
            path = pathlib.Path(os.path.normpath(self.folder / name))
            if path.is_relative_to(self.root):
                yield path.relative_to(self.root).as_posix()

    def add(self, names, work):
        """Adds sources that are not part of the checker, compiled as its subjects are."""
        model = next(unit for unit in self.units if unit.subject)
        work.mkdir(parents=True, exist_ok=True)
        for name in names:
            out = work / (pathlib.Path(name).stem + ".o")
            words = [*model.words, f"-I{self.root / 'tools'}", "-o", str(out), "-c", name]
            entry = {"directory": str(self.root), "file": name, "command": shlex.join(words)}
            unit = Unit(self.root, self.folder, entry)
            done = run(unit.command(["-MM"], unit.source, "-", None), self.folder, 60)
            self.includes[unit.object] = set(self.in_tree(done.stdout.replace("\\\n", " ").split()[1:]))
            self.units.append(unit)
            self.compile(unit, unit.source, out, None)
            self.extra[unit.object] = out

    def users(self, file):
        """The subjects that are, or include, a file."""
        return [unit for unit in self.units
                if unit.subject and (unit.name == file or file in self.includes[unit.object])]

    def preprocessed(self, unit, source, overlay):
        done = run(unit.command(["-E", "-P"], source, "-", overlay), self.folder, 60)
        if done.returncode:
            raise BuildError(done.stdout)
        return done.stdout

    def compile(self, unit, source, out, overlay):
        done = run(unit.command(["-c"], source, out, overlay), self.folder, 120)
        if done.returncode:
            raise BuildError(done.stdout)

    def link_with(self, replaced, out):
        """Links the checker with some objects in the place of others (object -> path)."""
        words = [str(replaced.get(word, word)) for word in self.link]
        words[words.index("-o") + 1] = str(out)
        words += [str(replaced.get(object, path)) for object, path in self.extra.items()]
        done = run(words, self.folder, 120)
        if done.returncode:
            raise BuildError(done.stdout)
