// The router: its wallboard, workers, queues, jobs and policies, and their
// actions.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { look4 } from "./look.mjs";
import { act, answer, fact, heading, open, shows, tile } from "../steps.mjs";

const version = "api-version=2024-01-18-preview";

export async function routing({ report, browser, weir, operator, known }) {
  const page = await browser.window();
  await login(page, weir.url, operator.token, "/router");
  const go = (path) => page.goto(weir.url + path);
  const worker = (id) => weir.get(`/routing/workers/${id}?${version}`);
  const job = (id) => weir.get(`/routing/jobs/${id}?${version}`);
  await report.check("router: the wallboard counts workers, jobs, offers and queues", page, async () => {
    await soon(async () => { // offers expire and are made anew
      const figures = await weir.get(`/routing/figures?${version}`);
      const shown = await Promise.all(["Jobs waiting", "Open offers", "Active workers", "Assigned jobs"].map((name) => tile(page, name, "#board")));
      assert.deepEqual(shown.map(Number), [figures.jobs.queued, figures.offersOut, figures.workers.active, figures.jobs.assigned]);
      return true;
    }, "the figures of the router");
    for (const id of ["helpdesk", "billing", "interviews"]) await shows(page, "#queues", id);
  });
  await report.check("router: lists of workers, jobs and queues are filtered and lead on", page, async () => {
    await page.click(".links >> text=Workers");
    await heading(page, "Workers of the router");
    await page.selectOption("#by-state", "inactive");
    await page.click("main form button");
    await page.waitForURL(/state=inactive/);
    await shows(page, "#workers", "eve");
    assert.ok(!(await page.locator("#workers").textContent()).includes("ana"));
    await go("/router/jobs");
    await page.selectOption("#by-status", "assigned");
    await page.click("main form button");
    await page.waitForURL(/status=assigned/);
    await shows(page, "#jobs", known.assigned);
    await go("/router/queues");
    await page.click("text=billing");
    await heading(page, "billing");
    await shows(page, "main", /Unmatchable jobs 1.*klingon/);
  });
  await report.check("router: offers to a worker are stopped and resumed", page, async () => {
    await go("/router/workers/bo");
    const asked = await open(page, "#off");
    assert.match(asked, /gets no new offers/);
    assert.match(await answer(page), /bo no longer gets offers/);
    assert.equal((await worker("bo")).availableForOffers, false);
    await act(page, "#on", /bo is available/);
    assert.equal((await worker("bo")).availableForOffers, true);
  });
  await report.check("router: a job is unassigned", page, async () => {
    await go(`/router/jobs/${known.givenBack}`);
    await open(page, "#unassign");
    assert.match(await answer(page), /is back in its queue/);
    assert.ok(["queued", "assigned"].includes((await job(known.givenBack)).status));
  });
  await report.check("router: a job is completed with a note, and closed", page, async () => {
    await go(`/router/jobs/${known.assigned}`);
    await open(page, "#complete");
    await page.fill("#field-note", "They were glad");
    assert.match(await answer(page), /is completed/);
    assert.equal((await job(known.assigned)).status, "completed");
    await shows(page, "#job", "They were glad");
    await open(page, "#close");
    await page.fill("#field-disposition", "solved");
    assert.match(await answer(page), /is closed/);
    const now = await job(known.assigned);
    assert.equal(`${now.status} ${now.dispositionCode}`, "closed solved");
    assert.equal(await page.locator("#job a.button").count(), 0);
  });
  await report.check("router: a worker takes a job at the desk and closes it", page, async () => {
    await weir.route("queues/desk", { distributionPolicyId: "idle" });
    await weir.route("workers/gil", { queues: ["desk"], capacity: 1, channels: [{ channelId: "call", capacityCostPerJob: 1 }], availableForOffers: false });
    await page.addInitScript(() => { // counts the tones, which nobody hears here
      window.tones = 0;
      const create = AudioContext.prototype.createOscillator;
      AudioContext.prototype.createOscillator = function () { window.tones++; return create.call(this); };
    });
    await go("/router");
    await page.click(".links >> text=Desks");
    await page.fill("#worker", "gil");
    await page.click("#open");
    await heading(page, "Desk of gil");
    await page.click("#on");
    await shows(page, "#flash", /gil is available/);
    await page.click("#sound");
    await shows(page, "#sound", "Sound for offers: on");
    const heard = await page.evaluate(() => window.tones);
    assert.ok(heard > 0, "it is not heard when it is switched on");
    await weir.route("jobs/at-desk", { channelId: "call", queueId: "desk", priority: 1, channelReference: "weir:7-1z-1", tags: { to: "+15550001", survey: "flu" }, notes: [{ message: "Ask about the flu" }] });
    await page.locator("[id^=accept-]").waitFor(); // by itself
    assert.equal(await page.title(), "(1) Desk of gil – Weir");
    await page.waitForFunction((before) => window.tones === 2 * before, heard); // once
    await page.click("#sound");
    await shows(page, "#sound", "Sound for offers: off");
    await look4(page, "desk with an offer");
    await page.click("[id^=accept-]");
    await shows(page, "#flash", /at-desk is yours/);
    await shows(page, "#desk", /\+15550001.*Ask about the flu/s);
    await look4(page, "desk with a job");
    await open(page, "[id^=close-]");
    await page.selectOption("#field-disposition", "callback");
    await page.fill("#field-callback_at", "2101-02-03T04:05");
    await page.fill("#field-note", "After lunch");
    assert.match(await answer(page), /at-desk is closed/);
    const now = await job("at-desk");
    assert.equal(`${now.status} ${now.dispositionCode}`, "closed callback@2101-02-03T04:05:00Z");
    await go("/router/board");
    await shows(page, "#staff", /gil.*waits for a job/s);
  });
  await report.check("router: an unmatchable job is cancelled", page, async () => {
    await go("/router/jobs/klingon");
    await shows(page, "#job", /Klingon/);
    await open(page, "#cancel");
    assert.equal(await fact(page, "Queue"), "billing");
    assert.match(await answer(page), /klingon is cancelled/);
    await soon(async () => (await job("klingon")).status === "cancelled", "the end of the job");
  });
  await report.check("router: policies are shown, whole", page, async () => {
    await go("/router/policies");
    for (const id of ["idle", "turns", "by-topic", "impatient"]) await shows(page, "main", id);
    await page.locator("details summary").first().click();
    assert.match(await page.locator("details[open] pre").first().textContent(), /"mode"/);
  });
  await page.context().close();
}
