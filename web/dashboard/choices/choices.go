package choices

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/web/dashboard/display"
	"weir/web/dashboard/page"
	peopleapi "weir/web/people"
)

const (
	// maxChannelNames is the maximum number of channels that the search offers;
	// others are reachable from their own page.
	maxChannelNames = 500
	// MaxChannels is the maximum number of channels that are listed; the others are reachable by name.
	MaxChannels = 2000
	// MaxPurposeTitle is the length of a title in a choice, which a phone has room for.
	MaxPurposeTitle = 40
)

// Channels lists the channels by name.
func Channels(c *page.Caller) (list []api.ChannelView, more bool, err error) {
	for cursor := ""; ; {
		var channels api.ChannelList
		query := url.Values{"limit": {"500"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := c.Get("/v1/channels", query, &channels); err != nil {
			return nil, false, err
		}
		list = append(list, channels.Channels...)
		cursor = channels.NextCursor
		if cursor == "" || len(list) >= MaxChannels {
			return list, cursor != "", nil
		}
	}
}

// Channel reads a channel.
func Channel(c *page.Caller, name string) (ch api.ChannelView, err error) {
	err = c.Get(page.Path("v1", "channels", name), nil, &ch)
	return ch, err
}

// ChannelNames returns the channels to choose from, with the chosen one among them: those for which the token has one of the
// scopes; nil: the token may not read them.
func ChannelNames(c *page.Caller, chosen string, oneOf ...operators.Scope) ([]string, error) {
	if !c.May(page.Readers()...) {
		return nil, nil
	}
	var list api.ChannelList
	err := c.Get("/v1/channels", url.Values{"limit": {strconv.Itoa(maxChannelNames)}}, &list)
	names := make([]string, 0, len(list.Channels))
	for i := range list.Channels {
		if name := list.Channels[i].Channel; c.MayChannel(name, oneOf...) {
			names = append(names, name)
		}
	}
	names = append(names, Unreadable(c, names, oneOf...)...)
	if chosen != "" && !slices.Contains(names, chosen) {
		names = append(names, chosen)
	}
	return names, err
}

// NoChannels explains why a form has no channel to choose from.
func NoChannels(c *page.Caller, oneOf ...operators.Scope) string {
	if limit := c.Limit(oneOf...); limit != "" {
		return c.T("There is no channel whose name begins with %s: your scopes are limited to such names.", limit)
	}
	return c.T("There are no channels yet.")
}

// Unreadable returns channels that the token may use without seeing them: the limit of a scope may be the whole name of a channel.
func Unreadable(c *page.Caller, known []string, oneOf ...operators.Scope) (list []string) {
	for _, prefix := range c.Prefixes(oneOf...) {
		if whole := !strings.ContainsAny(prefix[len(prefix)-1:], "-._"); whole && !slices.Contains(known, prefix) && !c.MayChannel(prefix, page.Readers()...) {
			list = append(list, prefix)
		}
	}
	return list
}

// PurposeOptions returns the purposes to choose from, with the chosen one among them.
func PurposeOptions(c *page.Caller, chosen string) ([]page.Option, error) {
	known, err := Purposes(c)
	list := []page.Option{{Value: "", Text: people.DefaultPurpose}}
	for i := range known {
		if known[i].Name == people.DefaultPurpose {
			continue
		}
		text := known[i].Name
		if title := known[i].Title; title != "" {
			text += " – " + display.Truncate(MaxPurposeTitle, title)
		}
		list = append(list, page.Option{Value: known[i].Name, Text: text})
	}
	if !slices.ContainsFunc(list, func(o page.Option) bool { return o.Value == chosen }) {
		list = append(list, page.Option{Value: chosen, Text: chosen}) // it was deleted meanwhile: the API reports it
	}
	return list, err
}

// Purposes lists the purposes.
func Purposes(c *page.Caller) ([]peopleapi.PurposeView, error) {
	var all peopleapi.PurposeList
	err := c.Get("/v1/purposes", nil, &all)
	return all.Purposes, err
}
