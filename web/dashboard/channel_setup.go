package dashboard

import "weir/api"

// channelSetup is the data of the page about what is to be done at the provider.
type channelSetup struct {
	Channel, Type, Callback string
	ByHand                  []api.CallbackAddress
	Steps                   []string
}

func loadChannelSetup(v *visit) (*content, error) {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &channelSetup{Channel: ch.Channel, Type: ch.Type}
	var at api.CallbackView
	if err := v.get(apiPath("v1", "channels", ch.Channel, "callback"), nil, &at); err != nil {
		return nil, err
	}
	d.Callback, d.ByHand = at.URL, at.ByHand
	// A channel can be of a type that this program does not have.
	if k, err := readChannelKind(v.caller, ch.Type, ""); err == nil {
		d.Steps = k.Steps()
	}
	return &content{title: v.T("Set-up of channel %s", ch.Channel), crumbs: channelCrumbs(ch.Channel, crumb{Text: v.T("Set-up")}), data: d}, nil
}
