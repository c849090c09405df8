// Elements, and numbers and page-table entries as text.

/** An element with properties (those in `on` are listeners, `data-` and `aria-` attributes). */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") Object.entries(value).forEach(([event, fn]) => made.addEventListener(event, fn));
    else if (/^(aria|data)-|^(role|for|scope|style)$/.test(name)) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const hex = (value) => "0x" + value.toString(16);
const pages = (n) => `${n.toLocaleString("en")} page${n === 1 ? "" : "s"}`;

function size(npages) {
  const bytes = npages * constants.page;
  for (const [unit, power] of [["GiB", 30], ["MiB", 20]])
    if (bytes >= 2 ** power) return `${Number((bytes / 2 ** power).toPrecision(4))} ${unit}`;
  return `${bytes / 1024} KiB`;
}

function pteHex(pte) {
  const text = (part) => part.toString(16).padStart(8, "0");
  return `0x${text(pte.high)}${text(pte.low >>> 0)}`;
}

/** A page-table entry in words. */
function pteText(pte) {
  if (isEmpty(pte)) return "empty";
  if (!isValid(pte)) {
    const { PTE_FORM_MASK: mask, PTE_FORM_SHIFT: shift } = constants.numbers;
    const form = constants.forms[(pte.low & mask) >>> shift] ?? "of no known form";
    return `not valid, ${form}, bits 63:32 are ${hex(pte.high)}`;
  }
  const names = [...constants.flags, ...constants.software]
    .filter(([, mask]) => pte.low & mask).map(([name]) => name.replace("SW_", ""));
  const hint = hintOf(pte) > 1 ? `, granularity hint ${hintOf(pte)}` : "";
  return `PFN ${hex(pte.high)}, ${names.join(" ")}${hint}`;
}

/** A number typed by a person: hexadecimal, with or without 0x, `_`, `.` and spaces; or null. */
function parseAddress(text) {
  const digits = text.trim().replace(/^0x/i, "").replace(/[\s_.]/g, "");
  return /^[0-9a-f]{1,16}$/i.test(digits) ? BigInt("0x" + digits) : null;
}

function processName(process) {
  return `${process.pid} ${process.name}`;
}

/** A table: heads (a "#" before a number's), rows of cells or of {cells, className}. A row with one
 * cell is as wide as the table. */
function table(caption, heads, rows) {
  const cell = (tag, content, head) => element(tag,
    { className: head.startsWith("#") ? "number" : "", ...(tag === "th" ? { scope: "col" } : {}) },
    typeof content === "number" ? content.toLocaleString("en") : content ?? "");
  const body = rows.map((row) => {
    const { cells, className = "" } = Array.isArray(row) ? { cells: row } : row;
    if (cells.length === 1)
      return element("tr", { className }, element("td", { colSpan: heads.length }, cells[0]));
    return element("tr", { className }, ...cells.map((one, k) => cell("td", one, heads[k])));
  });
  return element("div", { className: "scroll" }, element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => cell("th", head.replace("#", ""), head)))),
    element("tbody", {}, ...body)));
}

/** A canvas as wide as its place, and sharp; `draw(context, width, height)` is called again when
 * the place changes. `height(width)` in CSS pixels. */
function picture(canvas, height, draw) {
  const again = () => {
    const width = canvas.clientWidth, tall = height(width), scale = window.devicePixelRatio || 1;
    if (!width) return;
    canvas.style.height = `${tall}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(tall * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    draw(context, width, tall);
  };
  new ResizeObserver(again).observe(canvas);
  return again;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
