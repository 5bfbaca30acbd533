// What was spent, and the prices: one is set, changed and deleted.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function money({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "money" : "money, without scripts";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token);
    await report.check(`${how}: what was spent is shown by channel`, page, async () => {
      await page.goto(`${weir.url}/limits`);
      await page.click("#to-spending");
      await heading(page, "Spending");
      await shows(page, "#sums", "unsure");
      await shows(page, "#prices", "held");
      await look("spending");
    });
    await report.check(`${how}: a price is set, and mistakes are shown beside their fields`, page, async () => {
      await page.click("#set-spare");
      await heading(page, "Price of channel spare");
      await page.fill("#currency", "usd");
      await page.fill("#per_segment", "1,5");
      await page.click("#save");
      assert.match(await flash(page), /Nothing was saved/);
      await shows(page, "#per_segment-wrong", "amount");
      assert.equal(await page.inputValue("#per_segment"), "1,5");
      await look("a price with mistakes");
      await page.fill("#per_segment", "1.5");
      await page.click("#save");
      assert.match(await flash(page), /is saved/);
      assert.equal((await weir.get("/v1/prices/spare")).per_segment, "1.5");
    });
    await report.check(`${how}: prefixes are kept`, page, async () => {
      await page.click("#edit-held");
      await shows(page, "#prefixes", "and 2 prefixes");
      await look("a price with prefixes");
      await page.click("#save");
      assert.match(await flash(page), /is saved/);
      assert.equal((await weir.get("/v1/prices/held")).prefixes.length, 2);
    });
    await report.check(`${how}: a price is deleted`, page, async () => {
      await page.click("#edit-spare");
      await page.click("#delete");
      await page.locator(".question button").first().click();
      assert.match(await flash(page), /is deleted/);
      assert.equal(await page.locator("#price-spare").count(), 0);
    });
    await page.context().close();
  }
}
