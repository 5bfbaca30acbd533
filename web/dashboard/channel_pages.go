package dashboard

import (
	"weir/operators"
)

// channelPages returns the pages of channels.
func channelPages() []*page {
	known := &knownOfChannels{newCache[*charts](chartsLife), newCache[*hoursData](hoursLife), newCache[[]skippedRow](chartsLife)}
	return append([]*page{channelPage(known)}, channelFormPages()...)
}

// knownOfChannels is what was read for a page of a channel a moment ago.
type knownOfChannels struct {
	charts  *cache[*charts]
	hours   *cache[*hoursData]
	skipped *cache[[]skippedRow]
}

func channelPage(known *knownOfChannels) *page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return &page{
		name: "channel", path: one, scopes: readers(), load: known.loadChannel, live: []string{"state", "figures", "brake", "limits", "skipped", "charts", "hours", "contacts"},
		actions: []action{
			{path: one + "/pause", scopes: admins, run: pauseChannel(true), ask: askChannel(asking{
				title: "Pause channel %s", button: "Pause", text: "No new contacts are dispatched until the channel is resumed. Contacts in flight continue, and contacts can still be queued.",
			}, nil)},
			{path: one + "/resume", scopes: admins, run: pauseChannel(false), ask: askChannel(asking{
				title: "Resume channel %s", button: "Resume", text: "Queued contacts are dispatched at once, as many as there are free slots.",
			}, nil)},
			{path: one + "/capacity", scopes: admins, run: setCapacity, ask: askChannel(asking{
				title: "Change capacity of channel %s", button: "Change",
				text: "The maximum number of slots in flight. If it is lowered, no new contacts are dispatched until the slots in flight are below it.",
			}, addCapacity)},
			{path: one + "/delete", scopes: admins, run: deleteChannel, ask: askChannel(asking{
				title: "Delete channel %s", button: "Delete", danger: true, text: "This cannot be undone. Finished contacts stay readable until their retention ends.",
			}, addOpenContacts)},
		},
	}
}

// channelFormPages returns the pages that create and edit channels.
func channelFormPages() []*page {
	const one = "/channels/{name}"
	admins := []operators.Scope{operators.ScopeChannelsAdmin}
	return []*page{
		{name: "channel_form", path: newChannelPath, scopes: admins, load: newChannel, posted: createChannel},
		{name: "channel_form", path: one + "/edit", scopes: admins, load: editChannel, posted: changeChannel},
		{name: "channel_setup", path: one + "/setup", scopes: admins, load: loadChannelSetup},
	}
}
