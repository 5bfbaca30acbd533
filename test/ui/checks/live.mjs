// Figures are updated without reloading the page, only while it is visible.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { pause, soon } from "../lab.mjs";
import { open, shows, squeeze, tile } from "../steps.mjs";
import { phone } from "../state.mjs";

const soonEnough = 12_000; // updates come every two seconds; this is for machines that are busy

// hide makes a page hidden, as a browser does with a background tab.
const hide = (page, hidden) => page.evaluate((gone) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => gone });
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (gone ? "hidden" : "visible") });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

const stay = (page) => page.evaluate(() => { window.stayed = true; });
const stayed = async (page) => assert.equal(await page.evaluate(() => window.stayed), true, "the page was loaded anew");

export async function live({ report, browser, weir }) {
  const page = await browser.window();
  await login(page, weir.url, weir.token);
  let next = 9000;
  const queue = (count) => weir.api("POST", "/v1/channels/held/contacts", { contacts: Array.from({ length: count }, () => ({ key: `live-${next}`, to: phone(next++ % 10_000), messages: ["Later"] })) });
  // busy gives texts something to send for half a minute: what it was given at the start is gone after a quarter of an hour.
  const busy = () => weir.api("POST", "/v1/channels/texts/contacts", { contacts: Array.from({ length: 200 }, () => ({ key: `busy-${next}`, to: phone(next++ % 10_000), messages: ["Hello"] })) });
  const queued = async () => (await weir.get("/v1/channels/held")).queued;
  const go = async (path) => {
    await page.goto(weir.url + path);
    await stay(page);
    await shows(page, "#connection", "live");
  };
  const changes = (name, path, selector, change, expected) => report.check(`live: ${name}`, page, async () => {
    await go(path);
    await change();
    await shows(page, selector, await expected(), soonEnough);
    await stayed(page);
  });
  await changes("the overview counts what is queued", "/", "article:has(#channel-held)", () => queue(5), async () => new RegExp(`queued ${await queued()}\\b`));
  await changes("a channel that is paused elsewhere says so", "/channels/spare", "#state", () => weir.patch("/v1/channels/spare", { paused: true }), () => /paused.*Resume/);
  await weir.patch("/v1/channels/spare", { paused: false });
  await changes("a channel's queue grows", "/channels/held", "#figures", () => queue(2), async () => new RegExp(`Queued ${await queued()}\\b`));
  await changes("a survey that is paused elsewhere says so", "/surveys/vaccines", "#state", () => weir.api("POST", "/v1/surveys/vaccines:pause"), () => /paused.*Resume/);
  await changes("a list of surveys, too", "/surveys", "article:has(#survey-vaccines)", () => weir.api("POST", "/v1/surveys/vaccines:resume"), () => /running/);
  await changes("the wallboard counts workers", "/router", "#board", () => weir.route("workers/fay", { availableForOffers: true }), async () => {
    const figures = await weir.get("/routing/figures?api-version=2024-01-18-preview");
    return new RegExp(`Active workers ${figures.workers.active}\\b`);
  });
  await changes("a worker's page says that no offers are given", "/router/workers/fay", "#worker", () => weir.route("workers/fay", { availableForOffers: false }), () => /Available for offers no/);
  await report.check("live: a contact's page shows that it was canceled elsewhere", page, async () => {
    const { contacts: [contact] } = await weir.get("/v1/contacts?channel=held&state=queued&limit=1");
    await go(`/contacts/${contact.id}`);
    await weir.api("DELETE", `/v1/contacts/${contact.id}`);
    await shows(page, "#contact", /canceled/, soonEnough);
    assert.equal(await page.locator("#cancel").count(), 0);
    await stayed(page);
  });
  await report.check("live: a table that was opened stays open while figures change", page, async () => {
    await busy();
    await go("/channels/texts");
    await page.locator("#charts details summary").first().click();
    const before = await tile(page, "Queued", "#figures");
    await soon(async () => (await tile(page, "Queued", "#figures")) !== before, "a figure that changes");
    await pause(2500);
    assert.ok(await page.locator("#charts details").first().evaluate((d) => d.open));
  });
  await report.check("live: the focus stays where it is while figures change", page, async () => {
    await busy();
    await go("/");
    await page.focus("#pause-texts");
    const before = squeeze(await page.locator("article:has(#channel-texts)").innerText());
    await soon(async () => squeeze(await page.locator("article:has(#channel-texts)").innerText()) !== before, "a figure that changes");
    assert.equal(await page.evaluate(() => document.activeElement.id), "pause-texts");
  });
  await report.check("live: the focus stays on a table that scrolls, too", page, async () => {
    await busy();
    await go("/channels/texts");
    const table = page.locator("[aria-label='In flight, table']");
    await table.focus();
    const before = await table.innerText();
    await soon(async () => (await table.innerText()) !== before, "a table that changes");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "In flight, table");
  });
  await report.check("live: a question that is open stays open", page, async () => {
    await go("/");
    await open(page, "#capacity-texts");
    await page.fill("#field-capacity", "25");
    await queue(1);
    await pause(4500);
    assert.equal(await page.inputValue("#field-capacity"), "25");
    await page.keyboard.press("Escape");
    await stayed(page);
  });
  await report.check("live: no requests while the tab is hidden; updates resume at once", page, async () => {
    await go("/channels/held");
    await hide(page, true);
    await shows(page, "#connection", "paused");
    const before = await tile(page, "Queued", "#figures");
    await queue(3);
    await pause(5000);
    assert.equal(await tile(page, "Queued", "#figures"), before);
    await hide(page, false);
    await shows(page, "#figures", new RegExp(`Queued ${await queued()}\\b`), soonEnough);
    await shows(page, "#connection", "live");
    await stayed(page);
  });
  await page.context().close();
}
