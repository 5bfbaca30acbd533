// Steps of a user on the pages, and what the pages show.
import assert from "node:assert/strict";
import { soon } from "./lab.mjs";

export const squeeze = (text) => (text ?? "").replace(/\s+/g, " ").trim();

// open clicks a link to a question and waits for the dialog.
export async function open(page, link) {
  await page.locator(link).click();
  await page.locator("#dialog[open] form").waitFor();
  return squeeze(await page.locator("#dialog").innerText());
}

// answer submits the dialog's form and returns the message of the next page.
export async function answer(page) {
  await page.locator("#dialog form button").click();
  return flash(page);
}

// unfold opens a folded part of a form.
export async function unfold(page, part) {
  if (!(await page.locator(`${part}[open]`).count())) await page.click(`${part} > summary`);
}

// flash returns the message of the last action.
export async function flash(page) {
  const at = page.locator("#flash .flash");
  await at.waitFor();
  return squeeze(await at.textContent());
}

// act opens a question and submits it.
export async function act(page, link, said) {
  await open(page, link);
  const text = await answer(page);
  assert.match(text, said);
}

// fact returns a value of a question or of a list of facts.
export async function fact(page, name, within = "#dialog") {
  const dt = page.locator(`${within} dt`, { hasText: new RegExp(`^${name}$`) }).first();
  return squeeze(await dt.locator("xpath=following-sibling::dd[1]").innerText());
}

export const tile = (page, name, within = "main") => fact(page, name, `${within} .tiles`);

// shows waits until a part of the page has a text.
export function shows(page, selector, text, within = 15_000) {
  const good = (seen) => (text instanceof RegExp ? text.test(seen) : seen.includes(text));
  let seen = "";
  return soon(async () => {
    seen = squeeze(await page.locator(selector).first().innerText({ timeout: 5000 }));
    return good(seen);
  }, `${text} in ${selector}`, within).catch((error) => { throw new Error(`${error.message}; it was: ${seen.slice(0, 300)}`); });
}

// heading waits for a page's heading.
export const heading = (page, text) => shows(page, "main h1", text);
