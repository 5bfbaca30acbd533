// The look of every page: at two widths, light and dark, without serious
// accessibility faults and horizontal scrolling.
import { fits, sound } from "../axe.mjs";
import { login, narrow, tablet, wide } from "../browser.mjs";
import { pages, questions } from "../pages.mjs";
import { open } from "../steps.mjs";

// dialogs are questions over a page.
const dialogs = { "dialog to pause": ["/channels/texts", "#pause"], "dialog with a field": ["/channels/texts", "#capacity"], "dialog with danger": ["/surveys/vaccines", "#stop"] };

export async function look({ report, browser, weir, known }) {
  const entries = Object.entries({ ...pages(known), ...questions(known), ...dialogs });
  let next = 0;
  const worker = async () => {
    const page = await browser.window();
    await login(page, weir.url, weir.token);
    while (next < entries.length) {
      const [name, path] = entries[next++];
      await report.check(`looks: ${name}`, page, () => inspect(page, weir.url, path, name));
    }
    await page.context().close();
  };
  await Promise.all([worker(), worker()]);
}

async function inspect(page, url, where, name) {
  const [path, link] = [where].flat();
  const answer = await page.goto(url + path, { waitUntil: "load" });
  const wanted = name === "not found" ? 404 : 200;
  if (answer.status() !== wanted) throw new Error(`answered ${answer.status()}`);
  await page.locator("h1").first().waitFor();
  if (link) await open(page, link);
  await look4(page, name);
}

// look4 checks a page in all four combinations.
export async function look4(page, name) {
  const wrong = [];
  for (const [size, viewport] of Object.entries({ wide, narrow })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const where = `${name}, ${size}, ${colorScheme}`;
      const tests = colorScheme === "light" ? [fits(page, where), sound(page, where)] : [sound(page, where, true)];
      for (const found of await Promise.allSettled(tests)) if (found.reason) wrong.push(found.reason.message);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(tablet);
  await fits(page, `${name}, tablet`).catch((e) => wrong.push(e.message));
  await page.setViewportSize(wide);
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
}
