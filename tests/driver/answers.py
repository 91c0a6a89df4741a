# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's driver answered to the program `answers`, and whether this one does.

    answers.py record PRINTED...                              the compact form of what `answers` printed, for answers_observed.txt
    answers.py compare DEVICE ANSWERS OBSERVED MEANT          run ANSWERS, compare; `-` for MEANT: nothing is meant

Observed: a line a section and answer, `SECTION: ANSWER: RUN | RUN...`, a run being what it does unlike the first (`.`); lines that begin with a blank
go on. Meant: `DEVICES SECTION RUNS THEIRS OURS # reason`: where the first difference of a run is THEIRS and OURS and its text matches the
expression RUNS. DEVICES that end with `?`: the time decides whether there is such a difference.
A run is compared up to its first difference, since what follows depends on it."""
import re
import subprocess
import sys
import textwrap


def printed(text):
    """{(section, run): answer}, in order"""
    runs = {}
    for line in text.splitlines():
        what, answer = re.fullmatch(r"(.*?):((?: \S+)*)", line).groups()
        section, _, run = what.partition(" ")
        runs[section, run or "."] = answer.split()
    return runs


def observed(text):
    runs, last = {}, ""
    joined = re.sub(r"\n +", " ", "\n".join(li for li in text.splitlines() if not li.startswith("#")))
    for line in joined.splitlines():
        section, answer, which = re.fullmatch(r"(\S+): ([^:]*): (.*)", line).groups()
        for run in which.split(" | "):
            runs[section, run] = answer.split()
    return runs


def record(files):
    runs, lines = {}, {}
    for f in files:
        runs.update(printed(open(f).read()))
    for (section, run), answer in runs.items():
        lines.setdefault((section, " ".join(answer)), []).append(run)
    for (section, answer), which in lines.items():
        line = f"{section}: {answer}: " + " | ".join(which)
        print(textwrap.fill(line, 150, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def meant(path, device):
    entries = []
    for number, line in enumerate(open(path) if path != "-" else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields, _, reason = line.partition(" # ")
        devices, section, runs, theirs, ours = fields.split()
        if not reason.strip():
            sys.exit(f"{path}:{number}: no reason")
        named = devices.removesuffix("?")
        if device in named.split(",") or named == "all":
            entries.append({"line": number, "used": 0, "sure": named == devices, "section": re.compile(section), "runs": re.compile(runs),
                            "theirs": re.compile(theirs), "ours": re.compile(ours)})
    return entries


def differences(theirs, ours):
    """(section, run, theirs, ours) at the first one of each run"""
    for key, want in theirs.items():
        got = ours.get(key)
        if any(re.match("SIG|hang|exit", w) for w in want):
            want = want[:-1]                                # nobody is asked to end as well
            got = (got or [])[:len(want)]
        if got is None:
            yield *key, want, ["missing"]
        elif got != want:
            yield *key, want, got


def deviations(run):
    """Of a run's text: a value may have blanks in it."""
    return re.split(r" (?=\w+=)", run)


def first(want, got):
    for i in range(max(len(want), len(got))):
        w, g = (x[i] if i < len(x) else "-" for x in (want, got))
        if w != g:
            return i, w, g


def compare(device, program, observed_at, meant_at):
    theirs = observed(open(observed_at).read())
    entries = meant(meant_at, device)
    ours = printed(subprocess.run([program], stdout=subprocess.PIPE, check=True, text=True).stdout)
    wrong, otherwise = 0, set()
    for section, run, want, got in sorted(differences(theirs, ours), key=lambda d: d[3] == ["missing"]):
        at, w, g = first(want, got)
        # A call before one of the run's arguments gives another result, and which arguments the run has depends on that.
        if g == "missing" and any((section, part) in otherwise for part in [".", *deviations(run)]):
            continue
        for e in entries:
            if e["section"].fullmatch(section) and e["runs"].search(run) and e["theirs"].fullmatch(w) and e["ours"].fullmatch(g):
                e["used"] += 1
                otherwise.add((section, run))
                break
        else:
            wrong += 1
            print(f"{section} {run}: answer {at + 1} is {w} of NVIDIA's driver and {g} of this one: {' '.join(want)} / {' '.join(got)}")
    for e in entries:
        if e["sure"] and not e["used"]:
            wrong += 1
            print(f"{meant_at}:{e['line']}: there is no such difference any more")
    print(f"{len(theirs)} runs, {wrong} wrong, {sum(e['used'] for e in entries)} meant")
    sys.exit(wrong != 0)


if sys.argv[1] == "record":
    record(sys.argv[2:])
else:
    compare(*sys.argv[2:])
