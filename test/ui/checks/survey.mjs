// Surveys: launched, paused, resumed, stopped; respondents, log, files.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { act, answer, fact, heading, open, shows, squeeze } from "../steps.mjs";

const state = async (weir, name) => (await weir.get(`/v1/surveys/${name}`)).state;

async function download(page, link) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator(link).click()]);
  return readFileSync(await file.path(), "utf8");
}

export async function survey({ report, browser, weir, operator }) {
  const page = await browser.window({ acceptDownloads: true });
  await login(page, weir.url, operator.token, "/surveys");
  const go = (path) => page.goto(weir.url + path);
  await report.check("surveys: listed with their figures, and filtered by state", page, async () => {
    await shows(page, "#list", /vaccines/);
    for (const name of ["vaccines", "quick", "water", "harvest"]) assert.equal(await page.locator(`#survey-${name}`).count(), 1, name);
    await page.selectOption("#state", "running");
    await page.click("text=Show");
    await page.waitForURL(/state=running/);
    assert.deepEqual(await page.locator("#list h2").allTextContents(), ["vaccines"]);
  });
  await report.check("survey: funnel, dispositions, attempts, quotas, windows and log are on its page", page, async () => {
    await go("/surveys/vaccines");
    const { by_disposition: by, respondents, quotas } = await weir.get("/v1/surveys/vaccines/stats");
    await shows(page, "#people section:nth-of-type(1)", new RegExp(`in the survey ${respondents}`));
    await shows(page, "#people", new RegExp(`completed ${by.completed}`));
    assert.equal(await page.locator("[aria-labelledby=quotas-head] tbody tr").count(), quotas.length);
    await shows(page, "[aria-labelledby=quotas-head]", "full");
    await shows(page, "[aria-labelledby=attempts-head]", /(ivr|sms), by outcome/);
    assert.ok(await page.locator("#calendar tbody tr").count() >= 7, "a week of windows");
    assert.ok(await page.locator("#recent tbody tr").count() >= 5);
  });
  await report.check("survey: launched after the consequences were shown", page, async () => {
    await go("/surveys/water");
    const asked = await open(page, "#launch");
    assert.match(asked, /Launch survey water.*texts are locked/);
    assert.equal(await fact(page, "Respondents"), "40");
    assert.equal(await fact(page, "Channel for sms"), "texts");
    assert.equal(await fact(page, "Target"), "200");
    assert.match(await fact(page, "Respondents by sms"), /up to 40 later/);
    assert.match(await fact(page, "Ends at best"), /^about /);
    assert.ok(await page.locator("#dialog blockquote").count() >= 2, "the texts of two respondents");
    await shows(page, "#assumes", "everybody answers");
    assert.match(await answer(page), /water is launched/);
    assert.equal(await state(weir, "water"), "running");
    await shows(page, "#state .badge", "running");
  });
  await report.check("survey: paused, resumed and stopped", page, async () => {
    await act(page, "#pause", /water is paused/);
    assert.equal(await state(weir, "water"), "paused");
    await act(page, "#resume", /water is resumed/);
    assert.equal(await state(weir, "water"), "running");
    await open(page, "#stop");
    assert.match(await fact(page, "Will be canceled"), /^\d+$/);
    assert.match(await answer(page), /water is stopping/);
    await soon(async () => (await state(weir, "water")) === "done", "the end of a survey");
    await shows(page, "#state .badge", "done");
    for (const step of ["#launch", "#pause", "#resume", "#stop", "#import", "#pilot"]) assert.equal(await page.locator(step).count(), 0, `${step} of a survey that is over`);
  });
  await report.check("survey: without respondents the page names the first step", page, async () => {
    await go("/surveys/empty");
    await shows(page, ".empty", "weir survey import people.csv empty");
    assert.match(await open(page, "#launch"), /The survey has no respondents/);
    await page.keyboard.press("Escape");
  });
  await report.check("survey: results and log are files", page, async () => {
    await go("/surveys/vaccines");
    const results = await download(page, "#to-results-file");
    assert.equal(results.trim().split("\n").length, 161, "a row for each respondent");
    assert.match(results.split("\n")[0], /phone/);
    assert.match(await download(page, "#to-log-file"), /respondent/);
  });
  await report.check("survey: respondents by disposition, one of them, the log", page, async () => {
    await go("/surveys/vaccines");
    await page.click("#to-respondents");
    await heading(page, "Respondents of vaccines");
    await page.selectOption("#disposition", "completed");
    await page.click("text=Show");
    await page.waitForURL(/disposition=completed/);
    const { by_disposition: by } = await weir.get("/v1/surveys/vaccines/stats");
    assert.equal(await page.locator("[aria-label=Respondents] tbody tr").count(), by.completed);
    await page.locator("tbody td.code a").first().click();
    await heading(page, /^Respondent /);
    assert.match(await page.locator("main").textContent(), /first_name|first name/);
    await page.click("#contact");
    await heading(page, /^Contact /);
    await go("/surveys/vaccines");
    await page.click("#to-log");
    await heading(page, "Log of vaccines");
    await page.click("a[rel=next]");
    await page.waitForURL(/cursor=/);
    assert.ok(squeeze(await page.locator("tbody").innerText()).length > 100);
  });
  await page.context().close();
}
