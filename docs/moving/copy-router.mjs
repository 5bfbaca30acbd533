// Copies one job router to another: policies, queues and workers, or, with the
// argument "jobs", the jobs that are queued, scheduled or waiting for activation,
// in the order in which they were queued. It counts the jobs that it leaves
// behind. Both routers are named by connection strings:
//
//   npm install @azure-rest/core-client @azure/communication-common
//   FROM='endpoint=…;accesskey=…' TO='endpoint=…;accesskey=…' node copy-router.mjs [jobs]
//
// It only reads FROM. Repeating it updates policies, queues and workers and adds
// missing jobs. New workers are not available; the availability of workers that
// TO has already stays as it is, and so do its jobs. A job's worker selectors and
// labels are its current ones.
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
const put = async (kind, id, body, headers = {}) => {
  const answer = await to.path(`/routing/${kind}/{id}`, id).patch({ body, headers, contentType: "application/merge-patch+json" });
  if (/^2/.test(answer.status)) return "copied";
  if (answer.status === "412") return "already there";
  failed = true;
  console.error(kind, id, answer.status, JSON.stringify(answer.body?.error));
  return "failed";
};

const print = (counts) => { for (const [name, n] of Object.entries(counts)) console.log(name, n); };
const count = (counts, name) => { counts[name] = (counts[name] ?? 0) + 1; };

const copy = async (kind, change = (body) => body) => {
  const counts = {};
  for await (const { etag, ...body } of all(kind)) count(counts, `${kind} ${await put(kind, body.id, change(body))}`);
  print(counts);
};

if (process.argv[2] === "jobs") {
  const moving = ["queued", "scheduled", "waitingForActivation"], waiting = [], counts = {};
  for await (const { etag, ...body } of all("jobs", { status: "active" })) { // one list: a job may change its status meanwhile
    if (moving.includes(body.status)) waiting.push(body);
    else count(counts, `jobs ${body.status} left behind`);
  }
  const since = (job) => job.enqueuedAt ?? job.scheduledAt ?? "";
  waiting.sort((a, b) => since(a).localeCompare(since(b)));
  for (const body of waiting) count(counts, `jobs ${body.status} ${await put("jobs", body.id, body, { "if-none-match": "*" })}`);
  print(counts);
} else {
  await copy("distributionPolicies");
  await copy("queues", ({ exceptionPolicyId, ...body }) => body); // these and the next two may name each other
  await copy("classificationPolicies");
  await copy("exceptionPolicies");
  await copy("queues");
  await copy("workers", ({ availableForOffers, ...body }) => body);
}
process.exitCode = failed ? 1 : 0;
