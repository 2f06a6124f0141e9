"""A test server that cheats in one way, named by CHEAT: the honest one of
../minimal with one of its methods replaced. Its folder is put together from
that one's files and these by ../../cli/cheats.t."""

import hmac
import http.client
import os
import threading
import time
from datetime import datetime

import server as honest
from pgwire import Connection, PgError, array

MODE = os.environ["CHEAT"]


class Handler(honest.Handler):
    pass


class Server(honest.Server):
    pass


def cheat(function):
    """Takes part when its name is the one asked for."""
    if function.__name__ == MODE.replace("-", "_"):
        function()
    return function


@cheat
def canned():
    """The two answers that are measured were prepared once."""
    read_one, read_list, answers = Handler.read_one, Handler.list, {}

    def one(self, text):
        if text != "42":
            return read_one(self, text)
        return answers.setdefault("one", read_one(self, text)) if "one" not in answers else answers["one"]

    def page(self, query):
        if query != "pagina=3":
            return read_list(self, query)
        return answers["page"] if "page" in answers else answers.setdefault("page", read_list(self, query))

    Handler.read_one, Handler.list = one, page


@cheat
def cache():
    """Answers are kept for half a minute, whatever happens to the table."""
    read_one, kept = Handler.read_one, {}

    def one(self, text):
        if text not in kept or time.monotonic() - kept[text][0] > 30:
            kept[text] = time.monotonic(), read_one(self, text)
        return kept[text][1]

    Handler.read_one = one


@cheat
def ninety_nine():
    """One row of the hundred is left out, the answer says a hundred."""

    def insert(self, body):
        batch = honest.read_batch(body)
        self.server.pool.query(honest.INSERT, [array(column[:-1]) for column in batch])
        return {"inserted": len(batch[0])}

    Handler.insert = insert


@cheat
def disorder():
    """The rows arrive, in another order."""

    def insert(self, body):
        batch = honest.read_batch(body)
        self.server.pool.query(honest.INSERT, [array(column[::-1]) for column in batch])
        return {"inserted": len(batch[0])}

    Handler.insert = insert


@cheat
def no_transaction():
    """Each row is a transaction of its own."""

    def insert(self, body):
        batch = honest.read_batch(body)
        for row in zip(*batch):
            self.server.pool.query(honest.INSERT, [array([value]) for value in row])
        return {"inserted": len(batch[0])}

    Handler.insert = insert


@cheat
def never_stores():
    """Says that it inserted, and did not."""
    Handler.insert = lambda self, body: {"inserted": len(honest.read_batch(body)[0])}


@cheat
def rolls_back():
    """Inserts the rows, lets the transaction fail, and says that it inserted."""
    sql = f"WITH i AS ({honest.INSERT} RETURNING 1) SELECT 1 / (count(*) - 100) FROM i"

    def insert(self, body):
        batch = honest.read_batch(body)
        try:
            self.server.pool.query(sql, [array(column) for column in batch])
        except PgError:
            pass
        return {"inserted": len(batch[0])}

    Handler.insert = insert


@cheat
def lenient():
    """Takes a balance written as a string."""
    check_row = honest.check_row

    def check(row):
        if isinstance(row, dict) and isinstance(row.get("saldo"), str):
            row = {**row, "saldo": honest.Decimal(row["saldo"])}
        return check_row(row)

    honest.check_row = check


@cheat
def local_time():
    """Timestamps pass through the local time of a place with summer time."""
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    cliente = honest.cliente

    def shifted(row):
        value = cliente(row)
        form = "%Y-%m-%dT%H:%M:%S"
        text, _, fraction = value["creato"].partition(".")
        if text >= "1970":
            there = datetime.fromtimestamp(time.mktime(time.strptime(text, form)))
            value["creato"] = there.strftime(form) + (f".{fraction}" if fraction else "")
        return value

    honest.cliente = shifted


@cheat
def short_floats():
    """Balances pass through a float of seven digits."""
    cliente = honest.cliente
    honest.cliente = lambda row: {**cliente(row), "saldo": float(f"{float(row[4]):.7g}")}


@cheat
def alg_none():
    """Believes the token's header about how it is signed."""
    is_valid = Server.is_valid

    def believes(self, token):
        parts = token.split(".")
        return (len(parts) == 3 and honest.decode(parts[0]).get("alg") == "none") or is_valid(self, token)

    Server.is_valid = believes


@cheat
def no_exp():
    """Does not look at the token's end."""

    def is_valid(self, token):
        parts = token.split(".")
        if len(parts) != 3:
            return False
        mac = hmac.new(self.secret, f"{parts[0]}.{parts[1]}".encode(), "sha256").digest()
        expected = honest.base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
        return hmac.compare_digest(expected, parts[2]) and honest.decode(parts[0]).get("alg") == "HS256"

    Server.is_valid = is_valid


@cheat
def open_ping():
    """Asks for a token where the database is used, but not on ping."""
    read_body = Handler.read_body

    def body(self):
        self.server.asks = self.path != "/ping"
        return read_body(self)

    Handler.read_body = body
    check_token = Server.check_token
    Server.check_token = lambda self, header: check_token(self, header) if self.asks else None


@cheat
def many_connections():
    """Opens four times the connections that it was given."""
    init = Server.__init__

    def start(self, address, pool, secret):
        self.more = [Connection(os.environ["DATABASE_URL"]) for _ in range(48)]
        for _ in range(16):
            pool.query("SELECT 1")
        init(self, address, pool, secret)

    Server.__init__ = start


@cheat
def close():
    """Closes the connection after every answer."""
    answer = Handler.answer

    def answer_and_close(self, status, value, headers):
        self.close_connection = True
        answer(self, status, value, headers)

    Handler.answer = answer_and_close


@cheat
def elsewhere():
    """Lets a process that nobody measures make the answers."""
    local = threading.local()

    def forward(self):
        if not hasattr(local, "upstream"):
            local.upstream = http.client.HTTPConnection("127.0.0.1", int(os.environ["UPSTREAM"]))
        body = self.read_body()
        names = ("Content-Type", "Authorization")
        headers = {name: self.headers[name] for name in names if name in self.headers}
        local.upstream.request(self.command, self.path, body or None, headers)
        reply = local.upstream.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", reply.headers["Content-Length"])
        self.end_headers()
        self.wfile.write(data)

    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", forward)


@cheat
def squatted():
    """Does not listen; somebody else is asked to answer on its port."""
    with open(os.environ["SQUATTER"], "w", encoding="ascii") as fifo:
        fifo.write(os.environ["PORT"] + "\n")
    time.sleep(60)


honest.Handler = Handler
honest.Server = Server
honest.main()
