// Every change of the state of a worker and of an offer.
import assert from "node:assert/strict";
import { Lab, refused, soon } from "./lab.mjs";

export async function states(router, coverage) {
  const lab = await Lab.open(router, coverage);
  const available = (is) => router.put("workers", lab.id("w"), { availableForOffers: is });
  assert.equal((await lab.worker("w", { availableForOffers: false })).state, "inactive");
  assert.equal((await available(true)).state, "active");
  lab.changed("worker: inactive → active");
  assert.equal((await available(false)).state, "inactive");
  lab.changed("worker: active → inactive");
  await router.put("workers", lab.id("w"), { tags: { updated: true }, availableForOffers: true });
  await router.put("workers", lab.id("w"), { tags: { updated: "again" } });
  await lab.job("j");
  const as = await lab.accept("w", "j");
  assert.equal((await available(false)).state, "draining");
  lab.changed("worker: active → draining");
  assert.equal((await available(true)).state, "active");
  lab.changed("worker: draining → active");
  await available(false);
  await router.complete(lab.id("j"), as);
  await lab.state("w", "draining");
  await router.close(lab.id("j"), as);
  await lab.state("w", "inactive");
  lab.changed("worker: draining → inactive");
  await router.delete("workers", lab.id("w"));
}

export async function offers(router, coverage) {
  const lab = await Lab.open(router, coverage);
  await lab.worker("w");
  await lab.job("j");
  const first = await lab.offer("w", "j");
  assert.deepEqual(await router.decline(lab.id("w"), first, { retryOfferAt: new Date(Date.now() + 1000).toISOString() }), {});
  await refused(404, router.accept(lab.id("w"), first));
  await refused(404, router.decline(lab.id("w"), first));
  await lab.noOffers("w");
  const second = await lab.offer("w", "j");
  assert.notEqual(second, first);
  lab.changed("offer: declined until");
  assert.deepEqual(await router.decline(lab.id("w"), second), {});
  await lab.worker("v");
  await lab.offer("v", "j"); // the next one
  await lab.noOffers("w");
  lab.changed("offer: declined");

  const short = await Lab.open(router, coverage, { offerExpiresAfterSeconds: 0.5 });
  await short.worker("w");
  await short.job("j");
  await short.state("w", "inactive");
  assert.equal((await router.get("workers", short.id("w"))).availableForOffers, false);
  short.changed("offer: expired");
}

// Each reason for which an offer is revoked.
export async function revoked(router, coverage) {
  const pair = await Lab.open(router, coverage, { mode: { kind: "longestIdle", maxConcurrentOffers: 2 } });
  await pair.worker("w");
  await pair.worker("v");
  await pair.job("j");
  const lost = await pair.offer("v", "j");
  await pair.accept("w", "j");
  await refused(409, router.accept(pair.id("v"), lost));
  pair.changed("offer: revoked, another accepted");

  const of = async (why, change) => {
    const lab = await Lab.open(router, coverage);
    await lab.worker("w");
    await lab.job("j");
    const offer = await lab.offer("w", "j");
    await change(lab);
    if (why !== "worker deleted") {
      await soon(async () => (await router.get("workers", lab.id("w"))).offers.every((o) => o.offerId !== offer), `revocation: ${why}`);
    }
    await refused(404, router.accept(lab.id("w"), offer));
    lab.changed(`offer: revoked, ${why}`);
  };
  await of("deregistered", (lab) => router.put("workers", lab.id("w"), { availableForOffers: false }));
  await of("job cancelled", (lab) => router.cancel(lab.id("j")));
  await of("labels changed", (lab) => router.put("jobs", lab.id("j"), { labels: { a: 1 } }));
  await of("selectors changed", (lab) => router.put("jobs", lab.id("j"), { requestedWorkerSelectors: [{ key: "a", labelOperator: "notEqual", value: 1 }] }));
  await of("channel changed", (lab) => router.put("jobs", lab.id("j"), { channelId: "voice" }));
  await of("queue changed", async (lab) => {
    await router.put("queues", lab.id("other"), {});
    await router.put("jobs", lab.id("j"), { queueId: lab.id("other") });
  });
  await of("capacity reduced", (lab) => router.put("workers", lab.id("w"), { capacity: 0 }));
  await of("channels changed", (lab) => router.put("workers", lab.id("w"), { channels: [{ channelId: "voice", capacityCostPerJob: 1 }] }));
  await of("queue left", (lab) => router.put("workers", lab.id("w"), { queues: [] }));
  await of("worker deleted", (lab) => router.delete("workers", lab.id("w")));
}
