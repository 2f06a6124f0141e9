#!/usr/bin/env python3
"""TAP: `restbench report`: the study's tables byte for byte, strict reading, hostile titles, files, JSON."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_files  # noqa: E402
from tap import CASES, Tap  # noqa: E402

t = Tap()
GOLDEN = os.path.join(CASES, "golden", "2026-11-05_no-auth.csv")
with open(GOLDEN, encoding="utf-8") as file:
    TEXT = file.read()
with open(GOLDEN[:-4] + ".md", encoding="utf-8") as file:
    TABLES = file.read()
LINES = TEXT.splitlines()


def made(text, name="a.csv"):
    with open(t.path(name), "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    return t.path(name)


def with_field(column, value, line=9):
    fields = LINES[line].split(",")
    fields[column] = value
    return "\n".join(LINES[:line] + [",".join(fields)] + LINES[line + 1:]) + "\n"


# The tables.
got = t.run("report", "--tables", GOLDEN)
t.ok(got.status == 0 and got.out == TABLES and got.err == "", "the golden tables, byte for byte", got.out)
both = t.run("report", "--tables", GOLDEN, os.path.join(CASES, "golden", "2026-11-06_jwt.csv"))
t.ok(TABLES in both.out and "n/a |" in both.out, "two files", both.out)

# Locales with a decimal comma and with another i; where they cannot be made the test fails.
locales = t.path("locales")
os.mkdir(locales)
for name in ("de_DE", "tr_TR"):
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", f"{locales}/{name}.UTF-8"], capture_output=True, check=False)
    env = {"LOCPATH": locales, "LC_ALL": f"{name}.UTF-8"}
    comma = subprocess.run(["locale", "decimal_point"], env={**os.environ, **env}, capture_output=True, text=True)
    t.is_(comma.stdout.strip(), ",", f"the locale {name} can be switched to", comma.stderr)
    t.is_(t.run("report", "--tables", GOLDEN, env=env).out, TABLES, f"the golden tables in {name}")
    got = t.run("report", "--json", GOLDEN, env=env)
    t.ok(got.status == 0 and json.loads(got.out)["runs"][0]["cells"][0]["requests_per_s"]["median"] > 1000.5,
         f"JSON in {name}", got.out[:400])
    t.is_(t.run("report", "--term", GOLDEN, env=env).out, t.run("report", "--term", GOLDEN).out, f"--term in {name}")

# What a strict reader refuses, with line and column.
for value in ("nan", "NAN(1)", "inf", "-0", "0x1p4", "1e309", "1e5", " 12", "12 ", "+12", "12abc", '"1,234"', '"1.234,5"', "--"):
    got = t.run("report", "--tables", made(with_field(5, value)))
    t.ok(got.status == 2 and re.search(r"a\.csv:10:\d+: requests_per_s", got.err) and got.out == "" and
         got.err.count("\n") == 1, f"requests_per_s {value}", got.err + got.out[:200])
    for words in (("verify", t.path("a.csv")), ("compare", t.path("a.csv"), GOLDEN)):
        got = t.run(*words)
        t.ok(got.status in (1, 2) and "a.csv:10:" in got.out + got.err and "nan" not in got.out.replace('"nan"', ""),
             f"{words[0]}: {value}", got.err + got.out[:300])
for column, value, name in ((2, "", "round"), (2, "1.5", "round"), (4, "050", "connections"), (1, "", "server"),
                            (1, "a\0b", "server"), (1, "a\x1b[31m", "server"), (1, "\u202eabc", "server")):
    got = t.run("report", "--tables", made(with_field(column, value)))
    t.ok(got.status == 2 and re.search(rf"a\.csv:10:\d+: {name}", got.err), f"{name} {value!r}", got.err)
got = t.run("report", "--tables", made(TEXT.encode().replace("·".encode(), b"\xb7", 1)))
t.ok(got.status == 2 and "UTF-8" in got.err, "invalid UTF-8", got.err)

# A file that went through a spreadsheet.
for name, text in (("a byte-order mark", b"\xef\xbb\xbf" + TEXT.encode()), ("CRLF", TEXT.replace("\n", "\r\n")),
                   ("all fields quoted", "".join(",".join(f'"{f}"' for f in re.findall(r'"[^"]*"|[^,\n]+', line)).replace('""', '"') + "\n"
                                                 for line in LINES))):
    t.is_(t.run("report", "--tables", made(text)).out, TABLES, name)
order = "\n".join(",".join([line.split(",")[1], line.split(",")[0], *line.split(",")[2:]]) for line in LINES[:3]) + "\n"
for name, text, wanted in (
        ("semicolons and decimal commas", TEXT.replace(".", ",").replace(",", ";", 9999), r"a\.csv:1:4: .*';'"),
        ("no newline at the end", TEXT[:-1], r"a\.csv:217:\d+: the last line is cut"),
        ("columns in another order", order, r"a\.csv:1:1: expected the header"),
        ("one column more", TEXT.replace("\n", ",1\n").replace("kernel_s,1", "kernel_s,x", 1), r"a\.csv:1:\d+: .*17"),
        ("header twice", TEXT + TEXT, r"a\.csv:218:1: utc: .*second header"),
        ("only a header", LINES[0] + "\n", r"a\.csv: .*nothing was measured"),
        ("an empty file", "", r"a\.csv:1:1: the file is empty")):
    got = t.run("report", "--tables", made(text))
    t.ok(got.status == 2 and re.search(wanted, got.err) and got.out == "" and got.err.count("\n") == 1, name, got.err)
got = t.run("report", t.path("none.csv"))
t.ok(got.status == 2 and "none.csv" in got.err, "a file that is not there", got.err)

# Titles that try something.
HOSTILE = ['Go 1.27, "tip" | net/http <b>&amp;', "</SCRIPT><!--<script>alert(1)", "__proto__", "=1+1", "x" * 200,
           "*bold* `code` [a](b)", "日本語 · サーバ", "'; set output '/tmp/x"]
cells, machine = run_files.make(titles=HOSTILE, rounds=2)
machine["rows"][0]["reason"] = None
path = run_files.write(t.folder, cells, machine)
got = t.run("report", "--tables", path)
t.is_(got.status, 0, "hostile titles are reported", got.err)
t.has(got.out, '| Go 1.27, "tip" \\| net/http &lt;b&gt;&amp;amp; |', "markdown: pipe, tag and entity escaped")
t.has(got.out, "| \\*bold\\* \\`code\\` \\[a\\](b) |", "markdown: stars, backticks and brackets escaped")
t.ok(all(re.sub(r"\\\|", "", line).count("|") == 4 for line in got.out.splitlines() if line.startswith("| ") and "+" not in line),
     "every row has its columns", got.out)
got = t.run("report", "--term", path)
plain = [line for line in got.out.splitlines() if line.startswith("  ")]


def width(text):
    return sum(2 if "\u2e80" <= c <= "\u9fff" or "\uff00" <= c <= "\uff60" else 1 for c in text)


t.is_(len({width(line[:line.index("server (CPU")]) for line in plain if "server (CPU" in line}), 1,
      "--term: columns aligned by display width", got.out)
t.hasnt(got.out, "\x1b", "--term: no colours into a pipe")
got = t.run("report", "--json", path)
t.is_([row["title"] for row in json.loads(got.out)["runs"][0]["rows"]], HOSTILE, "--json: titles as they are")
got = t.run("report", "--out", t.path("out"), path)
t.is_(got.status, 0, "files are written", got.err)
with open(t.path("out/2026-11-30_no-auth.html"), encoding="utf-8") as file:
    html = file.read()
block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1)
t.ok("<" not in block, "HTML: every < of the data is escaped")
t.is_(json.loads(block)["runs"][0]["rows"][1]["title"], HOSTILE[1], "HTML: and read as it was")
t.is_(len(re.findall(r"</script", html, re.I)), 3, "HTML: three scripts, each ended once")
t.ok(not re.search(r'(src|href)\s*=|url\(|@import', html.replace(block, "")[:20000]), "HTML: refers to nothing outside")

# Marks, missing rows, references.
cells, machine = run_files.make()
cells[4]["marks"].append({"name": "unconfirmed", "value": None, "threshold": None, "text": "the table holds fewer rows"})
machine["rows"].append({"id": "php", "title": "PHP 8", "status": "skipped", "reason": "needs php, found none"})
failed = {"format": 1, "kind": "failed", "row": {"id": "row-0", "title": "Go 1.27 · net/http"}, "round": 3, "test": "select_1",
          "phase": {"name": "200"}, "reason": "the server died: signal 11", "log": "/tmp/x.log"}
dropped = cells.pop(19)
path = run_files.write(t.folder, cells, machine)
with open(path.replace(".csv", "_details.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(failed) + "\n")
got = t.run("report", "--tables", path)
t.has(got.out, "- PHP 8: needs php, found none\n", "a row that was skipped, with its reason")
t.has(got.out, "- Go 1.27 · net/http, select\\_1, phase 200, round 3: the server died: signal 11 (log: /tmp/x.log)\n"
      if "select\\_1" in got.out else
      "- Go 1.27 · net/http, select_1, phase 200, round 3: the server died: signal 11 (log: /tmp/x.log)\n",
      "a cell that failed, with reason and log")
marked = cells[4]
t.has(got.out, "[A] unconfirmed: ", "a mark from the details has a sign and a sentence")
line = next(line for line in got.out.splitlines() if line.startswith("| " + marked["row"]["title"]))
t.ok("**" not in line.split("|")[2] and "[A]" in line.split("|")[2], "and forbids bold", line)
t.has(got.out, "[B] rounds: ", "fewer rounds than planned are marked")
t.has(got.out, "200 connections: 2 of 3", "with how many")

machine["rows"] = machine["rows"][:2]
machine["rows"][1]["reference"] = True
cells, _ = run_files.make()
path = run_files.write(t.folder, cells, machine)
got = t.run("report", "--tables", path)
t.ok(all("**" not in line for line in got.out.splitlines() if line.startswith("| Rust")), "a reference is never bold", got.out)
t.ok(got.out.endswith("all rounds: none\n"), "nothing is added where all is well", got.out)

# JSON by its schema, details and machine too.
try:
    import jsonschema
except ImportError:
    jsonschema = None
SCHEMA = os.path.join(CASES, "..", "..", "schema")


def validate(document, name):
    if jsonschema is None:
        return t.ok(True, f"{name} # SKIP python3-jsonschema is not here")
    with open(os.path.join(SCHEMA, name), encoding="utf-8") as schema:
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in jsonschema.Draft202012Validator(json.load(schema)).iter_errors(document)]
    return t.is_(errors[:3], [], name)


validate(json.loads(t.run("report", "--json", path).out), "report.schema.json")
validate(json.loads(t.run("report", "--json", GOLDEN).out), "report.schema.json")
with open(path.replace(".csv", "_machine.json"), encoding="utf-8") as file:
    validate(json.load(file), "machine.schema.json")
for item in (cells[0], failed):
    validate(item, "details.schema.json")

# Files, with and without what draws.
out = t.path("lone")
got = t.run("report", "--out", out, GOLDEN)
t.is_(got.status, 0, "a lone CSV makes all files", got.err)
with open(os.path.join(out, "2026-11-05_no-auth.md"), encoding="utf-8") as file:
    page = file.read()
t.has(page, TABLES, "the page holds the golden tables")
t.has(page, "## Spread over the rounds", "and the spread")
if shutil.which("gnuplot"):
    with open(os.path.join(out, "2026-11-05_no-auth_requests.svg"), encoding="utf-8") as file:
        svg = file.read()
    t.ok(svg.startswith("<?xml") and svg.rstrip().endswith("</svg>") and "Rust 1.99 · axum" in svg, "charts beside it", svg[:300])
    t.has(page, "![requests/s of every row and test, with the rounds](2026-11-05_no-auth_requests.svg)", "and in it")
got = t.run("report", "--out", t.path("bare"), GOLDEN, env={"PATH": t.folder, "RESTBENCH_CHART_JS": t.path("none.js")})
t.ok(got.status == 0 and "gnuplot" in got.err and "none.js" in got.err, "without gnuplot and Chart.js: said, and exit 0", got.err)
with open(t.path("bare/2026-11-05_no-auth.md"), encoding="utf-8") as file:
    t.has(file.read(), "No charts: gnuplot was not found", "and in the page")
both = t.run("report", "--out", t.path("two"), GOLDEN, os.path.join(CASES, "golden", "2026-11-06_jwt.csv"))
t.is_(sorted(n for n in os.listdir(t.path("two")) if not n.endswith(".svg")), ["2026-11-05_no-auth.html", "2026-11-05_no-auth.md"],
      "two CSVs make one report, named after the first")
doubled = made(TEXT + "\n".join(LINES[1:3]) + "\n")
t.has(t.run("report", "--tables", doubled).err, "2 lines repeat a cell", "a cell twice is named")
with open(path.replace(".csv", "_details.jsonl"), "a", encoding="utf-8") as file:
    file.write('{"format":1,')
t.has(t.run("report", "--tables", path).err, "_details.jsonl:25:", "a cut line of the details is named")

# Beside the published study.
got = t.run("report", "--json", "--against", "published", GOLDEN)
published = json.loads(got.out)["runs"][0]["published"]
t.is_((got.status, {table["spearman"] for table in published["tables"]}), (0, {1.0}), "the study against itself: every rank correlation is 1", got.err)
t.is_([row for table in published["tables"] for row in table["rows"] if abs(row["ratio"] - row["published_ratio"]) > 0.02], [], "and every ratio the same")
t.ok(all(item["outcome"] != "does not hold" for item in published["conclusions"]), "and no conclusion fails", published["conclusions"])
validate(json.loads(got.out), "report.schema.json")
jwt = t.run("report", "--tables", "--against", "published", os.path.join(CASES, "golden", "2026-11-06_jwt.csv"))
t.has(jwt.out, "The study's run 2026-11-06_jwt", "a run with tokens is set beside the one with tokens")
cells, machine = run_files.make(titles=("Rust 1.70 · axum", "Go 1.19.8 · net/http", "Mine"))
path = run_files.write(t.folder, cells, machine)
got = t.run("report", "--json", "--against", "published", "--reference", "Go 9 · net/http", path)
published = json.loads(got.out)["runs"][0]["published"]
t.is_(published["reference"], "Go 1.19.8 · net/http", "rows are paired by title without versions", got.err)
t.is_(published["only_here"], ["Mine"], "what the study lacks is named")
outcome = {item["text"]: item["outcome"] for item in published["conclusions"]}
t.is_(outcome["Rust answers more Select 1 requests than Go"], "does not hold", "a conclusion that fails")
t.is_(outcome["Go answers more Select 1 requests than Kestrel"], "cannot be decided", "one that lacks its row")
t.is_(outcome["Select 1 record is not limited by the load generator"], "holds", "one that verdicts decide")
t.ok(all(table["spearman"] is None for table in published["tables"]), "two rows have no rank correlation")
t.is_(t.run("report", "--against", "published", "--reference", "Mine", path).status, 2, "a reference that the study lacks")
cells, machine = run_files.make(titles=("A", "B"))
got = t.run("report", "--tables", "--against", "published", run_files.write(t.folder, cells, machine))
t.ok(got.status == 2 and "no row of the published study" in got.err, "nothing in common", got.err)
t.is_(t.run("report", "--against", "mine", GOLDEN).status, 2, "only the published study is known")
t.is_(t.run("report", "--tables", "--json", GOLDEN).status, 2, "two forms at once are refused")
t.is_(t.run("report").status, 2, "no file is refused")
# What concerns more than one cell: a server's life that the database does not confirm, a machine that changed.
machine["rows"][1]["reference"] = False
machine["calibration"] = {"drift_pct": -12.34}
cells, _ = run_files.make()
path = run_files.write(t.folder, cells, machine)
with open(path.replace(".csv", "_details.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps({"format": 1, "kind": "reconciliation", "row": cells[-1]["row"], "round": 2, "answers": 9,
                           "transactions": 8, "ok": False}) + "\n")
got = t.run("report", "--tables", path)
t.has(got.out, "[A] unconfirmed: ", "a life that the database does not confirm is marked")
t.has(got.out, " 4 cells: ", "in all cells of that row and round")
lines = [line for line in got.out.splitlines() if line.startswith("| Rust")]
t.ok(all("**" not in line and "[A]" in line for line in lines), "none of its figures is bold", "\n".join(lines))
t.has(got.out, "The whole run: -12.3 %", "a machine that changed its speed is said below the tables")
with open(t.path("2026-11-30_ceiling.json"), "w", encoding="utf-8") as file:
    json.dump({"format": 1, "tests": [{"name": "select_1", "transactions_per_s": 21600.0}]}, file)
t.run("report", "--out", t.path("ceiling"), path)
with open(t.path("ceiling/2026-11-30_no-auth.md"), encoding="utf-8") as file:
    text = file.read()
    t.has(text, "| PostgreSQL alone | 21,600/s |", "the ceiling of the day")
    t.has(text, "- Select 1 record: the fastest, Rust 1.99 · axum, reaches 51 % of what the database can do.", "how near the ceiling of the day the fastest comes")

t.done()
