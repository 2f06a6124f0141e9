#!/usr/bin/env python3
"""TAP: what PostgreSQL alone does is measured at the end of a run or afterwards, and every report says how near each
server comes to it, or that it was not measured."""

import json
import os
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from study import ROOT, short_database_study  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()


def validate(document, name):
    try:
        import jsonschema
    except ImportError:
        t.ok(True, f"fits {name} # SKIP no jsonschema")
        return
    with open(os.path.join(ROOT, "harness", "schema", name), encoding="utf-8") as file:
        schema = json.load(file)
    try:
        jsonschema.validate(document, schema)
        t.ok(True, f"fits {name}")
    except jsonschema.ValidationError as error:
        t.ok(False, f"fits {name}", error)


def make(name, **changes):
    study = short_database_study(t.path(name), t.path("state"), rounds=1, **changes)
    with open(study.path, encoding="utf-8") as file:
        config = json.load(file)
    config["tests"] = [test for test in config["tests"] if test["name"] != "ping"]
    with open(study.path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return study


def markdown(study, path):
    got = t.run("report", path, "--out", t.path("reports"))
    t.is_(got.status, 0, "a report is written", got.err)
    stem = os.path.basename(path).removesuffix(".csv")
    with open(t.path(f"reports/{stem}.md"), encoding="utf-8") as file:
        return file.read()


def put(changed):
    with open(path.replace(".csv", "_ceiling.json"), "w", encoding="utf-8") as file:
        json.dump(changed, file)


def planned_s(*arguments):
    got = t.run("run", os.path.join(ROOT, "config", "study.json"), "--dry-run", *arguments)
    hours, minutes, seconds = re.search(r"about (?:(\d+):)?(\d+):(\d+)", got.out.splitlines()[-1]).groups()
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)


t.is_(planned_s("--ceiling", "yes") - planned_s("--ceiling", "no"), 3 * (5 + 15), "the plan has its time")
os.chmod(t.folder, 0o755)
study = make("whole", ceiling=True)
got = t.run(*study.arguments())
t.is_(got.status, 0, "a run whose study wants the ceiling, too", got.err)
t.has(got.err, "ceiling    PostgreSQL without a server, by pgbench: 2 tests", "it is said")
path = study.whole("_no-auth.csv")[0]
ceiling = json.loads(study.whole("_ceiling.json")[1])
validate(ceiling, "ceiling.schema.json")
t.is_([test["name"] for test in ceiling["tests"]], ["select_1", "insert_100"], "each test that uses the database")
t.is_(ceiling["pgbench"]["clients"], 4, "with as many clients as the servers' pool")
t.ok(all(test["cpu_postgres_s"] > 0 for test in ceiling["tests"]), "and the CPU that it took", ceiling["tests"])
t.has(got.out, "of db  limited by", "the terminal has a column")
rows = [line for line in got.out.splitlines() if "C reference" in line and "%" in line and " * " in line]
t.ok(len(rows) == 2 and all(re.search(r" \d+ %  \S", row) for row in rows), "for each row and test", got.out)
t.has(got.out, "of db: percent of what the database can do without a server, by pgbench with 4 clients: Select 1 record ",
      "and a line that explains it")
text = markdown(study, path)
for title in ("Select 1 record", "Insert 100 records"):
    t.ok(re.search(rf"^- {title}: the fastest, C reference .*, reaches \d+ % of what the database can do\.$", text,
                   re.M), f"markdown says it of {title}", text[-3000:])
t.ok(re.search(r"^\| C reference [^|]*\| \d+ % \([\d,]+\) \| \d+ % \([\d,]+\) \|$", text, re.M), "and has a row of all tests")
for rate, says in ((1, True), (1e9, False)):
    put({**ceiling, "tests": [{**test, "transactions_per_s": rate} for test in ceiling["tests"]]})
    got = t.run("report", "--term", path)
    t.is_("; above 100 %: pgbench, which ran at another time, did less" in got.out, says,
          f"more than a ceiling of {rate:g}/s is explained: {says}", got.out)
put(ceiling)
whole = json.loads(t.run("report", "--json", path).out)
validate(whole, "report.schema.json")
cells = whole["runs"][0]["cells"]
t.ok(all(cell["of_ceiling_pct"] > 0 for cell in cells), "JSON has it for each cell", cells)
with open(t.path(f"reports/{os.path.basename(path).removesuffix('.csv')}.html"), encoding="utf-8") as file:
    t.has(file.read(), '"of_ceiling_pct":', "and the page gets it from there")
t.is_(t.run("verify", path).status, 0, "verify knows the file")

study = make("later", ceiling=True)
got = t.run(*study.arguments("--ceiling", "no"))
t.is_((got.status, study.names("_ceiling.json")), (0, []), "--ceiling no leaves it out", got.err)
path = study.whole("_no-auth.csv")[0]
t.has(got.out, f"what the database alone can do was not measured: restbench ceiling {path}", "and the terminal says so")
t.has(markdown(study, path), f"Not measured here: `restbench ceiling {path}` measures it", "markdown, too")
got = t.run("ceiling", path, "--study", study.path, "--state", study.state, "--seconds", "1", "--warmup", "0", "--tests",
            "select_1")
t.is_(got.status, 0, "it can be measured afterwards", got.err)
t.is_(got.out.strip(), path.replace(".csv", "_ceiling.json"), "beside the CSV")
text = markdown(study, path)
t.ok("| PostgreSQL alone | " in text and "Insert 100 records: the fastest" not in text, "of the tests that were asked for",
     text[-3000:])
got = t.run("ceiling", path, "--study", study.path, "--state", study.state)
t.ok(got.status == 2 and "is there already; it is not overwritten" in got.err, "never over another", got.err)

study = make("without")
os.makedirs(t.path("sql"))
for name in ("schema", "seed", "reset", "checksum"):
    shutil.copy(os.path.join(ROOT, "sql", f"{name}.sql"), t.path("sql"))
with open(study.path, encoding="utf-8") as file:
    config = json.load(file)
config["database"] = {key: value.replace(os.path.join(ROOT, "sql"), t.path("sql")) if isinstance(value, str) else value
                      for key, value in config["database"].items()}
with open(study.path, "w", encoding="utf-8") as file:
    json.dump(config, file)
got = t.run(*study.arguments("--ceiling", "yes", "--tests", "select_1"))
t.is_(got.status, 0, "without scripts for pgbench a run is as good", got.err)
t.ok("ceiling    not measured: " in got.err and "with a script in" in got.err, "what lacked is said", got.err)
t.ok(any("alone can do was not measured" in json.dumps(note) for note in study.machine()["notes"]), "and noted",
     study.machine()["notes"])
got = t.run(*study.arguments("--ceiling", "maybe"))
t.ok(got.status == 2 and "--ceiling maybe: give yes or no" in got.err, "another word is refused", got.err)

# Interrupted while it is measured: the cells are kept, and it is measured when the run is resumed.
study = make("interrupted", ceiling=True, phases=[{"name": "4", "connections": 4}], seconds=1.5)
process = study.start("--tests", "select_1")
t.ok(study.wait_for(lambda: "by pgbench" in study.err()), "a run comes to its ceiling", study.err())
t.has(t.run("status", "--state", study.state).out, "PostgreSQL without a server", "status says what it does")
process.send_signal(signal.SIGINT)
t.is_(process.wait(120), -signal.SIGINT, "an interrupt ends it there", study.err())
t.is_((study.names("_ceiling.json"), study.machine()["run"]["complete"], study.processes()), ([], False, []),
      "no half of it, and nothing running, is left")
got = t.run(*study.arguments("--resume", "--tests", "select_1"))
t.is_((got.status, len(study.cells()), len(study.names("_ceiling.json")), study.machine()["run"]["complete"]), (0, 1, 1, True),
      "--resume measures only what is missing", got.err)

t.done()
