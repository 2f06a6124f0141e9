#!/usr/bin/env python3
"""TAP: 200 servers, 10 tests and 20 rounds are planned and reported in bounded memory."""

import json
import os
import subprocess

from tap import RESTBENCH, Tap

t = Tap()
SERVERS, TESTS, ROUNDS = 200, 10, 20
MOST_MIB = 128
HEADER = ("utc,server,round,test,connections,requests_per_s,latency_p50_ms,latency_p99_ms,responses_2xx,errors,"
          "cpu_server_s,cpu_postgres_s,working_set_mb,private_mb,startup_s,cpu_server_user_s,cpu_server_kernel_s\n")


def measured(*arguments):
    """Exit status, lines of the output, and the most memory that was resident, in MiB."""
    with open(t.path("out"), "w", encoding="utf-8") as out:
        process = subprocess.Popen([RESTBENCH, *arguments], stdout=out, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    with open(t.path("out"), encoding="utf-8") as out:
        return os.waitstatus_to_exitcode(status), out.read().splitlines(), usage.ru_maxrss / 1024


rows = [f"s{number:03d}" for number in range(SERVERS)]
for row in rows:
    os.makedirs(t.path(f"servers/{row}"))
    with open(t.path(f"servers/{row}/server.json"), "w", encoding="utf-8") as file:
        json.dump({"format": 1, "title": f"Server {row}", "approach": "standard", "run": {"command": ["./x"]}}, file)
with open(t.path("study.json"), "w", encoding="utf-8") as file:
    json.dump({"format": 1, "servers": rows, "servers_folder": "servers", "rounds": ROUNDS, "seconds": 15,
               "phases": [{"name": "50", "connections": 50}], "warmup": {"seconds": 5, "connections": 50},
               "database": {"kind": "none"}, "tests": [{"name": f"t{n}", "path": "/ping"} for n in range(TESTS)]}, file)
status, lines, mib = measured("run", t.path("study.json"), "--dry-run")
t.is_((status, len([line for line in lines if line.startswith("round ")])), (0, SERVERS * TESTS * ROUNDS),
      "every cell is planned")
t.ok(mib < MOST_MIB, f"in less than {MOST_MIB} MiB", mib)

csv = t.path("2026-11-30_no-auth.csv")
with open(csv, "w", encoding="utf-8") as file:
    file.write(HEADER)
    for round_ in range(1, ROUNDS + 1):
        for number, row in enumerate(rows):
            for test in range(TESTS):
                file.write(f"2026-11-30T12:00:00Z,Server {row},{round_},t{test},50,{1000 + number + round_}.00,1.000,"
                           f"2.000,{15 * (1000 + number + round_)},0,0.500000,0.000000,12.50,20.00,0.04,0.300000,"
                           "0.200000\n")
status, lines, mib = measured("report", "--tables", csv)
t.is_((status, len([line for line in lines if line.startswith("| Server s199")]) >= TESTS), (0, True),
      "every row is in every table")
t.ok(mib < MOST_MIB, f"in less than {MOST_MIB} MiB", mib)

t.done()
