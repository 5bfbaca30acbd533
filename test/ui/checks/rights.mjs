// A read-only token sees no buttons, is rejected by the server, and sees masked
// numbers.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { pages } from "../pages.mjs";
import { heading, shows } from "../steps.mjs";

const number = /1555010\d{4}/;

// actions are the paths of all actions.
const actions = (known) => [
  "/channels/texts/pause", "/channels/held/resume", "/channels/texts/capacity", "/channels/texts/delete", "/channels/_new", "/channels/texts/edit", `/contacts/${known.done}/cancel`,
  "/contacts/_new", "/contacts/_import", "/contacts/_import/send", "/contacts/_cancel?channel=held", "/dead-letters/requeue", "/dead-letters/discard", "/people/record", "/purposes/_new", "/purposes/research/edit", "/purposes/research/delete", "/limits/_new", "/limits/portfolio/edit", "/limits/portfolio/delete", "/prices/held/edit", "/prices/held/delete", "/surveys/_new", "/surveys/_new/json", "/surveys/water/edit", "/surveys/water/edit/json", "/surveys/water/questions", "/surveys/water/import", "/surveys/water/clone", `/surveys/vaccines/respondents/${known.respondent}/edit`, `/surveys/vaccines/respondents/${known.respondent}/stop`, `/surveys/vaccines/respondents/${known.respondent}/remove`, "/surveys/empty/launch", "/surveys/vaccines/pause", "/surveys/vaccines/resume", "/surveys/vaccines/stop", "/surveys/vaccines/lock", "/surveys/vaccines/unlock",
  `/webhooks/${known.webhook}/pause`, `/webhooks/${known.webhook}/replay`, `/webhooks/${known.webhook}/delete`,
  "/router/workers/ana/off", "/router/workers/eve/on", "/router/jobs/call-10/cancel", "/router/jobs/call-1/assignments/a/complete", "/router/jobs/call-1/assignments/a/close", "/router/jobs/call-1/assignments/a/unassign", "/router/desk/ana/off", "/router/desk/ana/offers/o/accept", "/router/desk/ana/jobs/call-1/assignments/a/close",
];

export async function rights({ report, browser, weir, operator, known }) {
  const reader = await weir.newToken("reader", ["contacts:read"]);
  const page = await browser.window();
  await login(page, weir.url, reader.token);
  const open = Object.entries(pages(known)).filter(([name, path]) => !/^\/(router|audit|webhooks|docs)|none|_new|_import|search|undecided|edit(\/json)?$|import$|(setup|questions)$/.test(path));
  await report.check("rights: a read-only token sees no buttons and no full numbers", page, async () => {
    for (const [name, path] of open) {
      const answer = await page.goto(weir.url + path);
      assert.equal(answer.status(), 200, name);
      assert.deepEqual(await page.locator("[data-dialog], main form[method=post]").allTextContents(), [], name);
      assert.ok(!number.test(await page.content()), `${name} shows a number`);
    }
    await page.goto(`${weir.url}/contacts?channel=held`);
    assert.match(await page.locator("main tbody").innerText(), /\*\*\*\d\d/);
  });
  await report.check("rights: updates and files contain no full numbers", page, async () => {
    await page.goto(`${weir.url}/channels/texts`);
    await shows(page, "#connection", "live");
    assert.ok(!number.test(await page.content()));
    const results = await (await page.request.get(`${weir.url}/surveys/vaccines/results.csv`)).text();
    assert.ok(results.split("\n").length > 100 && !number.test(results));
  });
  await report.check("rights: the router, webhooks and the audit log are forbidden and not linked", page, async () => {
    await page.goto(weir.url);
    assert.deepEqual(await page.locator("header nav a").allTextContents(), ["Overview", "Contacts", "Dead letters", "People", "Purposes", "Surveys"]);
    for (const path of ["/router", "/router/jobs", "/audit", "/webhooks"]) {
      const answer = await page.goto(weir.url + path);
      assert.equal(answer.status(), 403, path);
      await heading(page, "Not allowed");
    }
  });
  await report.check("rights: their requests are rejected and change nothing", page, async () => {
    await page.goto(weir.url);
    const state = async () => JSON.stringify(await Promise.all(["texts", "held"].map(async (c) => (({ paused, capacity }) => ({ paused, capacity }))(await weir.get(`/v1/channels/${c}`)))));
    const before = await state();
    for (const path of actions(known)) {
      const status = await page.evaluate(async (at) => (await fetch(at, { method: "POST", body: new URLSearchParams({ capacity: "1", cancel: "true" }) })).status, weir.url + path);
      assert.equal(status, 403, path);
      assert.equal((await page.request.get(weir.url + path)).status(), 403, `question of ${path}`);
    }
    assert.equal(await state(), before);
    assert.equal((await weir.get("/v1/surveys/vaccines")).state, "running");
  });
  await report.check("rights: a page of another site cannot use the session", page, async () => {
    const other = await browser.window();
    await login(other, weir.url, operator.token);
    for (const headers of [{ Origin: "https://elsewhere.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
      const answer = await other.request.post(`${weir.url}/channels/texts/pause`, { headers, form: {} });
      assert.equal(answer.status(), 403);
    }
    assert.equal((await weir.get("/v1/channels/texts")).paused, false);
    await other.context().close();
  });
  await report.check("rights: each action is offered by the scope that allows it", page, async () => {
    const keeper = await weir.newToken("keeper", ["channels:admin"]);
    const other = await browser.window();
    await login(other, weir.url, keeper.token, "/channels/texts");
    assert.equal(await other.locator("#pause").count(), 1);
    await shows(other, "#contacts", "has the scope contacts:read");
    assert.ok(!number.test(await other.content()));
    assert.equal((await other.goto(`${weir.url}/contacts`)).status(), 403);
    await other.context().close();
  });
  await page.context().close();
}
