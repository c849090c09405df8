// The view of a process: its mappings, and the walk of an address through three levels. A table
// that several processes use is marked, and so are all the processes that use it.

const walkView = (() => {
  const GRID = 32; // cells in a row of a table's picture
  const state = { process: processes[0] ?? null, va: 0n, level: 1 };
  const grids = [];
  let chooser, address, mappings, result, levels, note;

  function kindOf(level, pte, va) {
    if (isEmpty(pte)) return "empty";
    if (!isValid(pte)) return "invalid";
    if (isSystem(va)) return "system";
    if (level < 3) return isShared(pte.high, va) ? "shared" : "own";
    return `hint ${hintOf(pte)}`;
  }

  const fillOf = (kind) => kind.startsWith("hint") ? data.hints[kind.slice(5)] : colour(kind);

  // ---- the picture of one table ----

  function drawGrid(grid, context, width) {
    const side = width / GRID, shared = colour("shared");
    context.fillStyle = colour("empty");
    context.fillRect(0, 0, width, width);
    for (const range of rangesOf(grid.table) ?? [])
      for (let i = 0; i < range.count; i++) {
        const index = range.first + i;
        const pte = { low: range.low, high: range.high + i * range.step };
        const kind = kindOf(grid.level, pte, withIndex(state.va, grid.level, index));
        if (kind === "empty") continue;
        const x = index % GRID * side, y = Math.floor(index / GRID) * side;
        context.fillStyle = fillOf(kind);
        context.fillRect(x, y, side - 0.7, side - 0.7);
        if (grid.shared && grid.level === 3) {
          context.fillStyle = shared;
          context.fillRect(x, y + side - 2, side - 0.7, 1.3);
        }
      }
    const x = grid.index % GRID * side, y = Math.floor(grid.index / GRID) * side;
    context.lineWidth = 2.5;
    context.strokeStyle = colour("text");
    context.strokeRect(x + 1, y + 1, side - 2, side - 2);
  }

  function gridKey(event, grid) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: GRID, ArrowUp: -GRID }[event.key];
    const ranges = rangesOf(grid.table) ?? [];
    const now = ranges.findIndex((one) => grid.index < one.first + one.count);
    const to = event.key === "PageDown" ? ranges[Math.min(now + 1, ranges.length - 1)]?.first
      : event.key === "PageUp" ? ranges[Math.max(now - 1, 0)]?.first
        : event.key === "Home" ? 0 : event.key === "End" ? PTES - 1 : grid.index + step;
    if (event.key === "Enter") grids[grid.level]?.canvas.focus();
    else if (event.key === "Escape") grids[grid.level - 2]?.canvas.focus();
    else if (Number.isInteger(to) && to >= 0 && to < PTES)
      go(withIndex(state.va, grid.level, to), grid.level);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function makeGrid(level) {
    const grid = { level, table: 0, index: 0, shared: false };
    const pressed = (event) => {
      const box = grid.canvas.getBoundingClientRect(), side = box.width / GRID;
      const row = Math.floor((event.clientY - box.top) / side);
      const index = row * GRID + Math.floor((event.clientX - box.left) / side);
      if (index >= 0 && index < PTES) go(withIndex(state.va, level, index), level);
    };
    grid.card = element("div", { className: "level", id: `level-${level}` });
    grid.title = element("h3", {});
    grid.users = element("p", {});
    grid.canvas = element("canvas", { tabIndex: 0, role: "img", "aria-describedby": `entry-${level}`,
      "aria-label": `Page table of level ${level}`,
      on: { click: pressed, keydown: (event) => gridKey(event, grid) } });
    grid.say = element("p", { className: "say", id: `entry-${level}`, "aria-live": "polite" });
    grid.list = element("ol", { className: "ranges", "aria-label": `Entries of level ${level}` });
    const details = element("details", {}, element("summary", {}, "Entries, as ranges"), grid.list);
    grid.card.append(grid.title, grid.users, grid.canvas, grid.say, details);
    grid.redraw = picture(grid.canvas, (width) => width, (context, width) => drawGrid(grid, context, width));
    return grid;
  }

  function showGrid(grid, step) {
    grid.card.hidden = !step;
    if (!step) return;
    Object.assign(grid, { table: step.table, index: step.index });
    const users = usersOf(step.table);
    // A level-1 page is its process's own; above it every address of the system is everybody's.
    grid.shared = grid.level > 1 && isShared(step.table, state.va);
    grid.card.classList.toggle("shared", grid.shared);
    grid.title.textContent = `Level ${grid.level}: page table at PFN ${hex(step.table)}`;
    grid.users.textContent = isSystem(state.va) && grid.level > 1 ? "The system's: every process has it."
      : grid.shared ? `Shared by ${users.length} processes.` : "Of this process alone.";
    const last = withIndex(state.va, grid.level, step.index) + (1n << SHIFTS[grid.level - 1]) - 1n;
    grid.say.replaceChildren(element("code", {}, step.pte ? pteHex(step.pte) : "?"),
      ` entry ${step.index} of ${hex(withIndex(state.va, grid.level, step.index))} to ${hex(last & MASK)}: `,
      step.pte ? pteText(step.pte) : "not in this page");
    const choose = (range) => () => go(withIndex(state.va, grid.level, range.first), grid.level);
    grid.list.replaceChildren(...(rangesOf(step.table) ?? []).slice(0, PTES).map((range) =>
      element("li", {}, element("button", { type: "button", on: { click: choose(range) } },
        `${range.first}${range.count > 1 ? `–${range.first + range.count - 1}` : ""}: ${pteText(range)}`
        + (range.step ? ", the next pages follow" : "")))));
    grid.redraw();
  }

  // ---- the process ----

  function bar(sum, npages) {
    const parts = Object.entries(sum.hints).map(([hint, n]) => element("i",
      { style: `width:${100 * n / npages}%;background:${data.hints[hint]}`, title: `${pages(n)} by hint ${hint}` }));
    return element("span", { className: "bar", role: "img", "aria-label": `${sum.valid} of ${npages} pages valid` }, ...parts);
  }

  function rowOf(mapping) {
    const [start, end, prot, kind] = mapping, npages = (end - start) / constants.page;
    const sum = contents(state.process, mapping), hints = Object.entries(sum.hints);
    const choose = () => go(BigInt(start), 3);
    const link = element("button", { type: "button", className: "link", on: { click: choose } }, hex(start));
    const here = state.va >= BigInt(start) && state.va < BigInt(end);
    return {
      className: [sum.shared ? "sharing" : "", here ? "here" : ""].join(" ").trim(),
      cells: [link, hex(end), prot, kind, size(npages), bar(sum, npages), sum.valid,
        hints.map(([hint, n]) => `${n.toLocaleString("en")} by ${hint}`).join(", "),
        `${sum.own} / ${sum.shared}${sum.missing ? ` (${sum.missing} not in this page)` : ""}`],
    };
  }

  function showMappings() {
    const process = state.process, rows = [];
    let before = 0;
    for (const mapping of process.mappings) {
      for (const [start, end, shared] of process.regions)
        if (before <= start && start <= mapping[0]) {
          const words = `region ${hex(start)} to ${hex(end)}, ${shared ? "shared" : "private"} page tables`;
          rows.push({ className: "region", cells: [words] });
        }
      rows.push(rowOf(mapping));
      before = mapping[1];
    }
    const heads = ["from", "to", "", "kind", "#size", "valid", "#pages", "by granularity hint", "tables own / shared"];
    const program = process.program ? `, ${process.program}` : "";
    mappings.replaceChildren(table(`Process ${processName(process)}${program}`, heads, rows),
      ...(process.left_out ? [element("p", { className: "warn" }, `${process.left_out} further mappings are not in this page.`)] : []));
  }

  function showProcesses() {
    const tables = grids.filter((grid) => !grid.card.hidden && grid.shared).map((grid) => grid.table);
    const sharing = new Set(tables.flatMap(usersOf));
    for (const button of chooser.children) {
      const number = Number(button.dataset.number);
      button.classList.toggle("sharing", sharing.has(number));
      button.setAttribute("aria-pressed", String(processes[number] === state.process));
      button.title = sharing.has(number) ? "uses a shared table of this walk" : "";
    }
    note.textContent = sharing.size
      ? `${sharing.size} processes use the shared tables of this walk: ${[...sharing].slice(0, 20).map((k) => processes[k].pid).join(", ")}${sharing.size > 20 ? " …" : ""}.`
      : "This walk meets no table that several processes share.";
  }

  function showResult(found) {
    const parts = [];
    if (found.kseg) parts.push("An address of KSEG: the CPU maps it without page tables. ");
    if (found.problem) parts.push(found.problem.replace(/^./, (c) => c.toUpperCase()) + ".");
    if (found.physical !== undefined) {
      const pfn = Number(found.physical / PAGE), run = runAt(pfn);
      parts.push("Physical address ", element("code", {}, hex(found.physical)), `, PFN ${hex(pfn)}, ${run?.kind ?? "outside of memory"}. `,
        element("button", { type: "button", on: { click: () => { memoryView.mark(pfn); showTab("memory"); } } }, "Show it in memory"));
    }
    result.replaceChildren(...parts);
  }

  function refresh(all) {
    const found = walk(state.process, state.va);
    address.value = hex(state.va);
    grids.forEach((grid, k) => showGrid(grid, found.steps[k]));
    showResult(found);
    if (all) showMappings();
    showProcesses();
    remember(`walk/${state.process.pid}/${hex(state.va)}`);
  }

  /** Walks to an address; the focus stays at the level where it was chosen. */
  function go(va, level, process = state.process) {
    const mapped = (v) => process.mappings.findIndex(([start, end]) => v >= BigInt(start) && v < BigInt(end));
    const all = process !== state.process || mapped(va) !== mapped(state.va);
    Object.assign(state, { va: va & MASK, level, process });
    refresh(all);
  }

  /** The same table in another process, at the address where that has it. */
  function toProcess(process) {
    const step = [...grids].reverse().find((grid) => !grid.card.hidden && grid.shared);
    const index = processes.indexOf(process);
    if (!step || !usersOf(step.table).includes(index)) return go(state.va, 1, process);
    const start = addressThrough(process, step.table, step.level);
    const below = state.va & ((1n << (SHIFTS[step.level - 1] + 10n)) - 1n);
    return go(start === null ? state.va : start | below, step.level, process);
  }

  function nextSharing() {
    const shared = [...grids].reverse().find((grid) => !grid.card.hidden && grid.shared);
    if (!shared) return;
    const users = usersOf(shared.table), now = users.indexOf(processes.indexOf(state.process));
    toProcess(processes[users[(now + 1) % users.length]]);
  }

  function build(panel) {
    if (!state.process) { panel.append(element("p", {}, "There is no process.")); return; }
    chooser = element("div", { className: "processes", role: "group", "aria-label": "Processes" },
      ...processes.map((process, number) => element("button", { type: "button", "data-number": number,
        on: { click: () => toProcess(process) } }, processName(process))));
    address = element("input", { id: "address", spellcheck: false, autocomplete: "off", size: 22 });
    const form = element("form", { className: "controls", on: { submit: (event) => {
      event.preventDefault();
      const va = parseAddress(address.value);
      address.setAttribute("aria-invalid", String(va === null));
      if (va === null) result.textContent = "An address is up to 16 hexadecimal digits.";
      else go(va, 3);
    } } }, element("label", { htmlFor: "address" }, "Address"), address, element("button", { type: "submit" }, "Walk"));
    mappings = element("div");
    result = element("p", { className: "result", id: "result", "aria-live": "polite" });
    note = element("p", { id: "sharing" });
    levels = element("div", { className: "levels" });
    for (const level of [1, 2, 3]) grids.push(makeGrid(level));
    levels.append(...grids.map((grid) => grid.card));
    const kinds = [["own", "table of its own"], ["shared", "shared table"], ["system", "the system's"], ["invalid", "not valid, not empty"]];
    const legend = [...kinds.map(([name, text]) => [`var(--${name})`, text]),
      ...Object.entries(data.hints).map(([hint, fill]) => [fill, `page with hint ${hint}`])];
    const left = data.tables.left_out
      ? element("p", { className: "warn" }, `The contents of ${data.tables.left_out.toLocaleString("en")} page tables are not in this page: scripts/explore --pid chooses processes, --ranges and --tables make room.`)
      : null;
    panel.append(element("h2", {}, "Processes"), chooser, note, ...(left ? [left] : []), mappings,
      element("h2", {}, "Walk of an address"), form, result, levels,
      element("ul", { className: "legend" }, ...legend.map(([fill, text]) => element("li", {},
        element("span", { className: "swatch", style: `background:${fill}` }), text))));
    state.va = BigInt(state.process.mappings[0]?.[0] ?? 0);
    refresh(true);
  }

  return { build, go, nextSharing, redraw: () => grids.forEach((grid) => grid.redraw()),
    find: (pid) => processes.find((process) => process.pid === pid) };
})();
