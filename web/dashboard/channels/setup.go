package channels

import (
	"weir/api"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/page"
)

// channelSetup is the data of the page about what is to be done at the provider.
type channelSetup struct {
	Channel, Type, Callback string
	ByHand                  []api.CallbackAddress
	Steps                   []string
}

func loadChannelSetup(v *page.Visit) (*page.Content, error) {
	ch, err := choices.Channel(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &channelSetup{Channel: ch.Channel, Type: ch.Type}
	var at api.CallbackView
	if err := v.Get(page.Path("v1", "channels", ch.Channel, "callback"), nil, &at); err != nil {
		return nil, err
	}
	d.Callback, d.ByHand = at.URL, at.ByHand
	// A channel can be of a type that this program does not have.
	if k, err := ReadKind(v.Caller, ch.Type, ""); err == nil {
		d.Steps = k.Steps()
	}
	return &page.Content{Title: v.T("Set-up of channel %s", ch.Channel), Crumbs: channelCrumbs(ch.Channel, page.Crumb{Text: v.T("Set-up")}), Data: d}, nil
}
