#!/usr/bin/env python3
"""TAP: the page of `restbench report` in a real browser: charts, filters, sorting, evidence, hostile titles.

SCREENSHOTS=DIR keeps pictures of light, dark, phone and print for people to look at.
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import run_files  # noqa: E402
from tap import CASES, Tap  # noqa: E402

t = Tap()
if browser.find() is None:
    print("1..0 # SKIP no Chromium here")
    sys.exit(0)

HOSTILE = ['Go 1.27, "tip" | net/http <b>&amp;', "</SCRIPT><!--<script>alert(1)</script>", "__proto__", "=1+1", "constructor",
           "<img src=x onerror=alert(2)>", "x" * 200, "日本語 · サーバ"]
cells, machine = run_files.make(titles=HOSTILE, rounds=3)
cells[0]["marks"].append({"name": "steal", "value": 2.6, "threshold": 2.0, "text": "<script>alert(3)</script>"})
machine["machine"]["cpu_model"] = "</script><script>alert(4)</script>"
machine["run"]["command"] = ["restbench", "run", "--servers", "a|b's"]
machine["rows"][2]["versions"] = {"__proto__": "1", "<b>": "</script>"}
machine["rows"].append({"id": "php", "title": "PHP <i>8</i>", "status": "skipped", "reason": "needs <php>"})
path = run_files.write(t.folder, cells, machine)
t.run("report", "--out", t.path("out"), path)
t.run("report", "--out", t.path("lone"), os.path.join(CASES, "golden", "2026-11-05_no-auth.csv"),
      os.path.join(CASES, "golden", "2026-11-06_jwt.csv"))
t.run("report", "--out", t.path("bare"), path, env={"RESTBENCH_CHART_JS": t.path("none.js")})
PAGE = "file://" + t.path("out/2026-11-30_no-auth.html")
LONE = "file://" + t.path("lone/2026-11-05_no-auth.html")
BARE = "file://" + t.path("bare/2026-11-30_no-auth.html")
ALL = ["chart-rate", "chart-cpu", "chart-p99", "chart-memory", "chart-latency", "chart-seconds"]
# Marks of a chart: its points, and pixels that are not transparent.
MARKS = """(id) => { const chart = Chart.getChart(id), canvas = document.getElementById(id);
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let drawn = 0; for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
  return [chart.data.datasets.reduce((n, set) => n + set.data.length, 0), drawn]; }"""
# How many of the rounds' points lie inside the chart: an axis that is not there puts them elsewhere.
POINTS = """(id) => { const chart = Chart.getChart(id), area = chart.chartArea;
  const set = chart.data.datasets.findIndex((item) => item.type === "scatter");
  return chart.getDatasetMeta(set).data.filter((point) => point.x >= area.left && point.x <= area.right + 1 &&
    point.y > area.top && point.y < area.bottom).length; }"""
ROWS = "[...document.querySelectorAll('#table-limits tbody tr')].map((tr) => tr.cells[0].textContent)"


def pictures(page, name):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(os.path.join(folder, name + ".png"))


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


with browser.Browser() as page:
    page.media("light")
    page.resize(1280, 900)
    page.open(PAGE)
    t.is_(page.complaints(), [], "hostile titles do nothing: no error, no dialog, no request")
    pictures(page, "light")
    for name in ALL:
        points, drawn = page.evaluate(f"({MARKS})({name!r})")
        t.ok(points >= len(HOSTILE) and drawn > 1000, f"{name} has marks", f"{points} points, {drawn} pixels")
    for name in ("chart-rate", "chart-p99"):
        t.is_(page.evaluate(f"({POINTS})({name!r})"), 3 * len(HOSTILE), f"{name}: every round is a point on its bar")
    t.is_(sorted(page.evaluate(ROWS)), sorted(HOSTILE), "titles are shown as they are")
    t.is_(page.evaluate("document.querySelectorAll('main b, main i, main img').length"), 0, "and never as markup")
    t.has(page.evaluate("document.getElementById('counts').textContent"), "1 mark: steal 1", "marks are counted on the first screen")
    t.has(page.evaluate("document.getElementById('counts').textContent"), "1 planned and not measured", "and what is missing")
    t.has(page.evaluate("document.getElementById('missing').textContent"), "PHP <i>8</i>: needs <php>", "with the reason")
    t.has(page.evaluate("document.getElementById('facts').textContent"), "</script><script>alert(4)", "the machine is named")
    t.has(page.evaluate("document.getElementById('facts').textContent"), "load generator on CPU 1", "and who ran where")
    t.ok(page.evaluate("document.querySelector('#table-limits td.limit-server') !== null"), "what limited each row is shown")
    t.ok(fits(page), "nothing is wider than the window")
    t.is_(page.evaluate("document.querySelectorAll('#raw code')[1].textContent"), "restbench run --servers 'a|b'\\''s'",
          "the command that repeats it can be pasted into a shell")
    t.ok(page.evaluate("['table-limits', 'table-cells'].every((id) => document.getElementById(id).scrollWidth <= "
                       "document.getElementById(id).parentElement.clientWidth)"), "no table is cut at 1,280 pixels")

    # Filters, kept in the address.
    page.evaluate("""(() => { const select = document.querySelectorAll('#filters select'); select[0].value = 'ping';
      select[0].dispatchEvent(new Event('change')); })()""")
    t.has(page.evaluate("location.hash"), "test=ping", "the chosen test stands in the address")
    t.has(page.evaluate("document.getElementById('overview-title').textContent"), "Ping (no database), 50", "and is shown")
    page.evaluate("document.querySelectorAll('#filters input')[2].click()")
    t.has(page.evaluate("location.hash"), "without=__proto__", "a hidden server stands in the address")
    t.is_(len(page.evaluate(ROWS)), len(HOSTILE) - 1, "and is hidden")
    address = page.evaluate("location.href")
    page.open("about:blank")
    page.open(address)
    t.ok(page.evaluate("document.getElementById('overview-title').textContent").startswith("Ping") and
         len(page.evaluate(ROWS)) == len(HOSTILE) - 1, "the address brings the same view back")

    # Sorting.
    first = "document.querySelector('#table-cells th:nth-child(5) button')"
    numbers = "[...document.querySelectorAll('#table-cells tbody tr')].map((tr) => Number(tr.cells[4].textContent.replace(/,/g, '')))"
    page.evaluate(f"{first}.click()")
    down = page.evaluate(numbers)
    page.evaluate(f"{first}.click()")
    up = page.evaluate(numbers)
    t.ok(down == sorted(down, reverse=True) and up == sorted(up) and up != down, "a click on a heading sorts, another turns it round", f"{down}\n{up}")
    t.is_(page.evaluate("document.querySelector('#table-cells th:nth-child(5)').getAttribute('aria-sort')"), "ascending", "and says so")

    # Evidence.
    page.evaluate("document.querySelector('#table-cells tbody tr').click()")
    t.ok(page.evaluate("document.getElementById('evidence').open"), "a row opens its evidence")
    text = page.evaluate("document.querySelector('#evidence > div').textContent")
    t.ok("round 1" in text and "round 3" in text and "load.restbench.started" in text, "of every round", text[:400])
    page.evaluate("document.getElementById('evidence').close()")
    t.is_(page.complaints(), [], "still no complaint")

    # Other looks.
    page.media("dark")
    page.open(PAGE)
    t.is_(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(20, 24, 28)", "dark when the reader wants it dark")
    t.is_(page.evaluate("Chart.getChart('chart-rate').options.color"), "#e4e8eb", "the charts too")
    pictures(page, "dark")
    page.media("light")
    page.resize(390, 844)
    page.open(PAGE)
    t.ok(fits(page), "on a phone nothing is wider than the screen")
    pictures(page, "phone")
    page.resize(1000, 1400)
    page.media("dark")
    page.media("dark", "print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    t.is_(page.evaluate("[getComputedStyle(document.body).backgroundColor, Chart.getChart('chart-rate').options.color].join()"),
          "rgb(255, 255, 255),#000000", "on paper black on white, whatever the screen")
    t.is_(page.evaluate("getComputedStyle(document.getElementById('filters')).display"), "none", "and without the filters")
    pictures(page, "print")

    # A lone CSV, two runs in one page, and a page without Chart.js.
    page.media("light")
    page.resize(1280, 900)
    page.open(LONE)
    t.is_(page.complaints(), [], "lone CSVs make a page too")
    t.is_(page.evaluate("document.querySelectorAll('#filters select')[0].options.length"), 2, "two runs, one page")
    page.evaluate("(() => { const s = document.querySelector('#filters select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
    t.ok("2026-11-06_jwt" in page.evaluate("document.getElementById('name').textContent") and
         "run=1" in page.evaluate("location.hash"), "the other run is a choice away, and in the address")
    t.ok(page.evaluate("document.getElementById('chart-latency').closest('section').hidden"), "what a lone CSV lacks is not there")
    page.evaluate("document.querySelector('#table-cells tbody tr').click()")
    t.has(page.evaluate("document.querySelector('#evidence > div').textContent"), "round 3", "its evidence are the rounds")
    pictures(page, "lone")
    page.open(BARE)
    t.ok(page.complaints() == [] and not page.evaluate("document.getElementById('no-charts').hidden") and
         len(page.evaluate(ROWS)) == len(HOSTILE), "without Chart.js: said, and the tables are there")
t.done()
