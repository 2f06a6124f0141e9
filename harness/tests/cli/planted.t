#!/usr/bin/env python3
"""TAP: faults that are planted in servers, in the database or on the machine are each caught by the name of a mark,
and the marks reach the tables, the terminal and the exit status; what was written can be verified, and edits show.

    planted.t [machine] [drift] [settings] [database]       only these"""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from study import SERVERS, Study  # noqa: E402
from tap import HERE, Tap  # noqa: E402

t = Tap()
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
SQUATTER = """
import socket, sys, threading
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
def serve(c):
    while c.recv(65536):
        c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: 11\\r\\n\\r\\n{\\"ok\\":true}")
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


def marks_of(study):
    """{row: (names of marks, the details)}: one cell a row."""
    cells = [d for d in study.details() if "kind" not in d]
    return {cell["row"]["id"]: ([mark["name"] for mark in cell["marks"]], cell) for cell in cells}


class Disturber(threading.Thread):
    """Does to some rows' servers, while they live, what a server cannot do itself. Rows are told by their FAULT."""

    def __init__(self, study, server_cpu, generator_cpu):
        super().__init__(daemon=True)
        self.study, self.cpus, self.over, self.done = study, (server_cpu, generator_cpu), threading.Event(), {}

    def run(self):
        while not self.over.wait(0.05):
            for pid in self.study.processes():
                try:
                    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
                        env = dict(item.split("=", 1) for item in file.read().split("\0") if "=" in item)
                    fault = env["FAULT"]
                    user = os.stat(f"/proc/{pid}").st_uid
                except (OSError, KeyError):
                    continue
                if fault in ("hog-server", "hog-generator", "second") and fault not in self.done:
                    self.done[fault] = self.start_one(fault, int(env["PORT"]), user)
                    threading.Thread(target=self.end_one, args=(fault, pid), daemon=True).start()

    def start_one(self, fault, port, user):
        if fault != "second":
            cpu = self.cpus[fault == "hog-generator"]
            return subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"])
        while True:  # when it listens and was found to be the only one
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        time.sleep(0.5)
        options = {"user": user} if os.geteuid() == 0 else {}
        return subprocess.Popen([sys.executable, "-c", SQUATTER, str(port)], cwd="/", **options)

    def end_one(self, fault, pid):
        while os.path.exists(f"/proc/{pid}") and not self.over.is_set():
            time.sleep(0.05)
        self.done[fault].kill()
        self.done[fault].wait()


def caught(found, row, name, why):
    names, cell = found.get(row, ([], None))
    t.ok(name in names, f"{why}: {name}", f"marks {names}, {json.dumps(cell)[-2500:]}")
    return cell


def check_machine():
    rows = ["rogue-child", "fled-child", "rare", "half", "chunks", "hog-server", "hog-generator", "second"]
    study = Study(t.path("machine"), {row: row for row in rows}, seconds=4, warmup={"seconds": 0.5, "connections": 2})
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        t.ok(True, "planted faults # SKIP one CPU")
        return
    disturber = Disturber(study, allowed[0], allowed[-1])
    disturber.start()
    got = t.run(*study.arguments("--strict", "--cpus", f"{allowed[0]}/{allowed[-1]}"))
    disturber.over.set()
    disturber.join()
    found = marks_of(study)
    t.is_(sorted(found), sorted(rows), "every row is measured", got.err)
    for row, why in (("rogue-child", "CPU of children that nobody waits for"),
                     ("fled-child", "CPU of children that left the process tree")):
        names, cell = found.get(row, ([], None))
        cpu = cell["cpu"]["server"] if cell else {"source": None, "total_s": None}
        # The two sources must differ by 0.1 s: a server that hardly got a CPU cannot show it.
        if "accounting" not in names and "others" in names and cpu["total_s"] < 0.4:
            t.ok(True, f"{why} # SKIP others use its CPU")
            continue
        caught(found, row, "accounting", why)
        t.ok(cpu["source"] != "cgroup" or cpu["total_s"] > cpu["other_total_s"], "and it is the server's", cpu)
    caught(found, "rare", "mismatch", "a wrong body once in 5,000")
    caught(found, "half", "slope", "a server that becomes slower")
    names, cell = found.get("chunks", ([], None))
    if cell and "generator-bound" not in names and "others" in names:
        t.ok(True, "a generator at its limit # SKIP others use its CPU")
    else:
        caught(found, "chunks", "generator-bound", "a generator at its limit")
    cell = caught(found, "hog-server", "others", "a hog on the server's CPU")
    t.ok(cell and cell["cpu"]["unattributed_s"] > 0.3, "its time is not the server's", cell and cell["cpu"])
    cell = caught(found, "hog-generator", "others", "a hog on the generator's CPU")
    t.ok(cell and cell["cpu"]["unattributed_generator_s"] > 0.3, "its time is not the generator's", cell and cell["cpu"])
    cell = caught(found, "second", "listener", "a second owner of the port")
    t.ok(cell and "process" in " ".join(cell["listener"]["foreign"]), "who is named", cell and cell["listener"])
    t.is_(got.status, 1, "--strict: marks give exit status 1", got.err)
    t.has(got.err, "rare, round 1, ping, 4: mismatch", "a mark is said when it is found")
    t.has(got.out, "] mismatch: answers under load", "and stands below the tables of the terminal")
    path = os.path.join(study.data, next(name for name in os.listdir(study.data) if name.endswith("no-auth.csv")))
    tables = t.run("report", "--tables", path).out
    line = next(line for line in tables.splitlines() if line.startswith("| Server second"))
    t.has(line, "[", "figures have a sign in the tables")
    t.has(tables, "] listener: ", "and a line below")
    t.ok(all("**" not in line for line in tables.splitlines() if line.startswith("| Server rare")), "never bold", tables)
    check_edits(path)


def check_drift():
    """Hogs on the server's CPU, for some cells of the first row; a server that never rests is not the machine's speed."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        t.ok(True, "drift # SKIP one CPU")
        return
    study = Study(t.path("drift"), {"quiet": "", "works-on": "works-on"}, seconds=1,
                  phases=[{"name": f"p{i}", "connections": 4} for i in range(8)])
    process = study.start("--cpus", f"{allowed[0]}/{allowed[-1]}")
    study.wait_for(lambda: len(study.csv()) >= 5)
    # Several, each in a session of its own, which the scheduler may treat as one: beside others' work one is little.
    hogs = [subprocess.Popen(["taskset", "-c", str(allowed[0]), sys.executable, "-c", "while True: pass"],
                             start_new_session=True) for _ in range(4)]
    try:
        study.wait_for(lambda: len(study.csv()) >= 8)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    t.is_(process.wait(120), 0, "a run with hogs for a while", study.err())
    cells = study.details()
    slow = [cell for cell in cells if cell["phase"]["name"] == "p6" and cell["row"]["id"] == "quiet"]
    marks = [mark for cell in slow for mark in cell["marks"] if mark["name"] == "drift"]
    before = [cell for cell in cells if cell["row"]["id"] == "quiet" and cell["phase"]["name"] < "p5"]
    seen = len(marks) == 1 and marks[0]["value"] > 40
    if not seen and sum("others" in [mark["name"] for mark in cell["marks"]] for cell in before) > 2:
        t.ok(True, "a machine that is slower for some cells # SKIP others make it so all the time")
    else:
        t.ok(seen, "a machine that is slower for some cells: drift",
             "\n".join(f"{cell['row']['id']} {cell['phase']['name']}: probes {cell['disturbance']['probe_before_ms']} "
                       f"{cell['disturbance']['probe_after_ms']}, {[(m['name'], m['value']) for m in cell['marks']]}"
                       for cell in cells))
    busy = [cell for cell in cells if cell["row"]["id"] == "works-on"]
    t.ok(len(busy) == 8 and all(cell["disturbance"]["probe_own_ms"] > 50 for cell in busy),
         "what a server that never rests took from the probe is known", [cell["disturbance"] for cell in busy])
    alone = [cell for cell in busy if "others" not in [mark["name"] for mark in cell["marks"]]]
    if len(alone) < 4:
        t.ok(True, "a server that never rests # SKIP others use its CPU")
    else:
        drifts = [cell for cell in alone if "drift" in [mark["name"] for mark in cell["marks"]]]
        t.ok(len(drifts) <= len(alone) / 2, "and is not taken for the machine's speed", [c["disturbance"] for c in drifts])


def check_edits(path):
    """What `verify` says of real files, and of the same after somebody edited them."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    got = t.run("verify", path)
    t.is_(got.status, 0, "verify finds nothing in what was written", got.out + got.err)

    def edit(name, change, *parts):
        fields = lines[1].split(",")
        edited = list(lines)
        edited[1] = ",".join(change(fields) or fields)
        if name == "a cell twice":
            edited.insert(2, edited[1])
        text = "\n".join(edited) + ("" if name == "a cut last line" else "\n")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        said = t.run("verify", path)
        missing = [part for part in parts if part not in said.out]
        t.ok(said.status == 1 and not missing, f"verify: {name}", f"status {said.status}, missing {missing}\n{said.out}")

    edit("p50 and p99 swapped", lambda f: f[:6] + [f[7], f[6]] + f[8:], ":2: latency_p50_ms is above latency_p99_ms")
    edit("a negative CPU", lambda f: f[:10] + ["-2.650000"] + f[11:], ":2: cpu_server_s is negative")
    edit("a cell twice", lambda f: None, ":3: the cell of line 2 again")
    edit("a cut last line", lambda f: None, "cut")
    edit("an edited figure", lambda f: f[:5] + ["99999.00"] + f[6:], ":2: responses_2xx / requests_per_s")
    edit("details that disagree", lambda f: f[:12] + ["1.00"] + f[13:], "_details.jsonl:1: working_set_mb is")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def make_cheats(folder, modes):
    """The servers of ../servers/cheats as one folder with variants."""
    folder = os.path.join(folder, "servers", "cheat")
    os.makedirs(folder)
    for source, name in (("minimal", "server.py"), ("minimal", "pgwire.py"), ("cheats", "cheat.py")):
        shutil.copy(os.path.join(SERVERS, source, name), folder)
    recipe = {"format": 1, "title": "Cheat", "approach": "standard", "run": {"command": ["python3", "-B", "cheat.py"]},
              "variants": [{"name": mode, "title": f"Cheat {mode}", "env": {"CHEAT": mode}} for mode in modes]}
    with open(os.path.join(folder, "server.json"), "w", encoding="utf-8") as file:
        json.dump(recipe, file)


def study_of_cheats(folder, modes):
    with open(os.path.join(ROOT, "config", "quick.json"), encoding="utf-8") as file:
        quick = json.load(file)
    database = {key: os.path.join(ROOT, "config", value) if isinstance(value, str) and value.endswith(".sql") else value
                for key, value in quick["database"].items()}
    tests = [test for test in quick["tests"] if test["name"] in ("select_1", "insert_100")]
    make_cheats(folder, modes)
    study = Study(folder, {}, database=database, tests=tests, seconds=1.0)
    with open(study.path, encoding="utf-8") as file:
        config = json.load(file)
    config["servers"] = [f"cheat:{mode}" for mode in modes]
    with open(study.path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return study


def in_measured_database(study, what):
    """A setting of the measured database alone: a session elsewhere does not see it."""
    got = t.run("db", "start", "--state", study.state)
    t.is_(got.status, 0, "the database starts", got.err)
    url = t.run("db", "url", "--state", study.state).out.strip()
    sql = f"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I {what}', current_database()); END $$"
    done = subprocess.run(["psql", "-X", "-q", "-c", sql, url], capture_output=True, text=True, timeout=60)
    t.is_(done.returncode, 0, what, done.stderr)
    t.run("db", "stop", "--state", study.state)


def append_to_cluster(study, line):
    settings = glob.glob(os.path.join(study.state, "pg", "**", "postgresql.conf"), recursive=True)
    t.is_(len(settings), 1, "the cluster has one file of settings")
    with open(settings[0], "a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")


def check_settings():
    """Each of the two that make inserts fast and not durable, alone."""
    study = study_of_cheats(t.path("settings"), ["honest"])
    for name, other in (("synchronous_commit", "fsync"), ("fsync", "synchronous_commit")):
        shutil.rmtree(study.data, ignore_errors=True)
        if name == "fsync":
            in_measured_database(study, "RESET synchronous_commit")
            append_to_cluster(study, "fsync = off")
        else:
            in_measured_database(study, "SET synchronous_commit = off")
        got = t.run(*study.arguments("--tests", "insert_100"))
        t.is_(got.status, 0, f"a run with {name} off alone", got.err)
        marks = [mark for cell in study.details() if "kind" not in cell for mark in cell["marks"]]
        texts = [mark["text"] for mark in marks if mark["name"] == "settings"]
        t.is_(texts, [f"{name} was off: inserts were not durable"], "the mark names it", marks)
        settings = study.machine()["database"]["settings"]
        t.is_((settings[name], settings[other]), ("off", "on"), "machine.json, too")
        t.has(got.out, f"inserts were not durable. Here: {name} = off. 1 cell: Cheat honest", "and the end of the run")
        path = study.whole("_no-auth.csv")[0]
        t.run("report", path, "--out", t.path("reports"))
        with open(t.path(f"reports/{os.path.basename(path).removesuffix('.csv')}.md"), encoding="utf-8") as file:
            text = file.read()
        t.has(text, f"Here: {name} = off.", "and the report, where its figures are")
        t.has(text, f"settings.{name}: off", "and where it tells of the database")


def check_database():
    modes = ["honest", "rolls-back", "canned", "many-connections"]
    study = study_of_cheats(t.path("database"), modes)
    try:
        in_measured_database(study, "SET synchronous_commit = off")
        append_to_cluster(study, "fsync = off")
        got = t.run(*study.arguments())
        cells = {}
        for cell in study.details():
            cells.setdefault((cell["row"]["id"].removeprefix("cheat:"), cell.get("test")), []).append(cell)

        def names(mode, test):
            return [mark["name"] for cell in cells.get((mode, test), []) for mark in cell["marks"]]

        def reconciled(mode):
            return [cell["ok"] for cell in cells.get((mode, None), [])]

        t.ok("unconfirmed" in names("rolls-back", "insert_100"), "inserts that are rolled back: unconfirmed", got.err)
        t.ok("unconfirmed" not in names("honest", "insert_100"), "an honest server is confirmed", got.err)
        t.is_(reconciled("honest"), [True], "and its transactions were counted", got.err)
        t.is_(reconciled("canned"), [False], "canned answers: too few transactions for them", got.err)
        t.ok("pool" in names("many-connections", "select_1"), "a pool larger than declared: pool", got.err)
        t.ok("pool" not in names("honest", "select_1"), "one as declared has no mark", got.err)
        t.ok("settings" in names("honest", "insert_100"), "fsync and synchronous_commit off: settings", got.err)
        t.ok("settings" not in names("honest", "select_1"), "of tests that write", got.err)
        settings = study.machine()["database"]["settings"]
        t.is_((settings["fsync"], settings["synchronous_commit"]), ("off", "off"), "and machine.json has both")
        path = os.path.join(study.data, next(name for name in os.listdir(study.data) if name.endswith("no-auth.csv")))
        tables = t.run("report", "--tables", path).out
        t.has(tables, "] settings: fsync or synchronous_commit was off", "and in the report")
        canned = [line for line in tables.splitlines() if line.startswith("| Cheat canned")]
        t.ok(canned and all("**" not in line and "[" in line for line in canned), "a life that is not confirmed is "
             "never bold", "\n".join(canned))
        said = t.run("verify", path)
        t.has(said.out, "Cheat canned, round 1: unconfirmed", "verify says it, too")
        t.ok(said.out.count("_details.jsonl") <= 2 and "Cheat honest" not in said.out, "and nothing else", said.out)
    finally:
        t.run("db", "stop", "--state", study.state)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
wanted = sys.argv[1:] or ["machine", "drift", "settings", "database"]
if "machine" in wanted:
    check_machine()
if "drift" in wanted:
    check_drift()
if "settings" in wanted:
    check_settings()
if "database" in wanted:
    check_database()
t.done()
