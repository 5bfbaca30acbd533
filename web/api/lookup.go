package api

import (
	"context"
	"slices"
	"strconv"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// ChannelReader reads single channels.
type ChannelReader interface {
	Channel(ctx context.Context, name string) (weir.Channel, error)
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
}

// ChannelNames finds the names of channels, each once.
type ChannelNames struct {
	channels ChannelReader
	known    map[weir.ChannelID]string
}

// NewChannelNames returns the names of channels, none of which is known yet.
func NewChannelNames(from ChannelReader) ChannelNames {
	return ChannelNames{from, map[weir.ChannelID]string{}}
}

// Of returns the name of a channel; empty: it is gone.
func (n *ChannelNames) Of(ctx context.Context, id weir.ChannelID) (string, error) {
	if name, ok := n.known[id]; ok {
		return name, nil
	}
	channel, err := n.channels.ChannelByID(ctx, id)
	if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
		return "", err
	}
	n.known[id] = channel.Name
	return channel.Name, nil
}

// channelReader reads channels.
type channelReader interface {
	ChannelReader
	Channels(ctx context.Context, after string, limit int) ([]weir.Channel, error)
}

// channelLookup finds the channels that requests name.
type channelLookup struct{ channels channelReader }

// page reads the page of channels that limit and cursor select, without those that the sender's scopes do not reach.
func (l channelLookup) page(c *route.Call) (_ []weir.Channel, next string, err error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("channels")
	if err != nil {
		return nil, "", err
	}
	rows, more, err := route.FillPage(most, &weir.Channel{Name: after},
		func(after *weir.Channel, limit int) ([]weir.Channel, error) {
			return l.channels.Channels(c, after.Name, limit)
		},
		func(ch *weir.Channel) (bool, error) { return c.Reaches(operators.Channel(ch.Name)), nil })
	if more {
		next = httpjson.NameCursor("channels", rows[most-1].Name)
	}
	return rows, next, err
}

// onChannel returns a handler that finds the channel of the path first.
func (l channelLookup) onChannel(serve func(*route.Call, weir.Channel) (route.Reply, error)) func(*route.Call) (route.Reply, error) {
	return func(c *route.Call) (route.Reply, error) {
		ch, err := l.named(c, c.Request.PathValue("channel"))
		if err != nil {
			return route.Reply{}, err
		}
		return serve(c, ch)
	}
}

// named finds a channel by the name in a path.
func (l channelLookup) named(ctx context.Context, name string) (weir.Channel, error) {
	if !callbacks.ChannelName.MatchString(name) {
		return weir.Channel{}, weir.Errorf(weir.CodeNotFound, "there is no such channel")
	}
	ch, err := l.channels.Channel(ctx, name)
	if err == nil && ch.Deleted || weir.CodeOf(err) == weir.CodeNotFound {
		return weir.Channel{}, weir.Errorf(weir.CodeNotFound, "there is no channel %s", name)
	}
	return ch, err
}

// selected finds a channel by the name in a filter. The sender's scopes must reach it.
func (l channelLookup) selected(c *route.Call, name string) (weir.Channel, error) {
	if err := c.RequireReach(operators.Channel(name)); err != nil {
		return weir.Channel{}, err
	}
	return l.named(c, name)
}

// filtered returns the ids of the channels that a filter selects. Without a channel, which 0 stands for, these are those that the
// sender's scopes reach, or 0 if that is all.
func (l channelLookup) filtered(c *route.Call, channel weir.ChannelID) ([]weir.ChannelID, error) {
	if channel != 0 || !c.Limited() {
		return []weir.ChannelID{channel}, nil
	}
	var list []weir.ChannelID
	for after := ""; ; {
		rows, err := l.channels.Channels(c, after, channelsRead)
		for i := range rows {
			if after = rows[i].Name; c.Reaches(operators.Channel(after)) {
				list = append(list, rows[i].ID)
			}
		}
		if err != nil || len(rows) < channelsRead {
			return list, err
		}
	}
}

// reaches reports whether the sender's scopes reach the channel of a contact. known caches channels.
func (l channelLookup) reaches(c *route.Call, contact weir.Ref, known map[weir.ChannelID]weir.Channel) (bool, error) {
	if !c.Limited() {
		return true, nil
	}
	ch, err := l.byID(c, contact.Channel, known)
	if weir.CodeOf(err) == weir.CodeNotFound {
		return false, nil
	}
	return err == nil && c.Reaches(operators.Channel(ch.Name)), err
}

// channelsRead is how many channels are read at a time where all are.
const channelsRead = 500

// byID reads each channel once per request.
func (l channelLookup) byID(ctx context.Context, id weir.ChannelID, known map[weir.ChannelID]weir.Channel) (weir.Channel, error) {
	if ch, ok := known[id]; ok {
		return ch, nil
	}
	ch, err := l.channels.ChannelByID(ctx, id)
	if err == nil {
		known[id] = ch
	}
	return ch, err
}

// regions returns the regions of a channel, or of all channels, and an empty one for
// channels without.
func (l channelLookup) regions(c *route.Call, channel string) ([]string, error) {
	if channel != "" {
		ch, err := l.selected(c, channel)
		return []string{channels.Region(ch.Settings)}, err
	}
	list, after := []string{""}, ""
	for {
		rows, err := l.channels.Channels(c, after, channelsRead)
		for i := range rows {
			if region := channels.Region(rows[i].Settings); !slices.Contains(list, region) {
				list = append(list, region)
			}
		}
		if err != nil || len(rows) < channelsRead {
			return list, err
		}
		after = rows[channelsRead-1].Name
	}
}

// pageOf returns the views of at most most rows, and the cursor of the last one if there
// are more.
func pageOf[R, V any](rows []R, most int, view func(*R) V, cursor func(*V) string) (views []V, next string) {
	views = make([]V, min(most, len(rows)))
	for i := range views {
		views[i] = view(&rows[i])
	}
	if len(rows) > most {
		next = cursor(&views[most-1])
	}
	return views, next
}

// cursorID returns the id in a cursor; 0: there is no cursor.
func cursorID(c *route.Call) int64 {
	text := c.Query.Text("cursor")
	id, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || id < 1) {
		c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
	}
	return id
}

// channelType returns the channel type of a stored channel.
func channelType(directory *channels.Directory, ch weir.Channel) (*channels.Type, error) {
	t, ok := directory.Type(ch.Type)
	if !ok {
		return nil, weir.Errorf(weir.CodeConflict, "this program has no channel type %s", ch.Type)
	}
	return t, nil
}
