#!/usr/bin/env python3
"""Requests per second of a generator's own CPU, tool beside tool: `make -C harness/bench generators`.

One cheap server on one CPU, one generator on another, in turn; a round runs every tool once at every load, so that
what disturbs the machine disturbs neighbours alike. The server's own count says how many requests there were, wait4()
what they cost the generator (its start included). Printed: the median of the rounds with its spread, and restbench
against each tool as the median of the ratios of each round.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
BUILT = os.path.join(ROOT, "build", "bench")
RUN_LIMIT_S = 20

# name: connections, bytes of an answer's body, a connection a request, factor of the time, tools compared by default
LOADS = {
    "50": (50, 20, False, 1, "floor restbench wrk h2load bombardier oha"),
    "200": (200, 20, False, 1, "floor restbench wrk h2load bombardier oha"),
    "1000": (1000, 20, False, 1, "floor restbench wrk bombardier"),
    "10000": (10000, 20, False, 1, "floor restbench wrk bombardier"),
    "16k-50": (50, 16384, False, 1, "floor restbench wrk"),
    "16k-200": (200, 16384, False, 1, "floor restbench wrk"),
    "close-50": (50, 20, True, 1, "floor restbench wrk bombardier"),
}


# What is asked of restbench: at least so many times the requests per CPU-second of the tool.
ASKED = {
    "50": {"floor": 0.95, "wrk": 1.35, "bombardier": 1.7, "h2load": 1.5, "oha": 2.1},
    "200": {"floor": 0.95, "wrk": 1.35, "bombardier": 1.7, "h2load": 1.5, "oha": 2.1},
    "10000": {"wrk": 1.6, "bombardier": 2.5},
    "16k-50": {"wrk": 1.5},
    "16k-200": {"wrk": 1.5},
    "close-50": {"wrk": 1.3, "bombardier": 2.0},
}


def restbench(engine):
    def argv(program, url, connections, seconds, close):
        command = [program, "load", "-c", str(connections), "-d", f"{seconds}s", "-o", "json", "-p", "r"]
        return command + (["--engine", engine] if engine else []) + (["--close"] if close else []) + [url]

    return argv


def floor(program, url, connections, seconds, close):
    port = url.rstrip("/").rsplit(":", 1)[1]
    return [program, port, str(connections), str(seconds)] + (["close"] if close else [])


def wrk(program, url, connections, seconds, close):
    close_header = ["-H", "Connection: close"] if close else []
    return [program, "-t", "1", "-c", str(connections), "-d", f"{seconds}s"] + close_header + [url]


def h2load(program, url, connections, seconds, close):
    if close:
        return None  # it goes on dialling after its time
    return [program, "--h1", "-t", "1", "-c", str(connections), "-D", str(seconds), url]


def bombardier(program, url, connections, seconds, close):
    command = [program, "-c", str(connections), "-d", f"{seconds}s", "-o", "json", "-p", "r"]
    return command + (["-a"] if close else []) + [url]


def oha(program, url, connections, seconds, close):
    command = [program, "--no-tui", "-c", str(connections), "-z", f"{seconds}s"]
    return command + (["--disable-keepalive"] if close else []) + [url]


# name: argv, program, how it tells its version, what to do when it is missing
TOOLS = {
    "floor": (floor, "floor", None, "make -C harness/bench"),
    "restbench": (restbench(None), "restbench", ["--version"], "make"),
    "restbench:epoll": (restbench("epoll"), "restbench", None, "make"),
    "restbench:io_uring": (restbench("io_uring"), "restbench", None, "make"),
    "wrk": (wrk, "wrk", ["-v"], "apt-get install wrk"),
    "h2load": (h2load, "h2load", ["--version"], "apt-get install nghttp2-client"),
    "bombardier": (bombardier, "bombardier", ["--version"], "make -C harness/bench peers"),
    "oha": (oha, "oha", ["--version"], "make -C harness/bench peers OHA=yes (about six minutes of CPU)"),
}


def find(tool):
    name = TOOLS[tool][1]
    for folder in (ROOT, BUILT, os.path.join(BUILT, "bin")):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    return shutil.which(name)


def version(tool, path):
    question = TOOLS[tool][2]
    if question is None:
        return ""
    done = subprocess.run([path] + question, capture_output=True, text=True, timeout=10)
    text = done.stdout + done.stderr
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found.group(0) if found else "version unknown"


def peak_mib(pid):
    """Not ru_maxrss: that remembers this program, from which the child was forked."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return None


def pinned(cpu):
    def before_exec():
        os.sched_setaffinity(0, {cpu})

    return before_exec


class Server:
    def __init__(self, cpu, size, close):
        command = [os.path.join(BUILT, "cheap_server"), str(size)] + (["close"] if close else [])
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=pinned(cpu)
        )
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline().split()[1])}/"

    def finish(self):
        words = self.process.communicate(timeout=RUN_LIMIT_S)[0].split()
        return int(words[1]), int(words[3])


def measure(tool, path, load, seconds, cpus):
    """{"requests", "cpu_s", "rate", "connections", "peak_mib"} or {"failed": why}."""
    connections, size, close, factor, _ = LOADS[load]
    seconds *= factor
    server = Server(cpus[0], size, close)
    argv = TOOLS[tool][0](path, server.url, connections, seconds, close)
    with tempfile.TemporaryFile() as said:
        begin = time.monotonic()
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=pinned(cpus[1])
        )
        usage = status = None
        peak = 0
        while status is None:
            pid, code, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status, usage = code, used
            elif time.monotonic() - begin > seconds + RUN_LIMIT_S:
                os.kill(process.pid, signal.SIGKILL)  # Popen.kill() would reap it, without its usage
            else:
                peak = peak_mib(process.pid) or peak
                time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - begin
        answers, dialled = server.finish()
        said.seek(0)
        text = said.read(500).decode(errors="replace").strip()
    if process.returncode != 0 or answers == 0:
        return {"failed": f"exit {process.returncode}: {text.splitlines()[0] if text else 'no message'}"}
    cpu = usage.ru_utime + usage.ru_stime
    return {"requests": answers, "cpu_s": cpu, "rate": answers / took, "connections": dialled, "peak_mib": peak}


def spread(values, form):
    middle = statistics.median(values)
    return f"{form(middle)} ({form(min(values))} to {form(max(values))})"


def print_load(load, tools, rounds):
    connections, size, close, _, _ = LOADS[load]
    print(f"\n{connections} connections, answers of {size} bytes{', a connection each' if close else ''}\n")
    print("| tool | requests per generator-CPU-second | requests/s | peak MiB | restbench is | asked | rounds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    kilo = lambda value: f"{value / 1000:.1f}k"
    for tool in tools:
        runs = [r[load][tool] for r in rounds if tool in r.get(load, {})]
        good = [r for r in runs if "failed" not in r]
        if not good:
            print(f"| {tool} | failed: {runs[-1]['failed'] if runs else 'not run'} | | | | | 0 |")
            continue
        ratios = []
        for one in rounds:
            here = one.get(load, {})
            ours, theirs = here.get("restbench", {}), here.get(tool, {})
            if "cpu_s" in ours and "cpu_s" in theirs:
                ratios.append((ours["requests"] / ours["cpu_s"]) / (theirs["requests"] / theirs["cpu_s"]))
        ratio = spread(ratios, lambda v: f"{v:.2f} x") if ratios and tool != "restbench" else ""
        per_cpu = spread([r["requests"] / r["cpu_s"] for r in good], kilo)
        failed = f" of {len(runs)}" if len(good) < len(runs) else ""
        rate, peak = spread([r["rate"] for r in good], kilo), statistics.median(r["peak_mib"] for r in good)
        asked = ASKED.get(load, {}).get(tool)
        asked = "" if asked is None else f"{asked:.2f} x"
        print(f"| {tool} | {per_cpu} | {rate} | {peak:.0f} | {ratio} | {asked} | {len(good)}{failed} |")


def choose(options):
    wanted = options.tools.split(",") if options.tools else None
    tools = {}
    for tool in wanted or [t for t in TOOLS if ":" not in t]:
        path = find(tool)
        if path is None:
            print(f"{tool} is missing: {TOOLS[tool][3]}")
        else:
            tools[tool] = path
    per_load = {
        load: [
            t
            for t in tools
            if (wanted or options.all or t in LOADS[load][4].split()) and TOOLS[t][0]("", "http://x:1/", 1, 1, LOADS[load][2])
        ]
        for load in options.loads.split(",")
    }
    return tools, per_load


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2, help="of one run; wrk and h2load know only whole ones")
    parser.add_argument("--loads", default=",".join(LOADS), help="some of " + ",".join(LOADS))
    parser.add_argument("--tools", default="", help="some of " + ",".join(TOOLS))
    parser.add_argument("--all", action="store_true", help="every tool at every load")
    parser.add_argument("--json", metavar="FILE", help="every single run")
    options = parser.parse_args()

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        sys.exit("generators.py: two CPUs are needed, one for the server and one for the generator")
    cpus = (allowed[0], allowed[-1])
    tools, per_load = choose(options)
    print(f"kernel {os.uname().release}, server on CPU {cpus[0]}, generator on CPU {cpus[1]}")
    print(", ".join(f"{tool} {version(tool, path)}".strip() for tool, path in tools.items()))
    runs = options.rounds * sum(len(names) for names in per_load.values())
    print(f"{options.rounds} rounds, {runs} runs of {options.seconds} s", flush=True)

    rounds = []
    for number in range(options.rounds):
        one = {}
        for load, names in per_load.items():
            turn = names[number % len(names) :] + names[: number % len(names)]
            one[load] = {tool: measure(tool, tools[tool], load, options.seconds, cpus) for tool in turn}
        rounds.append(one)
        if sys.stderr.isatty():
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    for load, names in per_load.items():
        print_load(load, names, rounds)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rounds, file, indent=1)


if __name__ == "__main__":
    main()
