package auth

import (
	"net/http"

	"weir/operators"
)

// Access is what a token needs for a route: one of some scopes, for what the route is about.
type Access struct {
	OneOf []operators.Scope
	Reach Reach
}

// Reach is what the requests of a route are about, which decides whether a scope with a limit suffices.
type Reach int

// The reaches. A route without one is an error: see route.Grant.
const (
	Unset        Reach = iota
	Installation       // all of Weir: a scope with a limit does not suffice
	PathChannel        // the channel in the path
	PathSurvey         // the survey in the path
	Filtered           // channels or surveys that the handler finds: it leaves out, or rejects, those that route.Call.Reaches excludes
	Shared             // nothing of a single channel or survey: any limit suffices
)

// Admit returns an error if the sender of a request has no access. With Filtered the handler decides the rest.
func (a Access) Admit(who *Principal, r *http.Request) error {
	switch a.Reach {
	case PathChannel:
		return who.Require(a.OneOf, operators.Channel(r.PathValue("channel")))
	case PathSurvey:
		return who.Require(a.OneOf, operators.Survey(r.PathValue("survey")))
	case Filtered, Shared:
		return who.RequireSome(a.OneOf)
	case Unset, Installation:
	}
	return who.Require(a.OneOf, operators.Subject{})
}

// RouteAccess is the authorization table, by route id. A route without a row is an error: see route.Grant.
func RouteAccess() map[string]Access {
	readContacts := []operators.Scope{operators.ScopeContactsRead}
	writeContacts := []operators.Scope{operators.ScopeContactsWrite}
	readChannels := []operators.Scope{operators.ScopeContactsRead, operators.ScopeChannelsAdmin}
	changeChannels := []operators.Scope{operators.ScopeChannelsAdmin}
	readSurveys := []operators.Scope{operators.ScopeContactsRead, operators.ScopeSurveysAdmin}
	changeSurveys := []operators.Scope{operators.ScopeSurveysAdmin}
	changePeople := []operators.Scope{operators.ScopePeopleAdmin}
	readPurposes := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead, operators.ScopeContactsWrite, operators.ScopeSurveysAdmin}
	findPeople := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead}
	webhooks := []operators.Scope{operators.ScopeWebhooksAdmin}
	tokens := []operators.Scope{operators.ScopeTokensAdmin}
	return map[string]Access{
		"list-channels":      {readChannels, Filtered},
		"get-channel":        {readChannels, PathChannel},
		"put-channel":        {changeChannels, PathChannel},
		"patch-channel":      {changeChannels, PathChannel},
		"delete-channel":     {changeChannels, PathChannel},
		"list-incoming":      {readContacts, PathChannel},
		"list-channel-types": {readChannels, Shared},
		// It may call what a channel may call.
		"test-channel": {changeChannels, Filtered},
		// The address holds a secret.
		"get-channel-callback": {changeChannels, PathChannel},
		"get-minutes":          {readChannels, PathChannel}, "get-hours": {readChannels, PathChannel},
		"list-minutes": {readChannels, Filtered},
		// They bound what channels do together, whosever these are.
		"list-limits": {readChannels, Installation}, "get-limit": {readChannels, Installation}, "put-limit": {changeChannels, Installation}, "delete-limit": {changeChannels, Installation},
		"list-prices": {readChannels, Filtered}, "get-price": {readChannels, PathChannel}, "put-price": {changeChannels, PathChannel}, "delete-price": {changeChannels, PathChannel},
		"list-spending": {readChannels, Filtered}, "list-skipped": {readChannels, Filtered},

		"post-contacts": {writeContacts, PathChannel}, "import-contacts": {writeContacts, PathChannel},
		"cancel-contact": {writeContacts, Filtered}, "cancel-contacts": {writeContacts, Filtered},
		"list-contacts": {readContacts, Filtered}, "export-contacts": {readContacts, Filtered},
		"get-contact": {readContacts, Filtered},
		// Its route also requires pii:read.
		"search-contacts": {readContacts, Filtered},

		"list-dead-letters": {readContacts, Filtered}, "export-dead-letters": {readContacts, Filtered},
		"group-dead-letters":   {readContacts, Filtered},
		"requeue-dead-letters": {writeContacts, Filtered},
		"discard-dead-letters": {writeContacts, Filtered},

		"get-timeline": {readContacts, Filtered},

		"list-surveys":     {readSurveys, Filtered},
		"get-survey":       {readSurveys, PathSurvey},
		"get-survey-stats": {readSurveys, PathSurvey}, "get-survey-answers": {readSurveys, PathSurvey}, "list-survey-texts": {readSurveys, PathSurvey},
		"get-launch-check": {readSurveys, PathSurvey}, "get-survey-course": {readSurveys, PathSurvey},
		"get-survey-log": {readSurveys, PathSurvey}, "list-survey-log": {readSurveys, PathSurvey},
		"get-results": {readSurveys, PathSurvey}, "get-results-workbook": {readSurveys, PathSurvey}, "get-codebook": {readSurveys, PathSurvey}, "get-dispositions": {readSurveys, PathSurvey},
		// Its route also requires pii:read.
		"get-incentives":   {readSurveys, PathSurvey},
		"list-respondents": {readSurveys, PathSurvey}, "get-respondent": {readSurveys, PathSurvey},
		"list-pilots": {readSurveys, PathSurvey}, "get-pilot": {readSurveys, PathSurvey}, "put-pilot": {changeSurveys, PathSurvey},
		"put-survey":       {changeSurveys, PathSurvey},
		"patch-survey":     {changeSurveys, PathSurvey},
		"delete-survey":    {changeSurveys, PathSurvey},
		"launch-survey":    {changeSurveys, PathSurvey},
		"pause-survey":     {changeSurveys, PathSurvey},
		"resume-survey":    {changeSurveys, PathSurvey},
		"stop-survey":      {changeSurveys, PathSurvey},
		"lock-survey":      {changeSurveys, PathSurvey},
		"unlock-survey":    {changeSurveys, PathSurvey},
		"post-respondents": {changeSurveys, PathSurvey},
		"patch-respondent": {changeSurveys, PathSurvey}, "delete-respondent": {changeSurveys, PathSurvey}, "stop-respondent": {changeSurveys, PathSurvey},
		// Called by the application that holds the conversation. It queues
		// contacts and needs no other access to the survey.
		"post-disposition": {[]operators.Scope{operators.ScopeContactsWrite, operators.ScopeSurveysAdmin}, PathSurvey},

		"get-hold": {readChannels, Shared}, "release-hold": {changeChannels, Installation},

		"list-processes": {readChannels, Installation},

		"list-webhooks": {webhooks, Installation}, "create-webhook": {webhooks, Installation}, "get-webhook": {webhooks, Installation}, "patch-webhook": {webhooks, Installation}, "delete-webhook": {webhooks, Installation},
		"rotate-webhook": {webhooks, Installation}, "test-webhook": {webhooks, Installation}, "list-deliveries": {webhooks, Installation}, "replay-webhook": {webhooks, Installation},

		"list-purposes": {readPurposes, Shared}, "get-purpose": {readPurposes, Shared},
		"put-purpose": {changePeople, Installation}, "delete-purpose": {changePeople, Installation},
		"post-consents": {changePeople, Installation}, "list-consents": {changePeople, Installation}, "list-undecided": {changePeople, Installation}, "decide-undecided": {changePeople, Installation}, "erase-person": {changePeople, Installation},
		// Their routes also require pii:read.
		"search-consents": {findPeople, Filtered}, "find-person": {findPeople, Filtered},

		"list-tokens": {tokens, Installation}, "create-token": {tokens, Installation}, "revoke-token": {tokens, Installation},

		"list-audit": {changeChannels, Installation}, "export-audit": {changeChannels, Installation},
		"whoami": {operators.Scopes(), Shared}, // any scope

		// With router alone, only the router's events.
		"list-events": {[]operators.Scope{operators.ScopeContactsRead, operators.ScopeRouter}, Filtered},
	}
}

// TokenHelp explains tokens in the API description.
func TokenHelp() string {
	return "A token that weir token create made, with scopes, or one of WEIR_API_TOKENS, which have all. " +
		"The scopes are " + operators.JoinScopes(operators.Scopes()) + "; each operation lists its scopes and requires one of the alternatives. " +
		"A scope may be limited to channels and surveys whose names begin with a text, such as " + string(operators.ScopeContactsRead.Limit("north-")) + ": others are refused (403), or left out of lists. " +
		"Without " + string(operators.ScopePIIRead) + " all but the last two digits of phone numbers are masked in answers, in texts too, and filters by number are refused."
}
