// Webhooks: listed, tested, paused, resumed, replayed and deleted. All changes are made to
// a webhook of these checks, since others use the one of state.mjs.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { act, answer, fact, heading, open, shows, squeeze } from "../steps.mjs";

export async function webhooks({ report, browser, weir, at, secrets, operator, known }) {
  const page = await browser.window();
  await login(page, weir.url, operator.token);
  const go = (path) => page.goto(weir.url + path);
  const secret = () => page.content().then((text) => text.includes(secrets.webhook) || text.includes("whsec_"));
  await report.check("webhooks: listed with state, address and events, without the query", page, async () => {
    await page.click("header >> text=Webhooks");
    await heading(page, "Webhooks");
    const row = squeeze(await page.locator("[aria-label=Webhooks] tbody tr", { has: page.locator(`#webhook-${known.webhook}`) }).innerText());
    assert.match(row, new RegExp(`^${known.webhook} enabled ${at.texts}/none weir\\.webhook\\.disabled billing$`));
    assert.ok(!await secret());
  });
  await report.check("webhooks: a page shows address, events and the test that failed", page, async () => {
    await page.click(`#webhook-${known.webhook}`);
    await heading(page, known.webhook);
    assert.equal(await fact(page, "Address", "#state"), `${at.texts}/none`);
    assert.equal(await fact(page, "Events", "#state"), "weir.webhook.disabled");
    assert.equal(await fact(page, "Description", "#state"), "billing");
    assert.equal(await fact(page, "Phone numbers", "#state"), "masked");
    const rows = page.locator("[aria-label=Deliveries] tbody tr");
    assert.equal(await rows.count(), 1);
    assert.match(squeeze(await rows.first().innerText()), /test weir\.webhook\.test failed 404 \d+ HTTP 404$/);
    assert.ok(!await secret());
  });

  const { id } = await weir.api("POST", "/v1/webhooks", { url: `${at.texts}/none?key=${secrets.webhook}`, types: ["weir.webhook.disabled"], description: "of the checks" });
  const stored = () => weir.get(`/v1/webhooks/${id}`);
  const color = () => page.locator("#flash .flash").evaluate((e) => getComputedStyle(e).borderTopColor);
  let bad; // the color of an error
  await report.check("webhooks: a test that fails is reported as an error", page, async () => {
    await go(`/webhooks/${id}`);
    await shows(page, "#deliveries", "Nothing was sent yet");
    assert.match(await open(page, "#test"), /A test event is sent at once, and once/);
    assert.equal(await answer(page), "The test event was not delivered: HTTP 404.");
    bad = await color();
    assert.equal(await page.locator("#flash .flash.bad").count(), 1);
    await shows(page, "#deliveries tbody tr", /weir\.webhook\.test failed 404/);
  });
  await report.check("webhooks: paused and resumed, asked before", page, async () => {
    await act(page, "#pause", /is paused/);
    assert.equal(await page.locator("#flash .flash.bad").count(), 0);
    assert.notEqual(await color(), bad, "an error looks like a success");
    await shows(page, "#state .badge", "paused");
    assert.equal((await stored()).enabled, false);
    assert.match(await open(page, "#resume"), /It goes on where it stopped/);
    await page.locator("#dialog [data-close]").click();
    await page.locator("#dialog[open]").waitFor({ state: "detached" });
    assert.equal((await stored()).enabled, false, "Back changes nothing");
    await act(page, "#resume", /is resumed/);
    assert.equal((await stored()).enabled, true);
    await shows(page, "#state .badge", "enabled");
    assert.match(await open(page, "#pause"), /No events are sent until it is resumed/);
    assert.equal(await fact(page, "Address"), `${at.texts}/none`);
    await page.locator("#dialog [data-close]").click();
    assert.equal((await stored()).enabled, true, "Back changes nothing");
  });
  await report.check("webhooks: a replay asks since when", page, async () => {
    await go(`/webhooks/${id}`);
    await open(page, "#replay");
    const since = page.locator("#dialog input[name=since]");
    assert.equal(await since.getAttribute("type"), "datetime-local");
    assert.match(await since.inputValue(), /^\d{4}-\d\d-\d\dT\d\d:\d\d/, "a day ago is suggested");
    assert.equal(await answer(page), "0 events are sent again.");
  });
  await report.check("webhooks: deleting is marked as dangerous, is asked, and leads to the list", page, async () => {
    assert.equal(await page.locator("#delete.danger").count(), 1);
    assert.equal(await page.locator("#state a.button.danger").count(), 1, "nothing else is");
    assert.match(await open(page, "#delete"), /This cannot be undone/);
    assert.equal(await page.locator("#dialog form button.danger").count(), 1);
    await page.locator("#dialog [data-close]").click();
    await page.locator("#dialog[open]").waitFor({ state: "detached" });
    assert.equal((await stored()).id, id, "Back changes nothing");
    await open(page, "#delete");
    assert.match(await answer(page), new RegExp(`Webhook ${id} is deleted`));
    await heading(page, "Webhooks");
    assert.equal(new URL(page.url()).pathname, "/webhooks");
    assert.equal(await page.locator(`#webhook-${id}`).count(), 0);
    assert.equal(await page.locator(`#webhook-${known.webhook}`).count(), 1);
    assert.equal((await go(`/webhooks/${id}`)).status(), 404);
  });
  await page.context().close();
}
