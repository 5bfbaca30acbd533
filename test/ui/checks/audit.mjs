// The audit log. Runs after checks that changed something.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { squeeze } from "../steps.mjs";

export async function audit({ report, browser, weir, operator }) {
  const page = await browser.window();
  await login(page, weir.url, operator.token);
  await report.check("audit: an action is logged with its token", page, async () => {
    await page.request.post(`${weir.url}/channels/spare/pause`, { form: {} });
    await page.request.post(`${weir.url}/channels/spare/resume`, { form: {} });
    await page.click("header >> text=Audit");
    const rows = await soon(async () => {
      await page.reload();
      const list = (await page.locator("#entries tbody tr").allInnerTexts()).map(squeeze).filter((row) => row.includes("spare"));
      return list.length >= 2 && list.slice(0, 2).every((row) => row.includes(" 200 ")) && list; // they are written within a second
    }, "the entries");
    for (const row of rows.slice(0, 2)) assert.match(row, new RegExp(`${operator.id}.*spare.*200`));
  });
  await report.check("audit: rejected attempts are logged, without secrets or numbers", page, async () => {
    const guest = await weir.newToken("curious", ["contacts:read"]);
    const answer = await fetch(`${weir.url}/v1/channels/spare`, { method: "PATCH", headers: { Authorization: `Bearer ${guest.token}`, "Content-Type": "application/json" }, body: '{"capacity":5}' });
    assert.equal(answer.status, 403);
    await soon(async () => {
      await page.reload();
      return (await page.locator("#entries tbody tr").allInnerTexts()).some((row) => row.includes(guest.id) && row.includes("403"));
    }, "the refusal");
    const text = await page.content();
    assert.ok(!/canary|\+?1555010\d{4}/.test(text) && !text.includes(guest.token));
  });
  await page.context().close();
}
