// The checks themselves: each finds a fault that is there.
import assert from "node:assert/strict";
import { fits, sound } from "../axe.mjs";
import { login, narrow } from "../browser.mjs";
import { soon } from "../lab.mjs";

export async function alarm({ report, browser, weir }) {
  const page = await browser.window();
  await login(page, weir.url, weir.token);
  await report.check("alarm: a style that the policy forbids is reported", page, async () => {
    const before = browser.complaints.length;
    await page.evaluate(() => {
      const style = document.createElement("style");
      style.textContent = "body { color: red }";
      document.head.append(style);
    });
    await soon(() => browser.complaints.length > before, "the complaint");
    assert.match(browser.complaints.splice(before).join(), /Content Security Policy/);
  });
  await report.check("alarm: pale text and a picture without a name are found", page, async () => {
    await page.evaluate(() => {
      document.querySelector("h1").style.color = "#ccc";
      document.querySelector("main").append(document.createElement("img"));
    });
    await assert.rejects(sound(page, "here"), (error) => /color-contrast/.test(error.message) && /image-alt/.test(error.message));
  });
  await report.check("alarm: a page that is too wide is found", page, async () => {
    await page.setViewportSize(narrow);
    await fits(page, "here");
    await page.evaluate(() => { document.querySelector("main").style.minWidth = "600px"; });
    await assert.rejects(fits(page, "here"), /600|MAIN/);
  });
  await page.context().close();
}
