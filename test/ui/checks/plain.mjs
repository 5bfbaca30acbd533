// The main flows in a browser without scripts: questions are pages.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows } from "../steps.mjs";

export async function plain({ report, browser, weir, operator }) {
  const page = await browser.window({ javaScriptEnabled: false });
  const send = () => page.locator("main form.form button").click();
  await report.check("without scripts: log in", page, async () => {
    await login(page, weir.url, operator.token);
    await heading(page, "Overview");
    await shows(page, "#connection", "no live updates without JavaScript");
  });
  await report.check("without scripts: pause a channel, and resume it", page, async () => {
    await page.click("#pause-spare");
    await heading(page, "Pause channel spare");
    await send();
    assert.match(await flash(page), /spare is paused/);
    await page.click("#resume");
    await page.click("main form >> text=Back");
    await heading(page, "spare");
    assert.equal((await weir.get("/v1/channels/spare")).paused, true, "Cancel changes nothing");
    await page.click("#resume");
    await send();
    assert.match(await flash(page), /spare is resumed/);
  });
  await report.check("without scripts: an invalid capacity is reported above the question", page, async () => {
    await page.click("#capacity");
    await page.locator("#field-capacity").fill("0");
    await page.request.post(page.url(), { form: { capacity: "0" } }).then((r) => assert.equal(r.status(), 422));
    await page.locator("#field-capacity").fill("8");
    await send();
    await flash(page);
    assert.equal((await weir.get("/v1/channels/spare")).capacity, 8);
  });
  await report.check("without scripts: dead letters are requeued, after they were counted", page, async () => {
    await page.click("header >> text=Dead letters");
    await page.click("#requeue-all");
    await shows(page, "main", /Count [\d\s]+/);
    await send();
    assert.match(await flash(page), /requeued/);
  });
  await report.check("without scripts: launch a survey and stop it", page, async () => {
    await page.goto(`${weir.url}/surveys/plain`);
    await page.click("#launch");
    await heading(page, "Launch survey plain");
    await send();
    assert.match(await flash(page), /plain is launched/);
    await page.click("#stop");
    await send();
    assert.match(await flash(page), /plain is stopping/);
  });
  await report.check("without scripts: a job, the theme, and log out", page, async () => {
    await page.goto(`${weir.url}/router/jobs/call-12`);
    await page.click("#cancel");
    await page.locator("#field-note").fill("Not needed");
    await send();
    assert.match(await flash(page), /call-12 is cancelled/);
    await page.click(".theme button[value=dark]");
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    await page.click("text=Log out");
    await heading(page, "Log in");
  });
  await page.context().close();
}
