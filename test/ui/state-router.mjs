// The router's part: policies, queues, people, and jobs in every state.
import { soon } from "./lab.mjs";

const worker = (queues, labels, more = {}) => ({
  queues, labels, capacity: 2, availableForOffers: true,
  channels: [{ channelId: "call", capacityCostPerJob: 1 }, { channelId: "contact", capacityCostPerJob: 1, maxNumberOfJobs: 1 }], ...more,
});
const job = (queueId, priority, more = {}) => ({ channelId: "call", queueId, priority, labels: { topic: "billing" }, ...more });
const speaks = (language) => [{ key: language, labelOperator: "equal", value: true }];

export async function router(weir) {
  await weir.route("distributionPolicies/idle", { name: "Who was idle longest", offerExpiresAfterSeconds: 900, mode: { kind: "longestIdle", minConcurrentOffers: 1, maxConcurrentOffers: 1 } });
  await weir.route("distributionPolicies/turns", { name: "One after the other", offerExpiresAfterSeconds: 60, mode: { kind: "roundRobin" } });
  await weir.route("exceptionPolicies/impatient", {
    name: "Short waits",
    exceptionRules: [{ id: "late", trigger: { kind: "waitTime", thresholdSeconds: 3600 }, actions: [{ kind: "cancel", dispositionCode: "late", note: "waited too long" }] }],
  });
  await weir.route("queues/helpdesk", { name: "Help desk", distributionPolicyId: "idle", exceptionPolicyId: "impatient", labels: { floor: 2 } });
  await weir.route("queues/billing", { name: "Billing", distributionPolicyId: "idle" });
  await weir.route("queues/interviews", { name: "Interviews", distributionPolicyId: "turns" });
  await weir.route("classificationPolicies/by-topic", { name: "By topic", fallbackQueueId: "helpdesk" });
  await weir.route("workers/ana", worker(["helpdesk", "billing"], { Spanish: true, level: 3 }));
  await weir.route("workers/bo", worker(["helpdesk"], { English: true, level: 1 }));
  await weir.route("workers/chi", worker(["billing", "helpdesk"], { English: true, Spanish: true, level: 2 }));
  await weir.route("workers/dan", worker(["interviews"], { Spanish: true }, { capacity: 1 }));
  await weir.route("workers/eve", worker(["helpdesk"], { English: true }, { availableForOffers: false, tags: { desk: "14" } }));
  await weir.route("workers/fay", worker(["billing"], { French: true }, { availableForOffers: false }));
  for (let i = 1; i <= 4; i++) await weir.route(`jobs/call-${i}`, job("helpdesk", i, { channelReference: `ticket-${i}`, notes: [{ message: "They have called before" }] }));
  await accept(weir, 3);
  for (let i = 5; i <= 12; i++) await weir.route(`jobs/call-${i}`, job(i % 2 ? "helpdesk" : "billing", i % 5));
  await weir.route("jobs/klingon", job("billing", 9, { requestedWorkerSelectors: speaks("Klingon") }));
  await weir.route("jobs/over", job("billing", 1));
  await weir.route("jobs/over:cancel", { dispositionCode: "mistake", note: "Made by mistake" }, "POST");
}

const offersOf = async (weir) => (await weir.get("/routing/workers?api-version=2024-01-18-preview")).value.flatMap((w) => w.offers.map((offer) => ({ worker: w.id, offer })));

// accept has workers take some of what they are offered.
async function accept(weir, count) {
  const offers = await soon(async () => {
    const list = await offersOf(weir);
    return list.length >= count && list;
  }, "offers of the router");
  for (const { worker: id, offer } of offers.slice(0, count)) await weir.route(`workers/${id}/offers/${offer.offerId}:accept`, {}, "POST");
}
