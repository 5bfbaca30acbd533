package api

import (
	"context"
	"maps"
	"net/http"
	"reflect"

	"weir"
	"weir/internal/validation"
	"weir/web/callbacks"
	"weir/web/route"
	"weir/web/wire"
)

func (s *Service) channelRoutes() []*route.Route {
	const one = "/v1/channels/{channel}"
	view := route.TypeOf[ChannelView]()
	forced := wire.Parameter{Name: "force", Kind: "boolean", Description: "allow a move to another server or account of the provider while contacts are in flight"}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channels", ID: "list-channels", Tag: "channels",
			Summary: "List channels by name, with live figures",
			Query:   route.Paging(100, 500), Handle: s.listChannels,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ChannelList]()}},
		},
		{
			Method: "PUT", Path: one, ID: "put-channel", Tag: "channels",
			Summary: "Create or replace a channel",
			Description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
				"A replacement carries the whole channel, secrets included. A channel's type never changes: delete the channel and create it again.\n\n" + settingsHelp(s.Directory.Types()),
			Query: []wire.Parameter{forced},
			Body:  route.TypeOf[ChannelBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: s.putChannel,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "replaced", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "GET", Path: one, ID: "get-channel", Tag: "channels",
			Summary: "Get a channel, with live figures", Handle: s.onChannel(s.getChannel),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the channel", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one + "/callback", ID: "get-channel-callback", Tag: "channels",
			Summary: "Get the address of a channel's callbacks",
			Description: "For providers that are configured by hand: Weir gives the others this address by itself. It holds the channel's secret: " +
				"anyone who knows it can report what became of contacts and send messages in the name of people.",
			Handle: s.onChannel(s.getCallback), Answers: []route.Answer{{Status: http.StatusOK, Description: "the address", Body: route.TypeOf[CallbackView]()}},
			Codes: []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: one, ID: "patch-channel", Tag: "channels",
			Summary:     "Change fields of a channel",
			Description: "A JSON merge patch (RFC 7396). Absent fields and settings, secrets included, stay as they are. A change of the place to which secrets are sent, such as base_url or the account, must include them again (422 lists them).",
			Query:       []wire.Parameter{forced},
			Body:        route.TypeOf[ChannelPatch](), BodyTypes: []string{wire.JSONType, wire.MergePatchType}, BodyLimit: wire.MaxBody, Handle: s.onChannel(s.patchChannel),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: one, ID: "delete-channel", Tag: "channels",
			Summary:     "Delete a channel",
			Description: "Refused with 409 while contacts are open, unless cancel=true: then waiting contacts end as canceled, the provider is asked to cancel the others, and the channel is removed after the last has ended.",
			Query:       []wire.Parameter{{Name: "cancel", Kind: "boolean", Description: "end the open contacts first"}},
			Handle:      s.onChannel(s.deleteChannel),
			Answers:     []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}, {Status: http.StatusAccepted, Description: "its open contacts are being ended", Body: route.TypeOf[DeletingView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// maxTries is the max number of attempts at a change that conflicts with
// concurrent changes.
const maxTries = 5

// pageOfChannels reads the page of channels that limit and cursor select.
func (s *Service) pageOfChannels(c *route.Call) (_ []weir.Channel, next string, err error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("channels")
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.Channels(c, after, most+1)
	if len(rows) > most {
		rows = rows[:most]
		next = wire.NameCursor("channels", rows[most-1].Name)
	}
	return rows, next, err
}

func (s *Service) listChannels(c *route.Call) (route.Reply, error) {
	rows, next, err := s.pageOfChannels(c)
	if err != nil {
		return route.Reply{}, err
	}
	page := ChannelList{Channels: []ChannelView{}, NextCursor: next}
	figures, err := s.Broker.FiguresOf(c, rows)
	if err != nil {
		return route.Reply{}, err
	}
	for i := range rows {
		page.Channels = append(page.Channels, s.shownChannel(rows[i], figures[i]))
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

// onChannel returns a handler that finds the channel of the path first.
func (s *Service) onChannel(serve func(*route.Call, weir.Channel) (route.Reply, error)) func(*route.Call) (route.Reply, error) {
	return func(c *route.Call) (route.Reply, error) {
		ch, err := s.channel(c, c.Request.PathValue("channel"))
		if err != nil {
			return route.Reply{}, err
		}
		return serve(c, ch)
	}
}

func (s *Service) getChannel(c *route.Call, ch weir.Channel) (route.Reply, error) {
	v, err := s.channelView(c, ch)
	return route.Reply{Status: http.StatusOK, Body: v}, err
}

// CallbackView is the address of a channel's callbacks.
type CallbackView struct {
	URL string `json:"url" doc:"without a trailing slash; paths below it have their meaning by the channel's type"`
}

func (s *Service) getCallback(_ *route.Call, ch weir.Channel) (route.Reply, error) {
	return route.Reply{Status: http.StatusOK, Body: CallbackView{s.Directory.CallbackURL(ch)}}, nil
}

// channel finds a channel by the name in a path.
func (s *Service) channel(ctx context.Context, name string) (weir.Channel, error) {
	if !callbacks.ChannelName.MatchString(name) {
		return weir.Channel{}, weir.Errorf(weir.CodeNotFound, "there is no such channel")
	}
	ch, err := s.Store.Channel(ctx, name)
	if err == nil && ch.Deleted || weir.CodeOf(err) == weir.CodeNotFound {
		return weir.Channel{}, weir.Errorf(weir.CodeNotFound, "there is no channel %s", name)
	}
	return ch, err
}

func (s *Service) putChannel(c *route.Call) (route.Reply, error) {
	want := weir.Channel{Name: c.Request.PathValue("channel"), Capacity: s.DefaultCapacity, DefaultCapacity: true, Settings: weir.Settings{}}
	if !callbacks.ChannelName.MatchString(want.Name) {
		c.Errors.Add("/channel", "format", "the name in the path must be 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begin with a letter or digit")
	}
	want.Type, _ = c.Body["type"].(string)
	want.Title, _ = c.Body["name"].(string)
	want.Paused, _ = c.Body["paused"].(bool)
	if n, ok := c.Body["capacity"].(float64); ok && n >= weir.MinCapacity && n <= weir.MaxCapacity {
		want.Capacity, want.DefaultCapacity = int(n), false
	}
	if given, ok := c.Body["settings"].(map[string]any); ok {
		want.Settings = given
	}
	s.checkChannel(want, &c.Errors)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	ch, before, created, err := s.put(c, want, c.Query.Bool("force"))
	if err != nil {
		return route.Reply{}, err
	}
	s.changed(c, ch)
	if !created {
		return s.channelReply(c, http.StatusOK, before, ch)
	}
	out, err := s.channelReply(c, http.StatusCreated, before, ch)
	out.Location = "/v1/channels/" + ch.Name
	return out, err
}

// checkChannel finds errors that depend on the channel type.
func (s *Service) checkChannel(ch weir.Channel, wrong *validation.Errors) {
	if ch.Type == "" {
		return // reported by the schema
	}
	t, ok := s.Directory.Type(ch.Type)
	if !ok {
		wrong.Add("/type", "enum", "must be one of %s", typeNames(s.Directory.Types()))
		return
	}
	wrong.AddPart("/settings", t.CheckSettings(ch.Settings, ch.Capacity))
}

// checkMove finds stored secrets that a patch would send to another place.
func (s *Service) checkMove(ch *weir.Channel, was weir.Settings, c *route.Call) {
	t, ok := s.Directory.Type(ch.Type)
	if !ok {
		return // reported by checkChannel
	}
	given, _ := c.Body["settings"].(map[string]any)
	c.Errors.AddPart("/settings", t.CheckMove(was, ch.Settings, given))
}

// put creates a channel or replaces the one with that name. If two requests
// create it at once, the second one replaces it.
func (s *Service) put(ctx context.Context, want weir.Channel, force bool) (_, before weir.Channel, created bool, err error) {
	have, err := s.Store.Channel(ctx, want.Name)
	if weir.CodeOf(err) == weir.CodeNotFound {
		have, created, err = s.Store.PutChannel(ctx, want)
		if weir.CodeOf(err) != weir.CodeConflict {
			return have, before, created, err
		}
		have, err = s.Store.Channel(ctx, want.Name)
	}
	if err != nil {
		return weir.Channel{}, before, false, err
	}
	have, err = s.update(ctx, have, force, func(ch *weir.Channel) error {
		before = *ch
		if ch.Type != want.Type {
			return errTypeChange(*ch)
		}
		ch.Title, ch.Capacity, ch.DefaultCapacity, ch.Paused, ch.Settings = want.Title, want.Capacity, want.DefaultCapacity, want.Paused, want.Settings
		return nil
	})
	return have, before, false, err
}

// update changes a channel under optimistic locking by version, and retries
// after a concurrent change. A change without effect writes nothing. force
// allows a move to another place at the provider while contacts are in flight.
func (s *Service) update(ctx context.Context, have weir.Channel, force bool, change func(*weir.Channel) error) (weir.Channel, error) {
	for try := 1; ; try++ {
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
		if err := s.refuseMove(ctx, have, next); err != nil && !force {
			return weir.Channel{}, err
		}
		stored, err := s.Store.UpdateChannel(ctx, next)
		if weir.CodeOf(err) != weir.CodeConflict || try == maxTries {
			return stored, err
		}
		if have, err = s.channel(ctx, have.Name); err != nil {
			return weir.Channel{}, err
		}
	}
}

// refuseMove rejects a change of place while attempts are in flight. Weir would
// otherwise query or cancel them at a place where the same name may belong to
// someone else's.
func (s *Service) refuseMove(ctx context.Context, from, to weir.Channel) error {
	t, err := s.typeOfChannel(from)
	if err != nil {
		return err
	}
	keys := t.Moves(from.Settings, to.Settings)
	if len(keys) == 0 {
		return nil
	}
	f, err := s.Broker.Figures(ctx, from)
	if err != nil || f.InFlight == 0 {
		return err
	}
	out := &weir.Error{Code: weir.CodeConflict, Message: "contacts are in flight where the present settings point; pause the channel and wait for them, or use ?force=true"}
	for _, k := range keys {
		out.Fields = append(out.Fields, weir.FieldError{Pointer: "/settings/" + k, Code: "conflict", Detail: "cannot change while contacts are in flight"})
	}
	return out
}

func errTypeChange(ch weir.Channel) error {
	return &weir.Error{
		Code: weir.CodeConflict, Message: "a channel's type never changes; delete the channel and create it anew",
		Fields: []weir.FieldError{{Pointer: "/type", Code: "conflict", Detail: "is " + ch.Type}},
	}
}

func (s *Service) patchChannel(c *route.Call, have weir.Channel) (route.Reply, error) {
	schemaWrong, before := c.Errors, have
	ch, err := s.update(c, have, c.Query.Bool("force"), func(ch *weir.Channel) error {
		before = *ch
		s.patch(ch, c.Body)
		c.Errors = schemaWrong[:len(schemaWrong):len(schemaWrong)]
		s.checkChannel(*ch, &c.Errors)
		s.checkMove(ch, before.Settings, c)
		if err := c.Invalid(); err != nil {
			return err
		}
		if t, ok := c.Body["type"]; ok && t != ch.Type {
			return errTypeChange(*ch)
		}
		return nil
	})
	if err != nil {
		return route.Reply{}, err
	}
	s.changed(c, ch)
	return s.channelReply(c, http.StatusOK, before, ch)
}

// patch merges a patch into a channel. It ignores values of a wrong type; the
// schema check reports them.
func (s *Service) patch(ch *weir.Channel, patch map[string]any) {
	taken := func(name string) bool { v, given := patch[name]; return given && v == nil }
	if v, ok := patch["name"].(string); ok || taken("name") {
		ch.Title = v
	}
	if v, ok := patch["capacity"].(float64); ok && v >= weir.MinCapacity && v <= weir.MaxCapacity {
		ch.Capacity, ch.DefaultCapacity = int(v), false
	} else if taken("capacity") {
		ch.Capacity, ch.DefaultCapacity = s.DefaultCapacity, true // a removed field takes its default
	}
	if v, ok := patch["paused"].(bool); ok || taken("paused") {
		ch.Paused = v
	}
	merged := weir.Settings{}
	maps.Copy(merged, ch.Settings)
	settings, _ := patch["settings"].(map[string]any)
	for k, v := range settings {
		if v == nil {
			delete(merged, k)
		} else {
			merged[k] = v
		}
	}
	ch.Settings = merged
}

// changed invalidates what this process caches of a channel.
func (s *Service) changed(ctx context.Context, ch weir.Channel) {
	s.Index.Forget(ch.Name)
	s.Broker.Changed(ctx, ch.ID)
	s.Changed(ch)
}

func (s *Service) deleteChannel(c *route.Call, ch weir.Channel) (route.Reply, error) {
	var err error
	done := true
	if c.Query.Bool("cancel") {
		done, err = s.Broker.Delete(c, ch.ID)
	} else {
		err = s.Store.DeleteChannel(c, ch.ID)
	}
	if weir.CodeOf(err) == weir.CodeConflict {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "channel %s has open contacts; wait for them or delete it with ?cancel=true", ch.Name)
	}
	if err != nil {
		return route.Reply{}, err
	}
	s.changed(c, ch)
	if !done {
		return route.Reply{Status: http.StatusAccepted, Body: DeletingView{ch.Name, true}}, nil
	}
	s.Directory.Forget(ch.ID)
	s.Deleted(ch)
	return route.Reply{Status: http.StatusNoContent}, nil
}

// channelReply returns the response to a change of a channel.
func (s *Service) channelReply(ctx context.Context, status int, before, ch weir.Channel) (route.Reply, error) {
	v, err := s.channelView(ctx, ch)
	return route.Reply{Status: status, Body: v, Changes: s.channelChanges(before, ch)}, err
}

// channelView returns a channel with its figures and without its secrets.
func (s *Service) channelView(ctx context.Context, ch weir.Channel) (ChannelView, error) {
	f, err := s.Broker.Figures(ctx, ch)
	if err != nil {
		return ChannelView{}, err
	}
	return s.shownChannel(ch, f), nil
}
