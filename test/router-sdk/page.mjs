// The page "How jobs are matched to workers", with its code as it is printed:
// only the endpoint is another.
import assert from "node:assert/strict";
import { soon } from "./lab.mjs";

export async function page(router) {
  const { client } = router;
  await router.put("queues", "queue1", {});
  await router.put("queues", "queue2", {});

  let worker = await client.path("/routing/workers/{workerId}", "worker-1").patch({
    body: {
      availableForOffers: true,
      capacity: 2,
      queues: ["queue1", "queue2"],
      channels: [
        { channelId: "voice", capacityCostPerJob: 2 },
        { channelId: "chat", capacityCostPerJob: 1 }
      ],
      labels: {
        Skill: 11,
        English: true,
        French: false,
        Vendor: "Acme"
      }
    },
    contentType: "application/merge-patch+json"
  });
  assert.equal(worker.status, "201");
  assert.equal(worker.body.state, "active");
  assert.deepEqual(worker.body.labels, { Id: "worker-1", Skill: 11, English: true, French: false, Vendor: "Acme" });

  const job = await client.path("/routing/jobs/{jobId}", "job1").patch({
    body: {
      channelId: "chat",
      queueId: "queue1",
      requestedWorkerSelectors: [
        { key: "English", labelOperator: "equal", value: true },
        { key: "Skill", labelOperator: "greaterThan", value: 10, expiresAfterSeconds: 300 },
      ],
      labels: { name: "John" }
    },
    contentType: "application/merge-patch+json"
  })
  assert.equal(job.status, "201");
  assert.equal(job.body.status, "created");
  assert.equal(job.body.priority, 1);
  const [offer] = await soon(async () => {
    const { offers } = await router.get("workers", "worker-1");
    return offers.length === 1 && offers;
  }, "the offer");
  assert.equal(offer.jobId, "job1");
  assert.equal(new Date(offer.expiresAt) - new Date(offer.offeredAt), 60_000);

  worker = await client.path("/routing/workers/{workerId}", worker.body.id).patch({
    body: { availableForOffers: false },
    contentType: "application/merge-patch+json"
  });
  assert.equal(worker.status, "200");
  assert.deepEqual(worker.body.offers, []);
  assert.equal(worker.body.state, "inactive");
  await router.cancel("job1");
}
