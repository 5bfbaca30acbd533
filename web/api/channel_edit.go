package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"weir"
	"weir/channels"
	"weir/internal/document"
	"weir/operators"
)

// channelWriter reads and changes rows of channels.
type channelWriter interface {
	Channel(ctx context.Context, name string) (weir.Channel, error)
	PutChannel(ctx context.Context, ch weir.Channel) (_ weir.Channel, created bool, err error)
	UpdateChannel(ctx context.Context, ch weir.Channel) (weir.Channel, error)
	DeleteChannel(ctx context.Context, id weir.ChannelID) error
}

// channelOperator is the broker of a channel that is changed or deleted.
type channelOperator interface {
	// Delete ends the open contacts of a channel and marks it as deleted. done
	// is false while that is still in progress.
	Delete(ctx context.Context, channel weir.ChannelID) (done bool, err error)
	// Figures returns the live figures of a channel.
	Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error)
}

// channelEditor changes stored channels.
type channelEditor struct {
	store     channelWriter
	lookup    channelLookup
	broker    channelOperator
	directory *channels.Directory
}

// edit is how a request wants a channel to be changed.
type edit struct {
	force   bool // allow a move to another place at the provider while contacts are in flight
	dry     bool // check only
	on      document.Condition
	request *http.Request
}

// check returns an error unless the channel is of the version that the request demands, if any.
func (e *edit) check(have *weir.Channel) error {
	if _, met := ifMatch(e.request, channelTag(have)); !met {
		return errChannelVersion()
	}
	return nil
}

// channelTag returns the entity tag of a channel.
func channelTag(ch *weir.Channel) string { return `"` + strconv.FormatInt(ch.Version, 10) + `"` }

func errChannelVersion() error {
	return weir.Errorf(weir.CodePrecondition, "the channel is not of the version in If-Match; get it again")
}

// put creates a channel or replaces the one with that name. If two requests
// put it at once, the second one replaces it, unless it demands to create it.
func (e *channelEditor) put(ctx context.Context, want weir.Channel, how edit) (_, before weir.Channel, created bool, err error) {
	have, err := e.store.Channel(ctx, want.Name)
	if weir.CodeOf(err) == weir.CodeNotFound {
		if how.request.Header.Get("If-Match") != "" { // also *: there is no version
			return weir.Channel{}, before, false, errChannelVersion()
		}
		if how.dry {
			return want, before, true, nil
		}
		if have, created, err = e.store.PutChannel(ctx, want); created {
			return have, before, true, err
		}
	}
	if err == nil {
		err = how.on.Check(want.Name, true)
	}
	if err != nil {
		return weir.Channel{}, before, false, err
	}
	have, err = e.update(ctx, have, how, func(ch *weir.Channel) error {
		before = *ch
		if ch.Type != want.Type {
			return errTypeChange(*ch)
		}
		ch.Title, ch.Capacity, ch.DefaultCapacity, ch.Paused, ch.Brake, ch.Settings = want.Title, want.Capacity, want.DefaultCapacity, want.Paused, want.Brake, want.Settings
		return nil
	})
	return have, before, false, err
}

// update changes a channel under optimistic locking by version, and retries
// after a concurrent change unless the request demands a version. A change without
// effect writes nothing.
func (e *channelEditor) update(ctx context.Context, have weir.Channel, how edit, change func(*weir.Channel) error) (weir.Channel, error) {
	for try := 1; ; try++ {
		if err := how.check(&have); err != nil {
			return weir.Channel{}, err
		}
		if have.Deleting {
			return weir.Channel{}, weir.Errorf(weir.CodeConflict, "channel %s is being deleted", have.Name)
		}
		next := have
		if err := change(&next); err != nil {
			return weir.Channel{}, err
		}
		if reflect.DeepEqual(next, have) {
			return have, nil
		}
		if err := e.refuseMove(ctx, have, next); err != nil && !how.force {
			return weir.Channel{}, err
		}
		if how.dry {
			return next, nil
		}
		stored, err := e.store.UpdateChannel(ctx, next)
		if weir.CodeOf(err) != weir.CodeConflict || try == maxTries {
			return stored, err
		}
		if have, err = e.lookup.named(ctx, have.Name); err != nil {
			return weir.Channel{}, err
		}
	}
}

// refuseMove rejects a change of place while attempts are in flight. Weir would
// otherwise query or cancel them at a place where the same name may belong to
// someone else's.
func (e *channelEditor) refuseMove(ctx context.Context, from, to weir.Channel) error {
	t, err := channelType(e.directory, from)
	if err != nil {
		return err
	}
	keys := t.Moves(from.Settings, to.Settings)
	if len(keys) == 0 {
		return nil
	}
	f, err := e.broker.Figures(ctx, from)
	if err != nil || f.InFlight == 0 {
		return err
	}
	out := &weir.Error{Code: weir.CodeConflict, Message: "contacts are in flight where the present settings point; pause the channel and wait for them, or use ?force=true"}
	for _, k := range keys {
		out.Fields = append(out.Fields, weir.FieldError{Pointer: "/settings/" + k, Code: "conflict", Detail: "cannot change while contacts are in flight"})
	}
	return out
}

// remove deletes a channel. Its open contacts are ended first if cancel is set, and
// are a conflict otherwise. done is false while that is still in progress.
func (e *channelEditor) remove(ctx context.Context, id weir.ChannelID, cancel bool) (done bool, err error) {
	if cancel {
		return e.broker.Delete(ctx, id)
	}
	return true, e.store.DeleteChannel(ctx, id)
}
