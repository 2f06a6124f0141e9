/* Charts: small wrappers around Chart.js that know this page's colours and axes. */
const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f7f00", "#7b61c9", "#5d6b78", "#b03060"];
const charts = new Map();

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function cut(title, length) {
  const chars = [...title];
  return chars.length > length ? chars.slice(0, length - 1).join("") + "…" : title;
}

/* A label of at most two lines: on a phone the ends of titles are what tells them apart. */
function lines(title, length) {
  const chars = [...title];
  if (chars.length <= length) return title;
  const blank = chars.slice(0, length + 1).lastIndexOf(" ");
  const first = blank > length / 3 ? blank : length;
  return [chars.slice(0, first).join(""), cut(chars.slice(first).join("").trim(), length)];
}

function isNarrow() {
  return window.innerWidth < 740 || document.documentElement.classList.contains("paper");
}

function draw(id, config) {
  if (typeof Chart === "undefined") return;
  const narrow = isNarrow();
  Chart.defaults.color = color("--fg");
  Chart.defaults.borderColor = color("--line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = narrow ? 11 : 12;
  if (charts.has(id)) charts.get(id).destroy();
  config.options = { animation: false, responsive: true, maintainAspectRatio: false, ...config.options };
  charts.set(id, new Chart(document.getElementById(id), config));
}

/* Horizontal bars, one a row of `items` ({title, parts: [value...], rounds: [value...]}); parts are stacked. */
function drawBars(id, items, names, digits, from) {
  const length = isNarrow() ? 18 : 32;
  const datasets = names.map((name, part) => ({
    type: "bar", label: name, data: items.map((item) => item.parts[part]), stack: "parts",
    backgroundColor: SERIES[[0, 4, 1][part]], order: 2, barPercentage: 0.85, categoryPercentage: 0.9,
  }));
  const points = items.flatMap((item, index) => (item.rounds || []).map((value) => ({ x: value, y: index })));
  if (points.length > 0) {
    datasets.push({ type: "scatter", label: "rounds", data: points, yAxisID: "points", order: 1, pointRadius: 2.5,
      backgroundColor: color("--fg"), borderColor: color("--bg"), borderWidth: 0.75 });
  }
  document.getElementById(id).parentElement.style.setProperty("--chart", `${Math.max(6, 3.4 + items.length * 1.6) + (names.length > 1 ? 1.8 : 0)}rem`);
  draw(id, {
    data: { labels: items.map((item) => lines(item.title, length)), datasets },
    options: {
      indexAxis: "y",
      onClick: (event, hits) => { if (hits.length > 0 && from) from(items[hits[0].index]); },
      scales: {
        x: { beginAtZero: true, stacked: true, ticks: { maxTicksLimit: 7 } },
        y: { stacked: true, grid: { display: false }, ticks: { autoSkip: false } },
        points: { axis: "y", type: "linear", display: false, min: -0.5, max: items.length - 0.5, reverse: true },
      },
      plugins: {
        legend: { display: names.length > 1, position: "bottom", labels: { filter: (label) => label.text !== "rounds", boxWidth: 12 } },
        tooltip: { callbacks: {
          title: (hits) => items[hits[0].dataset.type === "scatter" ? hits[0].raw.y : hits[0].dataIndex].title,
          label: (hit) => `${hit.dataset.label}: ${number(hit.dataset.type === "scatter" ? hit.raw.x : hit.raw, digits)}`,
        } },
      },
    },
  });
}

/* Series {title, name, color, points: [{x, y}], dash}. */
function drawLines(id, series, x, y, titleOf) {
  draw(id, {
    type: "line",
    data: { datasets: series.map((line) => ({ label: line.title, data: line.points, borderColor: line.color, backgroundColor: line.color,
      borderWidth: 2, borderDash: line.dash || [], pointRadius: line.points.length > 1 ? 0 : 3, pointHitRadius: 8, tension: 0 })) },
    options: {
      parsing: false, interaction: { mode: "nearest", intersect: false },
      scales: { x, y },
      plugins: {
        legend: { position: "bottom", labels: { boxWidth: 14, filter: (label) => label.text !== "", generateLabels: (chart) =>
          Chart.defaults.plugins.legend.labels.generateLabels(chart).map((label) => ({ ...label, text: cut(label.text, 34) })) } },
        tooltip: { callbacks: { title: titleOf, label: (hit) => `${cut(series[hit.datasetIndex].name, 40)}: ${number(hit.raw.y, 3)}` } },
      },
    },
  });
}
