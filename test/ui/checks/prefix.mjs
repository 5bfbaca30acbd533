// A second, empty Weir behind a path prefix: empty states, and links below the
// prefix.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { mark } from "../state.mjs";
import { look4 } from "./look.mjs";
import { act, heading, shows } from "../steps.mjs";

const empty = {
  "/": "No channels yet", "/contacts": "No contacts yet", "/dead-letters": "No dead letters", "/people": "Everything about a person", "/purposes": "no rules", "/limits": "No shared limits yet", "/spending": "Nothing was spent", "/surveys": "No surveys yet",
  "/router": "The router is empty", "/router/workers": "No workers yet", "/router/queues": "No queues yet", "/router/jobs": "No jobs yet", "/router/policies": "No policies of this kind.", "/router/board": "No workers yet", "/router/desk": "No workers yet", "/audit": "No changes yet",
};

export async function prefix({ report, browser, lab }) {
  const token = mark();
  const weir = await lab.weir("behind", { token, env: { WEIR_PATH_PREFIX: "/behind/weir" } });
  browser.allow(weir.url);
  const page = await browser.window();
  const strayed = [];
  page.on("request", (r) => { if (!r.url().startsWith(weir.url)) strayed.push(r.url()); });
  await report.check("prefix: the login page explains how to get a token, and accepts it", page, async () => {
    await page.goto(`${weir.url}/login`);
    await shows(page, "main", "weir token create");
    await look4(page, "login");
    await login(page, weir.url, token);
    const cookie = (await page.context().cookies()).find((c) => c.name === "weir_session");
    assert.equal(cookie.path, "/behind/weir");
  });
  for (const [path, text] of Object.entries(empty)) {
    await report.check(`empty: ${path} says what to do first`, page, async () => {
      await page.goto(weir.url + path);
      await shows(page, "main", text);
      await look4(page, path);
      const links = await page.locator("a[href^='/'], form[action^='/']").evaluateAll((all) => all.map((e) => e.getAttribute("href") ?? e.getAttribute("action")));
      for (const link of links) assert.ok(link.startsWith("/behind/weir/"), link);
    });
  }
  await report.check("prefix: actions, updates and the theme stay below it", page, async () => {
    await page.goto(`${weir.url}/`);
    await shows(page, "#connection", /live/);
    await page.evaluate(() => { window.stayed = true; });
    await weir.api("PUT", "/v1/channels/first", { type: "nuntium", capacity: 2, paused: true, settings: { base_url: "http://127.0.0.1:9", account: "a", application: "b", password: mark(), channel: "c" } });
    await shows(page, "#channels", /first/);
    assert.equal(await page.evaluate(() => window.stayed), true);
    await act(page, "#resume-first", /first is resumed/);
    await page.click(".theme button[value=dark]");
    await heading(page, "first");
    await page.click("text=Log out");
    await heading(page, "Log in");
    assert.deepEqual(strayed, []);
  });
  await page.context().close();
  return weir;
}
