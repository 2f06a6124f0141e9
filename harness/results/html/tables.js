/* Tables: built from columns, sortable, with rows that open. Text is set as text, never as markup. */
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function number(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "n/a";
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/* What is unknown sorts last, in both directions. */
function compare(a, b, down) {
  const lost = (value) => value === null || value === undefined || Number.isNaN(value);
  if (lost(a) || lost(b)) return lost(a) - lost(b);
  const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  return down ? -order : order;
}

/*
 * columns: {key, title, value(item), text(item)?, digits?, kind: "text"|"number", cell(item, td)?, best?: "high"|"low"}
 * state: {sort, down}; changed() is called after a click on a heading, open(item) after one on a row.
 */
function fillTable(table, columns, items, state, changed, open) {
  const head = element("tr");
  for (const column of columns) {
    const th = element("th", null, column.kind === "text" ? "text" : "");
    const sort = element("button", column.title);
    sort.type = "button";
    sort.addEventListener("click", () => {
      state.down = state.sort === column.key ? !state.down : column.kind !== "text";
      state.sort = column.key;
      changed();
    });
    th.append(sort);
    if (state.sort === column.key) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    head.append(th);
  }
  const by = columns.find((column) => column.key === state.sort);
  const sorted = by ? [...items].sort((a, b) => compare(by.value(a), by.value(b), state.down)) : items;
  const best = new Map(columns.filter((column) => column.best).map((column) => [column, bestOf(column, items)]));
  const body = element("tbody");
  for (const item of sorted) {
    const tr = element("tr");
    for (const column of columns) tr.append(cellOf(column, item, best.get(column)));
    if (open) {
      tr.tabIndex = 0;
      tr.addEventListener("click", () => open(item));
      tr.addEventListener("keydown", (event) => { if (event.key === "Enter") open(item); });
    }
    body.append(tr);
  }
  const thead = element("thead");
  thead.append(head);
  table.replaceChildren(thead, body);
}

function bestOf(column, items) {
  const values = items.filter((item) => item.may_be_best !== false).map(column.value)
    .filter((value) => value !== null && value !== undefined && !Number.isNaN(value))
    .map((value) => Number(value.toFixed(column.digits)));
  return values.length > 1 ? (column.best === "high" ? Math.max(...values) : Math.min(...values)) : undefined;
}

function cellOf(column, item, best) {
  const td = element("td", null, column.kind === "text" ? "text" : "");
  const value = column.value(item);
  if (column.className) td.classList.add(column.className);
  if (column.cell) column.cell(item, td);
  else td.textContent = column.kind === "text" ? (value === null || value === undefined ? "n/a" : value) : number(value, column.digits);
  if (column.className === "title") td.title = td.textContent;
  if (best !== undefined && item.may_be_best !== false && typeof value === "number" && Number(value.toFixed(column.digits)) === best)
    td.classList.add("best");
  return td;
}

/* An object of any depth as a list of names and values. */
function listOf(object, prefix, list) {
  for (const [key, value] of Object.entries(object)) {
    const name = prefix ? `${prefix}.${key}` : key;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      listOf(value, name, list);
    } else {
      list.append(element("dt", name), element("dd", value === null ? "unknown" : Array.isArray(value) ? value.map((item) =>
        typeof item === "object" ? JSON.stringify(item) : String(item)).join(" ") : String(value)));
    }
  }
  return list;
}
