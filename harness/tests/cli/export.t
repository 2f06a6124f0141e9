#!/usr/bin/env python3
"""TAP: `restbench export`: tidy CSV that a CSV library reads back, and distributions in HdrHistogram's text."""

import csv
import io
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_files  # noqa: E402
from tap import CASES, Tap  # noqa: E402

t = Tap()
GOLDEN = os.path.join(CASES, "golden", "2026-11-05_no-auth.csv")

got = t.run("export", GOLDEN)
rows = list(csv.DictReader(io.StringIO(got.out)))
with open(GOLDEN, encoding="utf-8") as file:
    wanted = list(csv.DictReader(file))
t.is_(got.status, 0, "a lone CSV is exported", got.err)
t.is_(len(rows), len(wanted) * 15, "fifteen figures a cell")
figures = {(r["server"], r["round"], r["test"], r["connections"], r["figure"]): r["value"] for r in rows}
differing = [(w, name) for w in wanted for name in list(w)[5:]
             if float(figures[w["server"], w["round"], w["test"], w["connections"], name]) != float(w[name])]
t.is_(differing, [], "every figure of the CSV is there")
t.is_({r["run"] for r in rows}, {"2026-11-05_no-auth"}, "the run is named")
t.is_(figures["Rust 1.99 · axum", "1", "ping", "50", "cpu_server_user_us_per_request"],
      f'{1e6 * float(wanted[24]["cpu_server_user_s"]) / float(wanted[24]["responses_2xx"]):.3f}', "CPU per request")

both = t.run("export", GOLDEN, os.path.join(CASES, "golden", "2026-11-06_jwt.csv"))
t.is_(both.out.count("run,utc,server"), 1, "several files share one header")

cells, machine = run_files.make(titles=('Go, "tip"', "=1+1"), rounds=2)
cells[0]["csv"]["private_mb"] = None
path = run_files.write(t.folder, cells, machine)
got = t.run("export", path)
rows = list(csv.DictReader(io.StringIO(got.out)))
t.is_({r["server"] for r in rows}, {'Go, "tip"', "=1+1"}, "hostile titles come back as they were")
t.is_([r["value"] for r in rows if r["figure"] == "private_mb"][0], "", "unknown is empty")
t.ok([r for r in rows if r["figure"] == "generator_pct" and r["value"] == "41.000"], "the details' figures too", got.out)

got = t.run("export", "--hgrm", t.path("hgrm"), path)
names = sorted(os.listdir(t.path("hgrm")))
t.is_(got.status, 0, "distributions are written", got.err)
t.is_(len(names), 8, "one file for each row, test and connections", names)
t.is_(names[0], "2026-11-30_no-auth_row-0_ping_200.hgrm", "named by row, test and connections")
with open(t.path("hgrm/" + names[0]), encoding="utf-8") as file:
    text = file.read()
lines = [list(map(float, line.split())) for line in text.splitlines()[2:] if not line.startswith("#")]
total = sum(c["load"]["restbench"]["ok"] for c in cells
            if c["row"]["id"] == "row-0" and c["test"] == "ping" and c["phase"]["connections"] == 200)
t.ok(text.startswith("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "HdrHistogram's head", text)
t.is_((lines[-1][1], lines[-1][2]), (1.0, float(total)), "ends at 100 % of all answers", text)
t.ok(all(a[0] <= b[0] and a[1] < b[1] and a[2] <= b[2] for a, b in zip(lines, lines[1:])), "every column rises", text)
t.ok(all(abs(line[3] * (1 - line[1]) - 1) < 0.01 for line in lines[:-1]), "1/(1-percentile)", text)
t.ok(re.search(rf"#\[Max     = +[0-9.]+, Total count    = +{total}\]", text), "the foot counts", text)
got = t.run("export", "--hgrm", t.path("hgrm"), GOLDEN)
t.ok(got.status == 2 and "_details.jsonl" in got.err, "a lone CSV has no distributions", got.err)
got = t.run("export", t.path("none.csv"))
t.ok(got.status == 2 and "none.csv" in got.err, "a file that is not there", got.err)
t.done()
