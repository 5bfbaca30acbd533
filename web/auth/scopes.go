package auth

import "weir/operators"

// RouteScopes is the authorization table. For each route id it lists scopes; a
// token needs one of them. A route without a row is an error: see route.Grant.
func RouteScopes() map[string][]operators.Scope {
	readContacts := []operators.Scope{operators.ScopeContactsRead}
	writeContacts := []operators.Scope{operators.ScopeContactsWrite}
	readChannels := []operators.Scope{operators.ScopeContactsRead, operators.ScopeChannelsAdmin}
	changeChannels := []operators.Scope{operators.ScopeChannelsAdmin}
	readSurveys := []operators.Scope{operators.ScopeContactsRead, operators.ScopeSurveysAdmin}
	changeSurveys := []operators.Scope{operators.ScopeSurveysAdmin}
	changePeople := []operators.Scope{operators.ScopePeopleAdmin}
	readPurposes := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead, operators.ScopeContactsWrite, operators.ScopeSurveysAdmin}
	webhooks := []operators.Scope{operators.ScopeWebhooksAdmin}
	tokens := []operators.Scope{operators.ScopeTokensAdmin}
	return map[string][]operators.Scope{
		"list-channels":      readChannels,
		"get-channel":        readChannels,
		"put-channel":        changeChannels,
		"patch-channel":      changeChannels,
		"delete-channel":     changeChannels,
		"list-incoming":      readContacts,
		"list-channel-types": readChannels,
		// It may call what a channel may call.
		"test-channel": changeChannels,
		// The address holds a secret.
		"get-channel-callback": changeChannels,
		"get-minutes":          readChannels, "get-hours": readChannels,
		"list-minutes": readChannels,
		"list-limits":  readChannels, "get-limit": readChannels, "put-limit": changeChannels, "delete-limit": changeChannels,
		"list-prices": readChannels, "get-price": readChannels, "put-price": changeChannels, "delete-price": changeChannels, "list-spending": readChannels, "list-skipped": readChannels,

		"post-contacts":  writeContacts,
		"cancel-contact": writeContacts, "cancel-contacts": writeContacts,
		"list-contacts": readContacts, "export-contacts": readContacts,
		"get-contact": readContacts,
		// Its route also requires pii:read.
		"search-contacts": readContacts,

		"list-dead-letters": readContacts, "export-dead-letters": readContacts,
		"group-dead-letters":   readContacts,
		"requeue-dead-letters": writeContacts,
		"discard-dead-letters": writeContacts,

		"get-timeline": readContacts,

		"list-surveys":     readSurveys,
		"get-survey":       readSurveys,
		"get-survey-stats": readSurveys,
		"get-launch-check": readSurveys, "get-survey-course": readSurveys,
		"get-survey-log":   readSurveys,
		"list-survey-log":  readSurveys,
		"get-results":      readSurveys,
		"list-respondents": readSurveys,
		"get-respondent":   readSurveys,
		"put-survey":       changeSurveys,
		"patch-survey":     changeSurveys,
		"delete-survey":    changeSurveys,
		"launch-survey":    changeSurveys,
		"pause-survey":     changeSurveys,
		"resume-survey":    changeSurveys,
		"stop-survey":      changeSurveys,
		"lock-survey":      changeSurveys,
		"unlock-survey":    changeSurveys,
		"post-respondents": changeSurveys,
		"patch-respondent": changeSurveys, "delete-respondent": changeSurveys, "stop-respondent": changeSurveys,
		// Called by the application that holds the conversation. It queues
		// contacts and needs no other access to the survey.
		"post-disposition": {operators.ScopeContactsWrite, operators.ScopeSurveysAdmin},

		"get-hold":     readChannels,
		"release-hold": changeChannels,

		"list-processes": readChannels,

		"list-webhooks": webhooks, "create-webhook": webhooks, "get-webhook": webhooks, "patch-webhook": webhooks, "delete-webhook": webhooks,
		"rotate-webhook": webhooks, "test-webhook": webhooks, "list-deliveries": webhooks, "replay-webhook": webhooks,

		"list-purposes": readPurposes, "get-purpose": readPurposes,
		"put-purpose": changePeople, "delete-purpose": changePeople,
		"post-consents": changePeople, "list-consents": changePeople, "list-undecided": changePeople, "decide-undecided": changePeople, "erase-consents": changePeople,
		// Their routes also require pii:read.
		"search-consents": {operators.ScopePeopleAdmin, operators.ScopeContactsRead}, "find-person": {operators.ScopePeopleAdmin, operators.ScopeContactsRead},

		"list-tokens": tokens, "create-token": tokens, "revoke-token": tokens,

		"list-audit": changeChannels, "export-audit": changeChannels,
		"whoami": operators.Scopes(), // any scope

		// With router alone, only the router's events.
		"list-events": {operators.ScopeContactsRead, operators.ScopeRouter},
	}
}

// TokenHelp explains tokens in the API description.
func TokenHelp() string {
	return "A token that weir token create made, with scopes, or one of WEIR_API_TOKENS, which have all. " +
		"The scopes are " + scopeWords(operators.Scopes(), ", ") + "; each operation lists its scopes and requires one of the alternatives. " +
		"Without " + string(operators.ScopePIIRead) + " all but the last two digits of phone numbers are masked in answers, in texts too, and filters by number are refused."
}
