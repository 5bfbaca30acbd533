package dashboard

import (
	"slices"

	"weir/operators"
)

// accessPages returns the pages of webhooks, tokens and the audit log.
func accessPages() []*page { return slices.Concat(webhookPages(), tokenPages(), auditPages()) }

func webhookPages() []*page {
	const one = webhooksPath + "/{id}"
	admins := []operators.Scope{operators.ScopeWebhooksAdmin}
	return []*page{
		{name: "webhooks", path: webhooksPath, nav: "Webhooks", scopes: admins, load: loadWebhooks, live: []string{"list"}},
		{
			name: "webhook", path: one, scopes: admins, load: loadWebhook, live: []string{"state", "deliveries"},
			actions: []action{
				{path: one + "/pause", scopes: admins, ask: askWebhook("Pause", "Pause webhook %s", "No events are sent until it is resumed. They wait in the log, as long as that keeps them."), run: enableWebhook(false)},
				{path: one + "/resume", scopes: admins, ask: askWebhook("Resume", "Resume webhook %s", "It goes on where it stopped."), run: enableWebhook(true)},
				{path: one + "/test", scopes: admins, ask: askWebhook("Test", "Test webhook %s", "A test event is sent at once, and once."), run: testWebhook},
				{path: one + "/replay", scopes: admins, ask: askReplay, run: replayWebhook},
				{path: one + "/delete", scopes: admins, ask: askDeleteWebhook, run: deleteWebhook},
			},
		},
	}
}

func tokenPages() []*page {
	admins := []operators.Scope{operators.ScopeTokensAdmin}
	return []*page{{
		name: "tokens", path: tokensPath, nav: "Tokens", scopes: admins, load: loadTokens, posted: createToken,
		actions: []action{{path: tokensPath + "/{id}/revoke", scopes: admins, ask: askRevoke, run: revokeToken}},
	}}
}

func auditPages() []*page {
	return []*page{{
		name: "audit", path: "/audit", nav: "Audit", scopes: []operators.Scope{operators.ScopeChannelsAdmin}, whole: true,
		load: loadAudit, live: []string{"entries"}, files: map[string]handler{"/audit/export.csv": exportAudit},
	}}
}
