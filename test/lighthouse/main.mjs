// Measures every page of the dashboard with Lighthouse, as on a desktop, in the state of
// test/ui. `make lighthouse` runs it; a word as argument measures only the pages with it in
// their names. It fails if a page has less than 95 in performance, accessibility or best
// practices twice: the first measurement of a page may have hit a busy moment.
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { launch } from "chrome-launcher";
import lighthouse, { desktopConfig } from "lighthouse";
import { Lab } from "../ui/lab.mjs";
import { pages } from "../ui/pages.mjs";
import { fill, newSecrets, providers } from "../ui/state.mjs";

const least = 95;
const categories = ["performance", "accessibility", "best-practices"];

function chromium() {
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
      try {
        accessSync(path.join(folder, name), constants.X_OK);
        return path.join(folder, name);
      } catch { /* the next one */ }
    }
  }
  throw new Error("no Chromium in PATH");
}

// session logs in and returns the cookies.
async function session(weir, token) {
  const answer = await fetch(`${weir.url}/login`, { method: "POST", body: new URLSearchParams({ token }), redirect: "manual" });
  const cookies = answer.headers.getSetCookie().map((c) => c.split(";")[0]);
  if (answer.status !== 303 || cookies.length === 0) throw new Error(`the log-in answered ${answer.status}`);
  return cookies.join("; ");
}

// measure returns the scores of a page, from 0 to 100, and the audits that cost something.
async function measure(url, cookie, port, tries = 3) {
  const { lhr } = await lighthouse(url, { port, logLevel: "error", output: "json", onlyCategories: categories, extraHeaders: { Cookie: cookie }, maxWaitForLoad: 15_000 }, desktopConfig);
  if (lhr.runtimeError) { // a recording can fail for reasons of the browser
    if (tries > 1) return measure(url, cookie, port, tries - 1);
    throw new Error(`${url}: ${lhr.runtimeError.message}`);
  }
  const scores = categories.map((c) => Math.round(lhr.categories[c].score * 100));
  const lost = categories.flatMap((c) => lhr.categories[c].auditRefs)
    .filter((r) => r.weight > 0 && lhr.audits[r.id].score !== null && lhr.audits[r.id].score < 0.9).map((r) => r.id);
  return { scores, lost: [...new Set(lost)], status: lhr.audits["network-requests"]?.details?.items?.[0]?.statusCode };
}

async function run(lab) {
  const secrets = newSecrets();
  const at = await providers(lab, secrets);
  const weir = await lab.weir("weir", { token: secrets.token, key: secrets.key });
  const known = await fill(weir, at, secrets);
  const operator = await weir.newToken("operator", ["contacts:read", "contacts:write", "channels:admin", "surveys:admin", "webhooks:admin", "people:admin", "router", "pii:read"]);
  const cookie = await session(weir, operator.token);
  const chrome = await launch({ chromePath: chromium(), chromeFlags: ["--headless=new", "--disable-dev-shm-usage", "--disable-gpu", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])] });
  let bad = 0;
  try {
    for (const [name, page] of Object.entries(pages(known))) {
      if (process.argv.length > 2 && !process.argv.slice(2).some((word) => name.includes(word)) || name === "not found") continue; // Lighthouse measures no errors
      let result = await measure(weir.url + page, cookie, chrome.port);
      if (result.scores.some((s) => s < least)) result = await measure(weir.url + page, cookie, chrome.port);
      const ok = result.scores.every((s) => s >= least);
      if (!ok) bad++;
      console.log(`${ok ? "ok  " : "FAIL"} ${result.scores.join(" ")}  ${name}${ok ? "" : `: ${result.lost.join(", ")}`}`);
    }
  } finally {
    await chrome.kill();
  }
  console.log(`${categories.join(", ")}: ${bad === 0 ? `at least ${least} on every page` : `${bad} pages have less than ${least}`}`);
  return bad === 0;
}

const lab = new Lab();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => lab.end().finally(() => process.exit(1)));
let ok = false;
try {
  ok = await run(lab);
} finally {
  await lab.end();
}
process.exit(ok ? 0 : 1);
