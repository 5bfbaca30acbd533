// Who may take what: operators, order, capacity, statistics, position.
import assert from "node:assert/strict";
import { Lab, refused, soon } from "./lab.mjs";

export async function operators(router, coverage) {
  const takers = {
    equal: ["ten"], notEqual: ["five", "fifteen", "none"], lessThan: ["five"], lessThanOrEqual: ["five", "ten"],
    greaterThan: ["fifteen"], greaterThanOrEqual: ["ten", "fifteen"],
  };
  for (const [operator, want] of Object.entries(takers)) {
    const lab = await Lab.open(router, coverage, { mode: { kind: "roundRobin", minConcurrentOffers: 1, maxConcurrentOffers: 10 } });
    for (const [name, labels] of Object.entries({ five: { K: 5 }, ten: { K: 10 }, fifteen: { K: 15 }, none: {} })) {
      await lab.worker(name, { labels });
    }
    await lab.job("j", { requestedWorkerSelectors: [{ key: "K", labelOperator: operator, value: 10 }] });
    for (const name of want) await lab.offer(name, "j");
    for (const name of ["five", "ten", "fifteen", "none"].filter((n) => !want.includes(n))) {
      assert.deepEqual((await router.get("workers", lab.id(name))).offers, [], `${operator}: ${name} cannot take it`);
    }
    coverage.note("operator", operator);
  }
}

export async function figures(router, coverage) {
  const lab = await Lab.open(router, coverage);
  await lab.job("low", { priority: 1 });
  await lab.job("high", { priority: 10 });
  await lab.job("express", { requestedWorkerSelectors: [{ key: "X", labelOperator: "equal", value: 1, expiresAfterSeconds: 600, expedite: true }] });
  const at = async (name) => (await router.position(lab.id(name))).position;
  assert.deepEqual([await at("express"), await at("high"), await at("low")], [1, 2, 3]);
  const position = await router.position(lab.id("low"));
  assert.equal(position.queueId, lab.queue);
  assert.equal(position.queueLength, 3);
  assert.equal(position.estimatedWaitTimeMinutes >= 1, true);
  const statistics = await router.statistics(lab.queue);
  assert.equal(statistics.length, 3);
  assert.deepEqual(Object.keys(statistics.estimatedWaitTimeMinutes).sort(), ["1", "10"]);
  assert.equal(statistics.longestJobWaitTimeMinutes >= 0, true);
  // one voice job or two chats
  await lab.worker("w", { capacity: 2, channels: [{ channelId: "voice", capacityCostPerJob: 2 }, { channelId: "chat", capacityCostPerJob: 1, maxNumberOfJobs: 2 }] });
  await lab.accept("w", "high");
  await soon(async () => (await router.get("workers", lab.id("w"))).loadRatio === 0.5, "half of the load");
  await lab.job("call", { channelId: "voice", priority: 100 });
  await lab.accept("w", "low");
  assert.deepEqual((await router.get("workers", lab.id("w"))).offers, []);
  await refused(404, router.position(lab.id("low")));
  assert.equal((await router.statistics(lab.queue)).length, 2);
}
