// What has to be covered, and what was.

const named = ["classificationPolicies", "distributionPolicies", "exceptionPolicies", "queues", "jobs", "workers"];

const rows = [
  ...named.flatMap((kind) => [`PATCH ${kind}/* created`, `PATCH ${kind}/* updated`, `GET ${kind}/*`, `DELETE ${kind}/*`, `GET ${kind}`]),
  "POST jobs/*:cancel", "POST jobs/*:reclassify", "GET jobs/*/position", "POST jobs/*/assignments/*:complete",
  "POST jobs/*/assignments/*:close", "POST jobs/*/assignments/*:unassign", "POST workers/*/offers/*:accept",
  "POST workers/*/offers/*:decline", "GET queues/*/statistics",
  // what the rows say of refusals
  ...named.map((kind) => `PATCH ${kind}/* 412`), "PATCH 400", "GET 404", "401", "405",
  "DELETE distributionPolicies/* 400", "DELETE exceptionPolicies/* 400", "DELETE classificationPolicies/* 400",
  "DELETE queues/* 409", "DELETE jobs/* 409", "GET jobs/*/position 404", "POST jobs/*:cancel 409", "POST jobs/*/assignments/*:complete 409",
  "POST jobs/*/assignments/*:close 409", "POST jobs/*/assignments/*:unassign 409", "POST workers/*/offers/*:accept 409",
  "POST workers/*/offers/*:accept 404", "POST workers/*/offers/*:decline 404",
  // the parameters of the lists
  ...named.map((kind) => `GET ${kind} maxpagesize`),
  ...["status", "queueId", "channelId", "classificationPolicyId", "scheduledBefore", "scheduledAfter"].map((p) => `GET jobs ${p}`),
  ...["state", "channelId", "queueId", "hasCapacity"].map((p) => `GET workers ${p}`),
];

const operators = ["equal", "notEqual", "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"];

const changes = [
  "job: created → queued", "job: pendingClassification → queued", "job: pendingClassification → classificationFailed",
  "job: pendingSchedule → scheduled", "job: scheduled → waitingForActivation", "job: waitingForActivation → queued", "job: scheduled → queued",
  "job: queued → assigned", "job: assigned → completed", "job: completed → closed", "job: completed → closed at closeAt", "job: assigned → queued",
  "job: queued → pendingClassification", "job: suspended → queued",
  ...["queued", "assigned", "completed", "scheduled", "waitingForActivation", "classificationFailed"].map((s) => `job: ${s} → cancelled`),
  "worker: inactive → active", "worker: active → inactive", "worker: active → draining", "worker: draining → inactive", "worker: draining → active",
  "offer: accepted", "offer: declined", "offer: declined until", "offer: expired",
  ...["another accepted", "deregistered", "job cancelled", "labels changed", "queue changed", "channel changed", "selectors changed",
    "capacity reduced", "channels changed", "queue left", "worker deleted"].map((why) => `offer: revoked, ${why}`),
  "selector: active → expired",
];

const events = [
  ...["Received", "Classified", "ClassificationFailed", "Queued", "ExceptionTriggered", "WorkerSelectorsExpired", "Unassigned", "Completed",
    "Closed", "Cancelled", "WaitingForActivation", "SchedulingFailed", "Deleted"].map((n) => `RouterJob${n}`),
  ...["Issued", "Accepted", "Declined", "Revoked", "Expired"].map((n) => `RouterWorkerOffer${n}`),
  ...["Registered", "Updated", "Deregistered", "Deleted"].map((n) => `RouterWorker${n}`),
  "weir.router.function",
];

// What no client can bring about in less than 90 days. The tests in Go, whose
// clock can be moved, have it: TestRandomLifecycles in web/router.
const byClockOnly = { RouterJobSchedulingFailed: "a job expires before its schedule after 90 days; covered by make test" };

export class Coverage {
  constructor() {
    this.wanted = { row: rows, operator: operators, change: changes, event: events };
    this.seen = { row: new Set(), operator: new Set(), change: new Set(), event: new Set() };
    this.requests = 0;
  }

  note(kind, name) {
    if (!this.wanted[kind].includes(name)) throw new Error(`${kind} ${name} is not in the list`);
    this.seen[kind].add(name);
  }

  changed(name) { this.note("change", name); }

  // answered notes the rows of the table that an answer belongs to.
  answered(method, url, { status }) {
    this.requests++;
    const segments = url.pathname.replace("/routing/", "").split("/");
    const path = segments.map((s, i) => (i % 2 === 0 ? s : "*" + (/:[a-z]+$/.exec(s)?.[0] ?? ""))).join("/");
    const row = `${method} ${path}`;
    const found = [row, `${row} ${status}`, `${method} ${status}`, `${status}`];
    if (status === 201) found.push(`${row} created`);
    if (status === 200) {
      found.push(`${row} updated`);
      for (const name of url.searchParams.keys()) found.push(`${row} ${name}`);
    }
    if (status >= 300) found.shift();
    for (const name of found) if (this.wanted.row.includes(name)) this.seen.row.add(name);
  }

  // report prints what was covered and gives what was missed.
  report(print, withEvents) {
    const missed = [];
    for (const [kind, wanted] of Object.entries(this.wanted)) {
      if (kind === "event" && !withEvents) {
        missed.push("events: none were asked for");
        continue;
      }
      print(`${kind}s: ${this.seen[kind].size} of ${wanted.length}`);
      for (const name of wanted) {
        const seen = this.seen[kind].has(name);
        const why = kind === "event" && byClockOnly[name];
        print(`  ${seen ? "ok  " : why ? "time" : "MISS"} ${name}${why && !seen ? `: ${why}` : ""}`);
        if (!seen && !why) missed.push(`${kind} ${name}`);
      }
    }
    return missed;
  }
}
