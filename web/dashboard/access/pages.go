package access

import (
	"slices"

	"weir/operators"
	"weir/web/dashboard/page"
)

// Pages returns the pages of webhooks, tokens and the audit log.
func Pages() []*page.Page { return slices.Concat(webhookPages(), tokenPages(), auditPages()) }

func webhookPages() []*page.Page {
	const one = webhooksPath + "/{id}"
	admins := []operators.Scope{operators.ScopeWebhooksAdmin}
	return []*page.Page{
		{Name: "webhooks", Path: webhooksPath, Nav: "Webhooks", Scopes: admins, Load: loadWebhooks, Live: []string{"list"}},
		{
			Name: "webhook", Path: one, Scopes: admins, Load: loadWebhook, Live: []string{"state", "deliveries"},
			Actions: []page.Action{
				{Path: one + "/pause", Scopes: admins, Ask: askWebhook("Pause", "Pause webhook %s", "No events are sent until it is resumed. They wait in the log, as long as that keeps them."), Run: enableWebhook(false)},
				{Path: one + "/resume", Scopes: admins, Ask: askWebhook("Resume", "Resume webhook %s", "It goes on where it stopped."), Run: enableWebhook(true)},
				{Path: one + "/test", Scopes: admins, Ask: askWebhook("Test", "Test webhook %s", "A test event is sent at once, and once."), Run: testWebhook},
				{Path: one + "/replay", Scopes: admins, Ask: askReplay, Run: replayWebhook},
				{Path: one + "/delete", Scopes: admins, Ask: askDeleteWebhook, Run: deleteWebhook},
			},
		},
	}
}

func tokenPages() []*page.Page {
	admins := []operators.Scope{operators.ScopeTokensAdmin}
	return []*page.Page{{
		Name: "tokens", Path: tokensPath, Nav: "Tokens", Scopes: admins, Load: loadTokens, Posted: createToken,
		Actions: []page.Action{{Path: tokensPath + "/{id}/revoke", Scopes: admins, Ask: askRevoke, Run: revokeToken}},
	}}
}

func auditPages() []*page.Page {
	return []*page.Page{{
		Name: "audit", Path: "/audit", Nav: "Audit", Scopes: []operators.Scope{operators.ScopeChannelsAdmin}, Whole: true,
		Load: loadAudit, Live: []string{"entries"}, Files: map[string]page.Handler{"/audit/export.csv": exportAudit},
	}}
}
