package channels

import (
	"weir/operators"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// Pages returns the pages of channels.
func Pages() []*page.Page {
	known := &knownOfChannels{page.NewCache[*charts](page.ChartsLife), page.NewCache[*hoursData](hoursLife), page.NewCache[[]why.SkippedRow](page.ChartsLife)}
	return append([]*page.Page{channelPage(known)}, channelFormPages()...)
}

// knownOfChannels is what was read for a page of a channel a moment ago.
type knownOfChannels struct {
	charts  *page.Cache[*charts]
	hours   *page.Cache[*hoursData]
	skipped *page.Cache[[]why.SkippedRow]
}

func channelPage(known *knownOfChannels) *page.Page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return &page.Page{
		Name: "channel", Path: one, Scopes: page.Readers(), Load: known.loadChannel, Live: []string{"state", "figures", "brake", "limits", "skipped", "charts", "hours", "contacts"},
		Actions: []page.Action{
			{Path: one + "/pause", Scopes: admins, Run: pauseChannel(true), Ask: askChannel(page.Asking{
				Title: "Pause channel %s", Button: "Pause", Text: "No new contacts are dispatched until the channel is resumed. Contacts in flight continue, and contacts can still be queued.",
			}, nil)},
			{Path: one + "/resume", Scopes: admins, Run: pauseChannel(false), Ask: askChannel(page.Asking{
				Title: "Resume channel %s", Button: "Resume", Text: "Queued contacts are dispatched at once, as many as there are free slots.",
			}, nil)},
			{Path: one + "/capacity", Scopes: admins, Run: setCapacity, Ask: askChannel(page.Asking{
				Title: "Change capacity of channel %s", Button: "Change",
				Text: "The maximum number of slots in flight. If it is lowered, no new contacts are dispatched until the slots in flight are below it.",
			}, addCapacity)},
			{Path: one + "/delete", Scopes: admins, Run: deleteChannel, Ask: askChannel(page.Asking{
				Title: "Delete channel %s", Button: "Delete", Danger: true, Text: "This cannot be undone. Finished contacts stay readable until their retention ends.",
			}, addOpenContacts)},
		},
	}
}

// channelFormPages returns the pages that create and edit channels.
func channelFormPages() []*page.Page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page.Page{
		{Name: "channel_form", Path: newChannelPath, Scopes: admins, Load: newChannel, Posted: createChannel},
		{Name: "channel_form", Path: one + "/edit", Scopes: admins, Load: editChannel, Posted: changeChannel},
		{Name: "channel_setup", Path: one + "/setup", Scopes: admins, Load: loadChannelSetup},
	}
}
