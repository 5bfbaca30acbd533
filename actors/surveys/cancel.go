package surveys

import (
	"context"
	"sync"
	"time"

	"weir"
	"weir/surveys"
)

// maxCancelTimeouts is the max number of a channel's cancellations that time out, each
// after cancelTimeout, before the others of a round are left for later.
const maxCancelTimeouts = maxConcurrent

// canceler cancels contacts, and leaves those of a channel whose cancellations hang for later.
type canceler struct {
	mu       sync.Mutex
	timeouts map[weir.ChannelID]int // cancellations that timed out, by channel
}

// cancelFirst cancels the contacts that have to be canceled before their changes are committed. It
// returns the changes without those for which that failed, whose number is failed.
func (c *canceler) cancelFirst(ctx context.Context, io *access, changes []surveys.Change) (out []surveys.Change, failed int) {
	failures := make([]bool, len(changes))
	concurrently(changes, func(i int, change surveys.Change) {
		if change.Cancel != (weir.Ref{}) && !change.AfterCommit {
			failures[i] = !c.cancel(ctx, io, change.Cancel, change.InFlightToo)
		}
	})
	for i, change := range changes {
		if failures[i] {
			failed++
		} else {
			out = append(out, change)
		}
	}
	return out, failed
}

// cancelAll cancels contacts whose respondents' moves are already committed. failed is the number of
// those for which that failed.
func (c *canceler) cancelAll(ctx context.Context, io *access, list []weir.Ref) (failed int) {
	changes := make([]surveys.Change, len(list))
	for i, ref := range list {
		changes[i].Cancel = ref
	}
	_, failed = c.cancelFirst(ctx, io, changes)
	return failed
}

// cancel cancels a contact, and reports whether that succeeded.
func (c *canceler) cancel(ctx context.Context, io *access, ref weir.Ref, inFlightToo bool) bool {
	if c.hangs(ref.Channel) {
		return false
	}
	begun := time.Now()
	ok := io.cancelContact(ctx, ref, inFlightToo)
	c.record(ref.Channel, time.Since(begun), ok)
	return ok
}

// record records the result of canceling a contact of a channel.
func (c *canceler) record(channel weir.ChannelID, took time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ok:
		delete(c.timeouts, channel)
	case took >= cancelTimeout:
		c.timeouts[channel]++
	}
}

// hangs reports whether too many of a channel's cancellations have timed out.
func (c *canceler) hangs(channel weir.ChannelID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeouts[channel] >= maxCancelTimeouts
}

// cancelContact cancels a contact and reports whether the change may be written. A
// contact that is done or deleted needs nothing. Nor does one that is in flight
// by now, unless evenInFlight is set: the respondent may be talking and must not be
// cut off.
func (a *access) cancelContact(ctx context.Context, ref weir.Ref, evenInFlight bool) bool {
	ctx, end := context.WithTimeout(ctx, cancelTimeout)
	defer end()
	if !evenInFlight {
		if c, _, err := a.Store.Contact(ctx, ref); err == nil && c.State.InFlight() {
			return true
		}
	}
	_, err := a.Channels.Cancel(ctx, ref)
	if err == nil || weir.CodeOf(err) == weir.CodeNotFound {
		return true
	}
	c, _, err := a.Store.Contact(ctx, ref)
	return err == nil && c.State == weir.Done || weir.CodeOf(err) == weir.CodeNotFound
}
