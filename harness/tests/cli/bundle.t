#!/usr/bin/env python3
"""TAP: `restbench bundle` puts a run into one archive, `verify` works on it and names every member that was changed."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_files  # noqa: E402
from tap import Tap  # noqa: E402

t = Tap()
DATA, CONFIG, SERVERS, STATE = t.path("data"), t.path("config"), t.path("servers"), t.path("state")


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def sha256(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def tree(path):
    """The hash of a folder as restbench makes it."""
    lines = []

    def walk(folder, below):
        for name in sorted(os.listdir(folder)):
            full, relative = os.path.join(folder, name), os.path.join(below, name)
            if os.path.islink(full):
                lines.append(f"l {relative} {sha256(os.readlink(full))}\n")
            elif os.path.isdir(full):
                lines.append(f"d {relative}\n")
                walk(full, relative)
            else:
                with open(full, "rb") as file:
                    lines.append(f"{'x' if os.access(full, os.X_OK) else 'f'} {relative} {sha256(file.read())}\n")

    walk(path, "")
    return sha256("".join(lines))


def bundle(*args, csv):
    return t.run("bundle", "--state", STATE, *args, csv)


# A run: two servers, of which one has changed since; a configuration that names files.
put(os.path.join(SERVERS, "row-0", "main.go"), "package main\n")
put(os.path.join(SERVERS, "row-0", "run.sh"), "#!/bin/sh\n", 0o755)
os.makedirs(os.path.join(SERVERS, "row-0", "empty"))
os.symlink("main.go", os.path.join(SERVERS, "row-0", "a link"))
put(os.path.join(SERVERS, "row-1", "main.rs"), "fn main() {}\n")
put(os.path.join(CONFIG, "study.json"), "{}")
put(os.path.join(t.path("sql"), "schema.sql"), "CREATE TABLE t ();\n")
put(os.path.join(CONFIG, "schema.sql"), "-- the contract, by another name\n")
put(os.path.join(CONFIG, "böse datei.json"), "[]")
os.makedirs(DATA)
cells, machine = run_files.make()
machine["run"]["config"] = "config/study.json"
machine["study"] = {"format": 1, "title": "made", "servers": ["row-0", "row-1"], "rounds": 3,
                    "contract": "schema.sql", "database": {"kind": "postgresql", "schema": "../sql/schema.sql"},
                    "tests": [{"name": "ping", "body": {"file": "böse datei.json"}}]}
machine["study_files"] = {"schema": sha256("CREATE TABLE t ();\n"), "contract": sha256("another one")}
hashed = {key: value for key, value in machine["study"].items() if key != "rounds"}
machine["study_sha256"] = sha256(json.dumps(hashed, separators=(",", ":"), ensure_ascii=False) +
                                 "".join("\n" + digest for digest in machine["study_files"].values()))
hash_0 = tree(os.path.join(SERVERS, "row-0"))
for row, digest in zip(machine["rows"], (hash_0, "0" * 64)):
    row["build_hash"] = digest
    row["run_command"] = ["./server"]
put(os.path.join(STATE, "build", "row-0", hash_0, "server"), "a binary", 0o755)
put(os.path.join(DATA, "2026-11-30_calibration_before.csv"), "utc,processes,ms\n")
put(os.path.join(DATA, "2026-11-30_no-auth_ceiling.json"), "{\"format\": 1, \"tests\": []}\n")
CSV = run_files.write(DATA, cells, machine)

got = bundle(csv=CSV)
ARCHIVE = CSV[:-4] + ".tar.gz"
t.is_(got.status, 0, "a run is bundled", got.err)
with open(ARCHIVE, "rb") as file:
    t.is_(got.out, f"{sha256(file.read())}  {ARCHIVE}\n", "its hash and name are printed")
os.utime(CSV, (0, 86400 * 365))
again = bundle("--out", os.path.join(DATA, "again.tar.gz"), csv=CSV)
t.is_(again.out.split()[:1], got.out.split()[:1], "a checkout of another day has the same hash", again.err)
t.has(got.err, "row-1: the folder", "a server that has changed since is named")
t.ok("schema.sql has changed since the run" in got.err and got.err.count("changed since") == 1,
     "a file of the configuration that has changed since is named", got.err)
with tarfile.open(ARCHIVE) as tar:
    names = {name.split("/", 1)[1] for name in tar.getnames()}
for name in ("README.txt", "SHA256SUMS", "bundle.json", "data/2026-11-30_no-auth.csv", "reports/2026-11-30_no-auth.md",
             "data/2026-11-30_no-auth_details.jsonl", "data/2026-11-30_no-auth_machine.json",
             "data/2026-11-30_calibration_before.csv", "data/2026-11-30_no-auth_ceiling.json", "config/study.json", "config/files/schema.sql",
             "config/files/2_schema.sql", "config/files/böse datei.json", "servers/row-0/main.go", "servers/row-0/a link"):
    t.ok(name in names, f"holds {name}", sorted(names))
t.ok("servers/row-1/main.rs" not in names, "what was not measured is not in it")

OPEN = t.path("open")
with tarfile.open(ARCHIVE) as tar:
    tar.extractall(OPEN)
ROOT = os.path.join(OPEN, "2026-11-30_no-auth")
done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=ROOT, capture_output=True, text=True)
t.is_(done.returncode, 0, "sha256sum -c agrees", done.stdout + done.stderr)
t.is_(tree(os.path.join(ROOT, "servers", "row-0")), hash_0, "the source is the one that was measured")
with open(os.path.join(ROOT, "bundle.json"), encoding="utf-8") as file:
    described = json.load(file)
t.is_(described["rows"][0]["binary_sha256"], sha256("a binary"), "the binary's hash")
t.is_(described["rows"][1]["binary_sha256"], None, "a binary that is gone has none")
t.ok(len(described["lacks"]) == 2 and described["command"] == ["restbench", "run"], "what it lacks, and the command",
     described)
with open(os.path.join(ROOT, "config", "study.json"), encoding="utf-8") as file:
    study = json.load(file)
folder = os.path.join(ROOT, "config")
for name in (study["contract"], study["database"]["schema"], study["tests"][0]["body"]["file"]):
    t.ok(os.path.isfile(os.path.join(folder, name)), f"the configuration names {name}")

got = t.run("verify", ARCHIVE)
t.is_(got.status, 0, "verify takes it as it is", got.out + got.err)
t.has(got.out, "every hash is right", "hashes first")
t.has(got.out, "24 cells, details, machine, 0 faults", "then the data")
got = bundle(csv=CSV)
t.is_(got.status, 2, "nothing is overwritten", got.err)
copy = t.path("copy.tar.gz")
got = bundle("-o", copy, csv=CSV)
with open(ARCHIVE, "rb") as a, open(copy, "rb") as b:
    t.ok(a.read() == b.read(), "the same content gives the same bytes")


def tampered(name, change):
    """The archive with something done to its unpacked folder."""
    folder = t.path(name)
    shutil.copytree(OPEN, folder, symlinks=True)
    change(os.path.join(folder, "2026-11-30_no-auth"))
    path = t.path(name + ".tar.gz")
    with tarfile.open(path, "w:gz") as tar:
        tar.add(os.path.join(folder, "2026-11-30_no-auth"), "2026-11-30_no-auth")
    return t.run("verify", path)


def append(name):
    def change(root):
        with open(os.path.join(root, name), "a", encoding="utf-8") as file:
            file.write("\n")
    return change


got = tampered("same", lambda root: None)
t.is_(got.status, 0, "packed again by somebody else", got.out + got.err)
got = tampered("edited", append("servers/row-0/main.go"))
t.is_(got.status, 1, "an edited member fails", got.out + got.err)
t.has(got.err, "servers/row-0/main.go is not the file that was put in", "and is named")
got = tampered("added", lambda root: put(os.path.join(root, "servers", "row-0", "more.go"), ""))
t.is_(got.status, 1, "a member too many fails", got.out + got.err)
t.has(got.err, "servers/row-0/more.go is not named", "and is named")
got = tampered("gone", lambda root: os.remove(os.path.join(root, "README.txt")))
t.ok(got.status != 0 and "README.txt" in got.err, "a member too few fails", got.err)


def evil(name, member):
    path = t.path(name)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(b"x" * member.size))
    got = t.run("verify", path)
    t.ok(got.status == 2 and "leads out of the archive" in got.err, f"refused: {member.name}", got.err)


for name in ("../evil", "/tmp/restbench-evil", "a/../../evil"):
    member = tarfile.TarInfo(name)
    member.size = 1
    evil("evil.tar.gz", member)
for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
    member = tarfile.TarInfo("link")
    member.type, member.linkname = kind, "/etc"
    evil("evil.tar.gz", member)
put(t.path("text.tar.gz"), "no archive")
got = t.run("verify", t.path("text.tar.gz"))
t.is_(got.status, 2, "no archive", got.err)
with open(ARCHIVE, "rb") as whole, open(t.path("cut.tar.gz"), "wb") as cut:
    cut.write(whole.read()[:-2000])
got = t.run("verify", t.path("cut.tar.gz"))
t.is_(got.status, 2, "a cut archive", got.err)
alone = run_files.write(t.path("."), cells, None, name="2026-12-01_no-auth")
got = bundle(csv=alone)
t.ok(got.status == 2 and "machine.json" in got.err and not os.path.exists(alone[:-4] + ".tar.gz"), "a lone CSV is refused",
     got.err)
got = t.run("bundle")
t.is_(got.status, 2, "no CSV given", got.err)
t.done()
