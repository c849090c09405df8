// The view of physical memory: a picture in rows, the runs of which can be chosen.

const memoryView = (() => {
  const { runs, end, domains, reservations, cell, totals } = data.memory;
  const list = [];
  for (let first = 0, k = 0; k < runs.length; first += runs[k++][0])
    list.push({ first, count: runs[k][0], kind: data.kinds[runs[k][1]] });
  const drawn = [...list].sort((a, b) => b.count - a.count); // small ones over large ones
  let chosen = null, marked = null, only = null, redraw = () => {};
  let canvas, say;

  const rowsOf = (width) => (width < 600 ? 32 : 16);
  const heightOf = (width) => rowsOf(width) * 22 + 2;

  function pieces(run, width, use) {
    const per = Math.ceil(end / rowsOf(width));
    for (let from = run.first; from < run.first + run.count;) {
      const row = Math.floor(from / per), to = Math.min(run.first + run.count, (row + 1) * per);
      use((from - row * per) / per * width, row * 22 + 1, Math.max(1, (to - from) / per * width), 19);
      from = to;
    }
  }

  function draw(context, width) {
    for (const run of drawn) {
      context.globalAlpha = only && run.kind !== only ? 0.15 : 1;
      context.fillStyle = run.kind === "hole" ? colour("empty") : data.colours[run.kind];
      pieces(run, width, (x, y, w, h) => context.fillRect(x, y, w, h));
    }
    context.globalAlpha = 1;
    context.font = "11px system-ui, sans-serif";
    if (domains.length > 1) domains.forEach((first, n) => label(context, width, first, `RAD ${n}`));
    const outline = (run, name, thick) => {
      context.strokeStyle = colour(name);
      context.lineWidth = thick;
      pieces(run, width, (x, y, w, h) => context.strokeRect(x, y, Math.max(w, 3), h));
    };
    if (chosen !== null) outline(list[chosen], "accent", 3);
    if (marked !== null) outline({ first: marked, count: 1 }, "shared", 4);
  }

  function label(context, width, pfn, text) {
    pieces({ first: pfn, count: 1 }, width, (x, y, _w, h) => {
      context.fillStyle = colour("card");
      context.fillRect(x, y, context.measureText(text).width + 6, 14);
      context.fillStyle = colour("text");
      context.fillRect(x, y - 1, 1.5, h + 2);
      context.fillText(text, x + 4, y + 11);
    });
  }

  function choose(number) {
    chosen = Math.max(0, Math.min(list.length - 1, number));
    const run = list[chosen], last = run.first + run.count;
    const holder = reservations.find((one) => [...one.stretches, ...one.tables].some(
      ([first, count]) => first <= run.first && run.first < first + count));
    say.replaceChildren(`${run.kind}: PFN ${hex(run.first)} to ${hex(last - 1)}, ${pages(run.count)}, `
      + `${size(run.count)}, physical ${hex(BigInt(run.first) * PAGE)}`
      + (holder ? `, reservation ${holder.name}` : "")
      + `. Run ${chosen + 1} of ${list.length}.`);
    redraw();
  }

  function pointed(event) {
    const box = canvas.getBoundingClientRect(), per = Math.ceil(end / rowsOf(box.width));
    const row = Math.floor((event.clientY - box.top) / 22);
    const pfn = row * per + (event.clientX - box.left) / box.width * per;
    const found = list.findIndex((run) => pfn < run.first + run.count);
    if (found >= 0) choose(found);
  }

  function key(event) {
    const now = chosen ?? -1;
    const to = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1,
      Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  }

  function legend() {
    return element("ul", { className: "legend" }, ...Object.entries(totals).map(([kind, count]) => {
      const press = (event) => {
        only = only === kind ? null : kind;
        for (const one of event.currentTarget.closest("ul").querySelectorAll("button"))
          one.setAttribute("aria-pressed", String(one === event.currentTarget && only !== null));
        redraw();
      };
      const fill = kind === "hole" ? "var(--empty)" : data.colours[kind];
      return element("li", {}, element("button", { type: "button", "aria-pressed": "false", on: { click: press } },
        element("span", { className: "swatch", style: `background:${fill}` }),
        `${kind}: ${pages(count)}, ${size(count)}`));
    }));
  }

  function build(panel) {
    canvas = element("canvas", { tabIndex: 0, id: "memory-picture", role: "img", "aria-describedby": "memory-say",
      "aria-label": "Physical memory", on: { click: pointed, keydown: key } });
    say = element("p", { className: "say", id: "memory-say", "aria-live": "polite" },
      "Choose a run with the mouse, or with the arrow keys.");
    const note = cell
      ? element("p", { className: "warn" }, `This memory has too many runs for a page: each cell of ${size(cell)} has the kind of most of its pages.`)
      : null;
    panel.append(element("h2", {}, `Physical memory, ${size(end)}`), canvas, say,
      ...(note ? [note] : []), legend());
    redraw = picture(canvas, heightOf, draw);
  }

  /** Marks a page in the picture, and chooses its run. */
  function mark(pfn) {
    marked = pfn;
    const found = list.findIndex((run) => pfn < run.first + run.count);
    if (found >= 0) choose(found);
  }
  return { build, mark, redraw: () => redraw() };
})();
