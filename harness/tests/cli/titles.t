#!/usr/bin/env python3
"""TAP: titles that try something, and locales that write numbers otherwise, through a whole run: what is measured is
written, read, resumed, compared, verified and reported as it is."""

import csv
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from study import Study  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
HOSTILE = ['Go 1.27, "tip" | net/http <b>&amp;', "</SCRIPT><!--<script>", "__proto__", "=1+1", "x" * 200, "*bold* · 日本語",
           "'; DROP TABLE clienti; --"]


def with_titles(name, titles, **changes):
    study = Study(t.path(name), {f"s{i}": "" for i in range(len(titles))}, seconds=0.2, warmup={"seconds": 0, "connections": 1},
                  **changes)
    for i, title in enumerate(titles):
        study.add_server(f"s{i}", "", title=title)
    return study


study = with_titles("hostile", HOSTILE)
process = study.start("--rounds", "2")
t.ok(study.wait_for(lambda: len(study.csv()) >= 3), "hostile titles are measured", study.err())
study.kill(process)
got = t.run(*study.arguments("--rounds", "2", "--resume"))
t.is_(got.status, 0, "and the run is resumed", got.err)
t.is_(len(set(study.cells())), 2 * len(HOSTILE), "each row once a round", study.cells())
path = study.whole("_no-auth.csv")[0]
with open(path, encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
t.is_(sorted(row["server"] for row in rows), sorted(HOSTILE * 2), "another reader of CSV finds them as they were")
for title in HOSTILE:
    if len(title) < 60:
        t.has(got.out, f"  {title} ", f"the terminal shows {title}")
got = t.run("verify", path)
t.is_((got.status, got.out), (0, f"{path}: 14 cells, details, machine, 0 faults\n"), "verify", got.err)
got = t.run("report", path, "--out", t.path("out"))
with open(t.path(f"out/{os.path.basename(path)[:-4]}.md"), encoding="utf-8") as file:
    text = file.read()
table = [line for line in text.splitlines() if line.startswith("| ") and "requests" not in line][:8]
t.ok(r'| Go 1.27, "tip" \| net/http &lt;b&gt;&amp;amp; |' in text and r"| \*bold\* · 日本語 |" in text, "markdown escapes them",
     "\n".join(table))
got = t.run("compare", "--json", path, path)
t.is_({result["row"] for result in json.loads(got.out)["comparisons"][0]["results"]}, set(HOSTILE), "compare pairs them all", got.err)

for name, title in (("an escape", "a\x1b[31m"), ("a line's end", "a\nb"), ("text that runs backwards", "\u202eabc")):
    study = with_titles("refused", [title])
    got = t.run(*study.arguments())
    t.ok(got.status == 2 and got.err.count("\n") == 1 and "server.json" in got.err, f"a title with {name} is refused", got.err)
study = with_titles("bytes", ["x"])
with open(os.path.join(study.folder, "servers", "s0", "server.json"), "rb") as file:
    recipe = file.read()
with open(os.path.join(study.folder, "servers", "s0", "server.json"), "wb") as file:
    file.write(recipe.replace(b'"x"', b'"\xb7"'))
got = t.run(*study.arguments())
t.ok(got.status == 2 and got.err.count("\n") == 1 and "server.json" in got.err, "one that is no UTF-8, too", got.err)
study = with_titles("versions", ["V {v}"])
study.add_server("s0", "", title="V {v.full}", versions=[{"name": "v", "command": ["printf", "1.2.3\n4.5.6\n"],
                                                          "pattern": r"(\d+\.\d+\.\d+)"}])
got = t.run(*study.arguments())
t.ok(got.status == 0 and [row["title"] for row in study.machine()["rows"]] == ["V 1.2.3"], "a version command of two lines",
     got.err)

# Locales with a decimal comma, and with another i.
os.mkdir(t.path("locales"))
for name in ("de_DE", "tr_TR"):
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", t.path(f"locales/{name}.UTF-8")], capture_output=True, check=False)
    env = {"LOCPATH": t.path("locales"), "LC_ALL": f"{name}.UTF-8"}
    comma = subprocess.run(["locale", "decimal_point"], env={**os.environ, **env}, capture_output=True, text=True)
    t.is_(comma.stdout.strip(), ",", f"the locale {name} can be switched to", comma.stderr)
    study = with_titles(name, ["Title"])
    got = t.run(*study.arguments("--seconds", "0.25"), env=env)
    t.is_(got.status, 0, f"{name}: a run", got.err)
    path, text = study.whole("_no-auth.csv")
    fields = text.splitlines()[1].split(",")
    t.ok(len(fields) == 17 and re.fullmatch(r"\d+\.\d\d", fields[5]), f"{name}: numbers are written with a point", text)
    t.is_(study.details()[0]["phase"]["seconds"], 0.25, f"{name}: and read with one")
    t.is_(t.run("verify", path, env=env).status, 0, f"{name}: verify")
    got, plain = t.run("compare", path, path, env=env), t.run("compare", path, path)
    t.is_(got.out, plain.out, f"{name}: compare", got.err)
    got = t.run("load", "-d", "0.5s", "-c", "1", "-o", "json", "-p", "r", "http://127.0.0.1:1/", env=env)
    t.ok(got.status == 2 and "," not in got.err.split("127.0.0.1:1")[0], f"{name}: durations of load", got.err)

t.done()
