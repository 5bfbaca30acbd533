// docs/moving/copy-router.mjs between two routers, once and again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { openSync, closeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Router, routerClient } from "./client.mjs";
import { soon } from "./lab.mjs";

const script = fileURLToPath(new URL("../../docs/moving/copy-router.mjs", import.meta.url));
const kinds = ["distributionPolicies", "queues", "classificationPolicies", "exceptionPolicies", "workers"];

// run runs the script, which finds its packages from this folder, and gives what it wrote.
async function run(from, to, ...args) {
  const input = openSync(script);
  const child = spawn(process.execPath, ["--input-type=module", "-", ...args], {
    cwd: fileURLToPath(new URL(".", import.meta.url)), stdio: [input, "pipe", "pipe"], env: { ...process.env, FROM: from, TO: to },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => { text += chunk; });
  const code = await new Promise((resolve) => { child.on("close", resolve); });
  closeSync(input);
  return { code, text };
}

// fill makes some of everything, the jobs out of the order in which they were queued.
async function fill(router) {
  await router.put("distributionPolicies", "idle", { name: "Idle", offerExpiresAfterSeconds: 45.5, mode: { kind: "longestIdle", minConcurrentOffers: 1, maxConcurrentOffers: 3 } });
  await router.put("distributionPolicies", "round", { mode: { kind: "roundRobin", bypassSelectors: true } });
  await router.put("distributionPolicies", "best", { mode: { kind: "bestWorker", scoringRule: { kind: "expression", expression: "worker.Level" }, scoringRuleOptions: { scoringParameters: ["jobLabels"] } } });
  for (let i = 0; i < 120; i++) await router.put("queues", `q${i}`, { name: `Queue ${i}`, distributionPolicyId: ["idle", "best", "round"][i % 3], labels: { Region: i === 7 ? "south" : "north", N: i, Odd: i % 2 === 1 } });
  await router.put("classificationPolicies", "plain", { name: "Plain", fallbackQueueId: "q1", prioritizationRule: { kind: "static", value: 7 } });
  await router.put("classificationPolicies", "full", {
    fallbackQueueId: "q2",
    prioritizationRule: { kind: "expression", expression: "If(job.Urgent = true, 50, 5)" },
    queueSelectorAttachments: [{ kind: "passThrough", key: "Region", labelOperator: "equal" }],
    workerSelectorAttachments: [
      { kind: "static", workerSelector: { key: "Trained", labelOperator: "equal", value: true, expiresAfterSeconds: 600 } },
      { kind: "conditional", condition: { kind: "expression", expression: "job.Urgent = true" }, workerSelectors: [{ key: "Level", labelOperator: "greaterThan", value: 3 }] },
    ],
  });
  await router.put("exceptionPolicies", "late", { name: "Late", exceptionRules: [
    { id: "full", trigger: { kind: "queueLength", threshold: 500 }, actions: [{ id: "a", kind: "cancel", note: "full", dispositionCode: "Full" }] },
    { id: "slow", trigger: { kind: "waitTime", thresholdSeconds: 3600 }, actions: [
      { kind: "manualReclassify", queueId: "q3", priority: 42, workerSelectors: [{ key: "Slow", labelOperator: "notEqual", value: true }] },
      { kind: "reclassify", classificationPolicyId: "plain", labelsToUpsert: { Late: true, N: 1.5 } }] }] });
  await router.put("queues", "q1", { exceptionPolicyId: "late" });
  await router.put("workers", "ann", { queues: ["q1", "q0"], capacity: 2, labels: { Level: 4, Trained: true, Team: "a" }, tags: { t: "x" }, availableForOffers: true,
    channels: [{ channelId: "chat", capacityCostPerJob: 1, maxNumberOfJobs: 2 }, { channelId: "voice", capacityCostPerJob: 2 }], maxConcurrentOffers: 1 });
  await router.put("workers", "a b/c:d%é", { queues: ["q5"], capacity: 1 });

  const job = (id, members) => router.put("jobs", id, { channelId: "chat", ...members });
  const selector = { key: "Absent", labelOperator: "equal", value: true };
  await job("held", { queueId: "q0", matchingMode: { kind: "scheduleAndSuspend", scheduleAt: new Date(Date.now() + 3600_000).toISOString() } });
  for (let i = 0; i < 130; i++) await job(`j${i}`, { queueId: "q1", priority: i % 5, labels: { Name: `J${i}`, N: i, Yes: true }, tags: { t: i }, requestedWorkerSelectors: [selector] });
  await job("notes", { queueId: "q1", channelReference: "ref", notes: [{ message: "hello", addedAt: "2024-05-01T10:00:00Z" }], dispositionCode: "early",
    requestedWorkerSelectors: [selector, { key: "Level", labelOperator: "lessThanOrEqual", value: 2.5, expiresAfterSeconds: 900, expedite: true }] });
  await job("suspended", { queueId: "q1", matchingMode: { kind: "suspend" } });
  await job("odd / ü%", { queueId: "q9" });
  await job("classified", { classificationPolicyId: "full", labels: { Urgent: true, Region: "south" } });
  await job("later", { queueId: "q0", labels: { L: "x" }, matchingMode: { kind: "scheduleAndSuspend", scheduleAt: new Date(Date.now() + 7200_000).toISOString() } });
  await job("due", { classificationPolicyId: "plain", matchingMode: { kind: "scheduleAndSuspend", scheduleAt: "2024-05-01T10:00:00.1234567Z" } });
  await job("until", { queueId: "q8", notAfter: new Date(Date.now() + 7200_000).toISOString() });
  await router.put("classificationPolicies", "nowhere", {});
  await job("failed", { classificationPolicyId: "nowhere" });
  for (const id of ["taken", "ended"]) {
    await job(id, { queueId: "q0" });
    const offer = await soon(async () => (await router.get("workers", "ann")).offers.find((o) => o.jobId === id)?.offerId, `the offer of ${id}`);
    const { assignmentId } = await router.accept("ann", offer);
    if (id === "taken") continue;
    await router.complete(id, assignmentId);
    await router.close(id, assignmentId);
  }
  await router.put("jobs", "held", { matchingMode: { kind: "queueAndMatch" } }); // the first made, the last queued
  await soon(async () => (await router.get("jobs", "classified")).status === "queued" && (await router.get("jobs", "due")).status === "waitingForActivation", "all states");
}

// listed gives what a router lists of a kind, by id, without what a copy cannot have.
async function listed(router, kind, filter) {
  const all = (await router.list(kind, filter)).flat();
  return Object.fromEntries(all.map(({ etag, offers, assignedJobs, loadRatio, state, availableForOffers, enqueuedAt, scheduledAt, ...body }) => {
    for (const s of body.attachedWorkerSelectors ?? []) delete s.expiresAt; // time begins anew
    for (const s of body.requestedWorkerSelectors ?? []) delete s.expiresAt;
    return [body.id, body];
  }));
}

async function inOrder(router) {
  const all = (await router.list("jobs", { status: "queued" })).flat();
  return all.sort((a, b) => (a.enqueuedAt < b.enqueuedAt ? -1 : 1)).map((j) => j.id);
}

export async function copying(start) {
  const a = await start(), b = await start();
  try {
    const [from, to] = [a, b].map((w) => new Router(routerClient(w.connection, () => {})));
    await fill(from);
    const copied = async (args, lines) => {
      const done = await run(a.connection, b.connection, ...args);
      assert.deepEqual([done.code, done.text.trim().split("\n").sort()], [0, lines.toSorted()]);
    };
    const plain = ["distributionPolicies copied 3", "queues copied 120", "classificationPolicies copied 3", "exceptionPolicies copied 1", "queues copied 120", "workers copied 2"];
    await copied([], plain);
    for (const kind of kinds) assert.deepEqual(await listed(to, kind), await listed(from, kind), kind);
    assert.deepEqual((await to.list("workers", { state: "inactive" })).flat().length, 2, "workers arrive as not available");

    const behind = ["jobs assigned left behind 1", "jobs classificationFailed left behind 1"];
    await copied(["jobs"], [...behind, "jobs waitingForActivation copied 1", "jobs queued copied 136", "jobs scheduled copied 1"]);
    const jobs = await listed(from, "jobs", { status: "active" });
    for (const id of ["taken", "failed"]) delete jobs[id];
    assert.deepEqual(await listed(to, "jobs"), jobs);
    assert.deepEqual(await inOrder(to), await inOrder(from));

    await to.put("workers", "ann", { availableForOffers: true });
    await to.put("jobs", "j1", { priority: 77, queueId: "q4" });
    await from.put("queues", "q4", { name: "New" });
    await copied([], plain);
    await copied(["jobs"], [...behind, "jobs waitingForActivation already there 1", "jobs queued already there 136", "jobs scheduled already there 1"]);
    assert.equal((await to.get("queues", "q4")).name, "New");
    assert.equal((await to.get("workers", "ann")).availableForOffers, true, "a worker who works already goes on");
    assert.deepEqual(await to.get("jobs", "j1").then((j) => [j.priority, j.queueId]), [77, "q4"], "a job that is there already stays as it is");
  } finally {
    await a.stop();
    await b.stop();
  }
}
