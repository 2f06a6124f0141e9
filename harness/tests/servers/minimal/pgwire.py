"""A small client for PostgreSQL in Python's standard library: one connection
is used by one thread at a time, queries go out in the extended protocol (one
Sync each, everything as text), and the server may ask for no password, a plain
one, MD5 or SCRAM-SHA-256."""

import base64
import hashlib
import hmac
import os
import queue
import socket
import struct
from urllib.parse import parse_qsl, unquote, urlsplit


class PgError(Exception):
    """What PostgreSQL refused, with its SQLSTATE."""

    def __init__(self, fields):
        super().__init__(fields.get("M", "unknown error"))
        self.sqlstate = fields.get("C", "")


class Pool:
    """At most `size` connections, opened when they are first needed."""

    def __init__(self, url, size):
        self._url = url
        self._slots = queue.LifoQueue()
        for _ in range(size):
            self._slots.put(None)

    def query(self, sql, params=()):
        connection = self._slots.get()
        try:
            if connection is None:
                connection = Connection(self._url)
            return connection.query(sql, params)
        except PgError as error:
            # Class 57: the server ends the connection.
            if error.sqlstate.startswith("57") and connection is not None:
                connection.close()
                connection = None
            raise
        except Exception:
            if connection is not None:
                connection.close()
                connection = None
            raise
        finally:
            self._slots.put(connection)


class Connection:
    def __init__(self, url):
        parts = urlsplit(url)
        user = unquote(parts.username or "postgres")
        password = unquote(parts.password or "")
        database = unquote(parts.path.lstrip("/")) or user
        self._socket = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 5432), 10)
        self._socket.settimeout(60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        try:
            self._start(user, password, database, dict(parse_qsl(parts.query)))
        except BaseException:
            self.close()
            raise

    def close(self):
        self._file.close()
        self._socket.close()

    def query(self, sql, params):
        """The rows (lists of str or None) and the number of rows touched."""
        bind = struct.pack("!BBHH", 0, 0, 0, len(params))
        for value in params:
            data = None if value is None else value.encode()
            bind += struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data
        bind += struct.pack("!H", 0)
        self._socket.sendall(
            message(b"P", b"\0" + sql.encode() + b"\0" + struct.pack("!H", 0))
            + message(b"B", bind)
            + message(b"E", b"\0" + struct.pack("!i", 0))
            + message(b"S", b"")
        )
        rows, touched, error = [], 0, None
        while True:
            kind, body = self._receive()
            if kind == b"D":
                rows.append(read_row(body))
            elif kind == b"C":
                last = body.rstrip(b"\0").split()[-1]
                touched = int(last) if last.isdigit() else 0
            elif kind == b"E":
                error = PgError(read_fields(body))
                if error.sqlstate.startswith("57P"):
                    raise error
            elif kind == b"Z":
                if error is not None:
                    raise error
                return rows, touched

    def _start(self, user, password, database, options):
        body = struct.pack("!i", 3 << 16)
        settings = {"user": user, "database": database, "client_encoding": "UTF8", "DateStyle": "ISO"}
        if "application_name" in options:
            settings["application_name"] = options["application_name"]
        for name, value in settings.items():
            body += name.encode() + b"\0" + value.encode() + b"\0"
        body += b"\0"
        self._socket.sendall(struct.pack("!i", len(body) + 4) + body)
        while True:
            kind, body = self._receive()
            if kind == b"R":
                self._authenticate(user, password, body)
            elif kind == b"E":
                raise PgError(read_fields(body))
            elif kind == b"Z":
                return

    def _authenticate(self, user, password, body):
        method = struct.unpack("!i", body[:4])[0]
        if method == 3:
            self._socket.sendall(message(b"p", password.encode() + b"\0"))
        elif method == 5:
            inner = hashlib.md5((password + user).encode()).hexdigest()
            outer = hashlib.md5(inner.encode() + body[4:8]).hexdigest()
            self._socket.sendall(message(b"p", b"md5" + outer.encode() + b"\0"))
        elif method == 10:
            self._scram(password, body[4:])
        elif method != 0:
            raise ConnectionError(f"unknown way to authenticate: {method}")

    def _scram(self, password, mechanisms):
        """RFC 5802, without channel binding."""
        if b"SCRAM-SHA-256" not in mechanisms.split(b"\0"):
            raise ConnectionError("the server does not offer SCRAM-SHA-256")
        nonce = base64.b64encode(os.urandom(18)).decode()
        first = f"n=,r={nonce}"
        start = ("n,," + first).encode()
        self._socket.sendall(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(start)) + start))

        challenge = self._sasl(11)
        values = dict(item.split("=", 1) for item in challenge.split(","))
        if not values["r"].startswith(nonce):
            raise ConnectionError("the server's nonce is not ours")
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(values["s"]), int(values["i"]))
        final = f"c=biws,r={values['r']}"
        signed = f"{first},{challenge},{final}".encode()
        client_key = digest(salted, b"Client Key")
        signature = digest(hashlib.sha256(client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature))
        self._socket.sendall(message(b"p", f"{final},p={base64.b64encode(proof).decode()}".encode()))

        expected = digest(digest(salted, b"Server Key"), signed)
        if self._sasl(12) != "v=" + base64.b64encode(expected).decode():
            raise ConnectionError("the server does not know the password")

    def _sasl(self, step):
        kind, body = self._receive()
        if kind == b"E":
            raise PgError(read_fields(body))
        if kind != b"R" or struct.unpack("!i", body[:4])[0] != step:
            raise ConnectionError("an unexpected answer to SCRAM")
        return body[4:].decode()

    def _receive(self):
        head = self._read(5)
        return head[:1], self._read(struct.unpack("!i", head[1:])[0] - 4)

    def _read(self, size):
        data = self._file.read(size)
        if len(data) != size:
            raise ConnectionError("the database closed the connection")
        return data


def digest(key, data):
    return hmac.new(key, data, "sha256").digest()


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def read_fields(body):
    return {field[:1].decode(): field[1:].decode(errors="replace") for field in body.split(b"\0") if field}


def read_row(body):
    row, at = [], 2
    for _ in range(struct.unpack("!H", body[:2])[0]):
        size = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        row.append(None if size < 0 else body[at : at + size].decode())
        at += max(size, 0)
    return row


def array(values):
    """A list of str and None as PostgreSQL writes an array."""
    return "{" + ",".join("NULL" if v is None else quote(v) for v in values) + "}"


def quote(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
