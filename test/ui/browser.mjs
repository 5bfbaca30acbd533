// Chromium, and what is recorded of every page.
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

function executable() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  for (const at of [process.env.CHROMIUM, ...folders.flatMap((f) => names.map((n) => path.join(f, n)))]) {
    try {
      if (at) {
        accessSync(at, constants.X_OK);
        return at;
      }
    } catch { /* the next one */ }
  }
  throw new Error("no Chromium in PATH");
}

export const wide = { width: 1280, height: 800 };
export const tablet = { width: 1024, height: 768 };
export const narrow = { width: 390, height: 844 };

// expected holds statuses that Chromium logs as errors, although pages for
// rejected or missing things have them.
const expected = /^Failed to load resource: the server responded with a status of (401|403|404|409|422)/;

// Browser opens windows, each with its own cookies, and records console lines,
// requests, titles and addresses.
export class Browser {
  static async open() {
    const args = ["--disable-dev-shm-usage", "--disable-gpu", "--font-render-hinting=none", "--force-color-profile=srgb"];
    if (process.getuid?.() === 0) args.push("--no-sandbox");
    const browser = new Browser();
    browser.chromium = await chromium.launch({ executablePath: executable(), headless: true, args });
    browser.complaints = []; // console errors, exceptions, violations of the policy
    browser.said = []; // every console line
    browser.strangers = new Set(); // requests to other hosts
    browser.addresses = new Set();
    browser.titles = new Set();
    browser.hosts = new Set();
    return browser;
  }

  // allow adds a host that pages may contact.
  allow(url) { this.hosts.add(new URL(url).host); }

  // window opens a window with one page.
  async window(options = {}) {
    const context = await this.chromium.newContext({ viewport: wide, reducedMotion: "reduce", colorScheme: "light", locale: "en-GB", timezoneId: "UTC", ...options });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    this.watch(page);
    return page;
  }

  watch(page) {
    page.on("console", (message) => {
      this.said.push(message.text());
      if (["error", "warning"].includes(message.type()) && !expected.test(message.text())) this.complaints.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`${page.url()}: ${error.message}`));
    page.on("request", (request) => {
      this.addresses.add(request.url());
      if (!/^(data|blob|about):/.test(request.url()) && !this.hosts.has(new URL(request.url()).host)) this.strangers.add(request.url());
    });
    page.on("load", () => page.title().then((t) => this.titles.add(t), () => {}));
  }

  close() { return this.chromium.close(); }
}

// login submits a token on the login page.
export async function login(page, url, token, next = "/") {
  await page.goto(url + (next === "/" ? "/login" : next));
  await page.fill("#token", token);
  await page.click("main button.primary");
  await page.waitForURL((at) => !at.pathname.endsWith("/login"));
}
