// Surveys without a terminal: created in a form or as JSON, filled from a CSV file, launched,
// changed; respondents are corrected and removed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { login } from "../browser.mjs";
import { flash, heading, shows, unfold } from "../steps.mjs";
import { look4 } from "./look.mjs";

// people returns a CSV file; the second half of its numbers is in no survey yet.
function people(count, bad) {
  const rows = ["Mobile,First Name,note"];
  for (let i = 0; i < count; i++) rows.push(`+1212556${String(i).padStart(4, "0")},Ana ${i},${"x".repeat(60)}`);
  if (bad) rows.splice(3, 0, "12,Nobody,");
  return { name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(rows.join("\n") + "\n") };
}

export async function surveyforms({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled, acceptDownloads: true });
    const how = javaScriptEnabled ? "survey in the browser" : "survey in the browser, without scripts";
    const name = javaScriptEnabled ? "spring" : "autumn";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    const confirm = async (link) => {
      await page.click(link);
      await page.locator(".question form button").first().click();
      return flash(page);
    };
    await login(page, weir.url, operator.token, "/surveys");
    await report.check(`${how}: mistakes are beside their fields, and what was typed stays`, page, async () => {
      await page.click("#new");
      await heading(page, "New survey");
      await page.fill("#name", "water");
      await page.fill("#title", "Spring");
      await page.fill("#time_zone", "Mars");
      await page.check("#as-times");
      await page.uncheck("#day-fri");
      await page.click("#save");
      assert.match(await flash(page), /Nothing was saved/);
      await shows(page, "#name-wrong", "name already");
      await shows(page, "#time_zone-wrong", "not an IANA time zone");
      await shows(page, "#modes-wrong", /./);
      assert.equal(await page.inputValue("#title"), "Spring");
      assert.equal(await page.isChecked("#day-fri"), false);
      await look("a survey with mistakes");
    });
    await report.check(`${how}: created in the form`, page, async () => {
      await page.fill("#name", name);
      await page.fill("#time_zone", "UTC");
      for (const day of ["fri", "sat", "sun"]) await page.check(`#day-${day}`);
      await page.fill("#window_1_from", "00:00");
      await page.fill("#window_1_to", "00:00");
      await unfold(page, "#mode-sms");
      await page.selectOption("#sms_channel", "texts");
      await page.fill("#sms_text_1", "Hello {{first_name}}, may we ask you something?");
      await page.click("#save");
      assert.match(await flash(page), /is created/);
      assert.deepEqual((await weir.get(`/v1/surveys/${name}`)).schedule.windows, [{ from: "00:00", to: "24:00" }]);
    });
    await report.check(`${how}: changed as JSON; mistakes have their places`, page, async () => {
      await page.click("#to-definition");
      await look("a definition");
      await page.click("#edit-json");
      const text = await page.inputValue("#definition");
      await page.fill("#definition", text.replace('"sms"\n', '"smoke"\n'));
      await page.click("#save");
      await shows(page, "#definition-wrong", /\/arms\/0\/modes\/0: .*smoke/);
      await look("a definition with mistakes");
      await page.fill("#definition", text.replace("{", '{\n  "labels": ["language"],'));
      await page.click("#save");
      assert.match(await flash(page), /is changed/);
      await page.click("#edit");
      await shows(page, "main", /keeps as they are: labels/);
      await unfold(page, "#part-target");
      await page.fill("#cutoff", "2000");
      await page.click("#save");
      const { labels, cutoff } = await weir.get(`/v1/surveys/${name}`);
      assert.deepEqual({ labels, cutoff }, { labels: ["language"], cutoff: 2000 });
    });
    await report.check(`${how}: respondents are imported, and refused rows are a file`, page, async () => {
      await page.click("#import");
      await page.setInputFiles("#file", people(40, true));
      await page.click("#preview");
      await shows(page, "#columns", /Mobile.*First Name/);
      await shows(page, "#columns", "Ana 1");
      assert.equal(await page.inputValue("#column-0"), "phone");
      await page.selectOption("#column-2", "");
      await look("the columns of a file");
      await page.click("#send");
      assert.match(await flash(page), /40 respondents were added/);
      await shows(page, "#refused-list", /4 phone/);
      await look("an import with refused rows");
      const [file] = await Promise.all([page.waitForEvent("download"), page.click("#refused-rows")]);
      const rows = readFileSync(await file.path(), "utf8");
      assert.match(rows, /^\ufeffweir_line,weir_column,weir_reason,Mobile,First Name,note\n4,phone,.*,12,Nobody,\n$/);
    });
    await report.check(`${how}: a large file is imported; a repetition adds nobody twice`, page, async () => {
      for (const added of [9960, 0]) {
        await page.goto(`${weir.url}/surveys/${name}/import`);
        await page.setInputFiles("#file", people(10000, false));
        await page.click("#preview");
        await shows(page, "#columns", "Mobile");
        if (!javaScriptEnabled) await page.setInputFiles("#file", people(10000, false)); // a script keeps it
        await page.click("#send");
        await shows(page, "#result", new RegExp(`Added ${added.toLocaleString("en")} `), 60_000);
      }
      assert.equal((await weir.get(`/v1/surveys/${name}/stats`)).respondents, 10000);
    });
    await report.check(`${how}: a respondent is corrected and removed`, page, async () => {
      await page.goto(`${weir.url}/surveys/${name}/respondents`);
      await page.locator("tbody td.code a").first().click();
      await heading(page, /^Respondent /);
      await page.click("#edit");
      await page.fill("#value_1", "Eva");
      await look("a correction");
      await page.click("#save");
      assert.match(await flash(page), /is corrected/);
      await shows(page, "main", /Eva/);
      assert.match(await confirm("#remove"), /is removed/);
    });
    await report.check(`${how}: launched after the summary`, page, async () => {
      await page.goto(`${weir.url}/surveys/${name}`);
      await page.click("#launch");
      await shows(page, ".question", /Respondents by sms.*about 2,000 first/);
      await shows(page, ".question", /Ends at best.*about/);
      await shows(page, ".question blockquote", /Hello Ana \d+, may we ask/);
      await look("the summary of a launch");
      await page.locator(".question form button").first().click();
      assert.match(await flash(page), /is launched/);
      await page.click("#edit");
      await shows(page, "#launched", "was launched");
      await page.fill("#sms_retries", "1d");
      await page.click("#save");
      assert.equal((await weir.get(`/v1/surveys/${name}`)).modes.sms.retries, "1d");
      assert.match(await confirm("#stop"), /is stopping/);
    });
    await report.check(`${how}: cloned, and created as JSON`, page, async () => {
      await page.goto(`${weir.url}/surveys/${name}/definition`);
      await page.click("#clone");
      await page.fill("#field-name", `${name}-2`);
      await page.locator(".question form button").first().click();
      assert.match(await flash(page), /is created from/);
      await page.goto(`${weir.url}/surveys/_new/json`);
      await page.fill("#name", `${name}-3`);
      await page.fill("#definition", (await page.inputValue("#definition")).replace('"channel": ""', '"channel": "texts"'));
      await page.click("#save");
      assert.match(await flash(page), /is created/);
      for (const n of [2, 3]) await weir.api("DELETE", `/v1/surveys/${name}-${n}`);
    });
    await page.context().close();
  }
}
