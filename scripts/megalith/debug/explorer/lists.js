// Reservations and sections, pools, and locks, as tables.

const failed = (part) => element("p", { className: "warn" }, `Not read: ${part?.error ?? data.kernel.error}.`);

function toMemory(pfn) {
  const show = () => { memoryView.mark(pfn); showTab("memory"); };
  return element("button", { type: "button", className: "link", on: { click: show } }, hex(pfn));
}

function sectionsView(panel) {
  const held = data.memory.reservations;
  const places = (stretches) => stretches.length
    ? element("span", {}, ...stretches.slice(0, 50).flatMap(([first, n]) => [toMemory(first), `+${n} `]))
    : "promised only";
  panel.append(element("h2", {}, "Reservations"), table(pages(held.reduce((sum, one) => sum + one.npages, 0)),
    ["name", "#pages", "#size", "#in use", "#table pages", "from PFN"],
    held.map((one) => [one.name, one.npages, size(one.npages), one.used, one.table_pages, places(one.stretches)])));
  const sections = data.kernel.sections;
  panel.append(element("h2", {}, "Global sections"));
  if (!Array.isArray(sections)) { panel.append(failed(sections)); return; }
  panel.append(table("In the order of their creation",
    ["name", "#size", "#valid", "#shares", "#mappings", "first PFN", "#level-3 tables", "flags"],
    sections.map((one) => [one.name, size(one.pages), one.valid, one.shares, one.mappings,
      one.first ? toMemory(one.first) : "fluid", one.tables, one.flags])));
}

function poolsView(panel) {
  const pools = data.kernel.pools;
  panel.append(element("h2", {}, "Pools"));
  if (!Array.isArray(pools)) { panel.append(failed(pools)); return; }
  for (const pool of pools) {
    const used = pool.total - pool.free, share = pool.total ? 100 * used / pool.total : 0;
    const listed = pool.lists.reduce((sum, [bytes, count]) => sum + bytes * count, 0);
    panel.append(element("h3", {}, `${pool.name[0].toUpperCase()}${pool.name.slice(1)} pool`),
      element("span", { className: "bar", style: "width:100%", role: "img", "aria-label": `${share.toFixed(1)} % in use` },
        element("i", { style: `width:${share}%;background:var(--accent)` })),
      element("p", {}, `${pool.total.toLocaleString("en")} bytes; ${pool.free.toLocaleString("en")} on the variable list, in `
        + `${pool.blocks.toLocaleString("en")} blocks; ${listed.toLocaleString("en")} on lookaside lists.`),
      table("Free blocks by size", ["from bytes", "#blocks"],
        pool["free sizes"].map(([power, count]) => [(2 ** power).toLocaleString("en"), count])),
      table("Lookaside lists with packets or requests", ["#bytes", "#packets", "#hits", "#misses", "#hits %"],
        pool.lists.map(([bytes, packets, hits, misses]) => [bytes, packets, hits, misses,
          hits + misses ? (100 * hits / (hits + misses)).toFixed(1) : "-"])));
  }
}

function locksView(panel) {
  const held = (rows, taken) => [...rows].sort((a, b) => taken(b) - taken(a) || b.rank - a.rank)
    .map((one) => ({ one, className: taken(one) ? "held" : "" }));
  const { mutexes, spinlocks } = data.kernel;
  panel.append(element("h2", {}, "Mutexes"));
  if (!Array.isArray(mutexes)) panel.append(failed(mutexes));
  else panel.append(table("Those that are held come first; free ones of an array are one row",
    ["name", "#rank", "state", "owner", "readers", "waiting", "where", "#of them"],
    held(mutexes, (one) => one.state !== "free").map(({ one, className }) => ({ className, cells: [one.name, one.rank,
      one.state, one.owner, one.readers.join(", "), one.waiting.join(", "), one.where, one.count] }))));
  panel.append(element("h2", {}, "Spinlocks"));
  if (!Array.isArray(spinlocks)) { panel.append(failed(spinlocks)); return; }
  panel.append(table("Those that are held come first; free ones of an array are one row",
    ["name", "#rank", "#IPL", "owner", "taken at", "where", "#of them"],
    held(spinlocks, (one) => one.owner !== "").map(({ one, className }) => ({ className, cells: [one.name, one.rank,
      one.ipl, one.owner || "free", one.at, one.where, one.count] }))));
}
