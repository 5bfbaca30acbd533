// A client of Weir in TypeScript, to see whether the types that a generator makes of
// docs/openapi.json fit what clients write. It is checked, not run. At its
// end are mistakes that these types have to find.
import createClient from "openapi-fetch";
import type { components, paths } from "./types/weir.js";

type Schemas = components["schemas"];
type Contact = Schemas["ContactBody"];
type Outcome = NonNullable<Schemas["ContactView"]["outcome"]>;

const weir = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers: { Authorization: "Bearer token" } });

/** Sends contacts and returns their ids by key. */
export async function send(channel: string, contacts: Contact[]): Promise<Map<string, string>> {
  const { data, error, response } = await weir.POST("/v1/channels/{channel}/contacts", { params: { path: { channel } }, body: { contacts } });
  if (error) {
    throw new Error(explain(response.status, error));
  }
  if (!data) {
    return new Map(); // a dry run has no body, and this is none
  }
  return new Map(data.contacts.map((c) => [c.key ?? "", c.id]));
}

/** Sends a text and makes a call. The keys let this be repeated safely. */
export async function reach(person: { name: string; phone: string }): Promise<void> {
  await send("texts", [{ key: `text-${person.name}`, to: person.phone, messages: ["Hello"], priority: "high", not_after: new Date(Date.now() + 3.6e6).toISOString(), labels: { name: person.name } }]);
  await send("calls", [{ key: `call-${person.name}`, to: person.phone, call: { twiml: "<Response/>" }, survey: "flu" }]);
}

/** Explains a refusal: every error is a problem (RFC 9457) with a stable code. */
export function explain(status: number, problem: Schemas["Problem"]): string {
  const fields = (problem.errors ?? []).map((e) => `${e.pointer}: ${e.detail} (${e.code})`);
  return [`${status} ${problem.code}: ${problem.detail ?? problem.title}`, ...fields].join("\n");
}

/** Lists what has ended since an instant, page by page. */
export async function* finishedSince(instant: string): AsyncGenerator<Schemas["ContactView"]> {
  for (let cursor: string | undefined; ; ) {
    const query = cursor === undefined ? { finished_after: instant, limit: 500 } : { finished_after: instant, limit: 500, cursor };
    const { data, error, response } = await weir.GET("/v1/contacts", { params: { query } });
    if (error) {
      throw new Error(explain(response.status, error));
    }
    yield* data.contacts;
    if ((cursor = data.next_cursor) === undefined) {
      return;
    }
  }
}

/** Cancels a contact; true: it has ended. */
export async function cancel(id: string): Promise<boolean> {
  const { data, error, response } = await weir.DELETE("/v1/contacts/{id}", { params: { path: { id } } });
  if (error) {
    throw new Error(explain(response.status, error));
  }
  return data.state === "done";
}

/** Makes a channel and starts a survey with one respondent. */
export async function survey(name: string): Promise<Schemas["SurveyView"]> {
  await weir.PUT("/v1/channels/{channel}", {
    params: { path: { channel: "texts" } },
    body: { type: "nuntium", capacity: 10, settings: { base_url: "https://nuntium.example", account: "demo", application: "weir", token: "t", channel: "sms" } },
  });
  await weir.PUT("/v1/surveys/{survey}", {
    params: { path: { survey: name } },
    body: {
      modes: { sms: { channel: "texts", retries: "2h 1d" } },
      arms: [{ modes: ["sms"] }],
      questionnaires: { main: { sms: [{ messages: ["Hello {{first_name}}"] }] } },
      schedule: { time_zone: "America/Mexico_City", weekdays: ["mon", "tue"], windows: [{ from: "09:00", to: "18:00" }] },
    },
  });
  await weir.POST("/v1/surveys/{survey}/respondents", { params: { path: { survey: name } }, body: { respondents: [{ phone: "+15550001", attributes: { region: "north" } }] } });
  const { data, error, response } = await weir.POST("/v1/surveys/{survey}:launch", { params: { path: { survey: name } } });
  if (error) {
    throw new Error(explain(response.status, error));
  }
  return data;
}

/** Reads the events after an id: a page, and the id to continue after. */
export async function events(after: number): Promise<Schemas["EventList"]> {
  const { data, error, response } = await weir.GET("/v1/events", { params: { query: { after, type: "weir.contact.*,weir.message.received" } } });
  if (error) {
    throw new Error(explain(response.status, error));
  }
  if (typeof data === "string") {
    throw new Error("a stream, which was not asked for");
  }
  return data;
}

/** Reads the data of an event about a contact. */
export function ended(event: Schemas["EventView"]): { contact: string; outcome: Outcome } | undefined {
  if (event.type !== "weir.contact.done") {
    return undefined;
  }
  const data = event.data as Schemas["ContactData"];
  return data.outcome === undefined ? undefined : { contact: data.contact, outcome: data.outcome };
}

/** Reads the data of an event about a message from a person. */
export function said(event: Schemas["EventView"]): string {
  const message: Schemas["MessageData"] = event.data as Schemas["MessageData"];
  return `${message.from}: ${message.text}`;
}

/** Mistakes. */
export async function mistakes(contact: Schemas["ContactView"]): Promise<void> {
  // @ts-expect-error: a contact needs an address
  await send("texts", [{ messages: ["hi"] }]);
  // @ts-expect-error: there is no such priority
  await send("texts", [{ to: "+15550001", messages: ["hi"], priority: "urgent" }]);
  // @ts-expect-error: there is no such field
  await send("texts", [{ to: "+15550001", message: "hi" }]);
  // @ts-expect-error: there is no such parameter
  await weir.GET("/v1/contacts", { params: { query: { finished_before: "" } } });
  // @ts-expect-error: there is no such route
  await weir.POST("/v1/contacts", { body: {} });
  // @ts-expect-error: there is no such state
  if (contact.state === "over") {
    return;
  }
}
