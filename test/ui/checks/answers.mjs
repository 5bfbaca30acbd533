// Results of a survey of questions: the page before the first answer, and who may read texts. What stands
// on it with answers is tested in Go, where conversations take no time.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { soon } from "../lab.mjs";
import { heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

// converse lets somebody of the survey say yes until two questions are answered.
async function converse(weir, at) {
  await weir.api("PATCH", "/v1/surveys/asking", { schedule: { weekdays: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] } });
  await weir.api("POST", "/v1/surveys/asking/respondents", { respondents: [{ phone: "+15550771999" }] });
  await weir.api("POST", "/v1/surveys/asking:launch");
  await soon(async () => {
    const said = await fetch(`${at.texts}/_simulator/incoming`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ from: "15550771999", to: "100", body: "yes", channel: "texts", application: "texts" }),
    });
    assert.ok(said.ok);
    const { questions } = await weir.get("/v1/surveys/asking/answers");
    return questions.find((q) => q.question === "cough").by_status.answered === 1;
  }, "answers to two questions", 60_000);
}

export async function answers({ report, browser, weir, at, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "results" : "results, without scripts";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token, "/surveys/water/answers");
    await report.check(`${how}: a survey without questions leads to them`, page, async () => {
      await heading(page, "Results of water");
      await shows(page, "#answers .empty", /Weir asks no questions in this survey/);
      await look("results without questions");
    });
    await report.check(`${how}: answers show up as they arrive`, page, async () => {
      await page.goto(`${weir.url}/surveys/asking`);
      await page.click("#to-answers");
      await heading(page, "Results of asking");
      if (javaScriptEnabled) { // by the first turn, without a reload
        await shows(page, "#answers .empty", /No answers yet/);
        await look("results without answers");
        await converse(weir, at);
      }
      await shows(page, "#question-2 tbody tr:first-child", /Yes\s+1\s+100 %/); // the first reload may find nobody's answer
      await look("results with answers");
    });
    await report.check(`${how}: texts have a search`, page, async () => {
      await page.goto(`${weir.url}/surveys/asking/answers/else`);
      await page.fill("#search", "fever");
      await page.click("#find");
      assert.equal(new URL(page.url()).searchParams.get("search"), "fever");
      await shows(page, "main", /No such texts/);
      await look("a search in texts");
    });
    await page.context().close();
  }
}
