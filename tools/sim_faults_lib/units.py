"""The sources of libweft-sim as one object for each room, so that a patch costs the compilation of the rooms that it changes, not of all."""
import collections, functools, json, pathlib, re, shlex, subprocess

from testing import root

BASE = root / "build" / "release"


class FaultError(Exception):
    pass


def command(words, what):
    done = subprocess.run([str(word) for word in words], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise FaultError(f"{what}:\n{done.stdout}")


def named_by(file):
    """The sources that a file of the build compiles: itself, or those that it includes, if the build has made it out of several."""
    path = pathlib.Path(file)
    return [path] if path.is_relative_to(root / "src") else [pathlib.Path(name) for name in re.findall(r'#include "(/.*)"', path.read_text())]


@functools.lru_cache
def sources():
    """The C files below src/ that libweft-sim has, by their rooms, and the words that compile them."""
    rooms, words = collections.defaultdict(list), []
    for entry in json.loads((BASE / "compile_commands.json").read_text()):
        line, file = shlex.split(entry["command"]), entry["file"]
        if "weft_sim_objects.dir/" not in line[line.index("-o") + 1] or not file.endswith(".c") or file.startswith(f"{root}/sim/"):
            continue
        words = line[: line.index("-o")]
        for path in named_by(file):
            rooms[path.relative_to(root).parts[1]].append(path.relative_to(root))
    if not rooms:
        raise FaultError("build/release does not compile libweft-sim")
    return rooms, [word for word in words if not re.match(r"-O|-g|-W", word)]


def write(path, text):
    """Leaves a file alone that says the same, with its time."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def compiled(room, at, tree, what):
    """The object of a room, in the folder `at`, of the sources below `tree`: without optimisation."""
    rooms, words = sources()
    words = [*(word.replace(f"{root}/src", f"{tree}/src") for word in words), "-O0", "-w"]
    source, made = at / f"{room}.c", at / f"{room}.o"
    write(source, f"/* {shlex.join(words)} */\n" + "".join(f'#include "{tree / path}"\n' for path in rooms[room]))
    if not is_fresh(made):
        command([*words, "-MMD", "-MF", at / f"{room}.d", "-o", made, "-c", source], what)
    return made


def depends(made):
    """The files that an object was made from, according to the compiler."""
    return [pathlib.Path(name) for name in made.with_suffix(".d").read_text().replace("\\\n", " ").split(":", 1)[1].split()]


def is_fresh(made):
    if not made.exists() or not made.with_suffix(".d").exists():
        return False
    time = made.stat().st_mtime
    return all(path.exists() and path.stat().st_mtime < time for path in depends(made))


def base(at, pool):
    """Every room as it is, compiled where it has changed: {room: object}."""
    at.mkdir(parents=True, exist_ok=True)
    runs = {room: pool.submit(compiled, room, at, root, f"src/{room} does not compile") for room in sources()[0]}
    return {room: run.result() for room, run in runs.items()}


def patched(objects, changed, tree, what):
    """The objects where the files `changed` (below src/) are those of `tree`: of the other rooms the same as before."""
    changed = {root / path for path in changed}
    return [compiled(room, tree, tree, what) if changed & set(depends(made)) else made for room, made in objects.items()]
