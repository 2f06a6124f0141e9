#!/usr/bin/env python3
"""restbench compare: pairs, directions, failures, summaries; each case is a copy of the golden CSV with one change."""
import csv
import json
import os
import subprocess
import sys
import tempfile

RESTBENCH = os.environ.get("RESTBENCH", "./restbench")
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "cases", "golden", "2026-11-05_no-auth.csv")
JWT = os.path.join(HERE, "..", "cases", "golden", "2026-11-06_jwt.csv")
FOLDER = tempfile.TemporaryDirectory(prefix="restbench-compare-")
RUST = "Rust 1.99 · axum"
GO = "Go 1.27 · net/http"
count = 0
failed = 0


def ok(condition, name, shown=""):
    global count, failed
    count += 1
    print(("ok" if condition else "not ok"), count, "-", name)
    if not condition:
        failed += 1
        for line in str(shown).splitlines()[-25:]:
            print("  #", line)


def compare(*arguments):
    done = subprocess.run([RESTBENCH, "compare", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def read(path=GOLDEN):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(name, rows, header=None):
    path = os.path.join(FOLDER.name, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header or list(read()[0].keys()), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def changed(name, change):
    """A copy in which `change` has had its way with each line; None drops it."""
    rows = []
    for row in read():
        row = change(row)
        if row is not None:
            rows.append(row)
    return write(name, rows)


def scaled(columns, factor):
    def change(row):
        for column in columns:
            value = float(row[column]) * factor
            row[column] = str(round(value)) if column in ("errors", "responses_2xx") else f"{value:.6f}"
        return row
    return change


def is_cell(row, server, test="select_1", connections="50"):
    return row["server"] == server and row["test"] == test and row["connections"] == connections


def results(stdout, **wanted):
    found = []
    for result in json.loads(stdout)["comparisons"][0]["results"]:
        if all(result[key] == value for key, value in wanted.items()):
            found.append(result)
    return found


# 61: nothing in common
renamed = changed("renamed/2026-11-07_no-auth.csv", lambda row: {**row, "server": row["server"] + " x"})
status, out, err = compare(GOLDEN, renamed)
ok(status == 2 and out == "" and "no cell in common" in err and "--map" in err, "other titles: nothing in common", err)
ok(any(RUST in line and RUST + " x" in line for line in err.splitlines()), "the titles side by side", err)
status, out, err = compare(GOLDEN, JWT)
ok(status == 2 and "no cell in common" in err and "jwt" in err and "--map no-auth=jwt" in err, "another mode", err)
status, out, err = compare("--map", "no-auth=jwt", GOLDEN, JWT)
ok(status == 0 and "72 pairs" in out, "another mode, asked for", out + err)
status, out, err = compare(GOLDEN, write("empty/2026-11-07_no-auth.csv", []))
ok(status == 2 and "no cell in common" in err and "header" in err, "only a header", err)
other = changed("phases/2026-11-07_no-auth.csv",
                lambda row: {**row, "connections": {"50": "64", "200": "256"}[row["connections"]]})
status, out, err = compare(GOLDEN, other)
ok(status == 2 and "no cell in common" in err and "50, 200" in err and "64, 256" in err, "other connections", err)
partial = changed("partial/2026-11-07_no-auth.csv",
                  lambda row: {**row, "server": "Rust 2.00 · axum" if row["server"] == RUST else row["server"]})
status, out, err = compare(GOLDEN, partial)
ok(status == 0 and "64 pairs; base has 72 cells, head 72" in out, "a partial overlap: the number of pairs", out)
ok(f"missing  {RUST} is missing" in out and "unpaired Rust 2.00 · axum is only in" in out,
   "a partial overlap: each unpaired title", out)
status, out, err = compare("--map", f"{RUST}=Rust 2.00 · axum", GOLDEN, partial)
ok(status == 0 and "72 pairs" in out and f"{RUST} -> Rust 2.00 · axum" in out, "--map pairs two titles", out + err)
status, out, err = compare("--map", "Rust=Rust 2.00 · axum", GOLDEN, partial)
ok(status == 2 and 'no row "Rust"' in err and "nearest" in err, "--map names a row that is not there", err)

# 62: direction
METRICS = {
    "rate": (["requests_per_s"], "slower", "faster"),
    "p50": (["latency_p50_ms"], "longer", "shorter"),
    "p99": (["latency_p99_ms"], "longer", "shorter"),
    "cpu": (["cpu_server_s", "cpu_server_user_s", "cpu_server_kernel_s"], "more", "less"),
    "cpu_postgres": (["cpu_postgres_s"], "more", "less"),
    "working_set": (["working_set_mb"], "more", "less"),
    "private": (["private_mb"], "more", "less"),
    "startup": (["startup_s"], "longer", "shorter"),
}
for metric, (columns, worse, better) in METRICS.items():
    bad = 0.7 if metric == "rate" else 1.3
    for factor in (bad, 2 - bad):
        head = changed(f"{metric}{factor}/2026-11-07_no-auth.csv", scaled(columns, factor))
        status, out, err = compare("--fail-above", "5%", "--json", GOLDEN, head)
        called = {(r["verdict"], r["metric"]) for r in json.loads(out)["comparisons"][0]["results"]
                  if r["verdict"] in ("better", "worse")}
        words = [r["words"] for r in results(out, metric=metric)]
        if factor == bad:
            ok(status == 1 and ("worse", metric) in called and not any(v == "better" for v, _ in called) and
               all(w.endswith(worse) for w in words), f"{metric} x {factor:.1f} is worse and fails", (status, called, words))
        else:
            ok(status == 0 and ("better", metric) in called and not any(v == "worse" for v, _ in called) and
               all(w.endswith(better) for w in words), f"{metric} x {factor:.1f} is better", (status, called, words))
fewer = changed("fewer/2026-11-07_no-auth.csv", scaled(["responses_2xx"], 0.7))
status, out, err = compare("--fail-above", "5%", "--json", GOLDEN, fewer)
ok(status == 1 and {r["verdict"] for r in results(out, metric="cpu")} == {"worse"},
   "fewer answers for the same CPU are more CPU a request", err)
slow = changed("slow/2026-11-07_no-auth.csv", scaled(["requests_per_s"], 0.8))
status, out, err = compare("--fail-above", "5", GOLDEN, slow)
ok(status == 1 and "worse: 20 % slower" in out and "head / base" in out, "20 % slower", out)
status, out, err = compare("--fail-above", "5", slow, GOLDEN)
ok(status == 0 and "better: 25 % faster" in out, "the files swapped: 25 % faster", out)
status, out, err = compare("--fail-above", "30%", GOLDEN, slow)
ok(status == 0, "worse, but within the bound", err)


def with_errors(server, errors):
    return lambda row: {**row, "errors": str(errors)} if is_cell(row, server) else row


some = changed("some/2026-11-07_no-auth.csv", with_errors(GO, 2000))
hundred = changed("hundred/2026-11-07_no-auth.csv", lambda row: {**row, "errors": "100"})
more = changed("more/2026-11-07_no-auth.csv", lambda row: {**row, "errors": "120"})
status, out, err = compare("--fail-above", "5%", "--json", GOLDEN, some)
ok(status == 1 and results(out, metric="errors", verdict="worse", fails=True), "errors where there were none fail", err)
status, out, err = compare("--fail-above", "5%", "--json", some, GOLDEN)
ok(status == 0 and results(out, metric="errors", verdict="better"), "no errors where there were some are better", err)
status, out, err = compare("--fail-above", "5%", "--json", hundred, more)
ok(status == 1 and {r["words"] for r in results(out, metric="errors")} == {"worse: 20 % more"}, "20 % more errors fail", err)
status, out, err = compare("--fail-above", "5%", "--json", more, hundred)
ok(status == 0 and {r["words"] for r in results(out, metric="errors")} ==
   {"better: 17 % fewer", "not an improvement: 17 % fewer"},
   "17 % fewer do not, and are no improvement while above 0.1 %", out)

# 63: failed in head


def without_cell(row):
    return None if is_cell(row, GO) else row


def without_line(row):
    return None if is_cell(row, GO) and row["round"] == "2" else row


def dead_cell(row):
    if not is_cell(row, GO):
        return row
    return {**row, "requests_per_s": "0", "responses_2xx": "0", "latency_p50_ms": "", "latency_p99_ms": "",
            "errors": "0"}


def broken_cell(row):
    if not is_cell(row, GO):
        return row
    answers = float(row["responses_2xx"]) * 2
    return {**row, "requests_per_s": f"{float(row['requests_per_s']) * 2:.2f}", "responses_2xx": str(int(answers)),
            "errors": str(int(answers * 3 / 7))}


CASES = [
    ("a cell missing", without_cell, f"missing  {GO}: select_1, 50 connections is missing"),
    ("a line missing", without_line, f"missing  {GO}: select_1, 50 connections is missing in round 2"),
    ("a cell without an answer", dead_cell, f"failed   {GO}: select_1, 50 connections failed in round 1, 2, 3"),
    ("30 % errors at twice the rate", broken_cell, f"errors   {GO}: select_1, 50 connections: 30 % of the requests"),
    ("a server gone", lambda row: None if row["server"] == GO else row, f"missing  {GO} is missing"),
]
for number, (name, change, expected) in enumerate(CASES):
    head = changed(f"failed{number}/2026-11-07_no-auth.csv", change)
    status, out, err = compare(GOLDEN, head)
    ok(status == 0 and expected.replace("30 %", "30.0 %") in out, f"{name}: named", out[:2000])
    status, out, err = compare("--fail-above", "5%", GOLDEN, head)
    ok(status == 1 and "(FAIL)" in out and err.count("\n") == 1, f"{name}: fails", err)
    status, out, err = compare("--json", GOLDEN, head)
    ok(not results(out, verdict="better"), f"{name}: no improvement", results(out, verdict="better"))
    if change is broken_cell:
        ok([r["verdict"] for r in results(out, metric="rate", row=GO, test="select_1", connections=50)] ==
           ["not an improvement"], "twice the rate with errors is not an improvement")

# 64: summaries over pairs only
gone = changed("gone/2026-11-07_no-auth.csv", lambda row: None if row["server"] == RUST else row)
status, out, err = compare("--json", GOLDEN, gone)
rate = [s for s in json.loads(out)["comparisons"][0]["summary"] if s["metric"] == "rate"][0]
ok(rate["geometric_mean_pct"] == 0 and rate["used"] == 64 and rate["of"] == 64, "a row without a partner: mean 0", rate)
status, out, err = compare(GOLDEN, gone)
ok("geometric mean +0.0 %, over 64 of 64 pairs" in out and "base has 72 cells, head 64" in out, "of how many", out)
zero_a = changed("zero_a/2026-11-07_no-auth.csv", lambda r: {**r, "requests_per_s": "0"} if is_cell(r, GO) else r)
zero_b = changed("zero_b/2026-11-07_no-auth.csv", lambda r: {**r, "requests_per_s": "0"} if is_cell(r, GO) else r)
status, out, err = compare(zero_a, zero_b)
ok(f"geometric mean +0.0 %, over 71 of 72 pairs; left out, zero or not measured: {GO} select_1, 50" in out,
   "zeros are left out by name", out)

# shapes
one = changed("one/2026-11-07_no-auth.csv", lambda row: row if row["round"] == "1" else None)
one_slow = changed("one_slow/2026-11-07_no-auth.csv",
                   lambda row: scaled(["requests_per_s"], 0.5)(row) if row["round"] == "1" else None)
status, out, err = compare("--json", one, one_slow)
ok(status == 0 and not json.loads(out)["comparisons"][0]["concluded"] and
   {r["verdict"] for r in results(out, metric="rate")} == {"cannot tell"}, "one round: nothing can be concluded")
status, out, err = compare("--fail-above", "5%", one, one_slow)
ok(status == 1 and "nothing can be concluded" in err, "one round is no pass", err)
status, out, err = compare(GOLDEN, GOLDEN)
ok(status == 0 and "0 worse, 0 better, 514 no difference, 0 cannot tell" in out, "a file against itself", out[-300:])
status, out, err = compare("--map", f"{GO}={RUST}", GOLDEN, GOLDEN)
ok(status == 0 and "8 pairs" in out and "round by round" in out and "changed" in out, "two rows of one run", out[:600])
status, out, err = compare(GOLDEN, slow, partial)
ok(status == 0 and out.count("control  ") == 2, "each further file against the first", out[:300])
for arguments, expected in [((GOLDEN,), "two CSVs"), ((GOLDEN, "/nonexistent.csv"), "/nonexistent.csv"),
                            (("--json", "--markdown", GOLDEN, slow), "exclude each other"),
                            (("--map", "x", GOLDEN, slow), "BASE=HEAD"),
                            (("--fail-above", "x", GOLDEN, slow), "fail-above")]:
    status, out, err = compare(*arguments)
    ok(status == 2 and expected in err and err.count("\n") == 1 and out == "", f"usage: {expected}", err)

# 55: numbers that are none
for bad in ("nan", "NAN(1)", "inf", "0x1p4", " 12", "12abc", "+12", "--", "1e5", "1e309"):
    head = changed("bad/2026-11-07_no-auth.csv",
                   lambda row: {**row, "requests_per_s": bad} if is_cell(row, GO) and row["round"] == "2" else row)
    status, out, err = compare(head, GOLDEN)
    ok(status == 2 and out == "" and ":108:" in err, f"a rate of {bad!r} is named by its line", err)

# a control takes drift out, a machine.json says what differs


def machine(path, model, version, build):
    rows = [{"id": "go-nethttp", "folder": "go-nethttp", "title": GO, "reference": False, "status": "measured",
             "versions": {"go": version}},
            {"id": "c", "folder": "c", "title": RUST, "reference": True, "status": "measured", "build_hash": build}]
    document = {"format": 1, "run": {"mode": "no-auth", "complete": True, "started_utc": "2026-11-05T08:00:00Z"},
                "machine": {"id": model, "cpu_model": model}, "database": {"settings": {"fsync": "on"}},
                "rows": rows, "tests": [], "phases": [], "rounds": 3, "study": {"seconds": 15}}
    document["tests"] = [{"name": "ping", "title": "Ping", "database": False, "writes": False}]
    with open(path[:-4] + "_machine.json", "w", encoding="utf-8") as file:
        json.dump(document, file)


def two_rows(factors):
    def change(row):
        if row["server"] not in factors:
            return None
        return scaled(["requests_per_s"], factors[row["server"]])(row)
    return change


base = changed("control_a/2026-11-07_no-auth.csv", two_rows({GO: 1, RUST: 1}))
drifted = changed("control_b/2026-11-08_no-auth.csv", two_rows({GO: 0.8, RUST: 0.8}))
machine(base, "A", "1.27.1", "x")
machine(drifted, "B", "1.27.2", "x")
status, out, err = compare("--json", base, drifted)
document = json.loads(out)["comparisons"][0]
ok(document["control"] == "reference" and abs(document["drift_pct"] + 20) < 0.1 and
   all(abs(r["change_pct"]) < 0.1 for r in results(out, metric="rate", row=GO)), "a reference row takes drift out", out[:500])
ok({r["verdict"] for r in results(out, metric="rate", row=RUST)} == {"control"}, "the control itself is not judged")
ok(any("CPU: A in base, B in head" in note for note in document["notes"]) and
   any("go: 1.27.1 in base, 1.27.2 in head" in note for note in document["notes"]) and
   any("two machines" in note for note in document["notes"]), "what differs is said", document["notes"])
machine(drifted, "B", "1.27.2", "y")
status, out, err = compare("--json", base, drifted)
ok(json.loads(out)["comparisons"][0]["control"] == "none" and results(out, metric="rate", verdict="worse"),
   "a reference that was built differently is no control", out[:500])
for path, factor in ((GOLDEN, 1), (slow, 1.25)):
    copy = changed(f"calibrated{factor}/2026-11-05_no-auth.csv", scaled(["requests_per_s"], 1 / factor))
    for side, utc in (("before", "2026-11-05T07:59:00Z"), ("after", "2026-11-05T09:59:00Z")):
        with open(os.path.join(os.path.dirname(copy), f"2026-11-05_calibration_{side}.csv"), "w", encoding="utf-8") as file:
            file.write("utc,processes,ms\n2026-11-05T00:00:00Z,1,1.0\n")
            for processes in (1, 4, 8):
                file.write(f"{utc},{processes},{100 * processes * factor:.3f}\n")
            file.write("2026-11-05T23:00:00Z,1,9.0\n")
status, out, err = compare("--json", os.path.join(FOLDER.name, "calibrated1/2026-11-05_no-auth.csv"),
                           os.path.join(FOLDER.name, "calibrated1.25/2026-11-05_no-auth.csv"))
document = json.loads(out)["comparisons"][0]
ok(document["control"] == "calibration" and abs(document["drift_pct"] + 20) < 0.1 and
   all(abs(r["change_pct"]) < 0.1 for r in results(out, metric="rate")), "calibrations take drift out", out[:500])

# what is written
status, out, err = compare("--markdown", GOLDEN, slow)
ok(status == 0 and "| **worse: 20 % slower** |" in out and "- Rate, " + GO in out, "markdown", out[:800])
hostile = changed("hostile/2026-11-07_no-auth.csv",
                  lambda row: {**row, "server": 'a|b *c* <b>, "d"' if row["server"] == GO else row["server"]})
status, out, err = compare("--markdown", hostile, hostile)
ok(status == 0 and "a\\|b \\*c\\*" in out and "<b>" not in out, "titles are harmless in markdown", out[:800])
try:
    import jsonschema
    with open(os.path.join(HERE, "..", "..", "schema", "compare.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    for arguments in ((GOLDEN, slow), (one, one_slow), (GOLDEN, GOLDEN), (base, drifted)):
        jsonschema.validate(json.loads(compare("--json", *arguments)[1]), schema)
    ok(True, "JSON is as its schema says")
except ImportError:
    ok(True, "JSON is as its schema says # SKIP no jsonschema")
except jsonschema.ValidationError as error:
    ok(False, "JSON is as its schema says", error)
locales = {**os.environ, "LOCPATH": os.path.join(FOLDER.name, "loc"), "LC_ALL": "de_DE.UTF-8"}
os.makedirs(locales["LOCPATH"])
made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(locales["LOCPATH"], "de_DE.UTF-8")],
                      capture_output=True)
comma = subprocess.run([sys.executable, "-c", "import locale; locale.setlocale(locale.LC_ALL, ''); print(f'{1.5:n}')"],
                       env=locales, capture_output=True, text=True)
ok(comma.stdout.strip() == "1,5", "a locale with a decimal comma is in force", comma.stderr)
plain = compare(GOLDEN, slow)[1]
ok(subprocess.run([RESTBENCH, "compare", GOLDEN, slow], env=locales, capture_output=True, text=True).stdout == plain,
   "the same text with a decimal comma")
print(f"1..{count}")
sys.exit(failed > 0)
