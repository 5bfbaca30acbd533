// What people do in the pages, and what they see of it.
import assert from "node:assert/strict";
import { soon } from "./lab.mjs";

export const squeeze = (text) => (text ?? "").replace(/\s+/g, " ").trim();

// open asks a question by its link, and waits for the dialog.
export async function open(page, link) {
  await page.locator(link).click();
  await page.locator("#dialog[open] form").waitFor();
  return squeeze(await page.locator("#dialog").innerText());
}

// answer sends the dialog's form and gives what the next page says.
export async function answer(page) {
  await page.locator("#dialog form button").click();
  return flash(page);
}

// flash returns the page's message about the last action.
export async function flash(page) {
  const at = page.locator("#flash .flash");
  await at.waitFor();
  return squeeze(await at.textContent());
}

// act asks and answers.
export async function act(page, link, said) {
  await open(page, link);
  const text = await answer(page);
  assert.match(text, said);
}

// fact is a line of a question, or of a list of facts.
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
