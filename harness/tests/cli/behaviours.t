#!/usr/bin/env python3
"""TAP: `restbench load` against every behaviour of ../behaviours, on both engines, and what TLS leaves of them on top.

    behaviours.t [PATTERN]       only the behaviours whose name matches
RESTBENCH names the program; BEHAVIOURS_JOBS (4) how many run at a time.
"""

import concurrent.futures
import json
import os
import re
import resource
import socket
import string
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "behaviours")
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True
import check  # noqa: E402
import server as misbehaving  # noqa: E402

RESTBENCH = os.environ.get("RESTBENCH", os.path.join(HERE, "..", "..", "..", "restbench"))
ENGINES = ("epoll", "io_uring")
# Through TLS only what is said is tried again, not how connections end: resets and half-closes are the same below it.
TLS_CLASSES = ("framing", "conflicting and overflowing lengths", "interim answers", "splitting", "connection tokens")
SECONDS = 30  # a run that takes longer is ended and failed


def fill(value, names):
    """Puts the case's own texts (${name}) into every string."""
    if isinstance(value, str):
        return string.Template(value).safe_substitute(names)
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in value.items()}
    return value


def behaviours(pattern):
    """(name, case) of every case of every behaviour."""
    for name in sorted(os.listdir(FOLDER)):
        path = os.path.join(FOLDER, name, "behaviour.json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        for case in whole.get("cases", [{}]):
            full = f"{name}/{case['name']}" if "name" in case else name
            if not re.search(pattern, full):
                continue
            merged = {**whole, **case, "expect": {**whole.get("expect", {}), **case.get("expect", {})}}
            yield full, fill(merged, merged.get("let", {}))


def certificate(scratch):
    """[certificate, key] of one that signed itself; None without openssl."""
    files = [os.path.join(scratch, "certificate.pem"), os.path.join(scratch, "key.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    try:
        subprocess.run(command + ["-subj", "/CN=localhost", "-days", "2", "-out", files[0], "-keyout", files[1]],
                       check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return files


def through_tls(case, files):
    """The same case with https; None where that says nothing new."""
    if case["class"] not in TLS_CLASSES or "hold" in json.dumps(case.get("server", {})):
        return None
    return {
        **case,
        "server": {**case.get("server", {}), "tls": files},
        "load": ["-k"] + case["load"],
        "url": case.get("url", "http://127.0.0.1:${PORT}/").replace("http:", "https:"),
    }


def arguments(case, engine, names):
    load = fill(case["load"], names)
    if "-t" not in load:
        load = ["-t", "10s"] + load
    url = fill(case.get("url", "http://127.0.0.1:${PORT}/"), names)
    return [RESTBENCH, "load", "--engine", engine, "-o", "json", "-p", "r"] + load + [url]


def run_load(argv, limit, open_files=None):
    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=limited if open_files else None,
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "", f"did not end within {limit} s"
    return process.returncode, out.decode(), err.decode(errors="replace")


def run_case(case, engine):
    want = case["expect"]
    with tempfile.TemporaryDirectory(prefix="behaviour-") as scratch:
        names = {"BODY": os.path.join(scratch, "body"), "SCRATCH": scratch}
        with open(names["BODY"], "wb") as file:
            file.write(b"x" * case.get("body_bytes", 0))
        for name, text in case.get("files", {}).items():
            with open(os.path.join(scratch, name), "wb") as file:
                file.write(text.encode("latin-1"))
        server = misbehaving.Server(case.get("server", {}))
        server.start()
        names["PORT"] = str(server.port)
        want = fill(want, names)
        try:
            argv = arguments(case, engine, names)
            code, out, err = run_load(argv, want.get("seconds", SECONDS), case.get("open_files"))
        finally:
            report = server.finish()
    if code is None:
        return [err]
    if code == 2:
        faults = [] if not out.strip() else ["exit 2 and a result: " + out[:200]]
        if len(err.strip().splitlines()) != 1:
            faults.append(f"not one line of error: {err[:300]!r}")
        return faults + check.wishes(None, report, code, err, want)
    try:
        data = check.parse(out)
    except ValueError as error:
        return [f"exit {code}, no JSON ({error}): {out[:200]!r} {err[:300]!r}"]
    faults = check.identities(data) + check.exit_status(data, code) + check.server_count(data, report)
    if data["restbench"]["engine"] != engine:
        faults.append("engine " + data["restbench"]["engine"])
    return faults + check.wishes(data, report, code, err, want)


def guarded(case, engine):
    """(faults, reason to skip)."""
    address = case.get("server", {}).get("address")
    if address and not can_bind(address):
        return [], f"this machine has no address {address}"
    return faults_of(case, engine), None


def can_bind(address):
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.bind((address, 0))
        return True
    except OSError:
        return False


def faults_of(case, engine):
    try:
        return run_case(case, engine)
    except (KeyError, TypeError, IndexError, OSError, ValueError, subprocess.SubprocessError) as error:
        return [f"{type(error).__name__}: {error}"]


def engine_refused(engine):
    """Why the kernel forbids this engine; None when it works."""
    server = misbehaving.Server({})
    server.start()
    code, _, err = run_load(arguments({"load": ["-c", "1", "-n", "1"]}, engine, {"PORT": str(server.port)}), SECONDS)
    server.finish()
    return err.strip() if code == 2 and engine == "io_uring" and engine in err else None


def plan(cases, files):
    """(name, engine, case) of every line."""
    lines = [(f"{engine} {name}", engine, case) for engine in ENGINES for name, case in cases]
    for name, case in cases:
        again = through_tls(case, files) if files else None
        # One engine each: what they have in common above the socket is tested by either.
        if again:
            engine = ENGINES[len(lines) % 2]
            lines.append((f"{engine} TLS {name}", engine, again))
    return lines


def main():
    if not os.access(RESTBENCH, os.X_OK):
        print("Bail out! no program at", RESTBENCH)
        return 1
    failed = False
    # A process each: the servers' threads of one case must not slow those of another.
    jobs = int(os.environ.get("BEHAVIOURS_JOBS", "4"))
    with tempfile.TemporaryDirectory(prefix="behaviours-") as scratch, concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        lines = plan(list(behaviours(sys.argv[1] if len(sys.argv) > 1 else "")), certificate(scratch))
        print(f"1..{len(lines)}", flush=True)
        refused = {engine: engine_refused(engine) for engine in ENGINES}
        results = [None if refused[engine] else pool.submit(guarded, case, engine) for _, engine, case in lines]
        for number, ((name, engine, _), result) in enumerate(zip(lines, results), 1):
            faults, why = result.result() if result else ([], refused[engine].splitlines()[0])
            skip = f" # SKIP {why}" if why else ""
            print(("not ok" if faults else "ok"), number, "-", name + skip, flush=True)
            for fault in faults:
                print("#  ", fault.replace("\n", "\n#   "), flush=True)
            failed = failed or bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
