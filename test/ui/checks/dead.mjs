// Dead letters: counted before each action.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { answer, fact, flash, open, shows, squeeze } from "../steps.mjs";

const groups = async (weir) => (await weir.get("/v1/dead-letters/groups")).groups;
const sum = (list) => list.reduce((n, g) => n + g.count, 0);

export async function dead({ report, browser, weir, operator }) {
  const page = await browser.window();
  await login(page, weir.url, operator.token, "/dead-letters");
  const row = (reason) => page.locator("#groups tbody tr", { hasText: reason }).first();
  await report.check("dead letters: grouped by reason, with their number", page, async () => {
    const list = await groups(weir);
    assert.ok(list.length >= 3);
    for (const g of list.filter((g) => g.channel === "calls")) {
      assert.equal(squeeze(await row(g.reason).locator("td.number").innerText()), String(g.count), g.reason);
    }
  });
  await report.check("dead letters: a group is requeued, its count shown before", page, async () => {
    const before = await groups(weir);
    const group = before.find((g) => g.reason.includes("503"));
    await open(page, `#${await row(group.reason).locator("a.button").first().getAttribute("id")}`);
    assert.equal(await fact(page, "Count"), String(group.count));
    assert.match(await fact(page, "reason"), /503/);
    const said = await answer(page);
    assert.match(said, new RegExp(`^${group.count} dead letters? (is|are) requeued`));
  });
  await report.check("dead letters: one of a list is discarded", page, async () => {
    const group = (await groups(weir)).find((g) => g.reason.includes("404"));
    await page.goto(`${weir.url}/dead-letters`);
    await row(group.reason).locator("td a").first().click();
    await page.waitForURL(/dead-letters\/list/);
    const rows = page.locator("[aria-label='Dead letters'] tbody tr");
    assert.equal(await rows.count(), group.count);
    const id = squeeze(await rows.first().locator("td.code").innerText());
    await open(page, "#discard-0");
    assert.equal(await fact(page, "Count"), "1");
    assert.match(await answer(page), /1 dead letter is discarded/);
    await shows(page, "h1", id);
    const rest = (await groups(weir)).find((g) => g.reason === group.reason && g.channel === group.channel);
    assert.equal(rest.count, group.count - 1);
    assert.equal(await page.locator("#discard").count(), 0, "it is none any more");
  });
  await report.check("dead letters: selected ones are requeued, and the list comes again", page, async () => {
    const group = (await groups(weir)).find((g) => g.reason.includes("404"));
    const list = `${weir.url}/dead-letters/list?channel=${group.channel}`;
    await page.goto(list);
    const boxes = page.locator("input[name=contact]");
    const id = await boxes.first().getAttribute("value");
    await boxes.first().check();
    await page.locator("#requeue-selected").click();
    assert.equal(await fact(page, "Count", ".question"), "1");
    await page.locator(".question button").first().click();
    assert.match(await flash(page), /1 dead letter is requeued/);
    assert.equal(page.url(), list);
    assert.equal(await page.locator(`input[name=contact][value="${id}"]`).count(), 0, "it is none any more");
    await page.locator("#select-all").check();
    assert.ok(await boxes.count() > 0);
    assert.equal(await page.locator("input[name=contact]:not(:checked)").count(), 0);
  });
  await report.check("dead letters: one is requeued from its own page, which leads to the new contact", page, async () => {
    const { dead_letters: [one] } = await weir.get("/v1/dead-letters?limit=1&channel=calls&reason=" + encodeURIComponent((await groups(weir)).find((g) => g.reason.includes("404")).reason));
    await page.goto(`${weir.url}/contacts/${one.contact.id}`);
    await open(page, "#requeue");
    assert.match(await answer(page), /1 dead letter is requeued/);
    await page.locator("ol.life a").last().click();
    await shows(page, "h1", "Contact");
    assert.notEqual(new URL(page.url()).pathname, `/contacts/${one.contact.id}`);
  });
  await report.check("dead letters: a group is discarded, others stay", page, async () => {
    const before = await groups(weir);
    const group = before.find((g) => g.channel === "texts");
    await page.goto(`${weir.url}/dead-letters`);
    await open(page, `#${await row(group.reason).locator("a.danger").getAttribute("id")}`);
    const count = Number(await fact(page, "Count"));
    assert.ok(count >= group.count);
    assert.match(await answer(page), /discarded/);
    assert.ok(sum(await groups(weir)) < sum(before));
  });
  await page.context().close();
}
