// Questions without a terminal: a survey that asks is created, its questions are written, tried on the
// telephone of the page, and saved.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows, unfold } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function questions({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "questions" : "questions, without scripts";
    const name = javaScriptEnabled ? "asking" : "asked";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    const bubbles = async () => page.locator(".bubble").allInnerTexts();
    await login(page, weir.url, operator.token, "/surveys/_new");
    await report.check(`${how}: a survey that asks leads to their page`, page, async () => {
      await page.fill("#name", name);
      await page.fill("#time_zone", "UTC");
      await page.check("#as-times");
      await page.fill("#window_1_from", "00:00");
      await page.fill("#window_1_to", "00:00");
      await unfold(page, "#mode-sms");
      await page.selectOption("#sms_channel", "texts");
      await page.check("#asks");
      await page.click("#save");
      assert.match(await flash(page), /Write its questions/);
      await heading(page, `Questions of ${name}`);
    });
    await report.check(`${how}: mistakes are beside what they are about`, page, async () => {
      await page.click("#add");
      await page.fill('[name="q1.name"]', "cough");
      await page.click("#check");
      await shows(page, "#wrong", /marked below/);
      await shows(page, '[id="q1.text.en-wrong"]', /./);
      await look("questions with mistakes");
    });
    await report.check(`${how}: answers lead where they say`, page, async () => {
      await page.fill('[name="q1.text.en"]', "Do you cough?");
      await page.fill('[name="q1.c0.text.en"]', "Yes");
      await page.fill('[name="q1.c1.text.en"]', "No");
      if (javaScriptEnabled) await shows(page, '[id="q1.sizes"]', /24 characters, 1 SMS/); // as one types
      await page.click("#add");
      await page.selectOption('[name="q2.kind"]', "number");
      await page.fill('[name="q2.name"]', "days");
      await page.fill('[name="q2.text.en"]', "For how many days?");
      await page.click("#add");
      await page.fill('[name="q3.name"]', "else");
      await page.selectOption('[name="q3.kind"]', "text");
      await page.fill('[name="q3.text.en"]', "What else?");
      await page.click("#check"); // which names what follows
      await page.selectOption('[name="q1.c1.then"]', "else");
      await page.click("#check");
      await shows(page, "#q1 .arrows", /no: 4 else/);
      assert.equal(await page.inputValue('[name="q2.relevant"]'), "${cough} != 'no'");
    });
    await report.check(`${how}: tried on the telephone, by Enter and by the button`, page, async () => {
      await page.fill("#say", "yes");
      await page.click("#send");
      assert.match((await bubbles()).at(-1), /Do you cough/);
      await page.fill("#say", "no");
      await page.press("#say", "Enter");
      await shows(page, "#q3 .badge", "asked now");
      assert.match((await bubbles()).at(-1), /What else/);
      await look("questions being tried");
    });
    await report.check(`${how}: saved, and nothing before`, page, async () => {
      assert.equal((await weir.get(`/v1/surveys/${name}`)).questions.questions.length, 1);
      await page.click("#save");
      assert.match(await flash(page), /are saved/);
      assert.equal((await weir.get(`/v1/surveys/${name}`)).questions.questions.length, 4);
    });
    await page.context().close();
  }
}
