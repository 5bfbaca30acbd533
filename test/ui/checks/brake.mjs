// A channel that paused itself: its page shows what happened, and Resume goes on.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { phone } from "../state.mjs";
import { flash, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function brake({ report, browser, weir, at, secrets, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "brake" : "brake, without scripts";
    const name = javaScriptEnabled ? "braking" : "stopping";
    await login(page, weir.url, operator.token);
    await report.check(`${how}: a channel shows that it paused itself, and why`, page, async () => {
      await weir.api("PUT", `/v1/channels/${name}`, {
        type: "nuntium", capacity: 2, brake: { over: 10, minimum: 3, failed_percent: 20 },
        settings: { base_url: at.texts, account: "demo", application: "spare", password: secrets.nuntium, channel: "spare" },
      });
      // The simulated provider fails numbers that end with 13.
      await weir.api("POST", `/v1/channels/${name}/contacts`, { contacts: Array.from({ length: 9 }, (_, i) => ({ key: `${name}-${i}`, to: phone(i * 100 + 13), messages: ["Hello from Weir"] })) });
      await soon(async () => (await weir.get(`/v1/channels/${name}`)).braked, "a channel that paused itself", 60_000);
      await page.goto(`${weir.url}/channels/${name}`);
      await shows(page, "#braked", /paused itself: \d+ of the last \d+ contacts failed, the bound is 20 %/);
      await shows(page, "#brake-counts", "more than 20 % pause it");
      if (javaScriptEnabled) await look4(page, "a channel that paused itself");
    });
    await report.check(`${how}: it is resumed`, page, async () => {
      await weir.api("PATCH", `/v1/channels/${name}`, { brake: { minimum: 10 } });
      await page.goto(`${weir.url}/channels/${name}`);
      await page.click("#resume");
      await page.locator(".question form button").first().click(); // in the dialog, or on a page of its own
      assert.match(await flash(page), /is resumed/);
      assert.equal(await page.locator("#braked").count(), 0);
      assert.ok(!(await weir.get(`/v1/channels/${name}`)).braked);
    });
    await weir.api("DELETE", `/v1/channels/${name}?cancel=true`);
    await page.context().close();
  }
}
