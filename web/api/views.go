package api

import (
	"fmt"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
	"weir/web/wire"
)

func contactView(c *weir.Contact, channel string, attempts []AttemptView) ContactView {
	return ContactView{
		ID: c.Ref.String(), Channel: channel, Key: c.Key, To: c.To, Priority: priorityWord(c.Priority),
		Survey: c.Survey, Labels: c.Labels, Messages: c.Messages, Call: c.Call,
		NotBefore: wire.Instant(c.NotBefore), NotAfter: wire.Instant(c.NotAfter), Size: c.Size(),
		State: c.State.String(), Canceling: c.CancelRequested && c.State.InFlight(),
		Outcome: c.Outcome, Reason: c.Reason, QueuedAt: c.QueuedAt.UTC(), FinishedAt: wire.Instant(c.FinishedAt),
		Attempts: attempts,
	}
}

// attemptViews returns the ended attempts and, unless it is among them or the
// contact is back in the queue, the current one.
func attemptViews(c *weir.Contact, ended []weir.Attempt) []AttemptView {
	views := make([]AttemptView, 0, len(ended)+1)
	last := 0
	for _, a := range ended {
		views = append(views, attemptView(c.Ref, a))
		last = max(last, a.Number)
	}
	if now := c.Current(); now.Number > last && !c.State.Waiting() {
		views = append(views, attemptView(c.Ref, now))
	}
	return views
}

func attemptView(ref weir.Ref, a weir.Attempt) AttemptView {
	return AttemptView{
		ID: weir.AttemptRef{Ref: ref, Number: a.Number}.String(), Number: a.Number,
		ClaimedAt: wire.Instant(a.ClaimedAt), SentAt: wire.Instant(a.SentAt), ProviderRef: a.ProviderRef,
		LastHeardAt: wire.Instant(a.HeardAt), FinishedAt: wire.Instant(a.FinishedAt), Outcome: a.Outcome, Reason: a.Reason,
	}
}

// incomingList returns one page of rows; one row more than most indicates
// another page.
func incomingList(rows []weir.Incoming, most int) IncomingList {
	page := IncomingList{Incoming: []IncomingView{}}
	if len(rows) > most {
		rows = rows[:most]
		page.NextCursor = strconv.FormatInt(rows[most-1].ID, 10)
	}
	for _, m := range rows {
		page.Incoming = append(page.Incoming, IncomingView{
			ID: strconv.FormatInt(m.ID, 10), From: m.From, To: m.To, Body: m.Body, GUID: m.GUID, ReceivedAt: m.ReceivedAt.UTC(), Fields: m.Fields,
		})
	}
	return page
}

func priorityWord(p weir.Priority) string {
	switch p {
	case weir.Reply:
		return "reply"
	case weir.High:
		return "high"
	default:
		return "normal"
	}
}

func priorityOf(word string) weir.Priority {
	switch word {
	case "reply":
		return weir.Reply
	case "high":
		return weir.High
	default:
		return weir.Normal
	}
}

func stateWords() []string { return []string{"queued", "sending", "active", "unknown", "done"} }

// statesOf maps clients' words to states.
func statesOf(words []string) []weir.State {
	var states []weir.State
	for s := weir.Queued; s <= weir.Done; s++ {
		for _, w := range words {
			if s.String() == w {
				states = append(states, s)
				break
			}
		}
	}
	return states
}

func typeNames(types []channels.Type) string {
	names := make([]string, 0, len(types))
	for i := range types {
		names = append(names, types[i].Name)
	}
	return strings.Join(names, ", ")
}

// settingsHelp describes the settings of every channel type, from the table.
func settingsHelp(types []channels.Type) string {
	var b strings.Builder
	list := func(title string, settings []channels.Setting) {
		fmt.Fprintf(&b, "%s:\n\n", title)
		for _, k := range settings {
			var marks strings.Builder
			if k.Required {
				marks.WriteString(", required")
			}
			if k.Secret {
				marks.WriteString(", secret")
			}
			fmt.Fprintf(&b, "- `%s` (%s%s): %s\n", k.Key, k.Kind, marks.String(), k.Help)
		}
		b.WriteString("\n")
	}
	for i := range types {
		list(fmt.Sprintf("Settings of type `%s` (%s)", types[i].Name, types[i].Summary), types[i].Settings)
	}
	list("Settings of every type", channels.CommonSettings())
	return b.String()
}
