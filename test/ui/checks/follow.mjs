// Following what runs: a survey by day, by mode and by hour, a channel over weeks, all surveys on a
// calendar; and the week that a survey's form paints.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { flash, heading, shows, unfold } from "../steps.mjs";
import { look4 } from "./look.mjs";
import { phone } from "../state.mjs";

// crowds creates drafts that together want more of a channel than it can do in the rest of a day, at whatever hour they
// would be launched: each takes its nine slots for seven hours, two of them at once, two over two days.
async function crowds(weir) {
  const day = [{ from: "00:00", to: "24:00" }], hours = [{ from: "09:00", to: "12:00" }, { from: "14:00", to: "18:00" }];
  for (const [name, windows] of [["ebb", hours], ["flow", day], ["neap", day], ["tide", hours]]) {
    const schedule = { time_zone: "Africa/Nairobi", weekdays: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], windows };
    await weir.api("PUT", `/v1/surveys/${name}`, { schedule, modes: { sms: { channel: "spare" } }, arms: [{ modes: ["sms"] }], questionnaires: { main: { sms: [{ messages: ["Hello"] }] } } });
    for (const from of [7000, 8000]) await weir.api("POST", `/v1/surveys/${name}/respondents`, { respondents: Array.from({ length: 1000 }, (_, i) => ({ phone: phone(from + i) })) });
  }
}

export async function follow({ report, browser, weir, operator }) {
  await crowds(weir);
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "follow" : "follow, without scripts";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    await login(page, weir.url, operator.token);
    await report.check(`${how}: a survey has its days, modes and hours, with a table behind each picture`, page, async () => {
      await page.goto(`${weir.url}/surveys/vaccines`);
      await shows(page, "#course", /Respondents by day/);
      await shows(page, "#course", /expected to start/);
      await shows(page, "#by-mode tbody", /ivr/);
      for (const title of ["Respondents by day", "Answers by weekday and hour"]) {
        const figure = page.locator("#course figure", { hasText: title });
        assert.ok(await figure.locator("svg[role=img] title").count(), title);
        await figure.locator("summary").click();
        assert.ok(await figure.locator("table tbody tr").first().isVisible(), title);
      }
      await look("how a survey goes");
    });
    await report.check(`${how}: a channel has its hours and the end of its queue`, page, async () => {
      await page.goto(`${weir.url}/channels/held`);
      await shows(page, "#figures", /Queue empty\s*not yet known/);
      await shows(page, "#hours", /Utilization of the last 14 days/);
      await page.locator("#hours summary").first().click();
      assert.equal(await page.locator("#hours table").first().locator("tbody tr").count(), 7);
      await look("hours of a channel");
    });
    await report.check(`${how}: all surveys are on the calendar`, page, async () => {
      await page.goto(`${weir.url}/surveys`);
      await page.click("#to-calendar");
      await heading(page, "Calendar of surveys");
      await shows(page, "#plan", /vaccines/);
      await shows(page, "#plan", /More than spare can do within the windows: \w{3} \d/);
      await shows(page, "#plan", /nothing is expected.*empty/);
      await page.locator("#plan summary").click();
      assert.ok(await page.locator("#plan section table tbody tr").count() >= 3); // a day of each channel at least: how many more depends on the hour
      await look("calendar of surveys");
      await page.locator("#plan a", { hasText: /^vaccines$/ }).first().click();
      await heading(page, "vaccines");
    });
    await report.check(`${how}: a week is painted`, page, () => painted(page, weir, javaScriptEnabled, look));
    await page.context().close();
  }
}

// painted paints three days from 9 to 11, one of them shorter at first.
async function painted(page, weir, scripts, look) {
  const name = scripts ? "brush" : "boxes";
  await page.goto(`${weir.url}/surveys/_new`);
  await page.fill("#name", name);
  await page.fill("#time_zone", "UTC");
  for (const box = page.locator(".paint input:checked").first(); await box.count();) await box.uncheck();
  if (scripts) {
    const middle = async (id) => { const box = await page.locator(id).boundingBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };
    await page.locator("#week-mon-09").scrollIntoViewIfNeeded();
    await page.mouse.move(...await middle("#week-mon-09"));
    await page.mouse.down();
    for (const id of ["#week-tue-12", "#week-tue-10"]) await page.mouse.move(...await middle(id), { steps: 4 });
    await page.mouse.up();
    await page.check("#week-wed-09"); // a click, as always
    await page.focus("#week-wed-09");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Shift+ArrowRight");
    await page.uncheck("#week-wed-10");
    await shows(page, "#week-uneven", "different hours");
  } else for (const id of ["mon-09", "mon-10", "tue-09", "tue-10", "wed-09"]) await page.check(`#week-${id}`);
  await unfold(page, "#mode-sms");
  await page.selectOption("#sms_channel", "texts");
  await page.fill("#sms_text_1", "Hello");
  await page.click("#save");
  assert.match(await flash(page), /Nothing was saved/);
  await shows(page, "#week-wrong", "Monday, Tuesday have 09:00 to 11:00; Wednesday has 09:00 to 10:00");
  assert.ok(await page.isChecked("#week-tue-10"));
  assert.equal(await page.isChecked("#week-wed-10"), false);
  assert.equal(await page.isVisible("#window_1_from"), false);
  await look("a painted week with a mistake");
  if (scripts) {
    const hours = day => page.$$eval(`[id^=week-${day}-]:checked`, boxes => boxes.map(b => b.id.slice(-2)).join());
    await page.getByRole("button", { name: "10", exact: true }).click(); // all days that have hours get it
    assert.deepEqual([await hours("mon"), await hours("wed"), await hours("thu")], ["09,10", "09,10", ""]);
    await page.getByRole("button", { name: "Thursday", exact: true }).press("Enter");
    assert.equal(await hours("thu"), "09,10");
    await page.getByRole("button", { name: "Thursday", exact: true }).click();
    assert.equal(await hours("thu"), "");
    assert.equal(await page.isVisible("#week-uneven"), false);
    await page.check("#as-times"); // the hours come along, there and back
    assert.deepEqual([await page.inputValue("#window_1_from"), await page.inputValue("#window_1_to"), await page.isChecked("#day-wed"), await page.isChecked("#day-thu")], ["09:00", "11:00", true, false]);
    await page.fill("#window_1_to", "12:30");
    await page.check("#as-week");
    assert.equal(await hours("wed"), "09,10,11");
    await page.check("#as-times");
    assert.equal(await page.inputValue("#window_1_to"), "12:30"); // nothing was painted meanwhile
    await page.check("#as-week");
    await page.getByRole("button", { name: "11", exact: true }).click();
    assert.equal(await hours("mon"), "09,10");
  } else await page.check("#week-wed-10");
  await page.click("#save");
  assert.match(await flash(page), /is created/);
  const { schedule } = await weir.get(`/v1/surveys/${name}`);
  assert.deepEqual([schedule.weekdays, schedule.windows], [["mon", "tue", "wed"], [{ from: "09:00", to: "11:00" }]]);
}
