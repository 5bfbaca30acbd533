// People: what a person said is found by address, and recorded.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { fact, flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

const number = "+15550107001";

export async function people({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "people" : "people, without scripts";
    const look = async (name) => { if (javaScriptEnabled) await look4(page, name); };
    const record = async (status, words) => {
      await page.selectOption("#status", status);
      await page.fill("#words", words);
      await page.click("#record");
      return flash(page);
    };
    await login(page, weir.url, operator.token);
    await report.check(`${how}: a person is searched for by number`, page, async () => {
      await page.click("header >> text=People");
      await page.fill("#search-to", number);
      await page.click("#search");
      await heading(page, "Person");
      await shows(page, "#person-head", "***01");
      await look("a person");
    });
    await report.check(`${how}: a refusal is recorded, and loading the page again records no other`, page, async () => {
      assert.match(await record("refused", `by phone: never call me again ${how}`), /refusal of \*\*\*01 is recorded/);
      assert.match(await fact(page, "Status", "main .facts"), /^refused/);
      const rows = await page.locator("main tbody tr").count();
      await page.reload();
      assert.equal(await page.locator("main tbody tr").count(), rows);
      await look("a person who refused");
    });
    await report.check(`${how}: mistakes are shown beside their fields, and what was typed stays`, page, async () => {
      await page.selectOption("#status", "given");
      await page.locator("#words").evaluate((e) => e.removeAttribute("required"));
      await page.click("#record");
      await shows(page, "#words-wrong", "it is the proof");
      assert.equal(await page.inputValue("#status"), "given");
      await look("a form with a mistake");
    });
    await report.check(`${how}: the refusal is taken back`, page, async () => {
      assert.match(await record("given", "by phone: call me"), /\*\*\*01 may be contacted/);
      assert.match(await fact(page, "Status", "main .facts"), /^not refused/);
    });
    await page.context().close();
  }
}
