#!/usr/bin/env python3
"""TAP: `restbench db` with a real PostgreSQL, in state folders of its own.

    db.t [PATTERN]       only the tests whose name matches
"""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from cluster import LIMIT, RESTBENCH, ROOT, Cluster, Shared, command_lines, left, waited

TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
def starts_once_and_outlives_the_command():
    with Cluster() as db:
        assert "no cluster" in db.must("status")
        assert db.run("url").returncode == 2
        assert "runs" in db.must("start")
        first = db.postmaster()
        db.must("start")
        assert db.postmaster() == first
        assert db.sql("SELECT 1") == "1"
        assert "until restbench db stop" in db.must("status")
        db.must("stop")
        assert db.processes() == []
        assert "stopped" in db.must("status")
        db.must("stop")
        db.must("seed")
        assert "stopped" in db.must("status"), "seed stops what it started"


@test
def listens_on_loopback_and_a_private_socket_with_scram():
    with Shared() as db:
        url = db.url()
        assert db.sql("SHOW listen_addresses") == "127.0.0.1"
        folder = db.socket_folder()
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert db.sql("SELECT count(*) FROM pg_settings WHERE source = 'command line' AND name NOT IN "
                      "('data_directory', 'listen_addresses', 'port', 'unix_socket_directories', "
                      "'unix_socket_permissions')") == "0"
        wrong = subprocess.run(["psql", "-X", re.sub(r":\w+@", ":wrong@", url), "-c", "SELECT 1"], capture_output=True,
                               text=True)
        assert wrong.returncode != 0 and "password" in wrong.stderr
        pgpass = os.path.join(db.state, "pg", "pgpass")
        assert stat.S_IMODE(os.stat(pgpass).st_mode) == 0o600
        # A database is nobody's who can read /proc: no password in any command line.
        password = re.search(r":(\w+)@", url).group(1)
        assert not any(password in line for line in command_lines())
        with open(os.path.join(db.state, "pg", "log"), encoding="utf-8", errors="replace") as file:
            assert password not in file.read()


@test
def the_same_cluster_whatever_the_callers_locale_is():
    environments = [
        {"PATH": os.environ["PATH"]},
        {**os.environ, "LANG": "xx_YY.UTF-8", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "PGTZ": "Asia/Tokyo",
         "PGDATESTYLE": "German", "PGDATA": "/nowhere", "PGPORT": "1", "PGHOST": "nowhere", "PGUSER": "nobody",
         "PGOPTIONS": "-c nonsense=1", "PGSSLMODE": "verify-full"},
    ]
    for environment in environments:
        with Cluster() as db:
            db.must("start", env=environment)
            db.must("seed", env=environment)
            shown = [db.sql(f"SHOW {name}") for name in ("server_encoding", "timezone", "log_timezone", "lc_messages")]
            assert shown[0] == "UTF8" and shown[3] == "C.UTF-8", shown
            assert shown[1].endswith("UTC") and shown[2].endswith("UTC"), shown
            assert db.sql("SELECT datcollate, datctype FROM pg_database WHERE datname = current_database()") == \
                "C.UTF-8|C.UTF-8"


@test
def a_long_and_strange_path_works():
    base = tempfile.mkdtemp(prefix="restbench-db.")
    os.chmod(base, 0o755)
    try:
        with Cluster(state=os.path.join(base, "a b'c\"d%e$f,ü;`id`\\g" + "x" * 100, "state")) as db:
            db.must("start")
            db.must("seed")
            folder = db.socket_folder()
            assert os.path.isdir(folder), folder
            os.kill(db.postmaster(), signal.SIGKILL)
            assert waited(lambda: not db.processes())
            db.must("start")
            assert db.socket_folder() == folder
            db.must("stop")
            assert not os.path.exists(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)


@test
def killed_while_initdb_runs():
    with Cluster() as db:
        segments = set()
        for delay in (0.1, 0.4, 0.8):
            process = subprocess.Popen(db.command("start"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            segments |= db.segments()
            process.kill()
            process.wait()
            segments |= db.segments()
            db.must("start")
            assert db.sql("SELECT 1") == "1"
            assert sorted(os.listdir(db.state)) == ["pg", "pg.lock"], os.listdir(db.state)
            db.must("stop")
            assert db.processes() == []
            shutil.rmtree(os.path.join(db.state, "pg"))
        assert not left(segments), left(segments)


@test
def a_folder_that_is_not_ours_is_left_alone():
    with Cluster() as db:
        os.makedirs(os.path.join(db.state, "pg", "precious"))
        os.chmod(db.state, 0o755)
        done = db.run("start")
        assert done.returncode == 2 and "not made by restbench" in done.stderr, done.stderr
        assert os.path.isdir(os.path.join(db.state, "pg", "precious"))


@test
def folders_above_may_be_closed_to_the_databases_user():
    with Cluster() as db:
        assert stat.S_IMODE(os.stat(db.base).st_mode) == 0o700
        db.must("start")
        db.must("seed")
        db.must("stop")
        os.chmod(db.base, 0o755)
        db.must("start")
        assert db.sql("SELECT count(*) FROM clienti") == "100000"
        os.chmod(db.base, 0o700)
        db.must("stop")
        assert stat.S_IMODE(os.stat(db.base).st_mode) == 0o700


@test
def a_killed_postmaster_is_cleaned_and_its_data_recovered():
    with Cluster() as db:
        db.must("start")
        db.must("seed")
        segments = db.segments()
        session = db.session("BEGIN", "SELECT pg_sleep(0)")
        os.kill(db.postmaster(), signal.SIGKILL)
        assert "stopped" in db.must("status")
        assert left(segments), "a killed cluster leaves a segment"
        db.must("start")
        assert not left(segments), left(segments)
        segments = db.segments()
        db.must("seed")
        session.kill()
        os.kill(db.postmaster(), signal.SIGKILL)
        db.must("stop")
        assert db.processes() == []
        assert segments and not left(segments), left(segments)
        assert not os.path.exists(os.path.join(db.state, "pg", "socket"))


@test
def an_orphan_that_hangs_is_ended():
    with Cluster() as db:
        db.must("start")
        hung = db.postmaster()
        os.kill(hung, signal.SIGSTOP)
        db.must("start")
        assert db.postmaster() != hung
        assert hung not in db.processes()


@test
def a_pidfile_with_somebody_elses_number():
    with Cluster() as db:
        db.must("start")
        db.must("stop")
        other = subprocess.Popen(["sleep", "600"], user="postgres" if os.geteuid() == 0 else None)
        data = os.path.join(db.state, "pg", "data")
        with open(os.path.join(data, "postmaster.pid"), "w", encoding="utf-8") as file:
            file.write(f"{other.pid}\n{data}\n1\n5432\n/tmp\n127.0.0.1\n 1 1\nready\n")
        shutil.chown(file.name, "postgres" if os.geteuid() == 0 else None) if os.geteuid() == 0 else None
        assert "stopped" in db.must("status")
        db.must("start")
        assert db.sql("SELECT 1") == "1"
        assert other.poll() is None
        other.kill()
        other.wait()


@test
def seeds_the_same_rows_with_the_next_id_100001():
    with Shared() as db:
        def next_id():
            return db.sql("BEGIN", "INSERT INTO clienti (ragione_sociale, citta, creato) VALUES ('x', 'y', now()) "
                          "RETURNING id", "ROLLBACK")

        assert next_id() == "100001"
        db.must("seed")
        assert next_id() == "100001"
        db.sql("INSERT INTO clienti (ragione_sociale, citta, creato) VALUES ('x', 'y', now())")
        db.must("seed")
        assert next_id() == "100001"
        assert db.sql("SELECT min(id), max(id), count(*) FROM clienti") == "1|100000|100000"
        assert 4000 < int(db.sql("SELECT count(*) FROM clienti WHERE email IS NULL")) < 6000


@test
def rows_that_differ_are_put_right():
    with Shared() as db:
        good = db.sql("SELECT md5(string_agg(c::text, '' ORDER BY id)) FROM clienti c")
        for change in ("UPDATE clienti SET saldo = saldo + 0.01 WHERE id = 70000", "DELETE FROM clienti WHERE id = 42",
                       "TRUNCATE clienti", "ALTER TABLE clienti RENAME COLUMN citta TO city",
                       "DELETE FROM clienti WHERE id > 31000"):
            db.sql(change)
            done = db.run("seed")
            assert done.returncode == 0 and "made again" in done.stderr, (change, done.stderr)
            assert db.sql("SELECT md5(string_agg(c::text, '' ORDER BY id)) FROM clienti c") == good, change


@test
def a_seed_that_is_killed_is_done_again():
    with Shared() as db:
        for delay in (0.05, 0.2, 0.4, 0.7):
            db.sql("DROP TABLE IF EXISTS clienti")
            process = subprocess.Popen(db.command("seed"), cwd=ROOT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            process.wait()
            db.must("seed")
            assert db.sql("SELECT count(*) FROM clienti") == "100000"


@test
def a_strangers_lock_is_named_and_nothing_hangs():
    with Shared() as db:
        for url, lock in ((db.server_url(), "LOCK TABLE clienti IN SHARE MODE"),
                          (db.url(), "LOCK TABLE clienti IN ACCESS EXCLUSIVE MODE")):
            session = db.session("SET application_name = 'stranger'", "BEGIN", lock, url=url)
            pid = db.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'stranger'")
            done = db.run("seed")
            session.kill()
            session.wait()
            assert done.returncode == 2, (lock, done.stdout)
            for words in (f"process {pid}", "stranger", "LOCK TABLE", "idle in transaction"):
                assert words in done.stderr, (words, done.stderr)
            assert done.stderr.count("\n") == 1, done.stderr
        db.must("seed")


@test
def a_strangers_open_read_is_not_in_the_way():
    with Shared() as db:
        session = db.session("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM clienti WHERE id = 1")
        db.sql("INSERT INTO clienti (ragione_sociale, citta, creato) VALUES ('x', 'y', now())")
        db.must("seed")
        assert db.sql("SELECT max(id) FROM clienti") == "100000"
        session.kill()
        session.wait()


@test
def an_existing_server_is_used_with_care():
    with Cluster() as db:
        db.must("start")
        url = db.url()
        sideways = [RESTBENCH, "db", "seed", "--database"]

        def seed(address):
            return subprocess.run([*sideways, address], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)

        done = seed(url)
        assert done.returncode == 0 and "CHECKPOINT" in done.stderr, done.stderr
        assert db.sql("SELECT count(*) FROM clienti") == "100000"
        db.sql("DROP TABLE clienti", "CREATE TABLE clienti (id int)", "INSERT INTO clienti VALUES (7)")
        done = seed(url)
        assert done.returncode == 2 and "did not make" in done.stderr, done.stderr
        assert db.sql("SELECT id FROM clienti") == "7"
        password = re.search(r":(\w+)@", url).group(1)
        for bad in (url.replace(password, "wrong" + password), url.replace(":" + password, ""),
                    url + "?nonsense=" + password, "mysql://u:" + password + "@h/d", re.sub(r":\d+/", ":1/", url),
                    "postgresql://127.0.0.1/x"):
            done = seed(bad)
            assert done.returncode == 2 and password not in done.stderr, done.stderr
            assert done.stderr.count("\n") == 1, done.stderr


@test
def a_password_in_the_command_line_is_hidden():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    url = f"postgresql://u:s3cr3tword@127.0.0.1:{port}/d"
    process = subprocess.Popen([RESTBENCH, "db", "seed", "--database", url], cwd=ROOT, stderr=subprocess.PIPE)
    connection = listener.accept()[0]  # it connects only after it has read its arguments
    with open(f"/proc/{process.pid}/cmdline", "rb") as file:
        line = file.read()
    process.kill()
    message = process.communicate()[1]
    connection.close()
    assert b"s3cr3tword" not in line and b"postgresql://u:" in line, (line, message)


@test
def a_tiny_dev_shm():
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        return "needs mount namespaces"
    with Cluster() as db:
        script = 'mount -t tmpfs -o size=1m t /dev/shm && "$0" db start --state "$1" && "$0" db seed --state "$1"; ' \
                 'status=$?; "$0" db stop --state "$1"; ls /dev/shm; exit $status'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, RESTBENCH, db.state], cwd=ROOT, capture_output=True,
                              text=True, timeout=LIMIT)
        if done.returncode != 0:
            assert done.returncode == 2 and "shared memory" in done.stderr and "/dev/shm has 1.0 MiB" in done.stderr, \
                done.stderr
        assert "PostgreSQL." not in done.stdout, done.stdout
    return None


@test
def the_ceiling_is_measured_and_nothing_is_left():
    with Cluster() as db:
        data = os.path.join(db.base, "data")
        command = [RESTBENCH, "ceiling", "--state", db.state, "--data", data, "--warmup", "0"]
        environment = {**os.environ, "RESTBENCH_SHARE_CPUS": "1"}
        done = subprocess.run([*command, "--seconds", "1"], cwd=ROOT, env=environment, capture_output=True, text=True,
                              timeout=LIMIT)
        assert done.returncode == 0, done.stderr
        with open(done.stdout.strip(), encoding="utf-8") as file:
            ceiling = json.load(file)
        assert [one["name"] for one in ceiling["tests"]] == ["select_1", "select_50", "insert_100"], ceiling
        assert all(one["transactions_per_s"] > 0 and one["failed"] in (0, None) for one in ceiling["tests"]), ceiling
        assert ceiling["format"] == 1 and ceiling["database"]["settings"]["fsync"] == "on"
        assert "stopped" in db.must("status") and db.processes() == []
        process = subprocess.Popen([*command, "--seconds", "60"], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        assert waited(lambda: any("pgbench" in line and "select_1.sql" in line for line in command_lines()))
        process.terminate()
        process.communicate(timeout=LIMIT)
        assert process.returncode == -signal.SIGTERM
        assert "stopped" in db.must("status") and db.processes() == []
        assert not os.path.exists(os.path.join(db.state, "ceiling.pgpass"))
        assert len(os.listdir(data)) == 1
        db.must("start")
        assert db.sql("SELECT count(*) FROM clienti WHERE id <= 100000") == "100000"


@test
def usage_is_one_line():
    for words in ((), ("start", "stop"), ("nonsense",), ("start", "--database", "postgresql://u@h/d"),
                  ("seed", "--study", "/nowhere.json")):
        done = subprocess.run([RESTBENCH, "db", *words], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done.stderr)
    done = subprocess.run([RESTBENCH, "db", "--help"], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and "seed" in done.stdout


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [function for function in TESTS if re.search(pattern, function.__name__)]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace("_", " ")
        begin = time.monotonic()
        try:
            skip = function()
            print(f"ok {number} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as fault:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in f"{type(fault).__name__}: {fault}".splitlines() or [""]:
                print(f"# {line}", flush=True)
        if number == len(chosen):
            Shared.end()
        if os.environ.get("DB_TIMES"):
            print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
