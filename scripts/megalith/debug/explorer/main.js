// The views, the keys that work in all of them, colours, and the place in the address of the page.

const TABS = [["memory", "Physical memory"], ["walk", "Address spaces"], ["sections", "Reservations, sections"],
  ["pools", "Pools"], ["locks", "Locks"]];
const THEMES = ["auto", "light", "dark"];
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";

function remember(place) {
  try { history.replaceState(null, "", `#${place}`); } catch { /* some browsers refuse for files */ }
}

function showTab(name, focus = false) {
  for (const [one] of TABS) {
    const here = one === name, tab = document.getElementById(`tab-${one}`);
    document.getElementById(`panel-${one}`).hidden = !here;
    tab.setAttribute("aria-selected", String(here));
    tab.tabIndex = here ? 0 : -1;
    if (here && focus) tab.focus();
  }
  if (name !== "walk") remember(name);
}

function tabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const now = TABS.findIndex(([name]) => `tab-${name}` === event.currentTarget.id);
  showTab(TABS[(now + step + TABS.length) % TABS.length][0], true);
  event.preventDefault();
}

function applyTheme() {
  document.documentElement.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  document.getElementById("theme").textContent = `Colours: ${theme}`;
  memoryView.redraw();
  walkView.redraw();
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  try { localStorage.setItem("megalith-theme", theme); } catch { /* a file may have no storage */ }
  applyTheme();
}

function anyKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select")) return;
  if (/^[1-5]$/.test(event.key)) showTab(TABS[Number(event.key) - 1][0], true);
  else if (event.key === "/") { showTab("walk"); document.getElementById("address")?.select(); }
  else if (event.key === "t") nextTheme();
  else if (event.key === "n") walkView.nextSharing();
  else return;
  event.preventDefault();
}

function fromPlace() {
  const [name, pid, va] = location.hash.slice(1).split("/");
  const process = pid && walkView.find(Number(pid)), address = va && parseAddress(va);
  if (name === "walk" && process && typeof address === "bigint") walkView.go(address, 3, process);
  showTab(TABS.some(([one]) => one === name) ? name : "memory");
}

function begin() {
  const { reason, date, memory, cpus, command } = data.about;
  document.getElementById("about").textContent = `${reason}, ${date}; ${size(memory / constants.page)}, `
    + `${cpus} CPU${cpus > 1 ? "s" : ""}, ${processes.length} processes${data.ended ? ` and ${data.ended} ended` : ""}`;
  document.getElementById("about").title = command;
  for (const [name, title] of TABS)
    document.getElementById("tabs").append(element("button", { type: "button", role: "tab", id: `tab-${name}`,
      "aria-controls": `panel-${name}`, on: { click: () => showTab(name), keydown: tabKey } }, title));
  const place = location.hash;
  memoryView.build(document.getElementById("panel-memory"));
  walkView.build(document.getElementById("panel-walk"));
  sectionsView(document.getElementById("panel-sections"));
  poolsView(document.getElementById("panel-pools"));
  locksView(document.getElementById("panel-locks"));
  remember(place.slice(1));
  fromPlace();
  try { theme = THEMES.find((one) => one === localStorage.getItem("megalith-theme")) ?? "auto"; } catch { /* none */ }
  document.getElementById("theme").addEventListener("click", nextTheme);
  dark.addEventListener("change", applyTheme);
  document.addEventListener("keydown", anyKey);
  window.addEventListener("hashchange", fromPlace);
  applyTheme();
}

begin();
