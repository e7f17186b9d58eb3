"use strict";
// Without this script everything can be read; it adds copying, sorting and filtering.

const UNITS = {ms: 1e-3, s: 1, min: 60, h: 3600, B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824};

function copy(button) {
  const text = button.previousElementSibling;
  const range = document.createRange();
  range.selectNodeContents(text);
  const selection = window.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  // A page from a disk has no navigator.clipboard in some browsers.
  const done = document.execCommand("copy");
  button.textContent = done ? "Copied" : "Press Ctrl-C";
}

// The column of each cell of a row, as cells may span several.
function cellAt(row, column) {
  let place = 0;
  for (const cell of row.cells) {
    place += cell.colSpan;
    if (place > column) return cell;
  }
  return null;
}

// A number with its unit ("3 min 20 s", "1 040", "94.9 % ± 1.6"), or null.
function amount(text) {
  const plain = text.replace(/(\d)[\u202f,](?=\d{3})/g, "$1").replace("−", "-").trim();
  const time = [...plain.matchAll(/(-?[\d.]+(?:e[-+]?\d+)?) (ms|s|min|h|B|KiB|MiB|GiB)\b/g)];
  if (time.length) return time.reduce((sum, part) => sum + part[1] * UNITS[part[2]], 0);
  const found = /^[^\d-]{0,6}(-?[\d.]+(?:e[-+]?\d+)?)/.exec(plain);
  return found ? Number(found[1]) : null;
}

function sort(table, column, header) {
  const body = table.tBodies[0];
  const down = header.getAttribute("aria-sort") === "ascending";
  const rows = [...body.rows].map((row) => {
    const cell = cellAt(row, column);
    return {row, text: cell ? cell.textContent.trim() : ""};
  });
  const texts = header.classList.contains("t");
  const value = (entry) => (texts ? entry.text : amount(entry.text));
  rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (texts) return down ? y.localeCompare(x) : x.localeCompare(y);
    if (x === null || y === null) return (x === null) - (y === null);
    return down ? y - x : x - y;
  });
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  for (const {row} of rows) body.append(row);
}

function addFilter(table) {
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter rows");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.parentElement.before(input);
}

for (const button of document.querySelectorAll(".command button")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
for (const table of document.querySelectorAll(".scroll > table")) {
  const head = table.tHead && table.tHead.rows[table.tHead.rows.length - 1];
  if (!head || !table.tBodies.length || table.tBodies[0].rows.length < 2) continue;
  let column = 0;
  for (const header of head.cells) {
    const own = column;
    column += header.colSpan;
    header.classList.add("sorts");
    header.tabIndex = 0;
    header.addEventListener("click", () => sort(table, own, header));
    header.addEventListener("keydown", (event) => {
      if (event.key === "Enter") sort(table, own, header);
    });
  }
  if (table.tBodies[0].rows.length > 8) addFilter(table);
}
// On a wide screen the list of contents is open.
if (window.matchMedia("(min-width: 901px)").matches) {
  for (const fold of document.querySelectorAll("nav details")) fold.open = true;
}
