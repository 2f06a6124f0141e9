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

SERVERS = os.path.join(HERE, "..", "servers")


class Study:
    """servers: {"name": fault}, in that order. Files: study.json, servers/, data/, state/ below `folder`."""

    def __init__(self, folder, servers, **changes):
        self.folder = folder
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
            return subprocess.Popen([RESTBENCH, *self.arguments(*more)], stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=err, start_new_session=True, **options)

    def read(self, ending):
        """The lines of the only file in data/ whose name ends so; [] when there is none."""
        names = [n for n in sorted(os.listdir(self.data)) if n.endswith(ending)] if os.path.isdir(self.data) else []
        if not names:
            return []
        with open(os.path.join(self.data, names[0]), encoding="utf-8") as file:
            return file.read().splitlines()

    def csv(self):
        return self.read("_no-auth.csv")[1:]

    def details(self):
        return [json.loads(line) for line in self.read("_details.jsonl")]

    def machine(self):
        return json.loads("\n".join(self.read("_machine.json")))

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def processes(self):
        """Pids of whatever was started from this study's state folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd").startswith(os.path.realpath(self.state)):
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def kill_all(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
