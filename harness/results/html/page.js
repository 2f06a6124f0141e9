/* The page: one state (run, test, connections, hidden servers, sorting), kept in the address; everything is drawn from it. */
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const state = { run: 0, test: "", connections: 0, hidden: new Set(), limits: { sort: "rate", down: true }, cells: { sort: "", down: false }, published: {} };

function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const run = Number(wanted.get("run"));
  state.run = Number.isInteger(run) && data.runs[run] ? run : 0;
  const tests = theRun().tests.map((test) => test.name);
  state.test = tests.includes(wanted.get("test")) ? wanted.get("test") : tests[Math.min(1, tests.length - 1)];
  const connections = Number(wanted.get("connections"));
  state.connections = theRun().connections.includes(connections) ? connections : theRun().connections[0];
  state.hidden = new Set(wanted.getAll("without"));
  state.cells = { sort: wanted.get("sort") || "", down: wanted.get("down") === "1" };
}

function writeAddress() {
  const address = new URLSearchParams();
  if (data.runs.length > 1) address.set("run", state.run);
  address.set("test", state.test);
  address.set("connections", state.connections);
  for (const title of state.hidden) address.append("without", title);
  if (state.cells.sort) {
    address.set("sort", state.cells.sort);
    address.set("down", state.cells.down ? "1" : "0");
  }
  history.replaceState(null, "", `#${address}`);
}

function theRun() { return data.runs[state.run]; }

function rowOf(title) { return theRun().rows.find((row) => row.title === title); }

function testTitle(name) {
  const test = theRun().tests.find((item) => item.name === name);
  return test ? test.title : name;
}

/* Cells in the order of the rows; the chosen test and connections unless `all`. */
function shownCells(all) {
  const order = new Map(theRun().rows.map((row, index) => [row.title, index]));
  return theRun().cells
    .filter((cell) => !state.hidden.has(cell.row) && (all || (cell.test === state.test && cell.connections === state.connections)))
    .sort((a, b) => order.get(a.row) - order.get(b.row));
}

function sum(...values) { return values.some((value) => value === null) ? null : values.reduce((a, b) => a + b, 0); }
function serverCpu(cell) { return sum(cell.cpu_user_us.median, cell.cpu_kernel_us.median); }
function postgresCpu(cell) { return cell.cpu_postgres_us.median < 0 ? null : cell.cpu_postgres_us.median; }
function seriesColor(title) { return SERIES[theRun().rows.findIndex((row) => row.title === title) % SERIES.length]; }
function rounds(figure) { return figure.rounds.length <= 50 ? figure.rounds.map((pair) => pair[1]).filter((value) => value !== null) : []; }

function signs(cell, td) {
  const found = theRun().marks.filter((mark) => cell.marks.includes(mark.name));
  if (found.length === 0) return;
  const sign = element("span", ` [${found.map((mark) => mark.sign).join(",")}]`, "sign");
  sign.title = found.map((mark) => `${mark.name}: ${mark.sentence}`).join("\n");
  td.append(sign);
}

function drawHead() {
  const run = theRun();
  const machine = run.machine || {};
  const database = run.database || {};
  const facts = [`${run.rounds} ${run.rounds === 1 ? "round" : "rounds"}, ${run.first_utc} to ${run.last_utc}`];
  if (machine.cpu_model) facts.push(`${machine.cpu_model}, ${machine.cpus ?? "?"} CPUs`);
  if (machine.kernel) facts.push(`kernel ${machine.kernel}`);
  if (database.version) facts.push(`PostgreSQL ${database.version}`);
  if (run.run && run.run.cpus && run.run.cpus.pinned) facts.push(`${database.private ? "server and database" : "server"} on CPU ${run.run.cpus.server}, load generator on CPU ${run.run.cpus.generator}`);
  if (run.run && run.run.tool) facts.push(`load by ${run.run.tool}`);
  byId("name").textContent = (run.study && run.study.title ? `${run.study.title}: ` : "") + run.name;
  byId("facts").textContent = facts.join(" · ");
  byId("conclusion").replaceChildren(...[run.conclusion, run.no_conclusion].filter(Boolean).map((text) => element("p", text)));
  const measured = run.rows.filter((row) => row.measured).length;
  const marks = run.marks.reduce((count, mark) => count + mark.count, 0);
  const failed = run.rows.length - measured + run.not_measured.length;
  byId("counts").replaceChildren(
    element("li", `${measured} servers, ${run.cells.length} medians`),
    element("li", marks ? `${marks} ${marks === 1 ? "mark" : "marks"}: ${run.marks.map((mark) => `${mark.name} ${mark.count}`).join(", ")}` : "no marks", marks ? "warn" : ""),
    ...(run.drift_pct !== null && Math.abs(run.drift_pct) > 5 ? [element("li", `the machine's speed changed by ${number(run.drift_pct, 1)} %`, "warn")] : []),
    element("li", failed ? `${failed} planned and not measured` : "nothing planned is missing", failed ? "bad" : ""));
}

function choice(label, options, chosen, set) {
  const outer = element("label", label);
  const select = element("select");
  for (const [value, text] of options) {
    const option = element("option", cut(text, 60));
    option.value = value;
    option.selected = String(value) === String(chosen);
    select.append(option);
  }
  select.addEventListener("change", () => { set(select.value); drawAll(); });
  outer.append(select);
  return outer;
}

function drawFilters() {
  const run = theRun();
  const wasOpen = byId("filters").querySelector("details")?.open;
  const parts = [];
  if (data.runs.length > 1) parts.push(choice("run", data.runs.map((item, index) => [index, item.name]), state.run, (value) => {
    state.run = Number(value);
    writeAddress();
    readAddress();
  }));
  parts.push(choice("test", run.tests.map((test) => [test.name, test.title]), state.test, (value) => { state.test = value; }));
  parts.push(choice("connections", run.connections.map((value) => [value, String(value)]), state.connections, (value) => { state.connections = Number(value); }));
  const details = element("details");
  const box = element("div");
  details.open = Boolean(wasOpen);
  details.append(element("summary", `servers${state.hidden.size ? ` (${state.hidden.size} hidden)` : ""}`), box);
  for (const row of run.rows.filter((item) => item.measured)) {
    const label = element("label");
    const check = element("input");
    check.type = "checkbox";
    check.checked = !state.hidden.has(row.title);
    check.addEventListener("change", () => { state.hidden[check.checked ? "delete" : "add"](row.title); drawAll(); });
    label.append(check, element("span", row.title));
    box.append(label);
  }
  byId("filters").replaceChildren(...parts, details);
}

function drawOverview() {
  const cells = shownCells(false).sort((a, b) => compare(a.requests_per_s.median, b.requests_per_s.median, true));
  const items = (parts, figure) => cells.map((cell) => ({ title: cell.row, cell, parts: parts(cell), rounds: figure ? rounds(figure(cell)) : [] }));
  const open = (item) => openEvidence(item.cell);
  byId("overview-title").textContent = `${testTitle(state.test)}, ${state.connections} connections`;
  drawBars("chart-rate", items((cell) => [cell.requests_per_s.median], (cell) => cell.requests_per_s), ["requests/s"], 0, open);
  drawBars("chart-cpu", items((cell) => [cell.cpu_user_us.median, cell.cpu_kernel_us.median, postgresCpu(cell)]), ["server user", "server kernel", "PostgreSQL"], 1, open);
  drawBars("chart-p99", items((cell) => [cell.latency_p99_ms.median], (cell) => cell.latency_p99_ms), ["p99 ms"], 1, open);
  drawBars("chart-memory", items((cell) => [rowOf(cell.row).working_set_mb]), ["working set MB"], 0, open);
  const known = cells.some((cell) => cell.verdict);
  const columns = [
    { key: "row", title: "server", kind: "text", className: "title", value: (cell) => cell.row, cell: (cell, td) => { td.textContent = cell.row + (rowOf(cell.row).reference ? " *" : ""); signs(cell, td); } },
    { key: "rate", title: "requests/s", kind: "number", digits: 0, best: "high", value: (cell) => cell.requests_per_s.median },
    { key: "p99", title: "p99 ms", kind: "number", digits: 1, value: (cell) => cell.latency_p99_ms.median },
    { key: "cpu", title: "server CPU µs", kind: "number", digits: 0, best: "low", value: serverCpu },
    { key: "postgres", title: "PostgreSQL µs", kind: "number", digits: 0, value: postgresCpu },
    { key: "memory", title: "memory MB", kind: "number", digits: 0, best: "low", value: (cell) => rowOf(cell.row).working_set_mb },
  ];
  if (known) columns.push(
    { key: "limit", title: "limited by", kind: "text", className: "wrap", value: (cell) => cell.verdict && cell.verdict.text, cell: (cell, td) => { td.textContent = cell.verdict ? cell.verdict.text : "n/a"; if (cell.verdict) td.classList.add(`limit-${cell.verdict.limited_by}`); } },
    { key: "generator", title: "generator %", kind: "number", digits: 0, value: (cell) => cell.verdict && cell.verdict.generator_pct });
  if (cells.some((cell) => cell.of_ceiling_pct !== null)) columns.push({ key: "ceiling", title: "% of the database alone", kind: "number", digits: 0, value: (cell) => cell.of_ceiling_pct });
  fillTable(byId("table-limits"), columns, cells, state.limits, drawOverview, openEvidence);
}

function drawLatency() {
  const lines = shownCells(false).filter((cell) => cell.latency).map((cell) => ({ title: cell.row, name: cell.row, color: seriesColor(cell.row),
    points: cell.latency.map(([percentile, ms]) => ({ x: -Math.log10(Math.max(1 - percentile / 100, 1e-7)), y: Math.max(ms, 0.001) })) }));
  const section = byId("chart-latency").closest("section");
  section.hidden = lines.length === 0 || typeof Chart === "undefined";
  if (section.hidden) return;
  const label = (value) => `${Number((100 * (1 - 10 ** -value)).toFixed(Math.max(0, Math.ceil(value) - 2)))} %`;
  drawLines("chart-latency", lines,
    { type: "linear", min: 0, title: { display: true, text: "percentile" }, ticks: { stepSize: 1, callback: label } },
    { type: "logarithmic", title: { display: true, text: "ms" }, ticks: { callback: (value) => /^[125]0*$/.test(String(value).replace(/^0\.0*/, "").replace(".", "")) ? value : null } },
    (hits) => `${(100 * (1 - 10 ** -hits[0].raw.x)).toPrecision(5)} %`);
}

/* The last second of a window may be a part of one: its rate counts, and a sliver of it tells nothing. */
function perSecond(item) {
  const rates = [...item.seconds];
  const whole = item.window && item.window.seconds ? item.window.seconds : item.phase.seconds;
  const part = whole - (rates.length - 1);
  if (rates.length > 1 && part < 0.1) rates.pop();
  else if (part > 0 && part < 1) rates[rates.length - 1] /= part;
  return rates;
}

function drawSeconds() {
  const list = (theRun().evidence || []).filter((item) => item.test === state.test && item.phase.connections === state.connections && !state.hidden.has(item.row.title) && item.seconds.length > 0);
  const seen = new Set();
  const lines = list.map((item) => {
    const first = !seen.has(item.row.title);
    seen.add(item.row.title);
    return { title: first ? item.row.title : "", name: `${item.row.title}, round ${item.round}`, color: seriesColor(item.row.title), dash: [[], [6, 3], [2, 2]][(item.round - 1) % 3],
      points: perSecond(item).map((y, index) => ({ x: index + 1, y })) };
  });
  const section = byId("chart-seconds").closest("section");
  section.hidden = lines.length === 0 || typeof Chart === "undefined";
  if (section.hidden) return;
  drawLines("chart-seconds", lines, { type: "linear", title: { display: true, text: "second of the window" }, ticks: { precision: 0 } },
    { type: "linear", beginAtZero: true, title: { display: true, text: "2xx answers" } }, (hits) => `second ${hits[0].raw.x}`);
}

function range(figure, digits) {
  return figure.min === null ? "n/a" : `${number(figure.min, digits)} – ${number(figure.max, digits)}`;
}

function drawCells() {
  const columns = [
    { key: "row", title: "server", kind: "text", className: "title", value: (cell) => cell.row, cell: (cell, td) => { td.textContent = cell.row; signs(cell, td); } },
    { key: "test", title: "test", kind: "text", value: (cell) => testTitle(cell.test) },
    { key: "connections", title: "conn.", kind: "number", digits: 0, value: (cell) => cell.connections },
    { key: "rounds", title: "rounds", kind: "number", digits: 0, value: (cell) => cell.rounds },
    { key: "rate", title: "requests/s", kind: "number", digits: 0, value: (cell) => cell.requests_per_s.median },
    { key: "spread", title: "min – max", kind: "number", value: (cell) => cell.requests_per_s.min, cell: (cell, td) => { td.textContent = range(cell.requests_per_s, 0); } },
    { key: "width", title: "width %", kind: "number", digits: 1, value: (cell) => cell.requests_per_s.width_pct },
    { key: "p50", title: "p50 ms", kind: "number", digits: 2, value: (cell) => cell.latency_p50_ms.median },
    { key: "p99", title: "p99 ms", kind: "number", digits: 2, value: (cell) => cell.latency_p99_ms.median },
    { key: "user", title: "user µs", kind: "number", digits: 1, value: (cell) => cell.cpu_user_us.median },
    { key: "kernel", title: "kernel µs", kind: "number", digits: 1, value: (cell) => cell.cpu_kernel_us.median },
    { key: "postgres", title: "db µs", kind: "number", digits: 1, value: postgresCpu },
    { key: "errors", title: "errors", kind: "number", digits: 0, value: (cell) => cell.errors },
    { key: "limit", title: "limited by", kind: "text", value: (cell) => cell.verdict && cell.verdict.limited_by },
  ];
  fillTable(byId("table-cells"), columns, shownCells(true), state.cells, () => { writeAddress(); drawCells(); }, openEvidence);
}

function drawRest() {
  const run = theRun();
  const marks = run.marks.map((mark) => {
    const part = element("div");
    const where = mark.cells.slice(0, 40).map((cell) => `${cell.row ? `${cell.row}, ${testTitle(cell.test)}, ${cell.connections} connections` : "the whole run"}${cell.round ? `, round ${cell.round}` : ""}${cell.value === null || (mark.threshold === null && mark.name !== "rounds") ? "" : `: ${number(cell.value, 2)} ${mark.unit}`}`);
    part.append(element("h3", `[${mark.sign}] ${mark.name}`), element("p", `${mark.sentence}${mark.threshold === null ? "" : ` (threshold ${mark.threshold} ${mark.unit})`}. ${mark.forbids_bold ? "Its figures are never the best of a column." : ""}`));
    const list = element("ul");
    list.append(...where.map((text) => element("li", text)));
    if (mark.count > where.length) list.append(element("li", `and ${mark.count - where.length} more`));
    part.append(list);
    return part;
  });
  const lost = [...run.rows.filter((row) => !row.measured || row.reason).map((row) => `${row.title}: ${row.reason || "not measured"}`),
    ...run.not_measured.map((cell) => `${[cell.row, cell.test && testTitle(cell.test), cell.phase, cell.round && `round ${cell.round}`].filter(Boolean).join(", ")}: ${cell.reason || "no reason recorded"}`)];
  const list = element("ul");
  list.append(...lost.map((text) => element("li", text)));
  byId("marks").lastElementChild.replaceChildren(...(marks.length ? marks : [element("p", "None.")]));
  byId("missing").lastElementChild.replaceChildren(lost.length ? list : element("p", "Nothing."));
  fillTable(byId("table-rows"), [
    { key: "title", title: "server", kind: "text", className: "wrap", value: (row) => row.title },
    { key: "approach", title: "approach", kind: "text", value: (row) => row.approach },
    { key: "caches", title: "caches", kind: "text", className: "wrap", value: (row) => row.caches || "nothing" },
    { key: "startup", title: "start s", kind: "number", digits: 2, value: (row) => row.startup_s },
    { key: "working", title: "working set MB", kind: "number", digits: 0, value: (row) => row.working_set_mb },
    { key: "private", title: "private MB", kind: "number", digits: 0, value: (row) => row.private_mb },
    { key: "errors", title: "errors", kind: "number", digits: 0, value: (row) => row.errors },
    { key: "versions", title: "versions", kind: "text", className: "wrap", value: (row) => row.versions && Object.entries(row.versions).map((pair) => pair.join(" ")).join(", ") },
  ], run.rows, {}, () => {}, null);
  const parts = [["machine", run.machine], ["database", run.database], ["run", run.run]].filter(([, value]) => value);
  byId("machine").hidden = parts.length === 0;
  byId("machine").lastElementChild.replaceChildren(...parts.map(([name, value]) => {
    const part = element("dl");
    part.append(element("h3", name));
    return listOf(value, "", part);
  }));
  byId("study").hidden = !run.study;
  byId("study").querySelector("pre").textContent = JSON.stringify(run.study, null, 2);
  const raw = byId("raw");
  raw.replaceChildren(ceilingText(), "Raw data: ", element("code", run.csv));
  if (run.run && Array.isArray(run.run.command)) raw.append(" · repeat: ", element("code", run.run.command.map(shellWord).join(" ")));
  raw.append(" · check: ", element("code", `restbench verify ${run.csv}`));
}

/* As a shell takes it for one word. */
function shellWord(word) {
  return /^[\w./:=,%+@-]+$/.test(word) ? word : `'${String(word).replace(/'/g, "'\\''")}'`;
}

/* The study's conclusions, and its medians as ratios to one row beside ours. */
function drawPublished() {
  const published = theRun().published;
  byId("published").hidden = !published;
  if (!published) return;
  const held = published.conclusions.filter((item) => item.outcome === "holds").length;
  const decided = published.conclusions.filter((item) => item.outcome !== "cannot be decided").length;
  byId("published").querySelector(".hint").textContent = `${decided} of ${published.conclusions.length} conclusions can be decided from this run, ${held} hold. Ratios are to ${published.reference}; rank 1 is best.`;
  fillTable(byId("table-conclusions"), [
    { key: "text", title: "the study's conclusion", kind: "text", className: "wrap", value: (item) => item.text },
    { key: "outcome", title: "here", kind: "text", value: (item) => item.outcome },
    { key: "why", title: "because", kind: "text", className: "wrap", value: (item) => item.why },
  ], published.conclusions, {}, () => {}, null);
  const items = published.tables.flatMap((table) => table.rows.map((row) => ({ ...row, table })));
  fillTable(byId("table-published"), [
    { key: "figure", title: "figure", kind: "text", value: (item) => item.table.figure },
    { key: "test", title: "test", kind: "text", value: (item) => item.table.title || "all" },
    { key: "connections", title: "conn.", kind: "number", digits: 0, value: (item) => item.table.connections },
    { key: "row", title: "server", kind: "text", className: "title", value: (item) => item.row },
    { key: "published", title: "published", kind: "number", digits: 1, value: (item) => item.published },
    { key: "here", title: "here", kind: "number", digits: 1, value: (item) => item.here },
    { key: "theirs", title: "ratio published", kind: "number", digits: 2, value: (item) => item.published_ratio },
    { key: "ours", title: "ratio here", kind: "number", digits: 2, value: (item) => item.ratio },
    { key: "rankThere", title: "rank published", kind: "number", digits: 0, value: (item) => item.published_rank },
    { key: "rankHere", title: "rank here", kind: "number", digits: 0, value: (item) => item.rank },
    { key: "spearman", title: "rank correlation", kind: "number", digits: 2, value: (item) => item.table.spearman },
  ], items.filter((item) => !item.table.test || (item.table.test === state.test && !state.hidden.has(item.row))), state.published, drawPublished, null);
}

/* What PostgreSQL alone does with the same statements, and how near the fastest server comes. */
function ceilingText() {
  const ceiling = theRun().ceiling && Array.isArray(theRun().ceiling.tests) ? theRun().ceiling.tests.find((test) => test.name === state.test) : null;
  const test = theRun().tests.find((item) => item.name === state.test);
  const fastest = shownCells(false).filter((cell) => cell.of_ceiling_pct !== null).sort((a, b) => compare(a.of_ceiling_pct, b.of_ceiling_pct, true))[0];
  if (!test || !test.database) return "";
  if (!ceiling || !fastest) return theRun().run ? "What the database alone can do was not measured (restbench ceiling). " : "";
  return `PostgreSQL alone, driven by pgbench, does ${number(ceiling.transactions_per_s, 0)}/s with this test's statement: ${fastest.row} reaches ${number(fastest.of_ceiling_pct, 0)} % of what the database can do${fastest.of_ceiling_pct >= 100.5 ? " (pgbench, which ran at another time, did less)" : ""}. `;
}

function openEvidence(cell) {
  const dialog = byId("evidence");
  const found = (theRun().evidence || []).filter((item) => item.row.title === cell.row && item.test === cell.test && item.phase.connections === cell.connections);
  dialog.querySelector("h2").textContent = `${cell.row}: ${testTitle(cell.test)}, ${cell.connections} connections`;
  const parts = found.map((item) => {
    const part = element("details");
    part.open = found.length === 1;
    part.append(element("summary", `round ${item.round}, ${item.utc}: ${number(item.csv && item.csv.requests_per_s, 0)} requests/s${item.verdict ? `, ${item.verdict.text}` : ""}${item.marks && item.marks.length ? `, marks: ${item.marks.map((mark) => mark.text || mark.name).join("; ")}` : ""}`));
    part.append(listOf(item, "", element("dl")));
    return part;
  });
  if (parts.length === 0) {
    const list = element("dl");
    for (const [name, figure] of Object.entries(cell)) if (figure && figure.rounds && Array.isArray(figure.rounds))
      list.append(element("dt", name), element("dd", figure.rounds.map(([round, value]) => `round ${round}: ${number(value, 3)}`).join(", ")));
    parts.push(element("p", "The CSV alone holds no more evidence than the rounds:"), list);
  }
  dialog.querySelector("div").replaceChildren(...parts);
  dialog.showModal();
}

function drawAll() {
  writeAddress();
  drawHead();
  drawFilters();
  drawOverview();
  drawLatency();
  drawSeconds();
  drawCells();
  drawPublished();
  drawRest();
}

/* Canvases do not follow the colours of the page by themselves. */
function drawCharts() {
  drawOverview();
  drawLatency();
  drawSeconds();
}

byId("no-charts").hidden = typeof Chart !== "undefined";
for (const figure of document.querySelectorAll("figure")) figure.hidden = typeof Chart === "undefined";
readAddress();
drawAll();
window.addEventListener("hashchange", () => { readAddress(); drawAll(); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
/* Paper has the width of a tablet: charts are drawn for it, in the layout that it gets. */
for (const name of ["beforeprint", "afterprint"]) window.addEventListener(name, () => {
  document.documentElement.classList.toggle("paper", name === "beforeprint");
  drawCharts();
});
