// The dashboard in each language: the browser's, or the one that the reader chooses. Every page fits its
// window in French, whose texts are the longest; some pages in the others.
import assert from "node:assert/strict";
import { fits } from "../axe.mjs";
import { login, narrow, tablet, wide } from "../browser.mjs";
import { pages, questions } from "../pages.mjs";
import { shows } from "../steps.mjs";

const words = {
  en: { contacts: "Contacts", logout: "Log out" },
  es: { contacts: "Contactos", logout: "Cerrar sesión" },
  fr: { contacts: "Contacts", logout: "Se déconnecter" },
  pt: { contacts: "Contatos", logout: "Sair" },
};

export async function languages({ report, browser, weir, known }) {
  const page = await browser.window();
  await login(page, weir.url, weir.token);
  for (const [code, word] of [...Object.entries(words).slice(1), ["en", words.en]]) {
    await report.check(`languages: ${code} can be chosen, and stays`, page, async () => {
      await page.goto(`${weir.url}/contacts`);
      await page.click(`.language button[value=${code}]`);
      await page.waitForFunction((c) => document.documentElement.lang === c, code);
      assert.equal(new URL(page.url()).pathname, "/contacts", "it stays on the page");
      await page.goto(`${weir.url}/contacts`);
      await shows(page, "h1", word.contacts);
      await shows(page, ".tools", word.logout);
      assert.equal(await page.locator(".language button").count(), 3, "the others are offered");
    });
  }
  await page.context().close();
  const all = Object.entries({ ...pages(known), ...questions(known) });
  for (const [code, some] of Object.entries({ fr: all, es: all.filter((_, i) => i % 5 === 0), pt: all.filter((_, i) => i % 5 === 2) })) {
    const window = await browser.window({ locale: code });
    await login(window, weir.url, weir.token);
    for (const [name, path] of some) {
      await report.check(`languages: ${code}, ${name}`, window, async () => {
        await window.goto(weir.url + path, { waitUntil: "load" });
        if (!path.startsWith("/docs")) assert.equal(await window.locator("html").getAttribute("lang"), code);
        for (const viewport of [narrow, tablet, wide]) {
          await window.setViewportSize(viewport);
          await fits(window, `${name}, ${code}, ${viewport.width}`);
        }
      });
    }
    await window.context().close();
  }
}
