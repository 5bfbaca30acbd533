// Channels and contacts: on the overview and on their own pages; paused, resumed,
// resized, deleted; searched and canceled.
import assert from "node:assert/strict";
import { login, wide } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { act, answer, fact, flash, heading, open, shows, squeeze, tile } from "../steps.mjs";

const channel = (weir, name) => weir.get(`/v1/channels/${name}`);

export async function channels({ report, browser, weir, operator, known }) {
  const page = await browser.window();
  await login(page, weir.url, operator.token);
  const go = (path) => page.goto(weir.url + path);
  await report.check("overview: every channel has a card; channels that need attention come first", page, async () => {
    const { channels: list } = await weir.get("/v1/channels");
    const cards = await page.locator("#channels article h3").allTextContents();
    assert.deepEqual([...cards].sort(), list.map((c) => c.channel).sort());
    assert.ok(cards.indexOf("broken") < cards.indexOf("texts") && cards.indexOf("held") < cards.indexOf("spare"), cards.join(" "));
    const card = squeeze(await page.locator("article", { has: page.locator("#channel-texts") }).innerText());
    assert.match(card, /texts up nuntium.*in flight \d+ \/ 24.*queued [\d\s]+.*dispatched [\d.]+ \/ min.*oldest/);
    assert.match(squeeze(await page.locator("article", { has: page.locator("#channel-failing") }).innerText()), /breaker/);
    assert.match(squeeze(await page.locator("article", { has: page.locator("#channel-unsure") }).innerText()), /unknown \d/);
    assert.equal(Number(await tile(page, "Channels", "#summary")), list.length);
    assert.ok(await page.locator("#channels svg.bar").count() === list.length, "each has its bar");
  });
  await report.check("overview: shows active surveys and the router", page, async () => {
    assert.match(squeeze(await page.locator("#surveys").innerText()), /vaccines running.*counted \d+ \/ 66.*quotas full \d \/ 4/);
    assert.match(squeeze(await page.locator("#wallboard").innerText()), /Active workers \d+.*Jobs waiting \d+.*Open offers \d+/);
  });
  await report.check("overview: the wall view is larger and has no buttons", page, async () => {
    await go("/?wall=1");
    assert.equal(await page.locator("main a.button:visible").count(), 0);
    assert.ok(await page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize)) >= 20);
    await go("/");
  });
  await report.check("overview: the wall view fits a screen without scrolling", page, async () => {
    for (const viewport of [{ width: 1920, height: 1080 }, { width: 1366, height: 768 }]) {
      await page.setViewportSize(viewport);
      await go("/?wall=1");
      const cut = await page.evaluate(() => {
        const parts = [...document.querySelectorAll("main .tiles > div, main article, main h2, main .figures > div, main .bar")];
        const out = parts.filter((e) => { const r = e.getBoundingClientRect(); return r.bottom > innerHeight + 1 || r.right > innerWidth + 1; }).map((e) => e.textContent.trim().slice(0, 40));
        const { scrollHeight, scrollWidth } = document.documentElement;
        return scrollHeight > innerHeight || scrollWidth > innerWidth || document.body.scrollHeight > innerHeight ? [...out, `${scrollWidth} × ${scrollHeight}`] : out;
      });
      assert.deepEqual(cut, [], `${viewport.width} × ${viewport.height}`);
    }
    await page.setViewportSize(wide);
    await go("/");
  });
  await report.check("channel: paused from the overview, after its figures were shown", page, async () => {
    const asked = await open(page, "#pause-spare");
    assert.match(asked, /Pause channel spare.*In flight.*of 3 slots.*Queued/);
    assert.match(await answer(page), /spare is paused/);
    assert.equal((await channel(weir, "spare")).paused, true);
    await heading(page, "spare");
    await shows(page, "#state .badge", "paused");
  });
  await report.check("channel: resumed from its page", page, async () => {
    await act(page, "#resume", /spare is resumed/);
    assert.equal((await channel(weir, "spare")).paused, false);
  });
  await report.check("channel: a closed dialog changes nothing", page, async () => {
    await open(page, "#pause");
    await page.locator("#dialog [data-close]").click();
    await page.locator("#dialog[open]").waitFor({ state: "detached" });
    assert.equal((await channel(weir, "spare")).paused, false);
  });
  await report.check("channel: an invalid capacity is rejected by the browser and by Weir", page, async () => {
    await open(page, "#capacity");
    await page.fill("#field-capacity", "0");
    await page.locator("#dialog form button").click();
    assert.ok(await page.locator("#field-capacity").evaluate((e) => !e.validity.valid), "the browser rejects it");
    await page.locator("#dialog form").evaluate((f) => { f.noValidate = true; });
    await page.locator("#dialog form button").click();
    await shows(page, "main [role=alert]", /./);
    assert.equal(await page.inputValue("#field-capacity"), "0", "the input stays");
    assert.equal((await channel(weir, "spare")).capacity, 3);
  });
  await report.check("channel: a valid capacity takes effect at once", page, async () => {
    await page.fill("#field-capacity", "9");
    await page.locator("main form.form button").click();
    assert.match(await flash(page), /capacity/i);
    assert.equal((await channel(weir, "spare")).capacity, 9);
    await shows(page, "#figures", "/ 9");
  });
  await report.check("channel: deleting one with open contacts needs consent", page, async () => {
    await go("/channels/goner");
    assert.match(await open(page, "#delete"), /Cancel 2 open contacts/);
    await page.locator("#dialog form button").click();
    await shows(page, "main [role=alert]", /open/);
    assert.equal((await channel(weir, "goner")).queued, 2);
    await page.check("input[name=cancel]");
    await page.locator("main form.form button").click();
    assert.match(await flash(page), /goner is deleted/);
    await assert.rejects(channel(weir, "goner"), /404/);
    assert.equal((await go("/channels/goner")).status(), 404);
  });
  await report.check("channel: its page has charts, its queue, what is in flight, messages and settings without secrets", page, async () => {
    await go("/channels/texts");
    assert.ok(await page.locator("#charts svg.chart").count() >= 5);
    for (const label of ["Next in the queue, table", "In flight, table", "Incoming messages, table"]) {
      assert.ok(await page.locator(`[aria-label="${label}"] tbody tr`).count() >= 1, label);
    }
    await shows(page, ".aside", /account demo.*Secrets are never shown/);
    await page.locator("#charts details summary").first().click();
    assert.ok(await page.locator("#charts details[open] tbody tr").first().isVisible(), "the same as a table");
    await page.locator("a[href^='?hours=']").last().click();
    await page.waitForURL(/hours=\d+/);
    assert.ok(await page.locator("#charts svg.chart").count() >= 5, "of another time");
  });
  await contacts({ report, page, weir, known, go });
  await page.context().close();
}

async function contacts({ report, page, weir, known, go }) {
  await report.check("contacts: found by key, by id, by channel and state", page, async () => {
    const rows = page.locator("[aria-label='Contacts, table'] tbody tr");
    await go("/contacts");
    await page.fill("#q", "held-3");
    await page.press("#q", "Enter");
    await page.waitForURL(/q=held-3/);
    assert.equal(await rows.count(), 1);
    await page.fill("#q", known.waiting);
    await page.press("#q", "Enter");
    await page.waitForURL((at) => at.searchParams.get("q") === known.waiting);
    assert.equal(squeeze(await rows.locator("td.code").first().innerText()), known.waiting);
    await page.fill("#q", "");
    await page.selectOption("#channel", "held");
    await page.selectOption("#state", "queued");
    await page.locator("main").getByRole("button", { name: "Search", exact: true }).click();
    await page.waitForURL(/channel=held/);
    assert.equal(await rows.count(), 12);
    await page.fill("#q", "there-is-none");
    await page.press("#q", "Enter");
    await shows(page, "main", "No matching contacts");
  });
  await report.check("contacts: the newest come first, with their channel, and new ones appear", page, async () => {
    await go("/contacts");
    const ids = () => page.locator("[aria-label='Contacts, table'] tbody td.code").allInnerTexts();
    const { contacts } = await weir.get("/v1/contacts?order=newest&limit=1");
    await soon(async () => (await ids()).length > 0 && (await page.locator("[aria-label='Contacts, table'] thead").innerText()).includes("Channel"), "the list");
    assert.ok(contacts.length === 1);
    const { contacts: [{ id }] } = await weir.api("POST", "/v1/channels/held/contacts", { contacts: [{ key: "live-1", to: "+15550107777", messages: ["hello"] }] });
    await soon(async () => (await ids()).includes(id), "the new contact");
    await weir.api("DELETE", `/v1/contacts/${id}`);
  });
  await report.check("contacts: found by number, without the number in an address", page, async () => {
    await go("/contacts");
    await page.fill("#number", "+1 555 010 7777");
    await page.click("#search-number");
    await page.locator("[aria-label='Contacts, table'] tbody tr").first().waitFor();
    assert.equal(await page.locator("[aria-label='Contacts, table'] tbody tr").count(), 1);
    assert.ok(!page.url().includes("7777"), page.url());
  });
  await report.check("contacts: a long list has pages", page, async () => {
    await go("/contacts?channel=texts");
    const first = await page.locator("tbody td.code").first().textContent();
    await page.click("a[rel=next]");
    await page.waitForURL(/cursor=/);
    assert.notEqual(await page.locator("tbody td.code").first().textContent(), first);
    await page.click("text=First page");
    await page.waitForURL((at) => !at.search.includes("cursor"));
  });
  await report.check("contacts: a page shows the timeline, attempt and callback", page, async () => {
    await go(`/contacts/${known.dead}`);
    await shows(page, "ol.life", /accepted.*claimed.*accepted by the provider.*done.*dial failed.*dead letter/);
    assert.ok(await page.locator("[aria-label=Attempts] tbody tr").count() >= 1);
  });
  await report.check("contacts: a queued contact is canceled", page, async () => {
    await go(`/contacts/${known.waiting}`);
    assert.match(await open(page, "#cancel"), /The contact is queued\. It ends as canceled at once/);
    assert.equal(await fact(page, "Channel"), "held");
    assert.match(await answer(page), /is canceled/);
    const now = await weir.get(`/v1/contacts/${known.waiting}`);
    assert.equal(`${now.state} ${now.outcome}`, "done canceled");
    assert.equal(await page.locator("#cancel").count(), 0, "it cannot be canceled twice");
  });
}
