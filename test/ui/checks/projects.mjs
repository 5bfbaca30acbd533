// Two projects on one Weir: a limited token is made on the page Tokens, and its bearer sees and creates only what is its own.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { mark } from "../state.mjs";
import { heading, shows, squeeze } from "../steps.mjs";
import { look4 } from "./look.mjs";

const channel = () => ({ type: "nuntium", capacity: 2, paused: true, settings: { base_url: "http://127.0.0.1:9", account: "a", application: "b", password: mark(), channel: "c" } });
const survey = (name) => ({
  schedule: { time_zone: "UTC", weekdays: ["mon"], windows: [{ from: "09:00", to: "18:00" }] }, modes: { sms: { channel: name } }, arms: [{ modes: ["sms"] }],
  questionnaires: { main: { sms: [{ messages: ["Hello"] }] } },
});

export async function projects({ report, browser, lab }) {
  const token = mark();
  const weir = await lab.weir("projects", { token });
  browser.allow(weir.url);
  for (const name of ["north-texts", "south-texts", "sms"]) await weir.api("PUT", `/v1/channels/${name}`, channel());
  for (const name of ["north", "south"]) {
    await weir.api("PUT", `/v1/surveys/${name}-poll`, survey(`${name}-texts`));
    await weir.api("POST", `/v1/channels/${name}-texts/contacts`, { contacts: [{ key: `${name}-1`, to: "+15550100001", messages: ["Hello"] }] });
  }
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? "projects" : "projects, without scripts";
    const own = javaScriptEnabled ? "more" : "plain";
    const look = async (page, what) => { if (javaScriptEnabled) await look4(page, what); };
    const admin = await browser.window({ javaScriptEnabled });
    await login(admin, weir.url, token);
    let text;
    await report.check(`${how}: a limited token is made, and mistakes are beside their fields`, admin, async () => {
      await admin.goto(`${weir.url}/tokens`);
      const hidden = await admin.$$eval("fieldset.checks", (boxes) => boxes.filter((b) => b.scrollHeight > b.clientHeight + 1 || b.scrollWidth > b.clientWidth + 1).length);
      assert.equal(hidden, 0, "a scope is out of sight in its box");
      await admin.fill("#name", "The northern team");
      for (const scope of ["contacts:read", "contacts:write", "channels:admin", "surveys:admin", "pii:read"]) await admin.check(`[name=scopes][value="${scope}"]`);
      await admin.fill("#limit", "North");
      await admin.fill("#more", "surveys:admin@");
      await admin.click("#create");
      await shows(admin, "#limit-wrong", "1 to 63 characters");
      await shows(admin, "#more-wrong", "the beginning of names");
      assert.equal(await admin.inputValue("#limit"), "North");
      assert.ok(await admin.isChecked('[name=scopes][value="surveys:admin"]'));
      await look(admin, "a limited token with mistakes");
      await admin.fill("#limit", "north-");
      await admin.fill("#more", "surveys:admin@sms");
      await admin.click("#create");
      await shows(admin, "main", "It is shown once");
      await shows(admin, "main tbody", "contacts:read@north-");
      await look(admin, "limited tokens");
      text = squeeze(await admin.locator("#made").innerText());
    });
    await admin.context().close();
    const page = await browser.window({ javaScriptEnabled });
    await report.check(`${how}: the pages have what is the team's, and nothing else`, page, async () => {
      await login(page, weir.url, text);
      await shows(page, "main", "north-texts");
      await look(page, "overview of a team");
      for (const path of ["/", "/contacts", "/surveys", "/surveys/_calendar", "/spending", "/dead-letters", "/purposes", "/channels/north-texts", "/surveys/north-poll", "/contacts/_new"]) {
        assert.equal((await page.goto(weir.url + path)).status(), 200, path);
        assert.ok(!(await page.content()).includes("south"), `${path} shows what is of another team`);
      }
      await page.goto(weir.url);
      assert.deepEqual(await page.locator("header nav a").allTextContents(), ["Overview", "Contacts", "Dead letters", "People", "Purposes", "Surveys"]);
    });
    await report.check(`${how}: what is another team's, or everybody's, is forbidden`, page, async () => {
      for (const path of ["/channels/south-texts", "/channels/south-texts/edit", "/surveys/south-poll", "/surveys/south-poll/launch", "/prices/south-texts/edit", "/limits", "/audit", "/channels/sms"]) {
        assert.equal((await page.goto(weir.url + path)).status(), 403, path);
        await heading(page, "Not allowed");
      }
      await shows(page, "main", "north-");
      await page.goto(`${weir.url}/channels/south-texts`);
      await look(page, "a channel of another team");
    });
    await report.check(`${how}: a new channel and a new survey have the team's names`, page, async () => {
      await page.goto(`${weir.url}/channels/_new?type=nuntium`);
      await shows(page, "#name-help", "begins with north-");
      await page.fill("#name", "south-more");
      await page.fill("#set-base_url", "http://127.0.0.1:9");
      for (const [name, value] of Object.entries({ account: "a", application: "b", channel: "c", password: mark() })) await page.fill(`#set-${name}`, value);
      await page.click("#save");
      await shows(page, "#name-wrong", "It must begin with north-");
      assert.equal(await page.inputValue("#set-account"), "a");
      await look(page, "a channel with the name of another team");
      await page.fill("#name", `north-${own}`);
      await page.fill("#set-password", mark());
      await page.click("#save");
      await heading(page, `north-${own}`);
      await page.goto(`${weir.url}/surveys/_new`);
      await shows(page, "#name-help", "begins with");
      const choices = await page.locator("#sms_channel option").evaluateAll((all) => all.map((o) => o.value));
      assert.ok(choices.includes("sms") && choices.includes("north-texts") && !choices.includes("south-texts"), String(choices));
      await page.fill("#name", "south-more");
      await page.fill("#time_zone", "Mars");
      await page.click("#save");
      await shows(page, "#name-wrong", "It must begin with");
      await shows(page, "#time_zone-wrong", "IANA");
      await look(page, "a survey with the name of another team");
      assert.equal((await weir.get("/v1/surveys")).surveys.length, 2);
    });
    await page.context().close();
  }
  return weir;
}
