// Purposes: their rules are set in a form, changed and deleted.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function purposes({ report, browser, weir, operator, known }) {
  const reader = await browser.window();
  await login(reader, weir.url, operator.token);
  await report.check("purposes: a contact shows its receipt, or the rule that it waits for", reader, async () => {
    await reader.goto(`${weir.url}/contacts/${known.ruled}`);
    await shows(reader, "[aria-labelledby=receipts-head]", /purpose visits; no refusal recorded; .* in Africa\/Nairobi; cap 3 in 7d: 2 left/);
    await reader.goto(`${weir.url}/contacts/${known.capped}`);
    await shows(reader, "#rule", "cap: the person was contacted too often");
    await reader.click("#purpose");
    await heading(reader, "Purpose visits");
  });
  await reader.context().close();
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "purposes" : "purposes, without scripts";
    const name = javaScriptEnabled ? "reminders" : "alarms";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token);
    await report.check(`${how}: mistakes are shown beside their fields, and what was typed stays`, page, async () => {
      await page.click("header >> text=Purposes");
      await shows(page, "main tbody", "no rules");
      await page.click("#new");
      await heading(page, "New purpose");
      await page.fill("#name", name);
      await page.fill("#time_zone", "Mars");
      await page.fill("#quiet_hours_from", "20:00");
      await page.fill("#holidays", "2026-12-25 Christmas Day\nsome day");
      await page.fill("#cap_1_max", "2");
      await page.fill("#cap_1_within", "week");
      await page.click("#save");
      assert.match(await flash(page), /Nothing was saved/);
      for (const [field, text] of Object.entries({ time_zone: "IANA", quiet_hours_to: "enter this, too", holidays: "Line 2", cap_1_within: "not a delay" })) await shows(page, `#${field}-wrong`, text);
      assert.equal(await page.inputValue("#quiet_hours_from"), "20:00");
      await look("a purpose with mistakes");
    });
    await report.check(`${how}: one is created`, page, async () => {
      await page.fill("#time_zone", "Africa/Nairobi");
      await page.fill("#quiet_hours_to", "09:00");
      await page.fill("#holidays", "2026-12-25 Christmas Day");
      await page.fill("#cap_1_within", "7d");
      await page.click("details summary");
      await page.fill("#cap_8_max", "1");
      await page.fill("#cap_8_within", "1d");
      await page.selectOption("#cap_8_kind", "calendar");
      await page.click("#save");
      assert.match(await flash(page), /is created/);
      await shows(page, "main", "at most 1 a calendar day");
      await look("a purpose");
    });
    await report.check(`${how}: one is changed and deleted`, page, async () => {
      await page.click("#edit");
      await page.fill("#title", "Reminders");
      await page.click("#save");
      assert.match(await flash(page), /is changed/);
      assert.equal((await weir.get(`/v1/purposes/${name}`)).title, "Reminders");
      await page.click("#delete");
      await page.locator(".question button").first().click();
      assert.match(await flash(page), /is deleted/);
      assert.equal(await page.locator(`#purpose-${name}`).count(), 0);
    });
    await page.context().close();
  }
}
