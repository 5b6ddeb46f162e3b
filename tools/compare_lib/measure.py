"""One run of one program: what it said, if that is what it should say."""
import collections, json, os, re, signal, subprocess, time

from . import rows

LIMIT = 60
FIELD = re.compile(r"(\w+)=(\S+)")
WEFT_KINDS = {rows.STACKFUL: "stackful", rows.STEP: "step", rows.PACKED: "stackful", rows.CHANNELS: "stackful"}


class Refused(Exception):
    """The run gives no figure, and why."""


Sample = collections.namedtuple("Sample", "values seconds")


def read_anew(files):
    """The kernel forgets what it has of these files, and reads them anew when they run. Where a program's pages come to lie in memory is luck, and stays so until then: the
    same bytes in two files took 38 and 43 ns for one row, every time. With a new place in each round the spread says so, and the median does not depend on it."""
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError:
            continue  # it is missing, and will be shown so
        try:
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def execute(command, limit=LIMIT):
    """Its standard output. The program and all that it has started are ended when it takes too long, or this program is interrupted."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        raise Refused(f"does not start: {error.strerror}") from None
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Refused(f"not done after {limit} s") from None
    finally:
        end(process)
    if process.returncode != 0:
        raise Refused(f"ended with status {process.returncode}: {last_line(errors) or last_line(output) or 'without a word'}")
    return output


def end(process):
    """What is left of the group of a program that has been waited for is ended too: it must not run beside the next."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def last_line(text):
    found = text.strip().splitlines()
    return found[-1][:200] if found else ""


def number(key, text):
    try:
        return int(text) if key in ("ops", "ns", "check") else float(text)
    except ValueError:
        raise Refused(f"said {key}={text}, which is no number") from None


def parse_line(output):
    """The fields of the last line."""
    fields = dict(FIELD.findall(last_line(output)))
    if "failed" in fields:
        raise Refused(fields["failed"])
    values = {key: number(key, text) for key, text in fields.items()}
    if not {"ops", "ns", "check"} <= values.keys():
        raise Refused(f"did not say ops, ns and check but `{last_line(output)}`")
    return values


def verified(work, n, values):
    """The same, if the work was done."""
    wanted = work.check(n)
    if wanted is None:  # as many as went in the time: http
        return values
    if values["ops"] != work.operations(n):
        raise Refused(f"did {values['ops']} operations instead of {work.operations(n)}")
    if values["check"] != wanted:
        raise Refused(f"wrong result: {values['check']} instead of {wanted}")
    if values["ns"] <= 0:
        raise Refused(f"took {values['ns']} ns")
    return values


def by_operation(values):
    """With what the table shows of every run."""
    return {**values, "ns_op": values["ns"] / values["ops"], "ms": values["ns"] / 1e6}


def weft_command(weft, kind, work, n):
    name, *options = rows.BENCHES_OF.get(kind, rows.BENCHES).get(work.name, (work.name,))
    return [weft, "bench", f"={name}", "--kind", WEFT_KINDS[kind], "--workers", str(work.workers), "--n", str(n), "--size", str(work.size), "--runs", "1",
            "--json", *options]


def parse_weft(work, n, output):
    """`weft bench --json`, in the words of the peers."""
    try:
        found = json.loads(output)
    except ValueError:
        raise Refused("weft bench gave no JSON") from None
    if len(found) != 1:
        raise Refused(f"weft bench gave {len(found)} results")
    said = {key: value for key, value in found[0].items() if isinstance(value, (int, float))}
    ops = work.operations(n) if said["n"] == n else said["n"]  # of fib it says the argument
    return {**said, "ops": ops, "ns": round(said["s"] * 1e9), "check": said.get("check", 0)}


def joint_values(values, prefix):
    """What a program measured of another peer, by the prefix of the keys."""
    return {key[len(prefix):]: value for key, value in values.items() if key.startswith(prefix)}


def run_weft(weft, kind, work, n):
    """Samples by name: weft's, and of those that were measured in the same run."""
    start = time.monotonic()
    values = by_operation(verified(work, n, parse_weft(work, n, execute(weft_command(weft, kind, work, n)))))
    seconds = time.monotonic() - start
    found = {kind: Sample(values, seconds)}
    for other, prefix in work.joint.items():
        theirs = joint_values(values, prefix)
        if theirs:
            found[other] = Sample(theirs, 0.0)
    return found


def run_form(command, work, n, limit=LIMIT):
    return by_operation(verified(work, n, parse_line(execute(command, limit))))


def run_peer(commands, work, n):
    """The fastest of the peer's forms: `form` says which it was, where there are several. One that gives no figure is left out unless all do so."""
    start, found, refused = time.monotonic(), [], []
    for form, command in enumerate(commands):
        limit = min(LIMIT, 5 + 3e-9 * min(values["ns"] for values in found)) if found else LIMIT  # one that is far slower need not come to its end
        try:
            found.append({**run_form(command, work, n, limit), **({"form": form} if len(commands) > 1 else {})})
        except Refused as reason:
            refused.append(reason)
    if not found:
        raise refused[0]
    return Sample(min(found, key=lambda values: values["ns"]), time.monotonic() - start)
