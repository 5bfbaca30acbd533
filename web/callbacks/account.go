package callbacks

import (
	"context"
	"strconv"
	"sync"
	"time"

	"weir"
	"weir/channels"
)

// accounts finds the channel that a callback is about if it arrived at the URL
// of another channel: at some providers all channels of an account share one
// callback URL, and the last channel to set it wins. Only channels of one
// account may receive callbacks for each other; between accounts a secret
// proves nothing.
type accounts struct {
	store channelReader
	types *channels.Directory
	now   func() time.Time

	mu    sync.Mutex
	known map[string]accountChannel
}

// channelReader is the part of the store that accounts reads.
type channelReader interface {
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
	Channels(ctx context.Context, after string, limit int) ([]weir.Channel, error)
}

type accountChannel struct {
	channel weir.Channel
	read    time.Time
}

const (
	maxAccountEntries = 10_000 // max cached entries
	pageSize          = 500
)

func newAccounts(store channelReader, types *channels.Directory, now func() time.Time) *accounts {
	return &accounts{store: store, types: types, now: now, known: map[string]accountChannel{}}
}

// account returns the key that two channels must share to receive each other's
// callbacks; ok is false for types whose channels never do.
func (x *accounts) account(c weir.Channel) (_ string, ok bool) {
	t, known := x.types.Type(c.Type)
	if !known || t.Account == nil {
		return "", false
	}
	return c.Type + "\x00" + t.Account(c.Settings), true
}

func (x *accounts) sameAccount(a, b weir.Channel) bool {
	one, ok := x.account(a)
	other, also := x.account(b)
	return ok && also && one == other
}

// byID returns the channel with an id if it may be reported on at the URL of
// another channel.
func (x *accounts) byID(ctx context.Context, at weir.Channel, id weir.ChannelID) (weir.Channel, bool, error) {
	if _, shares := x.account(at); !shares {
		return weir.Channel{}, false, nil
	}
	found, err := x.cached(strconv.FormatInt(int64(id), 10), func() (weir.Channel, error) { return x.store.ChannelByID(ctx, id) })
	if weir.CodeOf(err) == weir.CodeNotFound {
		return weir.Channel{}, false, nil
	}
	return found, err == nil && x.sameAccount(at, found), err
}

// byLine returns the channel of the account that uses the provider's line. If
// no channel has the line, it returns the channel at whose URL the message
// arrived.
func (x *accounts) byLine(ctx context.Context, at weir.Channel, line string) (weir.Channel, error) {
	account, shares := x.account(at)
	if t, _ := x.types.Type(at.Type); !shares || line == "" || !at.Deleted && t.Line(at.Settings) == line {
		return at, nil
	}
	return x.cached(account+"\x00"+line, func() (weir.Channel, error) { return x.search(ctx, at, line) })
}

func (x *accounts) search(ctx context.Context, at weir.Channel, line string) (weir.Channel, error) {
	t, _ := x.types.Type(at.Type)
	for after := ""; ; {
		page, err := x.store.Channels(ctx, after, pageSize)
		if err != nil {
			return at, err
		}
		for _, c := range page {
			if x.sameAccount(at, c) && t.Line(c.Settings) == line {
				return c, nil
			}
		}
		if len(page) < pageSize {
			return at, nil
		}
		after = page[len(page)-1].Name
	}
}

// cached returns what was read under a key not long ago, otherwise what read returns.
func (x *accounts) cached(key string, read func() (weir.Channel, error)) (weir.Channel, error) {
	x.mu.Lock()
	e, ok := x.known[key]
	x.mu.Unlock()
	if ok && x.now().Sub(e.read) <= maxAge {
		return e.channel, nil
	}
	found, err := read()
	if err != nil {
		return found, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.known) >= maxAccountEntries {
		clear(x.known)
	}
	x.known[key] = accountChannel{found, x.now()}
	return found, nil
}
