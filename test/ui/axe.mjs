// Accessibility checks.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// axe finds faults in the current state of a page. The debugger runs it, so that
// the page's own policy stays in force.
// colours: only the rules about colours, which are all that a theme changes.
export async function axe(page, colours) {
  if (!await page.evaluate(() => typeof window.axe !== "undefined")) await page.evaluate(source);
  const faults = await page.evaluate(async (only) => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } } : {}) });
    return violations.map((v) => ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")}: ${n.failureSummary ?? ""}`.replace(/\s+/g, " ").slice(0, 300)) }));
  }, colours);
  return faults;
}

// sound throws on a serious fault.
export async function sound(page, where, colours = false) {
  const faults = (await axe(page, colours)).filter((f) => f.impact === "serious" || f.impact === "critical");
  if (faults.length > 0) throw new Error(`${where}: ${faults.map((f) => `${f.impact} ${f.id}: ${f.help}\n  ${f.nodes.join("\n  ")}`).join("\n")}`);
}

// mostLines is how many lines a row of a table may have: a column that is too narrow for
// its sentences has more.
const mostLines = 10;

// fits throws if the page as a whole can be scrolled sideways, a row of a table is too
// high, or labels of filters in one row start at different heights.
export async function fits(page, where) {
  const over = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return null;
    const bounded = (e) => e !== document.documentElement && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || (e.parentElement && bounded(e.parentElement)));
    const culprit = [...document.querySelectorAll("body *")].find((e) => !bounded(e) && (e.getBoundingClientRect().right > width + 1 || e.children.length === 0 && e.clientWidth > 0 && e.scrollWidth > e.clientWidth));
    return { width: document.documentElement.scrollWidth, of: width, culprit: culprit ? `${culprit.tagName} ${culprit.id || culprit.className} ${(culprit.textContent ?? "").trim().slice(0, 60)}` : "unknown" };
  });
  if (over) throw new Error(`${where}: the page is ${over.width} wide in a window of ${over.of}: ${over.culprit}`);
  const high = await page.evaluate((most) => [...document.querySelectorAll("main table > tbody > tr")].filter((row) => row.innerText !== "" && [...row.cells].every((cell) => cell.querySelectorAll("*").length < 8)) // a cell may hold a list
    .map((row) => ({ lines: row.clientHeight / parseFloat(getComputedStyle(row).lineHeight), text: row.innerText.replace(/\s+/g, " ").slice(0, 120) }))
    .find((row) => row.lines > most), mostLines);
  if (high) throw new Error(`${where}: a row of ${Math.round(high.lines)} lines: ${high.text}`);
  const uneven = await page.evaluate(() => {
    for (const form of document.querySelectorAll(".filters")) {
      const labels = [...form.querySelectorAll("label")].map((e) => ({ text: e.innerText.split("\n")[0], ...e.getBoundingClientRect().toJSON() }));
      for (const a of labels) for (const b of labels) if (Math.abs(a.bottom - b.bottom) <= 1 && Math.abs(a.top - b.top) > 1) return `${a.text} at ${a.top}, ${b.text} at ${b.top}`;
    }
    return "";
  });
  if (uneven) throw new Error(`${where}: labels of filters are not on one line: ${uneven}`);
}
