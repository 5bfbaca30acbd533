// What one screen of a desktop has to show at once, in every language: the header in one row, and the wall views whole.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";

const desktop = { width: 1440, height: 900 };

// headerSpread returns the distance between the lowest and the highest middle of what the header has.
const headerSpread = (page) => page.evaluate(() => {
  const shown = [...document.querySelectorAll("header .brand, header nav li, header .search input, header .tools button, header .connection")].filter((e) => e.offsetWidth > 1);
  const middles = shown.map((e) => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2; });
  const broken = shown.filter((e) => { const r = document.createRange(); r.selectNodeContents(e); return new Set([...r.getClientRects()].filter((x) => x.width > 1).map((x) => Math.round(x.bottom / 8))).size > 2; });
  return { spread: Math.max(...middles) - Math.min(...middles), items: shown.length, broken: broken.map((e) => e.innerText) };
});

// cut lists what of a wall view is not on the screen, or is cut by what it stands in.
const cut = (page) => page.evaluate(() => {
  const seen = (e) => {
    let { top, bottom, left, right } = e.getBoundingClientRect();
    if (top < -1 || bottom > innerHeight + 1 || left < -1 || right > innerWidth + 1) return "the screen";
    for (let p = e.parentElement; p; p = p.parentElement) {
      const r = p.getBoundingClientRect();
      if (getComputedStyle(p).overflowY !== "visible" && (bottom > r.bottom + 1 || top < r.top - 1)) return `${p.tagName}.${p.className}`;
    }
    return "";
  };
  return [...document.querySelectorAll("main .tiles > div, main .card, main h2, main .card h3, main .figures > *, main .board")]
    .filter((e) => e.offsetWidth > 1 && !e.closest(".overview")).map((e) => ({ what: `${e.tagName}.${e.className} ${e.innerText.replace(/\s+/g, " ").slice(0, 50)}`, by: seen(e) })).filter((x) => x.by);
});

export async function screens({ report, browser, weir }) {
  for (const locale of ["en", "es", "fr", "pt"]) {
    const page = await browser.window({ locale, timezoneId: "Africa/Nairobi" });
    await login(page, weir.url, weir.token);
    await page.setViewportSize(desktop);
    await report.check(`screens: ${locale}, the header is one row`, page, async () => {
      for (const path of ["/", "/contacts", "/surveys"]) {
        await page.goto(weir.url + path, { waitUntil: "load" });
        await page.locator("#zone:visible").waitFor();
        const { spread, items, broken } = await headerSpread(page);
        assert.ok(items > 8, `only ${items} are shown`);
        assert.ok(spread < 8, `${path}: its parts are ${Math.round(spread)} px apart`);
        assert.ok(await page.evaluate(() => { const e = document.querySelector("header ul"); return e.scrollWidth <= e.clientWidth + 1; }), `${path}: a page is out of sight in the navigation`);
        assert.deepEqual(broken, [], `${path}: texts of two lines`);
      }
    });
    for (const path of ["/?wall=1", "/router?wall=1", "/router/board?wall=1"]) {
      await report.check(`screens: ${locale}, ${path} is whole`, page, async () => {
        await page.goto(weir.url + path, { waitUntil: "load" });
        assert.deepEqual(await cut(page), []);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${locale}${path.replace(/\W+/g, "-")}.png` });
      });
    }
    await page.context().close();
  }
}
