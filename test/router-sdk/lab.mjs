// What the suites have in common: a place of their own in the router, and
// checks that wait for what comes by itself.
import assert from "node:assert/strict";
import { Refused } from "./client.mjs";

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// soon waits for a check to hold.
export async function soon(check, what = "it") {
  const end = Date.now() + 15_000;
  for (;;) {
    try {
      const got = await check();
      if (got) return got;
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > end) throw error;
    }
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await pause(50);
  }
}

// refused checks that a request is refused, and gives the refusal.
export async function refused(status, promise) {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    assert.equal(error.status, status, error.message);
    assert.equal(typeof error.code, "string", "an error has a code");
    assert.equal(typeof error.error.message, "string", "an error has a message");
    return error;
  }
  throw new Error(`it was taken; wanted ${status}`);
}

let labs = 0;

// Lab is a queue with a policy, and names of its own.
export class Lab {
  constructor(router, coverage) {
    this.router = router;
    this.coverage = coverage;
    this.name = `lab${++labs}`;
    this.queue = this.id("q");
  }

  static async open(router, coverage, policy = {}, queue = {}) {
    const lab = new Lab(router, coverage);
    await router.put("distributionPolicies", lab.id("d"), { offerExpiresAfterSeconds: 60, mode: { kind: "longestIdle" }, ...policy });
    await router.put("queues", lab.queue, { distributionPolicyId: lab.id("d"), ...queue });
    return lab;
  }

  id(name) { return `${this.name}-${name}`; }
  changed(name) { this.coverage.changed(name); }

  worker(name, members = {}) {
    return this.router.put("workers", this.id(name), {
      queues: [this.queue], capacity: 1, channels: [{ channelId: "chat", capacityCostPerJob: 1 }], availableForOffers: true, ...members,
    });
  }

  job(name, members = {}) {
    return this.router.put("jobs", this.id(name), { channelId: "chat", queueId: this.queue, ...members });
  }

  async status(name, want) {
    await soon(async () => (await this.router.get("jobs", this.id(name))).status === want, `job ${name} ${want}`);
  }

  async state(name, want) {
    await soon(async () => (await this.router.get("workers", this.id(name))).state === want, `worker ${name} ${want}`);
  }

  // offer waits for the offer of a job to a worker.
  async offer(worker, job) {
    return soon(async () => (await this.router.get("workers", this.id(worker))).offers.find((o) => o.jobId === this.id(job))?.offerId, `the offer of ${job} to ${worker}`);
  }

  async noOffers(worker) {
    await soon(async () => (await this.router.get("workers", this.id(worker))).offers.length === 0, `no offers of ${worker}`);
  }

  async accept(worker, job) {
    const taken = await this.router.accept(this.id(worker), await this.offer(worker, job));
    assert.equal(taken.jobId, this.id(job));
    assert.equal(taken.workerId, this.id(worker));
    return taken.assignmentId;
  }

  async finish(job, assignment) {
    assert.deepEqual(await this.router.complete(this.id(job), assignment), {});
    assert.deepEqual(await this.router.close(this.id(job), assignment), {});
  }
}
