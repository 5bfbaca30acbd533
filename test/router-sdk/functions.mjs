// Rules that ask a function, which is a server of this program's.
import assert from "node:assert/strict";
import http from "node:http";
import { Lab, soon } from "./lab.mjs";

// serve runs a function that answers what answer gives for a request's body.
async function serve(answer) {
  const calls = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      calls.push({ path: request.url, key: request.headers["x-functions-key"] ?? new URL(request.url, "http://x").searchParams.get("code"), body });
      const [status, value] = answer(request.url, body);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { calls, url: `http://127.0.0.1:${server.address().port}`, close: () => { server.closeAllConnections(); server.close(); } };
}

export async function functions(router, coverage) {
  const server = await serve((path, { job, worker }) => {
    if (path.startsWith("/priority")) return [200, job.Weight * 2];
    if (path.startsWith("/score")) return [200, worker.Skill];
    return [500, "no"];
  });
  try {
    const lab = await Lab.open(router, coverage, {
      mode: { kind: "bestWorker", scoringRule: { kind: "function", functionUri: `${server.url}/score`, credential: { functionKey: "hush" } } },
    });
    await lab.worker("weak", { labels: { Skill: 1 } });
    await lab.worker("strong", { labels: { Skill: 9 } });
    await router.put("classificationPolicies", lab.id("c"), {
      fallbackQueueId: lab.queue,
      prioritizationRule: { kind: "function", functionUri: `${server.url}/priority`, credential: { functionKey: "hush" } },
    });
    const policy = await router.get("classificationPolicies", lab.id("c"));
    assert.equal(JSON.stringify(policy).includes("hush"), false, "a key is never shown");
    await router.put("classificationPolicies", lab.id("c"), policy); // sent back as it came, it keeps the key
    await lab.job("j", { queueId: undefined, classificationPolicyId: lab.id("c"), labels: { Weight: 21 } });
    await lab.offer("strong", "j");
    assert.equal((await router.get("jobs", lab.id("j"))).priority, 42);
    assert.deepEqual(server.calls.map((c) => c.key).filter((k) => k !== "hush"), [], "every call has the key");
    assert.deepEqual(server.calls.find((c) => c.path.startsWith("/priority")).body, { job: { Weight: 21 } });
    const scored = server.calls.find((c) => c.path.startsWith("/score")).body;
    assert.deepEqual(Object.keys(scored).sort(), ["job", "selectors", "worker"]);
    await router.put("classificationPolicies", lab.id("broken"), { prioritizationRule: { kind: "function", functionUri: `${server.url}/broken` }, fallbackQueueId: lab.queue });
    await lab.job("k", { queueId: undefined, classificationPolicyId: lab.id("broken") });
    await soon(async () => (await router.get("jobs", lab.id("k"))).status === "classificationFailed", "the failure of the classification");
  } finally {
    server.close();
  }
}
