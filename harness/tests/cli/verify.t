#!/usr/bin/env python3
"""TAP: `restbench verify` names what is wrong by file and line, and finds nothing where nothing is."""

import copy
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_files  # noqa: E402
from tap import CASES, Tap  # noqa: E402

t = Tap()
GOLDEN = os.path.join(CASES, "golden", "2026-11-05_no-auth.csv")
with open(GOLDEN, encoding="utf-8") as file:
    LINES = file.read().splitlines()


def lone(name, lines, newline=True):
    with open(t.path(name), "w", encoding="utf-8", newline="") as out:
        out.write("\n".join(lines) + ("\n" if newline else ""))
    return t.path(name)


def set_field(line, column, value):
    fields = line.split(",")
    fields[column] = value
    return ",".join(fields)


def faulty(name, path, *parts):
    got = t.run("verify", path)
    missing = [part for part in parts if part not in got.out]
    t.ok(got.status == 1 and not missing, name, f"status {got.status}, missing {missing}\n{got.out}{got.err}")


# A lone CSV.
got = t.run("verify", GOLDEN)
t.is_(got.status, 0, "the golden file is clean", got.out)
t.has(got.out, "216 cells (a lone CSV), 0 faults", "and says what was checked")
faulty("the other golden file holds a negative figure", os.path.join(CASES, "golden", "2026-11-06_jwt.csv"),
       "2026-11-06_jwt.csv:56: cpu_postgres_s is negative: -1.25")
got = t.run("verify", t.path("nothing.csv"))
t.is_(got.status, 2, "a file that cannot be read", got.err)
got = t.run("verify")
t.is_(got.status, 2, "no file given", got.err)

fields = LINES[9].split(",")
faulty("p50 and p99 swapped", lone("a.csv", LINES[:9] + [set_field(set_field(LINES[9], 6, fields[7]), 7, fields[6])] +
                                   LINES[10:]), "a.csv:10: latency_p50_ms is above latency_p99_ms")
faulty("a cell twice", lone("a.csv", LINES[:10] + [LINES[9]] + LINES[10:]), "a.csv:11: the cell of line 10 again")
faulty("a cut last line", lone("a.csv", LINES, newline=False), "a.csv:217:", "cut")
faulty("a rate that was edited", lone("a.csv", LINES[:9] + [set_field(LINES[9], 5, "99999.00")] + LINES[10:]),
       "a.csv:10: responses_2xx / requests_per_s is")
faulty("answers that were edited", lone("a.csv", LINES[:9] + [set_field(LINES[9], 8, "99999")] + LINES[10:]),
       "a.csv:10: responses_2xx / requests_per_s is")
faulty("CPU that does not add up", lone("a.csv", LINES[:9] + [set_field(LINES[9], 15, "1.000000")] + LINES[10:]),
       "a.csv:10: user + kernel is not cpu_server_s")
faulty("a negative CPU", lone("a.csv", LINES[:9] + [set_field(LINES[9], 11, "-2.65")] + LINES[10:]),
       "a.csv:10: cpu_postgres_s is negative: -2.65")
faulty("time goes back", lone("a.csv", LINES[:9] + [set_field(LINES[9], 0, "2026-11-05T07:00:00Z")] + LINES[10:]),
       "a.csv:10: utc goes back")
faulty("every fault is named", lone("a.csv", [LINES[0], set_field(LINES[1], 5, "nan"), LINES[2],
                                              set_field(LINES[3], 2, "1.5")]), "a.csv:2:", '"nan"', "a.csv:4:", '"1.5"',
       "2 faults")
faulty("only a header", lone("a.csv", LINES[:1]), "nothing was measured")
faulty("another header", lone("a.csv", ["a,b"] + LINES[1:]), "a.csv:1:1: expected the header")
faulty("the day of the name", lone("2026-12-01_x.csv", LINES), "2026-12-01_x.csv:2: utc is before the day")

# Calibration files, which a pattern such as data/*.csv names too.
calibration = lone("2026-11-30_calibration_before.csv", ["utc,processes,ms", "2026-11-30T12:00:00Z,1,210.3", "2026-11-30T12:00:00Z,4,800.1"])
t.is_(t.run("verify", calibration).status, 0, "a calibration file is clean")
faulty("a calibration file that was edited", lone("2026-11-30_calibration_after.csv", ["utc,processes,ms", "2026-11-30T12:00:00Z,1,-5"]),
       "calibration_after.csv:2: expected a number")
t.is_(t.run("report", "--tables", GOLDEN, calibration).status, 0, "and a report of all files leaves it out")

# A whole run.
CELLS, MACHINE = run_files.make()
path = run_files.write(t.folder, CELLS, MACHINE)
got = t.run("verify", path)
t.is_(got.status, 0, "a whole run is clean", got.out + got.err)
t.has(got.out, "24 cells, details, machine, 0 faults", "and all its files were checked")


def changed(name, change, *parts, lines=None):
    cells, machine = copy.deepcopy(CELLS), copy.deepcopy(MACHINE)
    before = [run_files.csv_line(item) for item in cells]
    change(cells, machine)
    faulty(name, run_files.write(t.folder, cells, machine, lines=before if lines is None else lines), *parts)


def latency(cells, key, value):
    cells[3]["load"]["restbench"]["latency_us"][key] = value


changed("an edited figure that a lone CSV hides", lambda c, m: c[3]["csv"].update(working_set_mb=1.0),
        "_details.jsonl:4: working_set_mb is 1 here and 12.5 in line 5 of the CSV")
changed("p99 above max", lambda c, m: latency(c, "max", 25.0), "_details.jsonl:4: latency p99_99 is above max")
changed("answers that vanish", lambda c, m: c[3]["load"]["restbench"].update(in_flight=7),
        "_details.jsonl:4: started is not ok + errors + in flight")
changed("a histogram that lost answers", lambda c, m: c[3]["load"]["restbench"]["latency_us"]["histogram"].pop(0),
        "_details.jsonl:4: the histogram holds")
changed("seconds that lost answers", lambda c, m: c[3]["load"]["restbench"]["per_second"].pop(0),
        "_details.jsonl:4: the seconds add up to")
changed("a mean that is not possible", lambda c, m: latency(c, "mean", 99999.0),
        "_details.jsonl:4: rate x mean latency is")


def bound(cells, mean):
    cells[3]["marks"] = [{"name": "generator-bound", "value": 97.0, "threshold": 85.0, "text": "its CPUs 97 %"}]
    latency(cells, "mean", mean)


changed("a mean that is too long, even for a generator at its limit", lambda c, m: bound(c, 99999.0),
        "_details.jsonl:4: rate x mean latency is")
changed("a mean that is too short", lambda c, m: latency(c, "mean", 1.0), "_details.jsonl:4: rate x mean latency is")
CELLS_BOUND, MACHINE_BOUND = copy.deepcopy(CELLS), copy.deepcopy(MACHINE)
bound(CELLS_BOUND, 1.0)
run_files.write(t.folder, CELLS_BOUND, MACHINE_BOUND)
got = t.run("verify", path)
t.hasnt(got.out, "rate x mean latency", "a generator at its limit leaves connections idle: no contradiction")


def window(cells, factor, tool="restbench"):
    cell = cells[3]
    cell["tool"]["name"] = tool
    cell["window"]["seconds"] *= factor
    cell["csv"]["requests_per_s"] = cell["csv"]["responses_2xx"] / cell["window"]["seconds"]


changed("a window that was stretched", lambda c, m: window(c, 1.03), "_details.jsonl:4: the window is ")
CELLS_LATE, MACHINE_LATE = copy.deepcopy(CELLS), copy.deepcopy(MACHINE)
window(CELLS_LATE, 1.03, "wrk")
run_files.write(t.folder, CELLS_LATE, MACHINE_LATE)
got = t.run("verify", path)
t.hasnt(got.out, " s, ", "another tool may end later")
for path_, value, mark in (("verdict.generator_pct", 97.0, "generator-bound"), ("disturbance.steal_pct_max", 9.0, "steal"),
                           ("affinity.wrong", 2, "affinity"), ("load.restbench.errors.mismatch", 3, "mismatch"),
                           ("listener.foreign_connections", 1, "listener"), ("listener.ours", False, "listener"),
                           ("cpu.postgres", {"source": "proc", "adds_up": False}, "accounting")):
    def disturbed(cells, machine, names=path_.split("."), value=value):
        place = cells[3]
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = value

    changed(f"a mark that was taken off although {path_} is {value}", disturbed,
            f"_details.jsonl:4: the mark {mark} is missing: ")
changed("a cell that the details lack", lambda c, m: c.pop(3), "nothing for line 5 of the CSV")
changed("a cell twice in the details", lambda c, m: c.append(c[3]), "_details.jsonl:25: a second object for line 5")
changed("a cell that the CSV lacks", lambda c, m: c[3].update(round=9), "_details.jsonl:4: the CSV has no line")
changed("a configuration that was edited", lambda c, m: m["study"].update(seconds=4), "study_sha256 is not")
changed("a complete run without a cell", lambda c, m: c.pop(), "no line for Rust 1.99 · axum, round 3, select_1, 200",
        lines=[run_files.csv_line(item) for item in CELLS[:-1]])
changed("two rows with one title", lambda c, m: m["rows"][0].update(title="Rust 1.99 · axum"),
        "two rows have one title", "no row has the title Go 1.27 · net/http")
RECONCILED = {"format": 1, "kind": "reconciliation", "row": CELLS[0]["row"], "round": 1, "answers": 500,
              "transactions": 500, "ok": True}
run_files.write(t.folder, CELLS, MACHINE)
with open(path.replace(".csv", "_details.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(RECONCILED) + "\n")
got = t.run("verify", path)
t.is_(got.status, 0, "a server's life that the database confirms is clean", got.out)
changed("one that it does not confirm", lambda c, m: c.append({**RECONCILED, "transactions": 499, "ok": False}),
        "_details.jsonl:25: Go 1.27 · net/http, round 1: unconfirmed: 500 answers")
changed("one that was edited", lambda c, m: c.append({**RECONCILED, "transactions": 499}), "_details.jsonl:25: Go 1.27")
changed("a machine file of another format", lambda c, m: m.update(format=2), "_machine.json:1:")
path = run_files.write(t.folder, CELLS, MACHINE)
with open(path.replace(".csv", "_details.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(CELLS[0])[:100])
faulty("a cut line of the details", path, "_details.jsonl:25:", "cut")
t.done()
