// Receivers of events, as webhooks of Event Grid are: one for each schema.
import http from "node:http";
import assert from "node:assert/strict";

export class Receiver {
  constructor() {
    this.grid = [];
    this.cloud = [];
    this.server = http.createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => this.#take(request, Buffer.concat(chunks).toString(), response));
    });
  }

  // listen gives the subscriptions, as the variable takes them.
  async listen(port = 0) {
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${this.server.address().port}`;
    return `${base}/grid,${base}/cloud#cloudevents`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  #take(request, text, response) {
    if (request.method === "OPTIONS") {
      response.writeHead(200, { "WebHook-Allowed-Origin": request.headers["webhook-request-origin"] ?? "*" }).end();
      return;
    }
    const batch = [].concat(JSON.parse(text));
    const handshake = batch.find((e) => e.eventType === "Microsoft.EventGrid.SubscriptionValidationEvent");
    if (handshake) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ validationResponse: handshake.data.validationCode }));
      return;
    }
    (request.url === "/cloud" ? this.cloud : this.grid).push(...batch);
    response.writeHead(200).end();
  }

  // fewest is how many kinds of events have come in either schema.
  fewest() {
    return Math.min(new Set(this.grid.map((e) => e.eventType)).size, new Set(this.cloud.map((e) => e.type)).size);
  }

  // check checks every event, and notes the ones that came in both schemas.
  check(coverage) {
    const both = this.cloud.map((e) => e.type);
    for (const event of this.cloud) {
      assert.equal(event.specversion, "1.0");
      for (const member of ["id", "source", "type", "subject", "time"]) assert.equal(typeof event[member], "string", `${event.type}: ${member}`);
      judge(event.type, event.subject, event.data);
    }
    for (const event of this.grid) {
      for (const member of ["id", "topic", "subject", "eventType", "dataVersion", "metadataVersion", "eventTime"]) {
        assert.equal(typeof event[member], "string", `${event.eventType}: ${member}`);
      }
      assert.deepEqual([event.dataVersion, event.metadataVersion], ["1.0", "1"]);
      const name = judge(event.eventType, event.subject, event.data);
      if (both.includes(event.eventType)) coverage.note("event", name);
    }
    inOrder(this.grid.map((e) => ({ name: e.eventType, id: e.id, job: e.data.jobId })));
    inOrder(this.cloud.map((e) => ({ name: e.type, id: e.id, job: e.data.jobId })));
    return new Set(this.grid.map((e) => e.id)).size;
  }
}

const prefix = "Microsoft.Communication.";

// judge checks what an event says, and gives its name.
function judge(type, subject, data) {
  if (type === "weir.router.function") { // Weir's own
    assert.equal(subject, `policy/${data.policy}`);
    for (const member of ["policy", "policyKind", "host", "state", "since"]) assert.equal(typeof data[member], "string", `${type}: ${member}`);
    return type;
  }
  assert.equal(type.startsWith(prefix), true, type);
  const name = type.slice(prefix.length);
  const [head, members] = form(name, data);
  assert.equal(subject, head, `${name}: its subject`);
  for (const member of members) assert.notEqual(data[member], undefined, `${name}: ${member} of ${JSON.stringify(data)}`);
  for (const [older, newer] of twoNames) assert.deepEqual(data[older], data[newer], `${name}: ${older}, which is also ${newer}`);
  for (const list of ["requestedWorkerSelectors", "attachedWorkerSelectors", "expiredRequestedWorkerSelectors"]) {
    for (const s of data[list] ?? []) assert.match(`${s.key} ${s.labelOperator} ${s.state}`, /^\S+ [A-Z]\w+ (Active|Expired)$/, `${name}: ${list}`);
  }
  return name;
}

// form gives the subject that an event of a name has to have, and its members.
function form(name, data) {
  const job = ["jobId", "channelId", "channelReference", "labels", "tags"];
  const head = `job/${data.jobId}/channel/${data.channelId}`;
  const offer = ["workerId", "jobId", "channelId", "channelReference", "queueId", "offerId"];
  const worker = ["workerId", "totalCapacity", "queueAssignments", "channelConfigurations", "labels", "tags"];
  const maps = ["jobPriority", "jobLabels", "jobTags", "workerLabels", "workerTags"];
  const pair = `worker/${data.workerId}/job/${data.jobId}`;
  switch (name) {
    case "RouterJobReceived": return [head, [...job, "jobStatus", "requestedWorkerSelectors", "unavailableForMatching"]];
    case "RouterJobClassified": return [`${head}/queue/${data.queueId}`, [...job, "classificationPolicyId", "priority", "attachedWorkerSelectors", "queueInfo"]];
    case "RouterJobClassificationFailed": return [`${head}/classificationpolicy/${data.classificationPolicyId}`, [...job, "classificationPolicyId", "errors"]];
    case "RouterJobQueued": return [`${head}/queue/${data.queueId}`, [...job, "queueId", "priority", "requestedWorkerSelectors", "attachedWorkerSelectors"]];
    case "RouterJobExceptionTriggered": return [`${head}/exceptionrule/${data.ruleKey}`, [...job, "ruleKey", "exceptionRuleId"]];
    case "RouterJobWorkerSelectorsExpired":
      return [`${head}/queue/${data.queueId}`, [...job, "requestedWorkerSelectorsExpired", "attachedWorkerSelectorsExpired"]];
    case "RouterJobUnassigned": case "RouterJobCompleted": return [`${head}/assignment/${data.assignmentId}`, [...job, "assignmentId", "workerId"]];
    case "RouterJobClosed": return [`${head}/assignment/${data.assignmentId}`, [...job, "assignmentId", "workerId"]];
    case "RouterJobCancelled": return [`${head}/disposition/${data.dispositionCode}`, [...job, "dispositionCode"]];
    case "RouterJobWaitingForActivation":
      return [head, [...job, "priority", "requestedWorkerSelectors", "attachedWorkerSelectors", "scheduledTimeUtc", "unavailableForMatching"]];
    case "RouterJobDeleted": return [head, job];
    case "RouterWorkerOfferIssued": return [pair, [...offer, ...maps, "offerTimeUtc", "expiryTimeUtc"]];
    case "RouterWorkerOfferAccepted": return [pair, [...offer, ...maps, "assignmentId"]];
    case "RouterWorkerOfferDeclined": case "RouterWorkerOfferRevoked": case "RouterWorkerOfferExpired": return [pair, offer];
    case "RouterWorkerRegistered": case "RouterWorkerDeleted": return [`worker/${data.workerId}`, worker];
    case "RouterWorkerUpdated": return [`worker/${data.workerId}`, [...worker, "updatedWorkerProperties"]];
    case "RouterWorkerDeregistered": return [`worker/${data.workerId}`, ["workerId"]];
    default: throw new Error(`there is no event ${name}`);
  }
}

// Members that have two names, an older and a newer one; both are there.
const twoNames = [
  ["offerTimeUtc", "offeredOn"], ["expiryTimeUtc", "expiresOn"], ["queueInfo", "queueDetails"], ["scheduledTimeUtc", "scheduledOn"],
  ["requestedWorkerSelectorsExpired", "expiredRequestedWorkerSelectors"], ["attachedWorkerSelectorsExpired", "expiredAttachedWorkerSelectors"],
];

// inOrder checks that the events of each job came in the order of its life.
// One that came again says nothing about the order.
function inOrder(events) {
  const ids = new Set(), over = new Map();
  for (const { name, id, job } of events.filter((e) => e.job)) {
    if (ids.has(id)) continue;
    ids.add(id);
    const begins = name === `${prefix}RouterJobReceived`;
    assert.equal(over.has(job), !begins, `job ${job}: ${name} ${begins ? "comes late" : "comes before it was received"}`);
    assert.notEqual(over.get(job), true, `job ${job}: ${name} after it was deleted`);
    over.set(job, name === `${prefix}RouterJobDeleted`);
  }
}
