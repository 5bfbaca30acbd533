// People: what a person said is found by address, and recorded; everything about a person is shown, exported, canceled and erased.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { fact, flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

const number = "+15550107001";

// says has a person send a message to the channel texts.
async function says(at, from, body) {
  const answer = await fetch(`${at.texts}/_simulator/incoming`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ from, to: "100", body, channel: "texts", application: "texts" }),
  });
  assert.ok(answer.ok, `an incoming message: ${answer.status}`);
}

export async function people({ report, browser, weir, at, operator }) {
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
      const entries = await page.locator("#talk > li").count();
      await page.reload();
      assert.equal(await page.locator("#talk > li").count(), entries);
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
    await report.check(`${how}: messages that may be opt-outs are decided by buttons`, page, async () => {
      for (const [i, body] of [`please stop calling me (${how})`, `no quiero más, BAJA (${how})`].entries()) await says(at, `15550108${javaScriptEnabled ? 0 : 1}0${i}`, body);
      await soon(async () => (await weir.get("/v1/consents:undecided")).waiting === 2, "messages that wait for a decision");
      await page.goto(weir.url);
      await page.click("#undecided");
      await heading(page, "May be an opt-out");
      await shows(page, "main tbody", "please stop calling me");
      await look("messages that may be opt-outs");
      await page.click('main tbody tr:has-text("BAJA") >> text=Dismiss');
      assert.match(await flash(page), /dismissed/);
      await page.click('main tbody tr:has-text("please stop") >> text=Refused');
      assert.match(await flash(page), /refusal is recorded/);
      await shows(page, "main", "Nothing to decide");
    });
    await report.check(`${how}: everything about a person is one conversation, and opens from a contact`, page, async () => {
      const made = await weir.api("POST", "/v1/channels/held/contacts", { contacts: [1, 2].map((n) => ({ to: number, messages: [`hello ${n}`] })) });
      await page.goto(`${weir.url}/contacts/${made.contacts[0].id}`);
      await page.click("#person");
      await heading(page, "Person");
      await shows(page, "#verdicts-head + ul", "For default the person may be contacted now.");
      await shows(page, "#talk > li:first-child", "hello 2");
      await shows(page, "#talk", "never call me again");
      assert.ok(!page.url().includes(number.slice(1)));
      await look("a conversation");
    });
    await report.check(`${how}: the person is exported`, page, async () => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.click("#person-export")]);
      const whole = JSON.parse(await readFile(await file.path(), "utf8"));
      assert.equal(whole.to, number);
      assert.ok(whole.contacts.length >= 2 && whole.consents.length >= 2);
    });
    await report.check(`${how}: what waits is canceled after a question`, page, async () => {
      await page.click("#person-cancel");
      await shows(page, "#confirm-head + p", "Contacts in flight continue");
      assert.equal(await fact(page, "Contacts that wait", "main .question"), "2");
      await look("a question about a person");
      await page.click("#confirm");
      assert.match(await flash(page), /2 of 2 waiting contacts are canceled/);
      assert.equal(await page.locator("#person-cancel").count(), 0);
    });
    if (!javaScriptEnabled) {
      await report.check(`${how}: a person is removed from surveys after a question`, page, async () => {
        await weir.api("POST", "/v1/surveys/empty/respondents", { respondents: [{ phone: number }] });
        await page.fill("#search-to", number);
        await page.click("#search");
        await page.click("#person-remove");
        await shows(page, "#confirm-head + p", "The number and the attributes are deleted");
        await page.click("#confirm");
        assert.match(await flash(page), /The person is removed from \d+ survey/);
        assert.equal(await page.locator("#person-remove").count(), 0);
      });
      await report.check(`${how}: a person is erased after a question, with a receipt`, page, async () => {
        await page.click("#person-erase");
        await shows(page, "#confirm-head + p", "This cannot be undone");
        await page.click("#confirm-back");
        await page.click("#person-erase");
        await page.click("#confirm");
        assert.match(await flash(page), /The person is erased/);
        await shows(page, "#receipt", "keyed hash");
        assert.ok(!(await page.locator("main").innerText()).includes(`never call me again ${how}`)); // the form has the words as an example
      });
    }
    await page.context().close();
  }
}
