// A Weir with an example of everything that the checks use. Numbers are from the
// range reserved for fiction; secrets are marked, so that a leak is found.
import { randomBytes } from "node:crypto";
import { soon } from "./lab.mjs";
import { router } from "./state-router.mjs";
import { surveys } from "./state-surveys.mjs";

export const mark = () => `canary${randomBytes(9).toString("hex")}`;

// phone returns the n-th number in its usual form.
export const phone = (n) => `+1555010${String(n).padStart(4, "0")}`;

// secrets are random for each run.
export function newSecrets() {
  return { token: mark(), key: randomBytes(32).toString("base64"), nuntium: mark(), verboice: mark(), webhook: mark() };
}

// providers starts the simulated providers: two that work, one whose answers are
// lost, and one that rejects all calls.
export async function providers(lab, secrets) {
  const account = `me,password=${secrets.verboice}`;
  const [texts, calls, silent, failing] = await Promise.all([
    lab.simulator("nuntium", "nuntium", [
      ...["texts", "held", "goner", "spare", "first", "second"].flatMap((name) => ["--application", `${name},password=${secrets.nuntium}`, "--channel", `${name},application=${name}`]),
      "--queue-time", "300ms", "--deliver-time", "2500ms", "--confirm-time", "1200ms", "--outcome", "failed:*13", "--seed", "7",
    ]),
    lab.simulator("verboice", "verboice", [
      "--account", account, "--channel", "main,id=1,limit=10", "--ring", "700ms", "--talk", "3s", "--skip-flows", "--seed", "7",
      "--outcome", "dial-failed=404:*13", "--outcome", "dial-failed=503:*23", "--outcome", "busy:*7", "--outcome", "no-answer:*8",
    ]),
    lab.simulator("silent", "verboice", ["--account", account, "--channel", "main,id=1,limit=10", "--fault", "hang@send"]),
    lab.simulator("failing", "verboice", ["--account", account, "--channel", "main,id=1,limit=10", "--fault", "status=503@send"]),
  ]);
  return { texts, calls, silent, failing };
}

// channelsOf returns the channels by name.
function channelsOf(at, secrets) {
  const nuntium = (name, more = {}) => ({
    type: "nuntium", name: `Texts, ${name}`,
    settings: { base_url: at.texts, account: "demo", application: name, password: secrets.nuntium, channel: name }, ...more,
  });
  const verboice = (base, capacity, name) => ({ type: "verboice", name, capacity, settings: { base_url: base, username: "me", password: secrets.verboice, channel: "main" } });
  return {
    texts: nuntium("texts", { capacity: 24 }),
    calls: verboice(at.calls, 10, "Calls"),
    held: nuntium("held", { capacity: 6, paused: true }),
    goner: nuntium("goner", { capacity: 4, paused: true }),
    spare: nuntium("spare", { capacity: 3 }),
    unsure: verboice(at.silent, 8, "A line that says nothing"),
    failing: verboice(at.failing, 5, "A line that takes no call"),
    broken: { type: "nuntium", name: "A provider that is gone", capacity: 5, settings: { base_url: "http://127.0.0.1:9", account: "demo", application: "weir", password: secrets.nuntium, channel: "sms" } },
    people: { type: "workers", name: "Interviewers", capacity: 6, settings: { queue: "interviews", selectors: "language=*" } },
  };
}

// research has every rule but an exemption. No contact of the checks is of it, because it would
// wait at some hours of the day.
const research = {
  title: "Health surveys", quiet_hours: { from: "20:00", to: "09:00" }, time_zone: "Africa/Nairobi", repeat_guard: "24h", holidays: [{ date: "2026-12-25", name: "Christmas Day" }],
  caps: [{ max: 2, within: "7d" }, { max: 1, within: "1d", kind: "calendar" }],
};

const text = (n, key, more = {}) => ({ key, to: phone(n), messages: ["Hello from Weir"], ...more });
const call = (n, key, more = {}) => ({ key, to: phone(n), call: { twiml: "<Response><Say>Hello</Say></Response>" }, ...more });
// works reports whether the simulated providers reach a number; their rules are
// set at the start.
const works = (n) => ![13, 23].includes(n % 100);
const those = (from, count, make) => many(count, (i) => from + i).filter(works).map(make);
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));

// fill adds an example of everything, and queued contacts for some minutes.
export async function fill(weir, at, secrets, waiting = 5400) {
  for (const [name, body] of Object.entries(channelsOf(at, secrets))) {
    if (name !== "people") await weir.api("PUT", `/v1/channels/${name}`, body);
  }
  await router(weir);
  await weir.api("PUT", "/v1/purposes/research", research);
  await weir.api("PUT", "/v1/purposes/visits", { caps: [{ max: 3, within: "7d" }, { max: 1, within: "1d", kind: "calendar" }] });
  await weir.api("PUT", "/v1/channels/people", channelsOf(at, secrets).people);
  // It is far above what the channels do.
  await weir.api("PUT", "/v1/limits/portfolio", { title: "Account of the texts", channels: ["texts", "held", "spare"], in_flight: 5000, per_second: 900, new_people_per_day: 100000 });
  await weir.api("PUT", "/v1/prices/held", { currency: "USD", per_segment: "0.0075", prefixes: [{ prefix: "+254", per_segment: "0.02" }, { prefix: "+44", per_segment: "0.03" }] });
  await weir.api("PUT", "/v1/prices/unsure", { currency: "USD", per_attempt: "0.001", per_minute: "0.014", minutes: 3 });
  const queue = async (channel, contacts) => {
    for (let from = 0; from < contacts.length; from += 900) await weir.api("POST", `/v1/channels/${channel}/contacts`, { contacts: contacts.slice(from, from + 900) });
  };
  // Failing contacts come first.
  await queue("texts", many(6, (i) => text(i * 100 + 13, `bad-${i}`, { priority: "high" })));
  await queue("calls", [...many(4, (i) => call(i * 100 + 13, `unreachable-${i}`, { priority: "high" })), ...many(3, (i) => call(i * 100 + 23, `line-${i}`, { priority: "high" }))]);
  await queue("texts", [text(1800, "ruled", { purpose: "visits", time_zone: "Africa/Nairobi", priority: "high" }), text(1800, "capped", { purpose: "visits", time_zone: "Africa/Nairobi", priority: "high" })]);
  await queue("unsure", many(5, (i) => call(1200 + i, `unsure-${i}`)));
  await queue("failing", many(9, (i) => call(1250 + i, `failing-${i}`)));
  await queue("broken", many(3, (i) => text(1300 + i, `broken-${i}`)));
  await queue("held", many(12, (i) => text(1400 + i, `held-${i}`, { labels: { region: i % 2 ? "north" : "south" } })));
  await queue("goner", many(2, (i) => text(1500 + i, `goner-${i}`)));
  await queue("people", many(3, (i) => ({ key: `talk-${i}`, to: phone(1600 + i), labels: { language: "Spanish" }, messages: ["Ask about the flu vaccination"] })));
  await surveys(weir);
  await webhook(weir, at, secrets);
  await queue("texts", those(2000, waiting, (n) => text(2000 + n % 2000, `t-${n}`)));
  await queue("calls", those(4000, Math.ceil(waiting / 3), (n) => call(4000 + n % 900, `c-${n}`)));
  await incoming(at);
  await settled(weir);
  return known(weir);
}

// webhook creates one whose receiver does not exist.
async function webhook(weir, at, secrets) {
  const made = await weir.api("POST", "/v1/webhooks", { url: `${at.texts}/none?key=${secrets.webhook}`, types: ["weir.webhook.disabled"], description: "billing" });
  await weir.api("POST", `/v1/webhooks/${made.id}/test`);
}

// incoming sends messages from respondents.
async function incoming(at) {
  for (const [i, body] of ["When will you call me?", "Thank you", "Who is this? Call me at +15550109999"].entries()) {
    const answer = await fetch(`${at.texts}/_simulator/incoming`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ from: phone(1700 + i).slice(1), to: "100", body, channel: "texts", application: "texts" }),
    });
    if (!answer.ok) throw new Error(`an incoming message: ${answer.status} ${await answer.text()}`);
  }
}

// settled waits until everything that the checks need exists.
async function settled(weir) {
  const channel = (name) => weir.get(`/v1/channels/${name}`);
  await soon(async () => (await weir.get("/v1/dead-letters/groups")).groups.length >= 3, "dead letters of three reasons", 60_000);
  await soon(async () => (await channel("unsure")).unknown > 0, "unknowns", 30_000);
  await soon(async () => (await channel("broken")).state === "error", "a channel in error", 30_000);
  await soon(async () => (await channel("failing")).breaker.state !== "closed", "an open breaker", 30_000);
  await soon(async () => (await channel("texts")).in_flight > 4, "a busy channel", 30_000);
  await soon(async () => (await weir.get("/v1/channels/texts/incoming")).incoming.length >= 3, "messages that came in", 30_000);
  await soon(async () => (await weir.get("/v1/surveys/quick")).state === "done", "a survey that is done", 60_000);
}

// known returns the ids in page addresses.
async function known(weir) {
  const first = async (query) => (await weir.get(`/v1/contacts?limit=1&${query}`)).contacts[0].id;
  const assigned = (await weir.get("/routing/jobs?status=assigned&api-version=2024-01-18-preview")).value.map((j) => j.id).filter((id) => id.startsWith("call-"));
  return {
    webhook: (await weir.get("/v1/webhooks")).webhooks[0].id, assigned: assigned[0], givenBack: assigned[1], done: await first("channel=texts&key=bad-0"), dead: await first("channel=calls&key=unreachable-0"), waiting: await first("channel=held&key=held-0"), ruled: await first("channel=texts&key=ruled"), capped: await first("channel=texts&key=capped"),
    respondent: (await weir.get("/v1/surveys/vaccines/respondents?limit=1&status=completed")).respondents[0].id,
  };
}
