// Drives the dashboard of a running Weir in a headless Chromium: every page
// and action, with and without scripts, keyboard and rights, at two widths,
// light and dark. `make test-ui` runs it; a word as argument runs only the
// checks whose part has that name.
import { Browser } from "./browser.mjs";
import { Lab } from "./lab.mjs";
import { Report } from "./report.mjs";
import { fill, newSecrets, providers } from "./state.mjs";
import { alarm } from "./checks/alarm.mjs";
import { audit } from "./checks/audit.mjs";
import { brake } from "./checks/brake.mjs";
import { budget } from "./checks/budget.mjs";
import { channels } from "./checks/channels.mjs";
import { contacts } from "./checks/contacts.mjs";
import { dead } from "./checks/dead.mjs";
import { follow } from "./checks/follow.mjs";
import { keyboard } from "./checks/keyboard.mjs";
import { languages } from "./checks/languages.mjs";
import { live } from "./checks/live.mjs";
import { limits } from "./checks/limits.mjs";
import { money } from "./checks/money.mjs";
import { look } from "./checks/look.mjs";
import { people } from "./checks/people.mjs";
import { plain } from "./checks/plain.mjs";
import { prefix } from "./checks/prefix.mjs";
import { projects } from "./checks/projects.mjs";
import { purposes } from "./checks/purposes.mjs";
import { answers } from "./checks/answers.mjs";
import { questions } from "./checks/questions.mjs";
import { quiet } from "./checks/quiet.mjs";
import { rights } from "./checks/rights.mjs";
import { routing } from "./checks/routing.mjs";
import { screens } from "./checks/screens.mjs";
import { session } from "./checks/session.mjs";
import { setup } from "./checks/setup.mjs";
import { survey } from "./checks/survey.mjs";
import { surveyforms } from "./checks/surveyforms.mjs";
import { webhooks } from "./checks/webhooks.mjs";

const parts = { alarm, look, screens, session, languages, rights, channels, setup, contacts, dead, people, purposes, limits, money, brake, budget, webhooks, survey, surveyforms, questions, answers, follow, routing, live, keyboard, plain, audit, prefix, projects, quiet };

const limit = 15 * 60_000; // ends a run that hangs

async function main() {
  const chosen = process.argv.slice(2);
  const report = new Report();
  const lab = new Lab();
  const late = setTimeout(() => { report.say("FAIL  it took too long"); finish(1); }, limit);
  late.unref();
  let browser;
  const finish = async (code) => {
    clearTimeout(late);
    await browser?.close().catch(() => {});
    await lab.end();
    process.exit(code);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => finish(1));
  try {
    const secrets = newSecrets();
    const at = await providers(lab, secrets);
    const weir = await lab.weir("weir", { token: secrets.token, key: secrets.key });
    report.say("Weir and its providers run");
    const known = await fill(weir, at, secrets);
    const operator = await weir.newToken("operator", ["contacts:read", "contacts:write", "channels:admin", "surveys:admin", "webhooks:admin", "people:admin", "router", "pii:read"]);
    report.say("Weir is filled");
    browser = await Browser.open();
    browser.allow(weir.url);
    const run = { report, lab, weir, at, browser, secrets, known, operator, others: [] };
    for (const [name, part] of Object.entries(parts)) {
      if (chosen.length > 0 && !chosen.includes(name)) continue;
      const other = await part(run);
      if (other) run.others.push(other);
    }
  } catch (error) {
    report.only = null;
    await report.check("the run itself", null, () => { throw error; });
  }
  await finish(report.end() ? 0 : 1);
}

await main();
