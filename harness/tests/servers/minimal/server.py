"""A test server in Python's standard library: the whole contract, no build,
nothing to install. It is here to show what a folder needs, not to be fast."""

import base64
import hmac
import json
import os
import re
import signal
import sys
import threading
import time
from datetime import datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from pgwire import PgError, Pool, array

PAGE_SIZE = 50
MAX_INT8 = 2**63 - 1
MAX_BODY = 1 << 20

COLUMNS = "id, ragione_sociale, citta, email, saldo, creato"
SELECT_ONE = f"SELECT {COLUMNS} FROM clienti WHERE id = $1"
SELECT_PAGE = f"SELECT {COLUMNS} FROM clienti ORDER BY id LIMIT {PAGE_SIZE} OFFSET $1"
INSERT = """INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::timestamp[])"""

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII)


class Answer(Exception):
    """An answer other than 200."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        headers = {}
        try:
            body = self.read_body()
            self.server.check_token(self.headers.get("Authorization", ""))
            status, value = 200, self.route(body)
        except Answer as answer:
            status, value = answer.status, {"error": str(answer)}
            if status == 401:
                headers["WWW-Authenticate"] = "Bearer"
        except PgError as error:
            # Classes 22 and 23: the data is at fault, not the database.
            status = 400 if error.sqlstate[:2] in ("22", "23") else 500
            value = {"error": str(error)}
        except OSError as error:
            status, value = 503, {"error": str(error)}
        self.answer(status, value, headers)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def route(self, body):
        url = urlsplit(self.path)
        parts = url.path.split("/")[1:]
        method = "GET" if self.command == "HEAD" else self.command
        if (method, parts) == ("GET", ["ping"]):
            return {"ok": True}
        if (method, parts) == ("GET", ["clienti"]):
            return self.list(url.query)
        if (method, parts) == ("POST", ["clienti", "batch"]):
            return self.insert(body)
        if method == "GET" and len(parts) == 2 and parts[0] == "clienti" and parts[1]:
            return self.read_one(unquote(parts[1]))
        raise Answer(404, "no such page")

    def read_one(self, text):
        rows, _ = self.server.pool.query(SELECT_ONE, [str(positive(text))])
        if not rows:
            raise Answer(404, "no such row")
        return cliente(rows[0])

    def list(self, query):
        pages = parse_qs(query, keep_blank_values=True).get("pagina", ["1"])
        offset = min((positive(pages[0]) - 1) * PAGE_SIZE, MAX_INT8)
        rows, _ = self.server.pool.query(SELECT_PAGE, [str(offset)])
        return [cliente(row) for row in rows]

    def insert(self, body):
        batch = read_batch(body)
        # One statement is one transaction.
        _, inserted = self.server.pool.query(INSERT, [array(column) for column in batch])
        return {"inserted": inserted}

    def read_body(self):
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.close_connection = True
            raise Answer(411, "a body needs its Content-Length")
        if int(length) > MAX_BODY:
            self.close_connection = True
            raise Answer(413, "the body is too large")
        return self.rfile.read(int(length))

    def answer(self, status, value, headers):
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """No line for each request."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address, pool, secret):
        super().__init__(address, Handler)
        self.pool = pool
        self.secret = secret.encode()

    def check_token(self, authorization):
        scheme, _, token = authorization.partition(" ")
        if self.secret and not (scheme.lower() == "bearer" and self.is_valid(token)):
            raise Answer(401, "a valid token is required")

    def is_valid(self, token):
        try:
            header, claims, signature = token.split(".")
            mac = hmac.new(self.secret, f"{header}.{claims}".encode(), "sha256").digest()
            expected = base64.urlsafe_b64encode(mac).rstrip(b"=")
            if not hmac.compare_digest(expected, signature.encode()) or decode(header).get("alg") != "HS256":
                return False
            exp = decode(claims).get("exp")
            return type(exp) in (int, float) and exp > time.time()
        except (ValueError, AttributeError):
            return False

    def handle_error(self, request, client_address):
        """A client that went away; anything else is worth a line."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def decode(part):
    return json.loads(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))


def positive(text):
    if re.fullmatch("[0-9]{1,40}", text) and 0 < int(text) <= MAX_INT8:
        return int(text)
    raise Answer(400, "not a positive integer")


def cliente(row):
    return {
        "id": int(row[0]),
        "ragione_sociale": row[1],
        "citta": row[2],
        "email": row[3],
        "saldo": float(row[4]),
        "creato": row[5].replace(" ", "T"),
    }


def read_batch(body):
    """The five columns of a body that is an array of rows."""
    try:
        rows = json.loads(body.decode(), parse_float=Decimal, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Answer(400, f"the body is no JSON: {error}") from None
    if not isinstance(rows, list):
        raise Answer(400, "the body is not an array")
    columns = [[], [], [], [], []]
    for row in rows:
        try:
            values = check_row(row)
        except (TypeError, KeyError, ValueError) as error:
            raise Answer(400, f"not a row: {error}") from None
        for column, value in zip(columns, values):
            column.append(value)
    return columns


def check_row(row):
    if not isinstance(row, dict):
        raise TypeError("not an object")
    name, city, email = row["ragione_sociale"], row["citta"], row["email"]
    balance, created = row["saldo"], row["creato"]
    for text in (name, city, "" if email is None else email, created):
        if not isinstance(text, str):
            refuse(text)
        text.encode()  # a lone surrogate has no UTF-8
    # A bool is an int to isinstance.
    if type(balance) not in (int, Decimal) or not TIMESTAMP.fullmatch(created):
        refuse(row)
    datetime.strptime(created[:19], "%Y-%m-%dT%H:%M:%S")
    return name, city, email, str(balance), created


def refuse(value):
    raise ValueError(f"{value!r} is of the wrong type")


def main():
    env = os.environ
    pool = Pool(env["DATABASE_URL"], int(env.get("DB_POOL") or 16))
    address = (env.get("HOST") or "127.0.0.1", int(env.get("PORT") or 8080))
    server = Server(address, pool, env.get("JWT_SECRET", ""))
    # shutdown() waits for the loop that the signal has interrupted.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
