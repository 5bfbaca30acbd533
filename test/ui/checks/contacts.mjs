// Contacts: one is sent, and a file of them; they are canceled in bulk, exported and found.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { login } from "../browser.mjs";
import { flash, heading, shows } from "../steps.mjs";
import { look4 } from "./look.mjs";

const number = (n) => `+1555013${String(n).padStart(4, "0")}`;

export async function contacts({ report, browser, weir, operator }) {
  for (const javaScriptEnabled of [true, false]) {
    const page = await browser.window({ javaScriptEnabled, acceptDownloads: true });
    const how = javaScriptEnabled ? "contacts" : "contacts, without scripts";
    const run = javaScriptEnabled ? "a" : "b";
    const first = javaScriptEnabled ? 0 : 100;
    const look = async (what) => { if (javaScriptEnabled) await look4(page, what); };
    const text = async (link) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(link)]);
      return readFileSync(await download.path(), "utf8");
    };
    await login(page, weir.url, operator.token);

    await report.check(`${how}: mistakes are shown beside their fields, and one is sent`, page, async () => {
      await page.goto(`${weir.url}/contacts`);
      await page.click("#new");
      await heading(page, "Send a contact");
      await page.selectOption("#channel", "held");
      await page.fill("#to", "12");
      await page.click("#send");
      assert.match(await flash(page), /Nothing was sent/);
      for (const field of ["to", "messages"]) await shows(page, `#${field}-wrong`, /\w/);
      await look("a contact with mistakes");
      await page.fill("#to", number(first));
      await page.fill("#messages", "The clinic is open.");
      await page.selectOption("#priority", "high");
      await page.click("#send");
      assert.match(await flash(page), /is accepted/);
      await shows(page, "#contact", "The clinic is open.");
    });

    await report.check(`${how}: a file is previewed, sent once, and its refused rows are mended`, page, async () => {
      const rows = [1, 2, 3, 4].map((n) => `${n === 3 ? "12" : number(first + n)};Ann ${n};"Dear Ann,\nplease call."`);
      const file = { name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(`Phone;Name;SMS\n${rows.join("\n")}\n`) };
      await page.goto(`${weir.url}/contacts`);
      await page.click("#import");
      await page.selectOption("#channel", "held");
      await page.setInputFiles("#file", file);
      await page.click("#preview");
      await shows(page, "#rows-head", "4 of 4 rows");
      assert.equal(await page.inputValue("#column-0"), "to");
      assert.equal(await page.inputValue("#column-1"), "");
      await page.selectOption("#column-1", "label");
      await page.fill("#run", `walk ${run}`);
      await page.click("#again");
      await shows(page, "#rows", "Ann 2");
      await look("a preview");
      await page.click("#send");
      await heading(page, "File sent");
      await shows(page, "#accepted", /^3$/);
      await shows(page, "#refused", /^1$/);
      await look("a file that was sent");
      const refused = await text("#refused-rows");
      assert.match(refused, /^\ufeffweir_line;weir_column;weir_reason;Phone;Name;SMS\n6;Phone;[^\n]*;12;Ann 3;/);
      page.once("dialog", (dialog) => dialog.accept());
      await page.reload();
      await shows(page, "#duplicates", /^3$/);
      await shows(page, "#accepted", /^0$/);
      await page.click("#another");
      await page.selectOption("#channel", "held");
      await page.setInputFiles("#file", { ...file, name: "refused-people.csv", buffer: Buffer.from(refused.replace(";12;", `;${number(first + 3)};`)) });
      await page.click("#preview");
      await page.fill("#run", `walk ${run}`);
      await page.click("#send");
      await shows(page, "#accepted", /^1$/);
    });

    await report.check(`${how}: contacts are exported as a file`, page, async () => {
      await page.goto(`${weir.url}/contacts?channel=held&state=queued`);
      assert.match(await text("#export"), new RegExp(`^\ufeffid,channel,key,to,[^]*\\${number(first + 1)}`));
    });

    await report.check(`${how}: selected contacts are canceled, and all that match are counted first`, page, async () => {
      await page.goto(`${weir.url}/contacts?channel=held&state=queued`);
      await look("a list with selection");
      await page.click("#cancel-selected");
      await shows(page, "main", "no contact is selected");
      await page.goBack();
      const boxes = page.locator("input[name=contact]");
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      await page.click("#cancel-selected");
      await heading(page, "Cancel 2 contacts");
      await page.locator(".question button").first().click();
      assert.match(await flash(page), /2 contacts are canceled/);
      await shows(page, "main", "Contacts");
      assert.equal(await page.inputValue("#channel"), "held");
      const open = await page.locator("input[name=contact]").count();
      assert.ok(open > 0);
      await page.click("#cancel-matching");
      await shows(page, ".question", /Cancel [\d,]+ contacts/);
      await page.click(".question [data-close]");
      await shows(page, "main", "Contacts");
    });

    await report.check(`${how}: the search box leads to a contact by its number, and to a channel`, page, async () => {
      await page.goto(weir.url);
      if (javaScriptEnabled) {
        await page.keyboard.press("/");
        assert.equal(await page.evaluate(() => document.activeElement.id), "search-all");
        await page.keyboard.type("texts");
      } else {
        await page.fill("#search-all", "texts");
      }
      await page.keyboard.press("Enter");
      await page.waitForURL(/search|channels/);
      await page.goto(weir.url);
      await page.fill("#search-all", number(first + 4));
      await page.press("#search-all", "Enter");
      await page.waitForURL(/\/(contacts\/|search)/);
      assert.ok(!page.url().includes("555"));
      await shows(page, "main", number(first + 4));
      await page.goto(weir.url);
      await page.fill("#search-all", "e");
      await page.press("#search-all", "Enter");
      await shows(page, "#hits", "Channels");
      await look("hits");
    });
    await page.context().close();
  }

  await report.check("contacts: a read-only token sees no button", null, async () => {
    const reader = await weir.newToken("reader of contacts", ["contacts:read"]);
    const page = await browser.window();
    await login(page, weir.url, reader.token);
    await page.goto(`${weir.url}/contacts?channel=held`);
    for (const id of ["#new", "#import", "#cancel-matching", "#cancel-selected", "input[name=contact]"]) assert.equal(await page.locator(id).count(), 0, id);
    assert.equal(await page.locator("#export").count(), 1);
    for (const at of ["/contacts/_new", "/contacts/_import", "/contacts/_cancel?channel=held"]) assert.equal((await page.goto(weir.url + at)).status(), 403, at);
    await page.context().close();
  });
}
