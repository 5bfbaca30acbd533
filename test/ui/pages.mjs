// Every page of the dashboard, in the state of state.mjs.
export function pages(known) {
  return {
    overview: "/", "overview on a wall": "/?wall=1",
    "busy channel": "/channels/texts", "channel, half a day": "/channels/texts?hours=12", "paused channel": "/channels/held", "broken channel": "/channels/broken", "unsure channel": "/channels/unsure", "failing channel": "/channels/failing", "people's channel": "/channels/people",
    "choice of a channel type": "/channels/_new", "new channel": "/channels/_new?type=twilio", "new channel of a template": "/channels/_new?type=http&template=infobip", "edit a channel": "/channels/texts/edit", "set-up of a channel": "/channels/texts/setup", "test contact": "/contacts/_new?channel=texts&priority=high&messages=This+is+a+test.", "test call": "/contacts/_new?channel=unsure&priority=high&twiml=%3CResponse%2F%3E",
    contacts: "/contacts", "contacts, filtered": "/contacts?channel=held&state=queued", "waiting contact": `/contacts/${known.waiting}`, "dead contact": `/contacts/${known.dead}`, "contact with a receipt": `/contacts/${known.ruled}`, "contact that waits for a rule": `/contacts/${known.capped}`,
    "send a contact": "/contacts/_new", "send a file": "/contacts/_import", search: "/search",
    "dead letters": "/dead-letters", "list of dead letters": "/dead-letters/list",
    people: "/people", "may be an opt-out": "/people/undecided", purposes: "/purposes", purpose: "/purposes/research", "default purpose": "/purposes/default", "new purpose": "/purposes/_new", "edit a purpose": "/purposes/research/edit",
    "shared limits": "/limits", "shared limit": "/limits/portfolio", "new limit": "/limits/_new", "edit a limit": "/limits/portfolio/edit", spending: "/spending", "edit a price": "/prices/held/edit",
    surveys: "/surveys", "calendar of surveys": "/surveys/_calendar", "running survey": "/surveys/vaccines", "draft survey": "/surveys/water", "survey without respondents": "/surveys/empty", "finished survey": "/surveys/quick", "new survey": "/surveys/_new", "new survey as JSON": "/surveys/_new/json", "edit a survey": "/surveys/water/edit", "edit a running survey": "/surveys/vaccines/edit", "edit a survey as JSON": "/surveys/water/edit/json", "definition": "/surveys/vaccines/definition", "import respondents": "/surveys/water/import", "questions of a survey": "/surveys/water/questions", "pilot of a survey": "/surveys/water/pilot", "results of a survey without questions": "/surveys/water/answers", "correct a respondent": `/surveys/vaccines/respondents/${known.respondent}/edit`,
    respondents: "/surveys/vaccines/respondents", respondent: `/surveys/vaccines/respondents/${known.respondent}`, "survey log": "/surveys/vaccines/log",
    router: "/router", workers: "/router/workers", worker: "/router/workers/ana", queues: "/router/queues", queue: "/router/queues/billing",
    jobs: "/router/jobs", "assigned job": `/router/jobs/${known.assigned}`, "waiting job": "/router/jobs/klingon", policies: "/router/policies", board: "/router/board", "board on a wall": "/router/board?wall=1", desks: "/router/desk", desk: "/router/desk/ana", "desk on a break": "/router/desk/eve",
    "audit log": "/audit", webhooks: "/webhooks", webhook: `/webhooks/${known.webhook}`, "not found": "/contacts/none-1", "the API's page": "/docs",
    help: "/help", "document with tables": "/help/limits", "document with code": "/help/providers",
  };
}

// questions are the pages that ask for confirmation.
export function questions(known) {
  return {
    "pause a channel": "/channels/texts/pause", "capacity of a channel": "/channels/texts/capacity", "delete a channel": "/channels/goner/delete",
    "cancel contacts": "/contacts/_cancel?channel=held", "cancel a contact": `/contacts/${known.waiting}/cancel`, "requeue dead letters": "/dead-letters/requeue", "launch a survey": "/surveys/water/launch", "clone a survey": "/surveys/water/clone", "delete a survey": "/surveys/water/delete", "remove a respondent": `/surveys/vaccines/respondents/${known.respondent}/remove`, "cancel a job": "/router/jobs/klingon/cancel", "delete a purpose": "/purposes/research/delete", "delete a limit": "/limits/portfolio/delete", "delete a price": "/prices/held/delete", "replay events": `/webhooks/${known.webhook}/replay`,
  };
}
