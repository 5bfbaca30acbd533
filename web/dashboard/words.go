package dashboard

import "weir/web/dashboard/locale"

// apiWords are the names and texts of other packages that pages show in the language of the reader. A name is
// here as Word shows it; one that is missing is shown in English.
func apiWords() []locale.Message {
	return []locale.Message{
		// states of channels, their breakers, contacts and attempts, and outcomes
		"up", "down", "error", "paused", "faulted", "half open", "open", "closed",
		"queued", "sending", "active", "unknown", "done",
		"completed", "busy", "no answer", "failed", "expired", "canceled", "lost", "dead letter", "suppressed",
		"normal", "high", "reply",
		// states, statuses, dispositions and the log of surveys
		"draft", "running", "stopping", "locked", "pending", "rejected", "ended",
		"registered", "contacted", "started", "interim partial", "partial", "breakoff", "unresponsive", "ineligible", "refused",
		"answered", "incoming", "withdrawn", "disposition", "message", "reply", "stumbled", "skipped", "finished", "exhausted", "reached", "window over", "stopped", "budget spent",
		// events of contacts
		"accepted", "made of", "waits until", "claimed", "handed over", "last heard", "back in queue", "requeued", "request",
		// tokens, webhooks and the router
		"live", "revoked", "enabled", "failing", "disabled", "delivered", "abandoned", "timeout", "unreachable", "unresolved", "invalid", "internal",
		"draining", "inactive", "assigned", "created",
		// what arrives at the addresses of callbacks
		"Messages from people", "Opt-outs, if the provider has an address for them",
		// consent, and the rules for the sake of people
		"given", "dismissed", "word", "provider", "application", "operator", "import", "quiet hours", "holidays", "repeat guard", "consent",
		// headlines of operators.WhyCode
		"Stopped by a problem", "Paused itself", "Paused", "Not launched", "Stopping", "Scheduled", "In progress", "Budget spent", "Target reached", "Pacing",
		"At capacity", "Nothing has moved for a minute",
		// texts of openid.RefusalError
		"This log-in was not begun in this browser, was begun again in another tab, or took longer than 10 minutes. Begin again.",
		"This log-in has been used already. Begin again.",
		"The provider did not log you in.",
		"The answer came from another provider than Weir is configured for.",
		"The provider refused the code of this log-in: it may have expired or been used already, or Weir's registration at the provider is wrong. Begin again; if that does not help, ask the operator of this server.",
		"The provider's answer belongs to another log-in. Begin again.",
		"You are in so many groups that the provider left them out. Ask whoever manages the provider to send only the groups that are assigned to Weir.",
		"The provider did not send your name in the claim that Weir is configured for. Ask the operator of this server.",
		"The provider cannot be reached at the moment. Try again in a minute, or log in with a token.",
		"The provider's answer could not be verified, so you are not logged in. Ask the operator of this server: the log says why.",
	}
}
