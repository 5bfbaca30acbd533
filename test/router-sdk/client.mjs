// The client: what the official router client is, a thin layer on Microsoft's
// two packages, which build, version, sign, send and repeat the requests.
import { getClient } from "@azure-rest/core-client";
import { createCommunicationAuthPolicy, parseClientArguments } from "@azure/communication-common";

// routerClient makes a client from a connection string, as the official one
// is made. onAnswer sees every request with its answer.
export function routerClient(connectionString, onAnswer, options = {}) {
  const { url, credential } = parseClientArguments(connectionString);
  const client = getClient(url, {
    allowInsecureConnection: true, // loopback
    apiVersion: "2024-01-18-preview",
    retryOptions: { maxRetries: 0 }, // an answer that asks for a repetition is to be seen
    ...options,
  });
  client.pipeline.addPolicy(createCommunicationAuthPolicy(credential));
  client.pipeline.addPolicy({
    name: "watch",
    async sendRequest(request, next) {
      const answer = await next(request);
      onAnswer(request.method, new URL(request.url), answer);
      return answer;
    },
  });
  return client;
}

// Refused is an answer that was not a 2xx.
export class Refused extends Error {
  constructor(method, path, answer) {
    const error = answer.body?.error;
    super(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    this.status = Number(answer.status);
    this.code = error?.code;
    this.details = (error?.details ?? []).map((d) => d.code);
    this.error = error;
  }
}

const mergePatch = "application/merge-patch+json";

// Router has a method for each thing that the API does. Bodies are returned,
// refusals thrown.
export class Router {
  constructor(client) {
    this.client = client;
  }

  async send(method, path, ids, parameters = {}) {
    const answer = await this.client.path(path, ...ids)[method](parameters);
    if (!/^2/.test(answer.status)) throw new Refused(method.toUpperCase(), path, answer);
    return answer;
  }

  async put(kind, id, body, headers) {
    const answer = await this.send("patch", `/routing/${kind}/{id}`, [id], { body, headers, contentType: mergePatch });
    return { ...answer.body, created: answer.status === "201", lastModified: answer.headers["last-modified"] };
  }

  async get(kind, id) {
    return (await this.send("get", `/routing/${kind}/{id}`, [id])).body;
  }

  async delete(kind, id) {
    const answer = await this.send("delete", `/routing/${kind}/{id}`, [id]);
    if (answer.status !== "204") throw new Refused("DELETE", kind, answer);
  }

  // list follows nextLink as the paging helper of the client does: a link that
  // is there and no text is an error.
  async list(kind, queryParameters = {}) {
    const pages = [];
    let answer = await this.send("get", `/routing/${kind}`, [], { queryParameters });
    for (;;) {
      pages.push(answer.body.value);
      const next = answer.body.nextLink;
      if (next === undefined) return pages;
      if (typeof next !== "string") throw new Error(`nextLink is ${next}`);
      answer = await this.client.pathUnchecked(next).get();
      if (answer.status !== "200") throw new Refused("GET", next, answer);
    }
  }

  async act(path, ids, body) {
    const parameters = body === undefined ? {} : { body, contentType: "application/json" };
    return (await this.send("post", `/routing/${path}`, ids, parameters)).body;
  }

  cancel(job, body) { return this.act("jobs/{id}:cancel", [job], body); }
  reclassify(job, body) { return this.act("jobs/{id}:reclassify", [job], body); }
  complete(job, assignment, body) { return this.act("jobs/{id}/assignments/{aid}:complete", [job, assignment], body); }
  close(job, assignment, body) { return this.act("jobs/{id}/assignments/{aid}:close", [job, assignment], body); }
  unassign(job, assignment, body) { return this.act("jobs/{id}/assignments/{aid}:unassign", [job, assignment], body); }
  accept(worker, offer) { return this.act("workers/{id}/offers/{oid}:accept", [worker, offer]); }
  decline(worker, offer, body) { return this.act("workers/{id}/offers/{oid}:decline", [worker, offer], body); }
  async position(job) { return (await this.send("get", "/routing/jobs/{id}/position", [job])).body; }
  async statistics(queue) { return (await this.send("get", "/routing/queues/{id}/statistics", [queue])).body; }
}
