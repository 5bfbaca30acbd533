// The main flows by keyboard.
import assert from "node:assert/strict";
import { soon } from "../lab.mjs";
import { flash, heading, shows, squeeze } from "../steps.mjs";

// at returns the focused element.
const at = (page) => page.evaluate(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return { tag: "BODY" };
  const style = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  return {
    tag: e.tagName, id: e.id, text: (e.innerText || e.value || "").trim().slice(0, 40), href: e.getAttribute("href"), dialog: Boolean(e.closest("dialog")),
    outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth), inView: box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight,
    order: [...document.querySelectorAll("*")].indexOf(e),
  };
});

// tabTo presses Tab until an element has the focus.
async function tabTo(page, what, most = 120) {
  const good = (f) => (what.startsWith("#") ? f.id === what.slice(1) : f.text === what);
  for (let i = 0; i < most; i++) {
    await page.keyboard.press("Tab");
    const focus = await at(page);
    if (good(focus)) return focus;
  }
  throw new Error(`${what} was not reached with ${most} tabs`);
}

async function dialog(page) {
  await page.locator("#dialog[open] form").waitFor();
  return soon(async () => (await at(page)).dialog, "the focus in the dialog");
}

export async function keyboard({ report, browser, weir, operator }) {
  const page = await browser.window();
  const press = (key) => page.keyboard.press(key);
  await report.check("keyboard: log in", page, async () => {
    await page.goto(`${weir.url}/login`);
    assert.equal((await at(page)).id, "token", "one can write at once");
    await page.keyboard.type(operator.token);
    await press("Enter");
    await heading(page, "Overview");
  });
  await report.check("keyboard: the first stop leads past the navigation", page, async () => {
    await press("Tab");
    const skip = await at(page);
    assert.equal(skip.href, "#main");
    assert.ok(skip.inView, "it is seen when it has the focus");
    await press("Enter");
    await soon(async () => (await at(page)).id === "main", "the focus on the content");
    await press("Tab");
    const first = await at(page);
    assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)), `${first.tag} ${first.text}`);
  });
  for (const path of ["/", "/channels/texts", "/dead-letters", "/people", "/purposes", "/purposes/_new", "/limits", "/limits/_new", "/spending", "/prices/held/edit", "/surveys/vaccines", "/router/jobs", "/contacts"]) {
    await report.check(`keyboard: tab stops on ${path} are visible, ordered and finite`, page, async () => {
      await page.goto(weir.url + path);
      let last = -1;
      let stops = 0;
      for (; stops < 300; stops++) {
        await press("Tab");
        const focus = await at(page);
        if (focus.tag === "BODY" || focus.order < last && stops > 3) break; // round the window
        assert.ok(focus.outline >= 2, `${focus.tag} ${focus.id} ${focus.text} has no outline`);
        assert.ok(focus.inView, `${focus.tag} ${focus.id} ${focus.text} is out of sight`);
        last = focus.order;
      }
      assert.ok(stops > 8 && stops < 300, `${stops} stops`);
    });
  }
  await report.check("keyboard: a dialog has the focus, keeps it, and gives it back on Escape", page, async () => {
    await page.goto(weir.url);
    await tabTo(page, "#pause-spare");
    await press("Enter");
    await dialog(page);
    for (let i = 0; i < 8; i++) {
      await press(i < 5 ? "Tab" : "Shift+Tab");
      const focus = await at(page);
      assert.ok(focus.dialog || focus.tag === "BODY", `Tab left the dialog for ${focus.tag} ${focus.id} ${focus.text}`);
    }
    await press("Escape");
    await page.locator("#dialog[open]").waitFor({ state: "detached" });
    assert.equal((await at(page)).id, "pause-spare");
    assert.equal((await weir.get("/v1/channels/spare")).paused, false);
  });
  await report.check("keyboard: pause a channel and resume it", page, async () => {
    await press("Enter");
    await dialog(page);
    await press("Enter"); // the button has the focus
    assert.match(await flash(page), /spare is paused/);
    assert.equal((await weir.get("/v1/channels/spare")).paused, true);
    await tabTo(page, "#resume");
    await press("Enter");
    await dialog(page);
    await press("Enter");
    assert.match(await flash(page), /spare is resumed/);
  });
  await report.check("keyboard: change a capacity", page, async () => {
    await tabTo(page, "#capacity");
    await press("Enter");
    await dialog(page);
    assert.equal((await at(page)).id, "field-capacity");
    await press("Control+A");
    await page.keyboard.type("7");
    await press("Enter");
    await flash(page);
    assert.equal((await weir.get("/v1/channels/spare")).capacity, 7);
  });
  await report.check("keyboard: requeue dead letters", page, async () => {
    await tabTo(page, "Dead letters");
    await press("Enter");
    await heading(page, "Dead letters");
    const row = page.locator("#groups tbody tr", { hasText: "404" }).first();
    const id = await row.locator("a.button").first().getAttribute("id");
    await tabTo(page, `#${id}`);
    await press("Enter");
    await dialog(page);
    await press("Enter");
    assert.match(await flash(page), /dead letters? (is|are) requeued/);
  });
  await report.check("keyboard: launch a survey", page, async () => {
    await tabTo(page, "Surveys");
    await press("Enter");
    await heading(page, "Surveys");
    await tabTo(page, "#survey-harvest");
    await press("Enter");
    await heading(page, "harvest");
    await tabTo(page, "#launch");
    await press("Enter");
    await dialog(page);
    await press("Enter");
    assert.match(await flash(page), /harvest is launched/);
    await shows(page, "#state .badge", "running");
  });
  await report.check("keyboard: search, and log out", page, async () => {
    await tabTo(page, "Contacts");
    await press("Enter");
    await heading(page, "Contacts");
    await tabTo(page, "#q");
    await page.keyboard.type("held-5");
    await press("Enter");
    await page.waitForURL(/q=held-5/);
    assert.match(squeeze(await page.locator("main tbody").innerText()), /held|queued/);
    await tabTo(page, "Log out");
    await press("Enter");
    await heading(page, "Log in");
  });
  await page.context().close();
}
