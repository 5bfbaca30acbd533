package openapi

import "github.com/danielgtaylor/huma/v2"

const aboutAPI = `A durable contact broker: programs hand it contacts, and it lets them through only as fast as each channel can take them.

Bodies are JSON in UTF-8, instants are RFC 3339, from 1970 to 9999 in UTC, unknown fields are refused. A list has next_cursor until its last page: give it back as cursor.

Every error is a problem (RFC 9457) with a stable code; each answer below lists the codes that it may have. A body that is no JSON is 400, one with wrong content 422, and both change nothing. A list of mistakes points into the body, or, for parameters, at the parameter's name. A path that is not listed here is answered with 404 and not_found, a method that a path does not take with 405 and method_not_allowed.

The API of the job router, under /routing, is that of Azure Communication Services Job Router; GET /routing/openapi.json describes it.`

// tags returns the groups of operations, in display order.
func tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: "channels", Description: "A channel is one account at one provider, with a capacity: no more slots are ever in flight."},
		{Name: "contacts", Description: "A contact is one outreach to one number over one channel: a call, or an SMS of one or more messages."},
		{Name: "surveys", Description: "A survey contacts its respondents within its schedule, with retries and fall-backs, until it has enough."},
		{Name: "respondents", Description: "The people of a survey, and how the conversations with them go."},
		{Name: "events", Description: "Everything that happened, as it happens or later."},
		{Name: "access", Description: "Who may do what, and who did."},
		{Name: "operation", Description: "For monitoring, and for providers. No part of the JSON API: outside /v1, and most of it without a token."},
	}
}

// schemaHelp describes the schemas whose types have no description.
func schemaHelp() map[string]string {
	return map[string]string{
		"AcceptedList":    "The contacts of a request that was accepted, in its order.",
		"AcceptedView":    "A contact of a request that was accepted.",
		"AddedView":       "A respondent of a request that was JSON.",
		"AllMinutesView":  "What happened on many channels, for small charts.",
		"ApplicationBody": "The program that holds the conversation with people who answer by text.",
		"ApplicationView": "The program that holds the conversation with people who answer by text.",
		"Arm":             "One of the ways to ask that a survey compares.",
		"AttemptView":     "One hand-over of a contact to the provider.",
		"AttemptsView":    "How many attempts in a mode ended alike.",
		"AuditList":       "A page of the audit log.",
		"AuditView":       "An entry of the audit log.", "AuditChangeView": "A field that a request changed.",
		"BreakerView":     "A channel's circuit breaker.",
		"Bucket":          "Respondents of whom a number is wanted.",
		"Call":            "What a call does: exactly one of the fields.",
		"CallBody":        "What a call does: exactly one of the fields.",
		"CallbacksView":   "Reports of the provider, by what they did.",
		"CanceledView":    "A contact that was taken back, or is being taken back.",
		"ChannelBody":     "A channel as it is written.",
		"ChannelList":     "A page of channels.",
		"ChannelMinutes":  "The steps of one channel, a number for each.",
		"ChannelPatch":    "What is to change of a channel: a JSON merge patch.",
		"ChannelUseView":  "A channel that a survey uses.",
		"ChannelView":     "A channel with its live figures.",
		"ContactBody":     "A contact that is to be queued.",
		"ContactList":     "A page of contacts.",
		"ContactView":     "A contact with its attempts.",
		"ContactsBody":    "Contacts that are to be queued, all or none.",
		"CollectView":     "A search for contacts that have been silent for too long.",
		"Content":         "What is said in one attempt: messages, or a call.",
		"Counts":          "A number for each mode; one that is absent is 0.",
		"DeadBody":        "Which dead letters something is to be done with.",
		"DeadDone":        "What was done with dead letters.",
		"DeadGroupView":   "How many dead letters ended alike.",
		"DeadGroups":      "Dead letters by channel, outcome and reason.",
		"DeadList":        "A page of dead letters.",
		"DeadView":        "A dead letter: a contact that ended badly and that nobody will retry.",
		"DeletingView":    "A channel that goes when its last contact has ended.",
		"EventList":       "A page of events.",
		"EventView":       "Something that happened.",
		"FieldError":      "One mistake in a request.",
		"FinishedView":    "Contacts that ended, by outcome.",
		"HeardView":       "A respondent, and the effect of a report about it.",
		"HearingBody":     "What an application reports of a respondent.",
		"ImportProblem":   "A problem that says how far an import came.",
		"ImportView":      "What came of respondents that were to be added.",
		"IncomingList":    "A page of messages that people sent.",
		"IncomingView":    "A message that somebody sent to a channel.",
		"Liveness":        "That the process answers.",
		"Match":           "What an attribute has to be: one of some texts, or a number within bounds.",
		"MinuteView":      "What happened on a channel in one step.",
		"MinutesView":     "What happened on one channel, step by step.",
		"ModePatch":       "What is to change of how a survey uses a mode.",
		"ModeSpec":        "How a survey uses a mode.",
		"Problem":         "An error (RFC 9457). Its code is stable; title and detail are for people.",
		"QuotaView":       "A bucket, and how many it has.",
		"Readiness":       "Whether requests should come here.",
		"RespondentBody":  "A respondent that is to be added.",
		"RespondentList":  "A page of respondents.",
		"RespondentView":  "A respondent: one person in a survey.",
		"RespondentsBody": "Respondents that are to be added, all or none.",
		"RowError":        "A row of a file that was not loaded.",
		"ScheduleSpec":    "When a survey may contact people.",
		"SearchBody":      "The phone number whose contacts to find.", "SpanView": "A window of a schedule.",
		"SurveyLogList": "A page of a survey's log.",
		"SurveyLogView": "Something that happened in a survey.",
		"StatsView":     "How far a survey has come.",
		"SurveyBody":    "A survey as it is written: everything but its respondents.",
		"SurveyList":    "A page of surveys.",
		"SurveyPatch":   "What is to change of a survey: a JSON merge patch.",
		"SurveySummary": "A survey as lists show it.",
		"SurveyView":    "A survey with its definition.",
		"TimelineEvent": "Something that is known of a contact's life.",
		"TimelineFor":   "The respondent for whom a survey made a contact.",
		"TimelineView":  "The life of a contact, as far as it was recorded.",
		"WhoView":       "The token that a request carries.", "HoldView": "Whether Weir sends anything.",
		"WindowSpec": "Hours of a day.",
	}
}
