// Every change of the state of a job.
import assert from "node:assert/strict";
import { Lab, refused, soon } from "./lab.mjs";

const inSeconds = (n) => new Date(Date.now() + 1000 * n).toISOString();

export async function direct(router, coverage) {
  const lab = await Lab.open(router, coverage);
  await lab.worker("w");
  assert.equal((await lab.job("j")).status, "created");
  await lab.status("j", "queued");
  lab.changed("job: created → queued");
  await refused(409, router.reclassify(lab.id("j")));
  let as = await lab.accept("w", "j");
  await lab.status("j", "assigned");
  lab.changed("job: queued → assigned");
  lab.changed("offer: accepted");
  await refused(409, router.close(lab.id("j"), as));
  for (const count of [1, 2, 3]) {
    assert.deepEqual(await router.unassign(lab.id("j"), as, {}), { jobId: lab.id("j"), unassignmentCount: count });
    await lab.status("j", "queued");
    assert.equal((await router.statistics(lab.queue)).length, 1);
    as = await lab.accept("w", "j");
  }
  lab.changed("job: assigned → queued");
  await refused(409, router.unassign(lab.id("j"), as));
  assert.deepEqual(await router.complete(lab.id("j"), as, { note: "done" }), {});
  await lab.status("j", "completed");
  lab.changed("job: assigned → completed");
  assert.equal((await router.get("workers", lab.id("w"))).loadRatio, 1, "wrapping up takes the place");
  assert.deepEqual(await router.complete(lab.id("j"), as, { note: "done" }), {}, "the first answer may have been lost");
  assert.deepEqual(await router.close(lab.id("j"), as, { dispositionCode: "Resolved", note: "closed" }), {});
  const job = await router.get("jobs", lab.id("j"));
  assert.equal(job.status, "closed");
  lab.changed("job: completed → closed");
  assert.equal(job.dispositionCode, "Resolved");
  assert.deepEqual(job.notes.map((n) => n.message), ["done", "closed"]);
  assert.equal((await router.get("workers", lab.id("w"))).loadRatio, 0);

  await lab.job("later");
  as = await lab.accept("w", "later");
  await router.complete(lab.id("later"), as);
  await router.close(lab.id("later"), as, { dispositionCode: "d", closeAt: inSeconds(1) });
  await lab.status("later", "completed");
  await lab.status("later", "closed");
  lab.changed("job: completed → closed at closeAt");

  await lab.job("back");
  as = await lab.accept("w", "back");
  await router.unassign(lab.id("back"), as, { suspendMatching: true });
  assert.equal((await router.get("jobs", lab.id("back"))).matchingMode.kind, "suspend");
  await lab.noOffers("w");
  await router.put("jobs", lab.id("back"), { matchingMode: { kind: "queueAndMatch" } });
  as = await lab.accept("w", "back");
  lab.changed("job: suspended → queued");
  await router.cancel(lab.id("back"));
  await refused(409, router.complete(lab.id("back"), as));
  await router.delete("jobs", lab.id("j"));
}

export async function cancelled(router, coverage) {
  const lab = await Lab.open(router, coverage);
  const cancel = async (name, from) => {
    await lab.status(name, from);
    assert.deepEqual(await router.cancel(lab.id(name)), {});
    const job = await router.get("jobs", lab.id(name));
    assert.deepEqual([job.status, job.dispositionCode], ["cancelled", "Cancelled"]);
    lab.changed(`job: ${from} → cancelled`);
  };
  await lab.worker("w");
  await lab.job("a");
  await cancel("a", "queued");
  await lab.job("b");
  await lab.accept("w", "b");
  await cancel("b", "assigned");
  await lab.job("c");
  await router.complete(lab.id("c"), await lab.accept("w", "c"));
  await cancel("c", "completed");
  await lab.job("d", { matchingMode: { kind: "scheduleAndSuspend", scheduleAt: inSeconds(1) } });
  await cancel("d", "waitingForActivation");
  await router.put("classificationPolicies", lab.id("none"), {});
  await lab.job("e", { queueId: undefined, classificationPolicyId: lab.id("none") });
  await cancel("e", "classificationFailed");
  lab.changed("job: pendingClassification → classificationFailed");
}

export async function scheduled(router, coverage) {
  const lab = await Lab.open(router, coverage);
  await lab.worker("w");
  const at = inSeconds(1);
  const made = await lab.job("j", { matchingMode: { kind: "scheduleAndSuspend", scheduleAt: at } });
  assert.equal(made.status, "pendingSchedule");
  await lab.status("j", "waitingForActivation");
  lab.changed("job: pendingSchedule → scheduled");
  lab.changed("job: scheduled → waitingForActivation");
  const active = await router.put("jobs", lab.id("j"), { matchingMode: { kind: "queueAndMatch" }, priority: 7 });
  assert.equal(active.status, "queued");
  assert.equal(new Date(active.scheduledAt).toISOString(), at);
  await lab.finish("j", await lab.accept("w", "j"));
  lab.changed("job: waitingForActivation → queued");
  await lab.job("early", { matchingMode: { kind: "scheduleAndSuspend", scheduleAt: inSeconds(3600) } });
  await lab.status("early", "scheduled");
  assert.equal((await router.put("jobs", lab.id("early"), { matchingMode: { kind: "queueAndMatch" } })).status, "queued");
  await lab.offer("w", "early");
  lab.changed("job: scheduled → queued");
}

export async function classified(router, coverage) {
  const lab = await Lab.open(router, coverage, {}, { labels: { Region: "north", Lab: 0 } });
  await router.put("queues", lab.id("south"), { distributionPolicyId: lab.id("d"), labels: { Region: "south", Lab: lab.name } });
  await router.put("classificationPolicies", lab.id("c"), {
    fallbackQueueId: lab.queue,
    prioritizationRule: { kind: "expression", expression: "If(job.Urgent = true, 50, 5)" },
    queueSelectorAttachments: [
      { kind: "static", queueSelector: { key: "Lab", labelOperator: "equal", value: lab.name } },
      { kind: "passThrough", key: "Region", labelOperator: "equal" },
    ],
    workerSelectorAttachments: [
      { kind: "static", workerSelector: { key: "Trained", labelOperator: "equal", value: true, expiresAfterSeconds: 600 } },
      { kind: "conditional", condition: { kind: "expression", expression: "job.Urgent = true" }, workerSelectors: [{ key: "Level", labelOperator: "greaterThan", value: 3 }] },
      { kind: "passThrough", key: "Language", labelOperator: "equal" },
      { kind: "weightedAllocation", allocations: [{ weight: 1, workerSelectors: [{ key: "Team", labelOperator: "notEqual", value: "z" }] }] },
    ],
  });
  const job = { queueId: undefined, classificationPolicyId: lab.id("c"), labels: { Region: "south", Language: "es" } };
  assert.equal((await lab.job("j", job)).status, "pendingClassification");
  const check = async (queue, priority, keys) => {
    await lab.status("j", "queued");
    const got = await router.get("jobs", lab.id("j"));
    assert.deepEqual([got.queueId, got.priority, got.attachedWorkerSelectors.map((s) => s.key)], [queue, priority, keys]);
  };
  await check(lab.id("south"), 5, ["Trained", "Language", "Team"]);
  lab.changed("job: pendingClassification → queued");
  const changed = await router.put("jobs", lab.id("j"), { labels: { Urgent: true, Region: "west" } });
  assert.equal(changed.status, "pendingClassification");
  lab.changed("job: queued → pendingClassification");
  await check(lab.queue, 50, ["Trained", "Level", "Language", "Team"]);
  assert.deepEqual(await router.reclassify(lab.id("j")), {});
  await check(lab.queue, 50, ["Trained", "Level", "Language", "Team"]);
  const secret = await router.put("classificationPolicies", lab.id("secret"), {
    prioritizationRule: { kind: "function", functionUri: "https://functions.example/p", credential: { functionKey: "hush" } },
  });
  assert.equal(JSON.stringify(secret).includes("hush"), false, "credentials are not shown");
}

export async function exceptions(router, coverage) {
  const lab = new Lab(router, coverage);
  await router.put("exceptionPolicies", lab.id("e"), {
    exceptionRules: [
      { id: "long", trigger: { kind: "queueLength", threshold: 1 }, actions: [{ kind: "cancel", note: "full", dispositionCode: "Full" }] },
      { id: "slow", trigger: { kind: "waitTime", thresholdSeconds: 1 }, actions: [{ kind: "manualReclassify", priority: 42, workerSelectors: [{ key: "Slow", labelOperator: "notEqual", value: true }] }] },
    ],
  });
  await router.put("queues", lab.queue, { exceptionPolicyId: lab.id("e") });
  await lab.job("first");
  await lab.job("second");
  await lab.status("second", "cancelled");
  assert.equal((await router.get("jobs", lab.id("second"))).dispositionCode, "Full");
  const moved = await soon(async () => {
    const job = await router.get("jobs", lab.id("first"));
    return job.priority === 42 && job;
  }, "the rule for waiting jobs");
  assert.deepEqual(moved.requestedWorkerSelectors.map((s) => s.key), ["Slow"]);
}

export async function selectorsExpire(router, coverage) {
  const lab = await Lab.open(router, coverage);
  await lab.worker("w");
  await lab.job("j", { requestedWorkerSelectors: [{ key: "K", labelOperator: "equal", value: 1, expiresAfterSeconds: 1 }] });
  assert.equal((await router.get("jobs", lab.id("j"))).requestedWorkerSelectors[0].status, "active");
  await lab.offer("w", "j");
  assert.equal((await router.get("jobs", lab.id("j"))).requestedWorkerSelectors[0].status, "expired");
  lab.changed("selector: active → expired");
}
