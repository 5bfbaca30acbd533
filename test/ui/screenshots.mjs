// Takes the screenshots of the documentation: a Weir with simulated providers and
// an invented history. `make screenshots` runs it; HISTORY is the program that
// writes the history.
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { Browser, login, narrow } from "./browser.mjs";
import { Lab, pause, root } from "./lab.mjs";
import { shows } from "./steps.mjs";
import { fill, newSecrets, providers } from "./state.mjs";

const folder = path.join(root, "docs/images");
const most = 200 * 1024; // bytes of a picture
const width = 1280;

// tall is the maximum height of a picture.
const pictures = (known) => ({
  overview: { at: "/", tall: 1400 }, channel: { at: "/channels/texts", tall: 1300 }, survey: { at: "/surveys/vaccines", tall: 1400 }, router: { at: "/router", tall: 900 },
  contact: { at: `/contacts/${known.dead}`, tall: 1000 }, "dead-letters": { at: "/dead-letters", tall: 600 }, docs: { at: "/docs", tall: 720 },
});

async function take(page, name, tall) {
  const file = path.join(folder, `${name}.png`);
  // Without the footer, which differs in each build.
  const high = Math.min(tall, await page.evaluate(() => Math.floor(document.querySelector("footer")?.getBoundingClientRect().top ?? document.documentElement.scrollHeight)));
  const { width: wide } = page.viewportSize();
  await page.setViewportSize({ width: wide, height: high });
  await pause(200);
  await page.screenshot({ path: file });
  const { size } = statSync(file);
  console.log(`${path.relative(root, file)}: ${wide} × ${high}, ${Math.round(size / 1024)} KiB`);
  if (size > most) throw new Error(`${file} is larger than ${most / 1024} KiB`);
}

async function run(lab) {
  const secrets = newSecrets();
  const at = await providers(lab, secrets);
  const weir = await lab.weir("weir", { token: secrets.token, key: secrets.key });
  const known = await fill(weir, at, secrets, 400);
  for (const name of ["quick", "plain"]) await weir.api("DELETE", `/v1/surveys/${name}`);
  for (const name of ["goner", "broken", "spare"]) await weir.api("DELETE", `/v1/channels/${name}?cancel=true`); // one of each kind is enough
  execFileSync(process.env.HISTORY, [weir.env.DATABASE_URL, "texts", "calls", "people"]);
  const operator = await weir.newToken("operator", ["contacts:read", "contacts:write", "channels:admin", "surveys:admin", "router", "pii:read"]);
  await pause(20_000); // charts are refreshed, with more data
  const browser = await Browser.open();
  try {
    mkdirSync(folder, { recursive: true });
    const page = await browser.window({ viewport: { width, height: 800 } });
    await login(page, weir.url, operator.token);
    for (const [name, { at: where, tall }] of Object.entries(pictures(known))) {
      for (const colorScheme of ["light", "dark"]) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        await page.goto(weir.url + where);
        if (name !== "docs") await shows(page, "#connection", "live");
        await take(page, `${name}-${colorScheme}`, tall);
      }
    }
    await page.setViewportSize(narrow);
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(weir.url);
    await shows(page, "#connection", "live");
    await take(page, "overview-phone", 1200);
  } finally {
    await browser.close();
  }
}

const lab = new Lab();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => lab.end().finally(() => process.exit(1)));
try {
  await run(lab);
} finally {
  await lab.end();
}
