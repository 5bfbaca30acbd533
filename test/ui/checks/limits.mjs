// Shared limits: they are set in a form, changed and deleted.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function limits({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "limits" : "limits, without scripts";
    const name = javaScriptEnabled ? "numbers" : "lines";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token);
    await report.check(`${how}: a channel names those that it shares`, page, async () => {
      await page.goto(`${weir.url}/channels/held`);
      await shows(page, "#limits", /in flight: [\d,]+ of 5,000; Dispatches a second: 900; New people in 24 hours: [\d,]+ of 100,000/);
      await page.click("#limit-portfolio");
      await heading(page, "Limit portfolio");
      await look("a limit");
    });
    await report.check(`${how}: mistakes are shown beside their fields, and what was typed stays`, page, async () => {
      await page.goto(weir.url);
      await page.click("#to-limits");
      await shows(page, "main tbody", "Account of the texts");
      await page.click("#new");
      await heading(page, "New limit");
      await page.fill("#name", "portfolio");
      await page.fill("#title", "Numbers");
      await page.click("#save");
      assert.match(await flash(page), /Nothing was saved/);
      for (const [field, text] of Object.entries({ name: "name already", channels: "at least one channel", in_flight: "at least one limit" })) await shows(page, `#${field}-wrong`, text);
      assert.equal(await page.inputValue("#title"), "Numbers");
      await look("a limit with mistakes");
    });
    await report.check(`${how}: one is created`, page, async () => {
      await page.fill("#name", name);
      for (const channel of ["held", "spare"]) await page.check(`[name=channels][value=${channel}]`);
      await page.fill("#in_flight", "700");
      await page.click("#save");
      assert.match(await flash(page), /is created/);
      await shows(page, "#use", "of 700");
      assert.deepEqual((await weir.get(`/v1/limits/${name}`)).channels.sort(), ["held", "spare"]);
    });
    await report.check(`${how}: one is changed and deleted`, page, async () => {
      await page.click("#edit");
      assert.ok(await page.isChecked("[name=channels][value=held]"));
      await page.uncheck("[name=channels][value=held]");
      await page.click("#save");
      assert.match(await flash(page), /is changed/);
      assert.deepEqual((await weir.get(`/v1/limits/${name}`)).channels, ["spare"]);
      await page.click("#delete");
      await page.locator(".question button").first().click();
      assert.match(await flash(page), /is deleted/);
      assert.equal(await page.locator(`#limit-${name}`).count(), 0);
    });
    await page.context().close();
  }
}
