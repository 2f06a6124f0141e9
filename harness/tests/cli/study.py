"""study - a small study without a database, over the faulty server, in a folder of the test's own."""

import json
import os
import shutil
import signal
import subprocess
import time

from tap import HERE, RESTBENCH

# Tests do not measure: they may run while somebody does.
os.environ["RESTBENCH_SHARE_CPUS"] = "1"



def folder_of(pid):
    """Where a process works; "" when it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
SERVERS = os.path.join(HERE, "..", "servers")


class Study:
    """servers: {"name": fault}, in that order; rows: those of servers/ instead. Files: study.json, servers/, data/, state/ below `folder`."""

    def __init__(self, folder, servers, rows=None, **changes):
        self.folder = folder
        self.pids = []
        self.data = os.path.join(folder, "data")
        self.state = os.path.join(folder, "state")
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o755)
        for name, fault in servers.items():
            self.add_server(name, fault)
        study = {
            "format": 1, "servers": list(servers), "rounds": 1, "warmup": {"seconds": 0.1, "connections": 2},
            "seconds": 0.5, "phases": [{"name": "4", "connections": 4}], "database": {"kind": "none"},
            "calibration": False,
            "servers_folder": "servers",
            "tests": [{"name": "ping", "title": "Ping", "path": "/ping", "expect": {"json": {"ok": True}}}],
        }
        study.update(changes)
        if rows is not None:
            study["servers"] = rows
        self.path = os.path.join(folder, "study.json")
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(study, file, indent=2)

    def add_server(self, name, fault="", **changes):
        folder = os.path.join(self.folder, "servers", name)
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(SERVERS, "faulty", "server.py"), folder)
        recipe = {"format": 1, "title": f"Server {name}", "approach": "standard",
                  "run": {"command": ["python3", "-B", "server.py"],
                          "env": {"FAULT": fault, "MARK": os.path.basename(self.folder) + name}},
                  "start_timeout_s": 20, "stop_timeout_s": 1}
        recipe.update(changes)
        with open(os.path.join(folder, "server.json"), "w", encoding="utf-8") as file:
            json.dump(recipe, file, indent=2)

    def arguments(self, *more):
        return ["run", self.path, "--data", self.data, "--state", self.state, *more]

    def start(self, *more, **options):
        """In the background, in its own group; stdout and stderr into files."""
        with open(os.path.join(self.folder, "out"), "ab") as out, open(os.path.join(self.folder, "err"), "ab") as err:
            process = subprocess.Popen([RESTBENCH, *self.arguments(*more)], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True, **options)
        self.pids.append(process.pid)
        return process

    def read(self, ending):
        """The lines of the only file in data/ whose name ends so; [] when there is none."""
        return self.whole(ending)[1].splitlines() if self.names(ending) else []

    def names(self, ending):
        return [n for n in sorted(os.listdir(self.data)) if n.endswith(ending)] if os.path.isdir(self.data) else []

    def whole(self, ending):
        """Path and content of the only file in data/ whose name ends so."""
        path = os.path.join(self.data, self.names(ending)[0])
        with open(path, encoding="utf-8") as file:
            return path, file.read()

    def err(self):
        """What runs in the background have said."""
        with open(os.path.join(self.folder, "err"), encoding="utf-8") as file:
            return file.read()

    def csv(self):
        """Finished lines: one that is being written has no end yet."""
        names = self.names("_no-auth.csv")
        return [line[:-1] for line in self.whole(names[0])[1].splitlines(keepends=True)[1:]
                if line.endswith("\n")] if names else []

    def details(self):
        return [json.loads(line) for line in self.read("_details.jsonl")]

    def machine(self):
        return json.loads("\n".join(self.read("_machine.json")))

    def plan(self, *more):
        """Every cell in order, as --dry-run has it: (round, row, test, phase)."""
        done = subprocess.run([RESTBENCH, *self.arguments("--dry-run", *more)], capture_output=True, text=True,
                              check=True)
        words = [line.split() for line in done.stdout.splitlines() if line.startswith("round ")]
        return [(int(number), row, test, phase) for _, number, row, test, phase in words]

    def cells(self):
        """The finished cells of the details, in the file's order."""
        return [(d["round"], d["row"]["id"], d["test"], d["phase"]["name"]) for d in self.details() if "kind" not in d]

    def now(self):
        """What the run says of itself; {} when it says nothing (yet)."""
        try:
            with open(os.path.join(self.state, "run", "status.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def processes(self):
        """Pids of whatever was started from this study's state folder."""
        state = os.path.realpath(self.state)
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and folder_of(pid).startswith(state)]

    def generators(self):
        """Pids of load tools at work: they live in the run's work folder."""
        return [pid for pid in self.processes() if folder_of(pid).endswith("/run/work")]

    def groups(self):
        """The cgroups of runs that were started here."""
        found = []
        for base, folders, _ in os.walk("/sys/fs/cgroup"):
            found += [os.path.join(base, f) for f in folders
                      if any(f.startswith(f"restbench-{pid}-") for pid in self.pids)]
        return found

    def kill(self, process, with_signal=signal.SIGKILL):
        """Ends it and waits until it has gone; it may have ended already."""
        if process.poll() is None:
            process.send_signal(with_signal)
        return process.wait(120)


def short_database_study(folder, state, **changes):
    """The reference server over a private PostgreSQL: six cells of 0.3 s, one test in three writes."""
    tests = {test["name"]: test for test in json.load(open(os.path.join(ROOT, "config", "quick.json"),
                                                           encoding="utf-8"))["tests"]}
    sql = {key: os.path.join(ROOT, "sql", f"{key}.sql") for key in ("schema", "seed", "reset", "checksum")}
    study = Study(folder, {}, **{
        "rows": ["c-reference"], "servers_folder": os.path.join(ROOT, "servers"), "rounds": 2, "seconds": 0.3,
        "warmup": {"seconds": 0.1, "connections": 4}, "pool": 4,
        "database": {"kind": "postgresql", "table": "clienti", "rows": 100000, **sql},
        "tests": [tests[name] for name in ("ping", "select_1", "insert_100")], **changes})
    study.state = state
    return study
