// The data of the page, and walks through its page tables. Addresses are BigInt, a page-table
// entry is {low, high}: bits 31:0 and 63:32, of which the latter are the PFN of a valid one.

const data = JSON.parse(document.getElementById("data").textContent);
const constants = data.constants;
const PAGE = BigInt(constants.page);
const PTES = 1024;
const SHIFTS = [33n, 23n, 13n]; // of the index of each level in an address
const MASK = (1n << 64n) - 1n;
const at = Object.fromEntries(
  Object.entries(constants.addresses).map(([name, text]) => [name, BigInt(text)]));
const bit = Object.fromEntries([...constants.flags, ...constants.software]);
const processes = data.processes;
const groups = [...data.tables.groups].sort((a, b) => a[0] - b[0])
  .map(([pfn, level, users, ranges, count]) => ({ pfn, level, users, ranges, count }));

/** The group of the table on a page, and its number there; null if the page has none. */
function groupOf(pfn) {
  let low = 0, high = groups.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (groups[middle].pfn <= pfn) low = middle + 1;
    else high = middle;
  }
  const group = low ? groups[low - 1] : null;
  return group && pfn < group.pfn + group.count ? { group, number: pfn - group.pfn } : null;
}

/** The table on a page as ranges {first, count, low, high, step}; null: it is not in this page. */
function rangesOf(pfn) {
  const found = groupOf(pfn);
  if (!found || !found.group.ranges) return null;
  let first = 0;
  return found.group.ranges.map(([count, low = 0, high = 0, step = 0]) => {
    const range = { first, count, low, step, high: high + found.number * PTES * step };
    first += count;
    return range;
  });
}

function entryOf(pfn, index) {
  const range = rangesOf(pfn)?.find((one) => index < one.first + one.count);
  return range ? { low: range.low, high: range.high + (index - range.first) * range.step } : null;
}

/** The processes that reach this table, as numbers into `processes`. */
function usersOf(pfn) {
  const found = groupOf(pfn);
  return found ? data.tables.users[found.group.users] : [];
}

const isValid = (pte) => (pte.low & bit.V) !== 0;
const isEmpty = (pte) => pte.low === 0 && pte.high === 0;
const isSystem = (va) => va >= at.LAYOUT_USER_TOP;
const isShared = (pfn, va) => !isSystem(va) && usersOf(pfn).length > 1;

function hintOf(pte) {
  const { PTE_GH_MASK: mask, PTE_GH_SHIFT: shift } = constants.numbers;
  return 8 ** ((pte.low & mask) >>> shift);
}

function indexOf(va, level) {
  return Number((va >> SHIFTS[level - 1]) & 1023n);
}

/** The address with another index at a level, and zeroes below. */
function withIndex(va, level, index) {
  const shift = SHIFTS[level - 1];
  const above = level === 1 ? 0n : (va & ((1n << 43n) - 1n)) >> (shift + 10n) << (shift + 10n);
  const low = above | (BigInt(index) << shift);
  return low >> 42n ? low | (MASK >> 43n << 43n) : low;
}

/** A walk of the address: {kseg, steps, physical, problem}. */
function walk(process, va) {
  if (va >= at.LAYOUT_KSEG_BASE && va < at.LAYOUT_KSEG_BASE + (1n << 40n))
    return { kseg: true, steps: [], physical: va - at.LAYOUT_KSEG_BASE };
  if (va >> 42n !== 0n && va >> 42n !== (1n << 22n) - 1n)
    return { steps: [], problem: "no address of 43 bits with their sign: the CPU takes a fault" };
  const steps = [];
  let table = process.root;
  for (const level of [1, 2, 3]) {
    const index = indexOf(va, level), pte = entryOf(table, index);
    steps.push({ level, table, index, pte });
    if (!pte)
      return { steps, problem: `this page does not have the table of level ${level}` };
    if (!isValid(pte))
      return { steps, problem: `the entry of level ${level} is not valid: a fault` };
    table = pte.high;
  }
  return { steps, physical: BigInt(table) * PAGE + va % PAGE };
}

/** An address of the process whose walk meets this table at this level; null if there is none. */
function addressThrough(process, pfn, level) {
  if (level === 1) return process.root === pfn ? 0n : null;
  for (const one of rangesOf(process.root) ?? []) {
    if (!(one.low & bit.V)) continue;
    for (let i = 0; i < one.count; i++) {
      const va = withIndex(0n, 1, one.first + i), table = one.high + i * one.step;
      if (one.first + i === Number(at.LAYOUT_L1_SELFMAP)) continue;
      if (level === 2 && table === pfn) return va;
      if (level === 2) continue;
      for (const two of rangesOf(table) ?? []) {
        const n = two.step ? pfn - two.high : two.high === pfn ? 0 : -1;
        if (two.low & bit.V && n >= 0 && n < two.count) return withIndex(va, 2, two.first + n);
      }
    }
  }
  return null;
}

/** What the page tables of a mapping contain: pages by hint, own and shared tables, tables that are
 * not in this page. */
function contents(process, [start, end]) {
  const sum = { hints: {}, valid: 0, own: 0, shared: 0, missing: 0 };
  const first = BigInt(start), last = BigInt(end) - 1n;
  for (let one = indexOf(first, 1); one <= indexOf(last, 1); one++) {
    const upper = entryOf(process.root, one);
    if (!upper || !isValid(upper)) continue;
    const base = withIndex(0n, 1, one);
    const low = first > base ? first : base;
    const top = base + (1n << 33n) - 1n, high = last < top ? last : top;
    for (const range of rangesOf(upper.high) ?? []) {
      if (!(range.low & bit.V)) continue;
      const a = Math.max(range.first, indexOf(low, 2));
      const b = Math.min(range.first + range.count - 1, indexOf(high, 2));
      for (let two = a; two <= b; two++)
        addTable(sum, range.high + (two - range.first) * range.step, withIndex(base, 2, two), low, high);
    }
  }
  return sum;
}

function addTable(sum, pfn, base, low, high) {
  const ranges = rangesOf(pfn);
  if (!ranges) { sum.missing++; return; }
  if (isShared(pfn, base)) sum.shared++;
  else sum.own++;
  const from = low > base ? indexOf(low, 3) : 0;
  const to = high < base + (1n << 23n) ? indexOf(high, 3) : PTES - 1;
  for (const range of ranges) {
    if (!(range.low & bit.V)) continue;
    const n = Math.min(range.first + range.count - 1, to) - Math.max(range.first, from) + 1;
    if (n <= 0) continue;
    sum.hints[hintOf(range)] = (sum.hints[hintOf(range)] ?? 0) + n;
    sum.valid += n;
  }
}

/** The kind of a page of memory: {first, count, kind}. */
function runAt(pfn) {
  let first = 0;
  for (const [count, kind] of data.memory.runs) {
    if (pfn < first + count) return { first, count, kind: data.kinds[kind] };
    first += count;
  }
  return null;
}
