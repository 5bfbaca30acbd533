// Copies what one job router has to another: policies, queues and workers, or,
// with the argument "jobs", the jobs that wait, are scheduled or wait for activation, in their order;
// it counts those that it leaves behind. Both are named
// by connection strings:
//
//   npm install @azure-rest/core-client @azure/communication-common
//   FROM='endpoint=…;accesskey=…' TO='endpoint=…;accesskey=…' node copy-router.mjs [jobs]
//
// It only reads FROM. Repeating it makes the same again. Workers arrive as not
// available. A job's worker selectors and labels are those that it has now.
import { getClient } from "@azure-rest/core-client";
import { createCommunicationAuthPolicy, parseClientArguments } from "@azure/communication-common";

const connect = (connectionString) => {
  const { url, credential } = parseClientArguments(connectionString);
  const client = getClient(url, { apiVersion: "2024-01-18-preview", allowInsecureConnection: url.startsWith("http:") });
  client.pipeline.addPolicy(createCommunicationAuthPolicy(credential));
  return client;
};
const from = connect(process.env.FROM), to = connect(process.env.TO);

async function* all(kind, queryParameters = {}) {
  let page = await from.path(`/routing/${kind}`).get({ queryParameters });
  for (;;) {
    if (page.status !== "200") throw new Error(`${kind}: ${page.status}`);
    yield* page.body.value;
    if (!page.body.nextLink) return;
    page = await from.pathUnchecked(page.body.nextLink).get();
  }
}
let failed = false;
const put = async (kind, id, body) => {
  const answer = await to.path(`/routing/${kind}/{id}`, id).patch({ body, contentType: "application/merge-patch+json" });
  if (/^2/.test(answer.status)) return;
  failed = true;
  console.error(kind, id, answer.status, JSON.stringify(answer.body?.error));
};

const copy = async (kind, change = (body) => body) => {
  let n = 0;
  for await (const { etag, ...body } of all(kind)) {
    await put(kind, body.id, change(body));
    n++;
  }
  console.log(kind, n);
};

if (process.argv[2] === "jobs") {
  const waiting = [];
  for (const status of ["queued", "scheduled", "waitingForActivation"]) {
    let n = 0;
    for await (const { etag, ...body } of all("jobs", { status })) {
      waiting.push(body);
      n++;
    }
    console.log("jobs", status, n);
  }
  const since = (job) => job.enqueuedAt ?? job.scheduledAt ?? "";
  waiting.sort((a, b) => since(a).localeCompare(since(b)));
  for (const body of waiting) await put("jobs", body.id, body);
  for (const status of ["assigned", "completed", "pendingClassification", "classificationFailed"]) {
    let n = 0;
    for await (const _ of all("jobs", { status })) n++;
    if (n > 0) console.log("jobs", status, n, "left behind");
  }
} else {
  await copy("distributionPolicies");
  await copy("queues", ({ exceptionPolicyId, ...body }) => body); // these and the next two may name each other
  await copy("classificationPolicies");
  await copy("exceptionPolicies");
  await copy("queues");
  await copy("workers", (body) => ({ ...body, availableForOffers: false }));
}
process.exitCode = failed ? 1 : 0;
