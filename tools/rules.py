"""What the tools that check rules share: their command line, and how they test themselves on a small tree with planted faults."""
import contextlib, pathlib, re, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def expand(text):
    """Braces, as a shell does it."""
    found = re.search(r"\{([^{}]*)\}", text)
    if not found:
        return [text]
    return [one for part in found.group(1).split(",") for one in expand(text[:found.start()] + part + text[found.end():])]


@contextlib.contextmanager
def planted(files):
    """A tree of these files, {name: text}, for as long as it is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        yield pathlib.Path(folder)


def judged(cases):
    """The status of a self-test. Each case: what it is, what was expected, what was found."""
    cases = list(cases)
    wrong = [case for case in cases if case[1] != case[2]]
    for what, expected, found in wrong:
        print(f"self-test: {what}: expected {expected or 'nothing'}, found {found or 'nothing'}")
    return counted(len(cases) - len(wrong), len(wrong))


def counted(passed, failed):
    """The last line, and the status."""
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(doc, check, self_test, *options):
    """`check` gets the tree, and for each of these further options whether it is there."""
    words = sys.argv[1:]
    if "--help" in words:
        print(doc)
        return 0
    if words == ["--self-test"]:
        return self_test()
    places = [word for word in words if not word.startswith("-")]
    return check(pathlib.Path(places[0]) if places else ROOT, *(option in words for option in options))
