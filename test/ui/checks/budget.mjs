// The budget of a survey: it is set in the form, checked by the launch, shown on the survey's page, and ends the survey.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { phone } from "../state.mjs";
import { flash, shows, tile, unfold } from "../steps.mjs";
import { look4 } from "./look.mjs";

export async function budget({ report, browser, weir, at, secrets, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "budget" : "budget, without scripts";
    const name = javaScriptEnabled ? "purse" : "wallet";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token);
    await weir.api("PUT", `/v1/channels/${name}`, {
      type: "nuntium", capacity: 5, settings: { base_url: at.texts, account: "demo", application: "spare", password: secrets.nuntium, channel: "spare" },
    });
    await weir.api("PUT", `/v1/prices/${name}`, { currency: "USD", per_attempt: "0.4" });
    await weir.api("PUT", `/v1/surveys/${name}`, {
      schedule: { time_zone: "UTC", weekdays: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], windows: [{ from: "00:00", to: "24:00" }] },
      modes: { sms: { channel: name } }, arms: [{ modes: ["sms"] }], fallback_delay: "5s", questionnaires: { q: { sms: [{ messages: ["Hello {{respondent}}"] }] } },
    });
    await weir.api("POST", `/v1/surveys/${name}/respondents`, { respondents: Array.from({ length: 5 }, (_, i) => ({ phone: phone(7000 + i * 100 + (javaScriptEnabled ? 1 : 2)) })) });
    await report.check(`${how}: it is set in the form, with mistakes beside their fields`, page, async () => {
      await page.goto(`${weir.url}/surveys/${name}/edit`);
      await unfold(page, "#part-target");
    await page.fill("#budget_money", "1,0");
      await page.click("#save");
      await shows(page, "#budget_money-wrong", "amount");
      await shows(page, "#budget_currency-wrong", "three capital letters");
      await look("a survey's form with mistakes in its budget");
      await page.fill("#budget_money", "1");
      await page.fill("#budget_currency", "USD");
      await page.click("#save");
      assert.match(await flash(page), /is changed/);
    });
    await report.check(`${how}: the launch says what it pays for`, page, async () => {
      await page.goto(`${weir.url}/surveys/${name}/launch`);
      await shows(page, "main", "1.00 of 1.00 USD are left, which pays for about 2 attempts at 0.40 USD");
      await look("the launch of a survey with a budget");
      await weir.api("POST", `/v1/surveys/${name}:launch`);
    });
    await report.check(`${how}: its page shows what is spent, and that it has ended the survey`, page, async () => {
      await soon(async () => (await weir.get(`/v1/surveys/${name}`)).cause === "budget_spent", "a survey whose budget is spent", 60_000);
      await page.goto(`${weir.url}/surveys/${name}`);
      assert.equal(await tile(page, "Spent / budget"), "0.80 / 1.00 USD");
      await shows(page, "#state", "finished: its budget is spent");
      await look("a survey whose budget is spent");
    });
    await soon(async () => (await weir.get(`/v1/surveys/${name}`)).state === "done", "the end of a survey", 60_000);
    await weir.api("DELETE", `/v1/surveys/${name}`);
    await weir.api("DELETE", `/v1/prices/${name}`);
    await weir.api("DELETE", `/v1/channels/${name}?cancel=true`);
    await page.context().close();
  }
}
