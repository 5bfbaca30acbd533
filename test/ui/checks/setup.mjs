// From an empty installation to the first contact, all in the browser: a channel is created,
// tested, edited and tried.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { mark } from "../state.mjs";
import { flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

const number = "+15550104242";

export async function setup({ report, browser, lab, at, secrets }) {
  const weir = await lab.weir("fresh", { token: mark() });
  browser.allow(weir.url);
  const operator = await weir.newToken("operator", ["contacts:read", "contacts:write", "channels:admin", "pii:read"]);
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled });
    const how = javaScriptEnabled ? "set-up" : "set-up, without scripts";
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    const name = javaScriptEnabled ? "first" : "second"; // the other Weir has the others: an application calls back one
    await login(page, weir.url, operator.token);
    await report.check(`${how}: the overview leads to the choice of a type`, page, async () => {
      await page.goto(weir.url);
      if (javaScriptEnabled) await shows(page, "#channels", "No channels yet");
      await page.click(javaScriptEnabled ? ".empty a" : "#new-channel");
      await heading(page, "New channel");
      assert.ok(await page.locator(".choices li").count() >= 11);
      await look("choice of a type");
      await page.click(".choices >> text=nuntium");
      await shows(page, "aside", "create an application");
      await look("new channel");
    });
    await report.check(`${how}: all mistakes are shown beside their fields, and what was typed stays`, page, async () => {
      await page.fill("#title", "Kept");
      await page.fill("#set-password", secrets.nuntium);
      await page.click("#save");
      await shows(page, "main", /Nothing was saved/);
      for (const field of ["name", "set-base_url", "set-account", "set-channel"]) await shows(page, `#${field}-wrong`, /./);
      assert.equal(await page.inputValue("#title"), "Kept");
      // The server does not send it back; a script keeps it where it was typed.
      assert.equal(await page.inputValue("#set-password"), javaScriptEnabled ? secrets.nuntium : "");
      assert.equal(await page.locator(".again").count(), javaScriptEnabled ? 0 : 1);
      await look("new channel with mistakes");
    });
    const secret = (text) => page.fill("#set-password", text);
    await report.check(`${how}: the connection is tested, and nothing is stored`, page, async () => {
      await page.fill("#set-base_url", at.texts);
      for (const [field, text] of Object.entries({ account: "demo", application: name, channel: name })) await page.fill(`#set-${field}`, text);
      await secret("wrong");
      await page.click("#test");
      await shows(page, "#asked", /would not work: credentials refused/);
      await secret(secrets.nuntium);
      await page.click("#test");
      await shows(page, "#asked", /would take contacts.*Nothing was saved/);
      await look("tested channel");
      assert.ok(!(await weir.get("/v1/channels")).channels.some((c) => c.channel === name));
    });
    await report.check(`${how}: the channel is created`, page, async () => {
      await page.fill("#name", name);
      await page.fill("#capacity", "5");
      if (!javaScriptEnabled) await secret(secrets.nuntium);
      await page.click("#save");
      assert.match(await flash(page), new RegExp(`Channel ${name} is created`));
      await heading(page, name);
      const made = await weir.get(`/v1/channels/${name}`);
      assert.deepEqual([made.name, made.capacity, made.secrets], ["Kept", 5, ["password"]]);
      await page.click("#setup");
      assert.match(await page.inputValue("#callback"), new RegExp(`/callbacks/${name}/`));
      await look("set-up of a channel");
      await page.click("#back");
    });
    await report.check(`${how}: a change of somebody else is reported`, page, async () => {
      await page.click("#edit");
      await shows(page, "label[for=set-password]", "set");
      await look("edit a channel");
      await page.fill("#title", "Mine");
      await weir.api("PATCH", `/v1/channels/${name}`, { capacity: 9 });
      await page.click("#save");
      await shows(page, "#changed", /Capacity 9/);
      assert.equal(await page.inputValue("#title"), "Mine");
      await look("channel that was changed meanwhile");
      await page.click("#save");
      assert.match(await flash(page), /is changed/);
      const now = await weir.get(`/v1/channels/${name}`);
      assert.deepEqual([now.name, now.capacity, now.secrets], ["Mine", 9, ["password"]]);
    });
    await report.check(`${how}: a test contact leads to its page`, page, async () => {
      await page.click("#try");
      await heading(page, "Send a contact");
      assert.deepEqual([await page.inputValue("#channel"), await page.inputValue("#priority"), await page.inputValue("#messages")], [name, "high", "This is a test."]);
      await page.fill("#to", "nobody");
      await page.click("#send");
      await shows(page, "#to-wrong", /number/);
      await look("test contact with a mistake");
      await page.fill("#to", number);
      await page.click("#send");
      await page.waitForURL(/\/contacts\/\d/);
      assert.match(await flash(page), /is accepted/);
      assert.ok(!page.url().includes(number.slice(1)), page.url());
      const id = page.url().split("/").pop();
      assert.equal((await weir.get(`/v1/contacts/${id}`)).to, number);
      if (javaScriptEnabled) await shows(page, "#contact", /accepted by the provider/);
    });
    await page.context().close();
  }
  const reader = await weir.newToken("reader", ["contacts:read"]);
  const page = await browser.window();
  await login(page, weir.url, reader.token);
  await report.check("set-up: a read-only token sees no button", page, async () => {
    for (const path of ["/", "/channels/first"]) {
      await page.goto(weir.url + path);
      for (const link of ["#new-channel", "#edit", "#setup", "#try"]) assert.equal(await page.locator(link).count(), 0, path + link);
    }
    for (const path of ["/channels/_new", "/channels/first/edit", "/channels/first/setup", "/channels/first/contact"]) assert.equal((await page.goto(weir.url + path)).status(), 403, path);
  });
  await page.context().close();
  return weir;
}
