// Every row of the table of the API that is about resources: created, updated,
// read, listed, deleted; conditions, errors, signatures.
import assert from "node:assert/strict";
import { Lab, refused } from "./lab.mjs";

export async function resources(router, coverage) {
  const lab = new Lab(router, coverage);
  const kinds = [
    ["distributionPolicies", "d", { name: "n", mode: { kind: "bestWorker" } }, { name: null, mode: { kind: "roundRobin" } }],
    ["exceptionPolicies", "e", { name: "n", exceptionRules: [{ id: "r", trigger: { kind: "queueLength", threshold: 5 }, actions: [{ id: "a", kind: "cancel" }] }] }, { name: "m" }],
    ["queues", "q", { distributionPolicyId: lab.id("d"), exceptionPolicyId: lab.id("e"), labels: { A: 1 } }, { name: "m", labels: { A: null, B: "x" } }],
    ["classificationPolicies", "c", { fallbackQueueId: lab.id("q") }, { prioritizationRule: { kind: "static", value: 3 } }],
    ["workers", "w", { queues: [lab.id("q")], capacity: 3, tags: { t: true } }, { tags: null, maxConcurrentOffers: 2 }],
    ["jobs", "j", { channelId: "chat", classificationPolicyId: lab.id("c"), notes: [{ message: "hello" }], priority: 9, dispositionCode: "x" }, { tags: { v: 1.5 }, dispositionCode: null }],
  ];
  for (const [kind, name, body, change] of kinds) {
    const id = lab.id(name);
    await refused(404, router.get(kind, id));
    await refused(412, router.put(kind, id, body, { "if-match": '"abc"' }));
    const made = await router.put(kind, id, body);
    assert.equal(made.created, true, kind);
    const was = await router.get(kind, id);
    assert.match(was.etag, /^".+"$/);
    await refused(412, router.put(kind, id, change, { "if-match": '"abc"', "if-unmodified-since": "Mon, 06 Nov 2023 00:59:10 GMT" }));
    await refused(412, router.put(kind, id, change, { "if-unmodified-since": "Mon, 06 Nov 2023 00:59:10 GMT" }));
    const unchanged = await router.put(kind, id, was, { "if-match": was.etag });
    assert.equal(unchanged.etag, was.etag, `${kind} sent back as it came`);
    const changed = await router.put(kind, id, change, { "if-unmodified-since": unchanged.lastModified });
    assert.equal(changed.created, false);
    assert.notEqual(changed.etag, was.etag);
    const all = (await router.list(kind)).flat();
    assert.equal(all.find((r) => r.id === id)?.etag, (await router.get(kind, id)).etag, `${kind} is in the list`);
  }
  const job = await router.get("jobs", lab.id("j"));
  assert.equal(job.priority, 3);
  assert.equal("dispositionCode" in job, false);
  assert.deepEqual([job.labels, job.assignments, job.requestedWorkerSelectors, job.attachedWorkerSelectors], [{}, {}, [], []]);
  assert.equal(job.notes[0].message, "hello");
  assert.deepEqual((await router.get("workers", lab.id("w"))).tags, {});
  assert.deepEqual((await router.get("queues", lab.id("q"))).labels, { Id: lab.id("q"), B: "x" });

  await refused(400, router.delete("distributionPolicies", lab.id("d")));
  assert.deepEqual((await refused(400, router.delete("exceptionPolicies", lab.id("e")))).details, ["QueueExistsWithExceptionPolicy"]);
  assert.deepEqual((await refused(400, router.delete("classificationPolicies", lab.id("c")))).details, ["ActiveJobWithClassificationPolicyExist"]);
  const inUse = await refused(409, router.delete("queues", lab.id("q")));
  assert.equal(inUse.error.message.split("\n").length > 2, true, "the reasons are lines of the message");
  await refused(409, router.delete("jobs", lab.id("j")));
  await router.cancel(lab.id("j"), { note: "n", dispositionCode: "d" });
  await refused(409, router.cancel(lab.id("j")));
  for (const [kind, name] of [["jobs", "j"], ["workers", "w"], ["classificationPolicies", "c"], ["queues", "q"], ["exceptionPolicies", "e"], ["distributionPolicies", "d"]]) {
    await router.delete(kind, lab.id(name));
    await refused(404, router.get(kind, lab.id(name)));
  }
}

export async function mistakes(router, coverage, stranger) {
  const lab = new Lab(router, coverage);
  await refused(400, router.put("jobs", lab.id("j"), { channelId: "chat" }));
  const bad = await refused(400, router.put("workers", lab.id("w"), { capacity: "many", labels: { a: [] }, unknown: 1 }));
  assert.equal(bad.error.message, "One or more validation errors occurred.");
  assert.equal(bad.details.length, 3);
  await refused(401, stranger.get("queues", "q"));
  await refused(405, router.send("put", "/routing/queues/{id}", ["q"], { body: {} }));
  const odd = "a b/c:d%é";
  await router.put("queues", odd, {});
  assert.equal((await router.get("queues", odd)).id, odd);
  await router.delete("queues", odd);
}

// The older version of the API lacks one member.
export async function older(router, coverage, old) {
  const lab = await Lab.open(old, coverage);
  await lab.worker("w");
  await router.put("workers", lab.id("w"), { maxConcurrentOffers: 3 });
  assert.equal((await router.get("workers", lab.id("w"))).maxConcurrentOffers, 3);
  assert.equal("maxConcurrentOffers" in (await old.get("workers", lab.id("w"))), false);
  await refused(400, old.put("workers", lab.id("w"), { maxConcurrentOffers: 1 }));
  await lab.job("j");
  await lab.finish("j", await lab.accept("w", "j"));
}

export async function lists(router, coverage) {
  const lab = await Lab.open(router, coverage);
  const ids = (pages) => pages.flat().map((r) => r.id);
  for (const kind of ["classificationPolicies", "distributionPolicies", "exceptionPolicies", "queues"]) {
    for (const n of [1, 2, 3]) await router.put(kind, lab.id(`list${n}`), {});
    const pages = await router.list(kind, { maxpagesize: 2 });
    assert.equal(pages.every((p) => p.length <= 2), true);
    assert.deepEqual(ids(pages).filter((id) => id.startsWith(lab.id("list"))), [1, 2, 3].map((n) => lab.id(`list${n}`)));
  }
  const odd = lab.id("q a+b~!'()*"); // the two ways to write a query differ in these
  await router.put("queues", odd, {});
  await router.put("classificationPolicies", lab.id("c"), { fallbackQueueId: odd });
  const soon = new Date(Date.now() + 3600_000).toISOString(), later = new Date(Date.now() + 7200_000).toISOString();
  await lab.job("queued", { queueId: odd });
  await lab.job("voice", { channelId: lab.id("voice") });
  await lab.job("classified", { queueId: undefined, classificationPolicyId: lab.id("c") });
  await lab.job("soon", { matchingMode: { kind: "scheduleAndSuspend", scheduleAt: soon } });
  await lab.job("later", { matchingMode: { kind: "scheduleAndSuspend", scheduleAt: later } });
  await lab.status("classified", "queued");
  const jobs = async (filter) => ids(await router.list("jobs", filter)).filter((id) => id.startsWith(lab.id(""))).map((id) => id.slice(lab.name.length + 1));
  assert.deepEqual(await jobs({ maxpagesize: 2 }), ["queued", "voice", "classified", "soon", "later"]);
  assert.deepEqual(await jobs({ maxpagesize: 2, status: "active", queueId: odd }), ["queued", "classified"]);
  assert.deepEqual(await jobs({ channelId: lab.id("voice") }), ["voice"]);
  assert.deepEqual(await jobs({ classificationPolicyId: lab.id("c") }), ["classified"]);
  assert.deepEqual(await jobs({ status: "scheduled", scheduledBefore: soon }), ["soon"]);
  assert.deepEqual(await jobs({ scheduledAfter: later }), ["later"]);
  await lab.worker("busy");
  await lab.job("taken");
  await lab.accept("busy", "taken");
  await lab.worker("free");
  await lab.worker("off", { availableForOffers: false });
  const workers = async (filter) => ids(await router.list("workers", filter)).filter((id) => id.startsWith(lab.id(""))).map((id) => id.slice(lab.name.length + 1));
  assert.deepEqual(await workers({ maxpagesize: 1 }), ["busy", "free", "off"]);
  assert.deepEqual(await workers({ state: "active", queueId: lab.queue }), ["busy", "free"]);
  assert.deepEqual(await workers({ state: "inactive" }), ["off"]);
  assert.deepEqual(await workers({ channelId: "chat", hasCapacity: true }), ["free"]);
  assert.deepEqual(await workers({ channelId: lab.id("voice") }), []);
  for (const name of ["soon", "later"]) {
    await router.cancel(lab.id(name));
    lab.changed("job: scheduled → cancelled");
  }
}
