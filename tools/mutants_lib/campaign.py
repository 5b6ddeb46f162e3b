"""Tries the mutants of a part: what is still to be tried, in which order, by how many at once, and what came of it."""
import concurrent.futures, fnmatch, hashlib, itertools, json, pathlib, queue, re, shutil, signal, subprocess, sys, threading, time

from . import build, parts, source

MODELS = ("c11", "tso")  # C11 allows most; what survives there is tried under the machine's own model too
QUICK = 20000, 2  # executions and seconds of a scenario in a first round
RESULT = re.compile(r"^(?:ok|FAIL)\s+\w+\s+(\w+ (EXHAUSTED|VIOLATION|CAPPED)\b.*)$", re.M)
ENDLESS = "a thread has too many events"  # as weft-check says it
NONE_ENDS = "none came to its end"  # likewise
NOT_MEANT = "none of these scenarios is meant for that model"  # likewise
LISTED = re.compile(r"^  (\w+)\s+(\[flawed\])?")


class CampaignError(Exception):
    pass


def enumerate_part(root, files):
    atom = (root / "src/base/atom.h").read_text()
    return [mutant for file in files if (root / file).exists()
            for mutant in source.mutants_of(file, (root / file).read_text(), atom)]


def forgotten(root):
    """Files with something to weaken that no part names."""
    named = {file for part in parts.PARTS.values() for file in part["files"]} | parts.UNPROVED.keys()
    files = sorted(path.relative_to(root).as_posix() for place in parts.PLACES for path in root.glob(place))
    return [file for file in files if file not in named and enumerate_part(root, [file])]


def check(binary, scenario, model, executions, seconds):
    """(EXHAUSTED, VIOLATION, CAPPED or NOT MEANT, detail): what the checker says about one scenario. Sound ones only, so
    any violation is bad news; a checker that crashed has noticed too, since the scenario does not crash unmutated."""
    command = [str(binary), scenario, "--only-sound", "--model", model, "--max-executions", str(executions)]
    # Seconds of the processor: what else the machine does must not decide.
    done = subprocess.run(["prlimit", f"--cpu={seconds}", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "CAPPED", f"{scenario} took more than {seconds} s"
    found = {match.group(2): match.group(1) for match in RESULT.finditer(done.stdout)}
    if NOT_MEANT in done.stdout:
        return "NOT MEANT", ""
    if done.returncode == 0:  # a bound that is written down beside the scenario is as good
        return "EXHAUSTED", found.get("EXHAUSTED", "")
    if NONE_ENDS in found.get("EXHAUSTED", ""):  # some do in the scenario as it is
        return "VIOLATION", found["EXHAUSTED"]
    if ENDLESS in found.get("CAPPED", ""):  # the scenario as it is stays below that in every execution
        return "VIOLATION", found["CAPPED"]
    for verdict in ("VIOLATION", "CAPPED"):
        if verdict in found:
            return verdict, found[verdict]
    if done.returncode < 0:
        return "VIOLATION", f"{scenario} crashed the checker (signal {-done.returncode})"
    raise CampaignError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}")


class Campaign:
    def __init__(self, root, jobs=2, executions=1000000, seconds=60, again=False, say=print):
        self.root, self.jobs, self.executions, self.seconds, self.say = root, jobs, executions, seconds, say
        done = subprocess.run([str(root / "tools" / "build"), "check"], cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise CampaignError(done.stdout)
        self.tree = build.Tree(root, root / "build" / "check")
        self.work = root / "build" / "mutants"
        self.work.mkdir(parents=True, exist_ok=True)
        self.memory = self.work / "verdicts.jsonl"
        if again:
            self.memory.unlink(missing_ok=True)
        self.known = {}
        if self.memory.exists():
            for line in self.memory.read_text().splitlines():
                try:
                    record = json.loads(line)
                    self.known[record.pop("print")] = record
                except (ValueError, KeyError):
                    continue  # the last line of an interrupted run
        self.lock = threading.Lock()

    def remember(self, print_, record):
        with self.lock:
            self.known[print_] = record
            with self.memory.open("a") as file:
                file.write(json.dumps({"print": print_, **record}) + "\n")

    def fingerprint(self, spec, groups):
        """Everything that a verdict depends on, but for the mutant itself: the engine, the scenarios' files, and every room
        of the sources that these include anything of."""
        names, size = set(spec["files"]), 0
        for unit in self.tree.units:
            if not unit.subject or pathlib.PurePath(unit.name).stem in groups:
                names |= {unit.name} | self.tree.includes[unit.object]
        while len(names) > size:
            size = len(names)
            rooms = {pathlib.PurePath(name).parent for name in names if name.startswith("src/")}
            for unit in self.tree.units:
                if unit.subject and pathlib.PurePath(unit.name).parent in rooms:
                    names |= {unit.name} | self.tree.includes[unit.object]
        total = hashlib.sha256(json.dumps([spec["scenarios"], self.executions, self.seconds, MODELS]).encode())
        for name in sorted(names):
            path = self.root / name
            if path.exists():
                total.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()

    def scenarios(self, binary, patterns):
        """{name: group} of the sound scenarios, in the order of the patterns."""
        done = subprocess.run([str(binary), "--list"], stdout=subprocess.PIPE, text=True, check=True)
        listed, group = [], ""
        for line in done.stdout.splitlines():
            scenario = LISTED.match(line)
            if scenario and not scenario.group(2):
                listed.append((group, scenario.group(1)))
            elif line.endswith(":"):
                group = line[:-1]
        return {name: group for pattern in patterns for group, name in listed
                if group == pattern or fnmatch.fnmatchcase(name, pattern)}

    def baseline(self, name, binary, names, mark):
        """{model: {scenario: seconds}} of the part as it is; it must pass, or nothing can be concluded. A scenario that is
        not meant for a model says nothing there, whatever the mutant, and is left out."""
        print_ = f"{mark} baseline"
        if print_ in self.known:
            return self.known[print_]["seconds"]
        times = {model: {} for model in MODELS}
        def attempt(pair):
            start = time.monotonic()
            return *pair, *check(binary, *pair, self.executions, self.seconds), time.monotonic() - start
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            tried = list(pool.map(attempt, itertools.product(names, MODELS)))
        for scenario, model, verdict, detail, seconds in tried:
            if verdict == "VIOLATION" and ENDLESS not in detail:
                raise CampaignError(f"part {name} does not pass as it is: {detail}")
            if verdict == "EXHAUSTED":
                times[model][scenario] = seconds
            elif verdict != "NOT MEANT":
                self.say(f"{name}: {scenario} in {model} is given up even as it is and will not be used")
        if not all(times.values()):
            raise CampaignError(f"part {name}: in some model, every scenario is given up as it is; more --seconds?")
        self.remember(print_, {"seconds": times})
        return times

    def part(self, name, spec):
        mutants = enumerate_part(self.root, spec["files"])
        if not mutants:
            self.say(f"{name}: nothing to weaken")
            return []
        binary = self.work / name / "weft-check"
        binary.parent.mkdir(parents=True, exist_ok=True)
        self.tree.link_with({}, binary)
        names = self.scenarios(binary, spec["scenarios"])
        if not names:
            raise CampaignError(f"part {name} has no scenarios: {' '.join(spec['scenarios'])}")
        mark = self.fingerprint(spec, set(names.values()))
        times = self.baseline(name, binary, names, mark)
        return PartRun(self, name, mark, times).run(mutants)


class PartRun:
    def __init__(self, campaign, name, mark, times):
        self.campaign, self.name, self.mark, self.times = campaign, name, mark, times
        self.kills = {}
        self.folders = queue.SimpleQueue()
        for i in range(campaign.jobs):
            self.folders.put(campaign.work / name / f"job-{i}")

    def run(self, mutants):
        results, waiting = {}, []
        for mutant in mutants:
            print_ = f"{self.mark} {mutant.key}"
            if print_ in self.campaign.known:
                results[mutant.key] = self.campaign.known[print_]
            else:
                waiting.append((print_, mutant))
        done = len(results)
        if done:
            self.campaign.say(f"{self.name}: {done} of {len(mutants)} known from earlier")
        with concurrent.futures.ThreadPoolExecutor(self.campaign.jobs) as pool:
            futures = {pool.submit(self.attempt, mutant): (print_, mutant) for print_, mutant in waiting}
            try:
                for future in concurrent.futures.as_completed(futures):
                    print_, mutant = futures[future]
                    record = results[mutant.key] = future.result()
                    self.campaign.remember(print_, record)
                    done += 1
                    self.campaign.say(f"[{self.name} {done}/{len(mutants)}] {record['verdict']:9} {mutant.key}"
                                      + (f"  ({record['scenario']})" if record["scenario"] else ""))
                    sys.stdout.flush()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return [{**results[m.key], "part": self.name, "key": m.key, "file": m.file, "line": m.line} for m in mutants]

    def attempt(self, mutant):
        start = time.monotonic()
        folder = self.folders.get()
        try:
            verdict, detail, scenario = self.verdict(mutant, folder)
        finally:
            self.folders.put(folder)
        seconds = round(time.monotonic() - start, 2)
        return {"verdict": verdict, "detail": detail, "scenario": scenario, "seconds": seconds}

    def verdict(self, mutant, folder):
        tree = self.campaign.tree
        overlay = folder / "overlay"
        shutil.rmtree(folder, ignore_errors=True)
        changed = overlay / mutant.file
        changed.parent.mkdir(parents=True)
        original = self.campaign.root / mutant.file
        changed.write_text(mutant.apply(original.read_text()))
        replaced = {}
        for i, unit in enumerate(tree.users(mutant.file)):
            text = changed if unit.name == mutant.file else unit.source
            if tree.preprocessed(unit, text, overlay) == tree.preprocessed(unit, unit.source, None):
                continue
            replaced[unit.object] = folder / f"{i}.o"
            tree.compile(unit, text, replaced[unit.object], overlay)
        if not replaced:
            return "outside", "", ""
        binary = folder / "weft-check"
        tree.link_with(replaced, binary)
        return self.try_all(binary)

    def try_all(self, binary):
        """What noticed most so far comes first, then what is quickest. What there is to notice is mostly found early in a search,
        so each is first given a short time, and only then all of it."""
        runs = sorted((-self.kills.get((scenario, model), 0), seconds, scenario, model)
                      for model, times in self.times.items() for scenario, seconds in times.items())
        given_up = ""
        for executions, seconds in QUICK, (self.campaign.executions, self.campaign.seconds):
            left, given_up = [], ""
            for item in runs:
                _, _, scenario, model = item
                verdict, detail = check(binary, scenario, model, executions, seconds)
                if verdict == "NOT MEANT":
                    raise CampaignError(f"{scenario} ran in {model} before and does not now")
                if verdict == "VIOLATION":
                    with self.campaign.lock:
                        self.kills[scenario, model] = self.kills.get((scenario, model), 0) + 1
                    return "killed", f"{model}: {detail.strip()[:200]}", scenario
                if verdict == "CAPPED":
                    left.append(item)
                    given_up = f"{model}: {detail.strip()[:200]}"
            runs = left
        return ("undecided", given_up, "") if given_up else ("survived", "", "")
