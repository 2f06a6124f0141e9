"""run_files - makes the files of a run as the conductor writes them: CSV, details and machine that agree.

The figures are made up by a fixed rule; a test changes what it is about (`change`) and writes the rest as it is.
"""

import hashlib
import json
import os

HEADER = ("utc,server,round,test,connections,requests_per_s,latency_p50_ms,latency_p99_ms,responses_2xx,errors,"
          "cpu_server_s,cpu_postgres_s,working_set_mb,private_mb,startup_s,cpu_server_user_s,cpu_server_kernel_s")
DECIMALS = {"requests_per_s": 2, "latency_p50_ms": 3, "latency_p99_ms": 3, "responses_2xx": 0, "errors": 0,
            "cpu_server_s": 6, "cpu_postgres_s": 6, "working_set_mb": 2, "private_mb": 2, "startup_s": 2,
            "cpu_server_user_s": 6, "cpu_server_kernel_s": 6}
TESTS = [{"name": "ping", "title": "Ping (no database)", "database": False, "writes": False},
         {"name": "select_1", "title": "Select 1 record", "database": True, "writes": False}]
SECONDS = 10.0


def quoted(text):
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def cell(index, row, round_, test, connections, rate):
    """One cell as a details object; the CSV line is made of it."""
    ok = int(rate * SECONDS)
    mean_us = connections / rate * 1e6
    user, kernel = round(ok * 30e-6, 6), round(ok * 20e-6, 6)
    csv = {"requests_per_s": ok / SECONDS, "latency_p50_ms": round(mean_us * 0.9 / 1000, 3),
           "latency_p99_ms": round(mean_us * 3 / 1000, 3), "responses_2xx": ok, "errors": 0,
           "cpu_server_s": round(user + kernel, 6), "cpu_postgres_s": 0.0 if test == "ping" else round(ok * 60e-6, 6),
           "working_set_mb": 12.5 + index % 3, "private_mb": 20.25, "startup_s": 0.04, "cpu_server_user_s": user,
           "cpu_server_kernel_s": kernel}
    seconds = [ok // 10] * 9 + [ok - ok // 10 * 9]
    histogram = [[mean_us * 0.9, ok // 2], [mean_us * 1.5, ok // 2 - ok // 50], [mean_us * 3, 0], [mean_us * 9, 0]]
    histogram[2][1] = (ok - sum(n for _, n in histogram)) * 9 // 10
    histogram[3][1] = ok - sum(n for _, n in histogram)
    return {
        "format": 1, "utc": f"2026-11-30T12:{index // 60:02d}:{index % 60:02d}Z", "row": dict(row), "round": round_,
        "test": test, "attempt": 1, "csv": csv, "tool": {"name": "restbench", "version": "0.1.0"},
        "phase": {"name": str(connections), "kind": "closed", "connections": connections, "rate": None,
                  "seconds": SECONDS},
        "load": {"result": {"req2xx": ok}, "restbench": {
            "started": ok + connections, "ok": ok, "in_flight": connections, "drained_ok": connections,
            "errors": {k: 0 for k in ("connect", "timeout", "closed", "truncated", "malformed", "status", "mismatch")},
            "latency_us": {"min": 20.0, "p50": mean_us * 0.9, "p90": mean_us * 1.5, "p99": mean_us * 3,
                           "p99_9": mean_us * 9, "p99_99": mean_us * 9, "max": mean_us * 9, "mean": mean_us,
                           "histogram": histogram},
            "per_second": [{"ok": n, "errors": 0, "p50_us": mean_us * 0.9, "p99_us": mean_us * 3} for n in seconds]}},
        "window": {"begin_ns": 1, "end_ns": 10000000001, "seconds": SECONDS},
        "cpu": {"server": {"source": "cgroup", "user_s": user, "kernel_s": kernel, "total_s": round(user + kernel, 6)},
                "generator_busy_pct": 41.0, "shared_busy_pct": 97.0},
        "memory": {"working_set_mib": 12.5, "private_mib": 20.25, "pss_mib": 11.0, "peak_mib": 14.0},
        "database": None, "disturbance": {"steal_pct_max": 0.1},
        "marks": [], "tries": [],
        "verdict": {"limited_by": "server", "text": "server (CPU 96 %)", "generator_pct": 41.0,
                    "database_wait_pct": None, "shared_pct": 97.0, "server_pct": 96.0, "database_pct": 1.0},
    }


def csv_line(details):
    """None and a missing figure are empty fields."""
    figures = []
    for name, decimals in DECIMALS.items():
        value = details["csv"].get(name)
        figures.append("" if value is None else value if isinstance(value, str) else f"{value:.{decimals}f}")
    return ",".join([details["utc"], quoted(details["row"]["title"]), str(details["round"]), details["test"],
                     str(details["phase"]["connections"]), *figures])


def make(titles=("Go 1.27 · net/http", "Rust 1.99 · axum"), rounds=3, phases=(50, 200), factor=1.0):
    """(cells, machine) of a run that is complete and right."""
    rows = [{"id": f"row-{i}", "folder": f"row-{i}", "variant": None, "title": title}
            for i, title in enumerate(titles)]
    cells = []
    for round_ in range(1, rounds + 1):
        for i, row in enumerate(rows):
            for test in TESTS:
                for connections in phases:
                    rate = (30000 if test["name"] == "ping" else 9000) * (1 + 0.2 * i) * (1 + 0.01 * round_) * factor
                    cells.append(cell(len(cells), row, round_, test["name"], connections, rate))
    study = {"format": 1, "title": "made for a test", "seconds": SECONDS}
    files = {"schema": "0" * 64}
    hashed = json.dumps(study, separators=(",", ":")) + "".join("\n" + value for value in files.values())
    study["rounds"] = rounds
    machine = {
        "format": 1,
        "run": {"name": "2026-11-30_no-auth", "started_utc": "2026-11-30T11:59:50Z", "mode": "no-auth",
                "command": ["restbench", "run"], "restbench": "0.1.0", "complete": True,
                "cpus": {"server": "0", "generator": "1", "pinned": True}, "tool": "restbench"},
        "machine": {"id": "test", "cpu_model": "A <CPU>", "cpus": 2, "kernel": "6.1", "memory_mib": 4096},
        "database": {"kind": "postgresql", "version": "15.18", "settings": {"fsync": "on"}, "rows": 100000},
        "rows": [{**row, "reference": False, "approach": "standard", "caches": None, "processes": 1,
                  "versions": {"go": "1.27.0"}, "status": "measured", "reason": None, "log": None} for row in rows],
        "tests": TESTS, "phases": [{"name": str(n), "connections": n} for n in phases], "rounds": rounds,
        "study": study,
        "study_files": files, "study_sha256": hashlib.sha256(hashed.encode()).hexdigest(),
        "resumes": [], "notes": []}
    return cells, machine


def write(folder, cells, machine=None, name="2026-11-30_no-auth", lines=None, details=True):
    """Writes the files and returns the CSV's path. `lines`: the CSV's lines when they are not those of the cells."""
    base = os.path.join(folder, name)
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        for line in [HEADER, *(lines if lines is not None else map(csv_line, cells))]:
            file.write(line + "\n")
    for suffix in ("_details.jsonl", "_machine.json"):
        if os.path.exists(base + suffix):
            os.remove(base + suffix)
    if details:
        with open(base + "_details.jsonl", "w", encoding="utf-8") as file:
            for item in cells:
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
    if machine is not None:
        with open(base + "_machine.json", "w", encoding="utf-8") as file:
            json.dump(machine, file, ensure_ascii=False)
    return base + ".csv"
