"""cluster - a private PostgreSQL of a test: a state folder, its commands, and looks at what is left."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
RESTBENCH = os.path.abspath(os.environ.get("RESTBENCH", os.path.join(ROOT, "restbench")))
LIMIT = 180  # seconds that any command may take on a busy machine


class Cluster:
    """A state folder that may hold a cluster; leaves nothing behind."""

    def __init__(self, state=None):
        self.base = tempfile.mkdtemp(prefix="restbench-db.")
        self.state = state or os.path.join(self.base, "state")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("stop")
        shutil.rmtree(self.base, ignore_errors=True)

    def command(self, *words):
        return [RESTBENCH, "db", *words, "--state", self.state]

    def run(self, *words, env=None, cwd=ROOT, wrap=()):
        environment = dict(os.environ) if env is None else env
        return subprocess.run([*wrap, *self.command(*words)], cwd=cwd, env=environment, capture_output=True, text=True,
                              timeout=LIMIT, stdin=subprocess.DEVNULL)

    def must(self, *words, **options):
        done = self.run(*words, **options)
        assert done.returncode == 0, f"db {' '.join(words)}: exit {done.returncode}: {done.stderr}"
        return done.stdout.strip()

    def url(self):
        return self.must("url")

    def sql(self, *statements, url=None):
        words = [part for statement in statements for part in ("-c", statement)]
        done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url or self.url(), *words],
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def role_url(self, role, database):
        with open(os.path.join(self.state, "pg", "pgpass"), encoding="ascii") as file:
            password = re.search(rf":{role}:(\w+)", file.read()).group(1)
        return re.sub(r"//.*@(.*)/.*", rf"//{role}:{password}@\1/{database}", self.url())

    def admin_url(self):
        return self.role_url("postgres", "postgres")

    def server_url(self):
        return self.role_url("restbench_server", "restbench")

    def socket_folder(self):
        return self.sql("SHOW unix_socket_directories", url=self.admin_url())

    def postmaster(self):
        with open(os.path.join(self.state, "pg", "data", "postmaster.pid"), encoding="utf-8") as file:
            return int(file.readline())

    def processes(self):
        """Every process that works in this cluster's data folder, or in a half-made one."""
        found = []
        for link in glob.glob("/proc/[0-9]*/cwd"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith(self.state + "/pg"):
                found.append(int(link.split("/")[2]))
        return found

    def segments(self):
        """Its shared memory in /dev/shm, of the processes that it has now; clusters of others come and go beside it."""
        names = set()
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
                    names |= set(re.findall(r"/dev/shm/PostgreSQL\.\d+", file.read()))
            except OSError:
                pass
        return names

    def session(self, *statements, url=None):
        """A stranger's psql that stays connected; ended with kill()."""
        script = "".join(f"{statement};\n" for statement in statements)
        process = subprocess.Popen(["psql", "-XAtq", url or self.url()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write(script + "\\echo ready\n")
        process.stdin.flush()
        while process.stdout.readline().strip() != "ready":
            assert process.poll() is None
        return process


class Shared(Cluster):
    """One cluster for the tests that leave it as it was: making one takes seconds on a busy machine."""

    made = None

    def __new__(cls):
        if cls.made is None:
            cls.made = object.__new__(cls)
            Cluster.__init__(cls.made)
        return cls.made

    def __init__(self):
        self.must("start")
        self.must("seed")

    def __exit__(self, *_):
        pass

    @classmethod
    def end(cls):
        if cls.made is not None:
            Cluster.__exit__(cls.made)


def waited(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def left(names):
    """Those of the segments that are still there."""
    return {name for name in names if os.path.exists(name)}


def command_lines():
    for name in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                yield file.read()
        except OSError:
            pass
