// Log-in and sessions.
import assert from "node:assert/strict";
import { login } from "../browser.mjs";
import { heading, shows } from "../steps.mjs";

const pathOf = (page) => new URL(page.url()).pathname;

export async function session({ report, browser, weir }) {
  const page = await browser.window();
  await report.check("session: without a token every page leads to the login", page, async () => {
    for (const path of ["/", "/channels/texts", "/contacts", "/surveys", "/router", "/audit"]) {
      await page.goto(weir.url + path);
      assert.equal(pathOf(page), "/login", path);
      assert.equal(await page.locator("header nav a").count(), 0, "no pages are linked");
    }
  });
  await report.check("session: an invalid token is rejected and not repeated on the page", page, async () => {
    await page.goto(`${weir.url}/login`);
    await page.fill("#token", "weir_wrong_canarywrongtoken");
    await page.click("main button.primary");
    await shows(page, "#wrong", "Invalid token");
    assert.equal(await page.locator("#token").inputValue(), "");
    assert.equal(await page.locator("#token").getAttribute("aria-invalid"), "true");
    assert.ok(!(await page.content()).includes("canarywrongtoken"));
  });
  await report.check("session: a valid token leads to the requested page", page, async () => {
    await login(page, weir.url, weir.token, "/surveys");
    assert.equal(pathOf(page), "/surveys");
    const cookie = (await page.context().cookies()).find((c) => c.name === "weir_session");
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", "no script and no other site gets the cookie");
    assert.equal(await page.evaluate(() => document.cookie), "");
  });
  await report.check("session: the theme is dark, light or that of the system", page, async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.click(".theme button[value=dark]");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    assert.equal(pathOf(page), "/surveys", "it stays on the page");
    assert.notEqual(await paper(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.click(".theme button[value=light]");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    assert.equal(await paper(), light, "the choice is above the system");
    await page.click(".theme button[value=system]");
    await page.waitForFunction(() => !document.documentElement.dataset.theme);
    assert.notEqual(await paper(), light, "as the system is");
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await paper(), light);
  });
  await report.check("session: log-out ends the session", page, async () => {
    await page.click("text=Log out");
    await heading(page, "Log in");
    assert.equal((await page.context().cookies()).filter((c) => c.name === "weir_session").length, 0);
    await page.goto(weir.url);
    assert.equal(pathOf(page), "/login");
    await page.goBack();
    await page.reload();
    assert.equal(pathOf(page), "/login", "going back shows nothing");
  });
  await report.check("session: a question asked without a session leads to the log-in, and back", page, async () => {
    await login(page, weir.url, weir.token, "/channels/spare");
    await shows(page, "#connection", "live");
    await page.context().clearCookies();
    await page.click("#capacity");
    await page.waitForURL((at) => at.pathname === "/login" && at.searchParams.get("next") === "/channels/spare", { timeout: 15_000 });
  });
  await report.check("session: a token that is revoked ends an open page within seconds", page, async () => {
    const guest = await weir.newToken("guest", ["contacts:read"]);
    await login(page, weir.url, guest.token);
    await shows(page, "#connection", "live");
    await weir.cli(["token", "revoke", guest.id, "--yes"]);
    await page.waitForURL((at) => at.pathname === "/login", { timeout: 15_000 });
  });
  await page.context().close();
  await report.check("session: times are in the browser's zone or UTC, with the zone's name", null, async () => {
    const far = await browser.window({ timezoneId: "Asia/Kathmandu" });
    await login(far, weir.url, weir.token, "/audit");
    const first = () => far.locator("main time").first();
    assert.match(await first().textContent(), /GMT\+5:45$/);
    const [date, clock] = (await first().textContent()).split(" ");
    assert.equal(new Date(`${date}T${clock}+05:45`).toISOString().slice(0, 19), (await first().getAttribute("datetime")).slice(0, 19));
    await far.goto(`${weir.url}/channels/texts`);
    const tick = far.locator("text[data-at]").first();
    assert.equal(await tick.textContent(), new Date(new Date(await tick.getAttribute("data-at")).getTime() + 345 * 60_000).toISOString().slice(11, 16));
    await far.goto(`${weir.url}/audit`);
    assert.equal(await far.textContent("#zone"), "Times in UTC");
    await far.click("#zone");
    await far.waitForFunction(() => document.getElementById("zone")?.textContent === "Times in " + Intl.DateTimeFormat().resolvedOptions().timeZone);
    assert.match(await first().textContent(), / UTC$/);
    await far.context().close();
  });
}
