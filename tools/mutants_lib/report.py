"""The written arguments, and the page with the results."""
import re, subprocess, time

HEADING = re.compile(r"^###\s+`(.+)`\s*$")
NOTICED = 95  # per cent, of weakened orders, removed fences and ignored re-checks; what else is tried comes on top
LOCK = re.compile(r": (?:spin)?lock_(?:take|try)\(.*-> removed$")


def kind(result):
    key = result["key"].split(" #")[0]
    return "split" if key.endswith("-> split") else "lock" if LOCK.search(key) else "order"


def share_of(results):
    """(noticed, counted, per cent)"""
    counted = [r for r in results if r["verdict"] != "outside"]
    killed = sum(r["verdict"] == "killed" for r in counted)
    return killed, len(counted), 100 * killed / len(counted) if counted else 0


def arguments(text):
    """{key: argument} of docs/mutants.md: a third-level heading in back quotes, and the text below it. Several headings
    in a row share the text that follows."""
    found, keys, lines = {}, [], []
    def close():
        nonlocal keys, lines
        argument = "\n".join(lines).strip()
        if argument:
            for key in keys:
                found[key] = argument
            keys, lines = [], []
    for line in text.splitlines():
        match = HEADING.match(line)
        if match:
            close()
            keys.append(match.group(1))
        elif line.startswith("#"):
            close()
            for key in keys:
                found[key] = ""
            keys, lines = [], []
        elif keys:
            lines.append(line)
    close()
    for key in keys:
        found[key] = ""
    return found


def judge(results, written, scope):
    """(lines to print, good): the rules. `scope` says whether a key belongs to what was run."""
    lines, good = [], True
    counted = [r for r in results if r["verdict"] != "outside"]
    killed, total, share = share_of(r for r in results if kind(r) == "order")
    if not counted:
        lines.append("no mutants: nothing was shown")
        good = False
    elif total and share < NOTICED:
        lines.append(f"noticed {share:.1f} %, and it must be {NOTICED} % at least")
        good = False
    survivors = {r["key"]: r for r in counted if r["verdict"] != "killed"}
    for key, result in survivors.items():
        if not written.get(key):
            where = f"{result['file']}:{result['line']}"
            lines.append(f"no argument in docs/mutants.md for {result['verdict']}: {key}  ({where})")
            good = False
    known = {r["key"] for r in results}
    for key in written:
        if key not in known and scope(key):
            lines.append(f"docs/mutants.md argues about something that is not there any more: {key}")
            good = False
        elif key in known and key not in survivors:
            lines.append(f"note: docs/mutants.md argues about something that is noticed: {key}")
    return lines, good


def summary(results):
    killed, total, share = share_of(r for r in results if kind(r) == "order")
    split, splits, _ = share_of(r for r in results if kind(r) == "split")
    lock, locks, _ = share_of(r for r in results if kind(r) == "lock")
    left = [r for r in results if r["verdict"] in ("survived", "undecided")]
    undecided = sum(r["verdict"] == "undecided" for r in left)
    return (f"{total} mutants: {killed} noticed ({share:.1f} %); {splits} split read-modify-writes: {split} noticed; "
            f"{locks} removed locks: {lock} noticed; "
            f"{len(left) - undecided} survived, {undecided} undecided")


def commit(root):
    """The commit, and whether anything but results was changed since."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    try:
        name = git("rev-parse", "--short=12", "HEAD").strip() or "none"
        changed = [line for line in git("status", "--porcelain").splitlines() if "docs/results/" not in line]
        return name + (" with changes" if changed else "")
    except OSError:
        return "unknown"


def page(root, results, parts, seconds):
    """docs/results/mutants.md"""
    counted = [r for r in results if r["verdict"] != "outside"]
    out = ["# Mutants: does the model checker notice?", "",
           "Written by `make mutants`. Every memory order, fence and re-check of the proved parts is weakened or "
           "removed, every read-modify-write split in two, and every lock left out in each function that takes it, one at a "
           "time, and the part's scenarios are run. The survivors are argued in [docs/mutants.md](../mutants.md).", "",
           f"{time.strftime('%Y-%m-%d')}, commit {commit(root)}, {seconds / 60:.0f} min of checking. "
           f"**{summary(results)}.**", "",
           "| part | mutants | noticed | survived | undecided | outside the check configuration |",
           "|---|---|---|---|---|---|"]
    for part in parts:
        mine = [r for r in results if r["part"] == part]
        number = lambda verdict: sum(r["verdict"] == verdict for r in mine)
        out.append(f"| {part} | {len(mine) - number('outside')} | {number('killed')} | {number('survived')} | "
                   f"{number('undecided')} | {number('outside')} |")
    left = [r for r in counted if r["verdict"] != "killed"]
    out += ["", "## Survivors", ""]
    out += [f"- `{r['key']}` ({r['file']}:{r['line']}): {r['verdict']}" + (f", {r['detail']}" if r["detail"] else "")
            for r in left] or ["None."]
    out += ["", "## Noticed by", "",
            "How many mutants each scenario was the first to reject.", "", "| scenario | mutants |", "|---|---|"]
    first = {}
    for r in counted:
        if r["verdict"] == "killed":
            first[r["scenario"]] = first.get(r["scenario"], 0) + 1
    out += [f"| {name} | {n} |" for name, n in sorted(first.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join(out) + "\n"
