// Reports each check: a line when it ends, a picture of the page if it failed,
// the total at the end.
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { root } from "./lab.mjs";

export const pictures = path.join(root, ".build/ui");

export class Report {
  constructor() {
    this.only = process.env.ONLY ? new RegExp(process.env.ONLY) : null; // to run one check
    this.passed = 0;
    this.failures = [];
    this.began = Date.now();
    rmSync(pictures, { recursive: true, force: true });
    mkdirSync(pictures, { recursive: true });
  }

  seconds() { return ((Date.now() - this.began) / 1000).toFixed(1).padStart(6); }

  say(text) { console.log(`${this.seconds()}  ${text}`); }

  // check runs a check. A failure is reported with a picture of the page.
  async check(name, page, run) {
    if (this.only && !this.only.test(name)) return true;
    try {
      await run();
      this.passed++;
      this.say(`ok    ${name}`);
      return true;
    } catch (error) {
      this.failures.push(name);
      this.say(`FAIL  ${name}\n${String(error.stack ?? error).split("\n").slice(0, 12).map((line) => `          ${line}`).join("\n")}`);
      if (page && !page.isClosed()) {
        const file = path.join(pictures, `${name.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 80)}.png`);
        await page.screenshot({ path: file, fullPage: true, timeout: 10_000 }).then(() => this.say(`      see ${path.relative(root, file)}, of ${new URL(page.url()).pathname}`), () => {});
      }
      return false;
    }
  }

  // end prints the result.
  end() {
    console.log();
    for (const name of this.failures) console.log(`FAILED: ${name}`);
    const sum = `${this.passed} checks passed, ${this.failures.length} failed, ${this.seconds().trim()} s`;
    console.log(this.failures.length === 0 && this.passed > 0 ? `PASS: ${sum}` : `FAIL: ${sum}`);
    return this.failures.length === 0 && this.passed > 0;
  }
}
