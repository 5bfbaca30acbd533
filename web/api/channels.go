package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/internal/validation"
	"weir/operators"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// channelRoutes serves channels.
type channelRoutes struct {
	lookup          channelLookup
	directory       *channels.Directory
	defaultCapacity int // of channels that set none
	presenter       channelPresenter
	editor          channelEditor
	hooks           channelHooks
}

func (r *channelRoutes) table() []*route.Route {
	const one = "/v1/channels/{channel}"
	view := route.TypeOf[api.ChannelView]()
	put := &route.Route{
		Method: "PUT", Path: one, ID: "put-channel", Tag: "channels",
		Summary: "Create or replace a channel",
		Description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
			"A replacement carries the whole channel, secrets included. A channel's type never changes: delete the channel and create it again.\n\n" + settingsHelp(r.directory.Types()),
		Body: route.TypeOf[api.ChannelBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.put,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "replaced", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}, route.RightAnswer()},
		Codes:   []weir.Code{weir.CodeConflict, weir.CodePrecondition},
	}
	forced := httpjson.Parameter{Name: "force", Kind: "boolean", Description: "allow a move to another server or account of the provider while contacts are in flight"}
	put.Query, put.Tagged = []httpjson.Parameter{forced, route.Create("channel"), route.DryRun()}, true
	patch := func(c *route.Call, have weir.Channel) (route.Reply, error) { return r.patch(c, have, put.Check) }
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channels", ID: "list-channels", Tag: "channels",
			Summary: "List channels by name, with live figures",
			Query:   route.Paging(100, 500), Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.ChannelList]()}},
		},
		put,
		{
			Method: "GET", Path: one, ID: "get-channel", Tag: "channels",
			Summary: "Get a channel, with live figures", Handle: r.lookup.onChannel(r.get), Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the channel", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one + "/callback", ID: "get-channel-callback", Tag: "channels",
			Summary: "Get the address of a channel's callbacks",
			Description: "For providers that are configured by hand: Weir gives the others this address by itself. It holds the channel's secret: " +
				"anyone who knows it can report what became of contacts and send messages in the name of people.",
			Handle: r.lookup.onChannel(r.callback), Answers: []route.Answer{{Status: http.StatusOK, Description: "the address", Body: route.TypeOf[api.CallbackView]()}},
			Codes: []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: one, ID: "patch-channel", Tag: "channels",
			Summary:     "Change fields of a channel",
			Description: "A JSON merge patch (RFC 7396). Absent fields and settings, secrets included, stay as they are. A change of the place to which secrets are sent, such as base_url or the account, must include them again (422 lists them). With If-Match the change is made to that version only.",
			Query:       []httpjson.Parameter{forced, route.DryRun()}, Tagged: true,
			Body: route.TypeOf[api.ChannelPatch](), BodyTypes: []string{httpjson.JSONType, httpjson.MergePatchType}, BodyLimit: httpjson.MaxBody, Handle: r.lookup.onChannel(patch),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodePrecondition},
		},
		{
			Method: "DELETE", Path: one, ID: "delete-channel", Tag: "channels",
			Summary:     "Delete a channel",
			Description: "Refused with 409 while contacts are open, unless cancel=true: then waiting contacts end as canceled, the provider is asked to cancel the others, and the channel is removed after the last has ended.",
			Query:       []httpjson.Parameter{{Name: "cancel", Kind: "boolean", Description: "end the open contacts first"}},
			Handle:      r.lookup.onChannel(r.delete),
			Answers:     []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}, {Status: http.StatusAccepted, Description: "its open contacts are being ended", Body: route.TypeOf[api.DeletingView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// maxTries is the max number of attempts at a change that conflicts with
// concurrent changes.
const maxTries = 5

func (r *channelRoutes) list(c *route.Call) (route.Reply, error) {
	rows, next, err := r.lookup.page(c)
	if err != nil {
		return route.Reply{}, err
	}
	views, err := r.presenter.list(c, rows)
	return route.Reply{Status: http.StatusOK, Body: api.ChannelList{Channels: views, NextCursor: next}}, err
}

func (r *channelRoutes) get(c *route.Call, ch weir.Channel) (route.Reply, error) {
	v, err := r.presenter.view(c, ch)
	return route.Reply{Status: http.StatusOK, Body: v, ETag: channelTag(&ch)}, err
}

func (r *channelRoutes) callback(_ *route.Call, ch weir.Channel) (route.Reply, error) {
	v := api.CallbackView{URL: r.directory.CallbackURL(ch)}
	if t, ok := r.directory.Type(ch.Type); ok {
		for _, p := range t.Callbacks {
			if p.ByHand != "" {
				v.ByHand = append(v.ByHand, api.CallbackAddress{URL: v.URL + "/" + p.Path, For: p.ByHand})
			}
		}
	}
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}

func (r *channelRoutes) put(c *route.Call) (route.Reply, error) {
	want := weir.Channel{Name: c.Request.PathValue("channel"), Capacity: r.defaultCapacity, DefaultCapacity: true, Settings: weir.Settings{}}
	if !callbacks.ChannelName.MatchString(want.Name) {
		c.Errors.Add("/channel", "format", "the name in the path must be 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begin with a letter or digit")
	}
	want.Type, _ = c.Body["type"].(string)
	want.Title, _ = c.Body["name"].(string)
	want.Paused, _ = c.Body["paused"].(bool)
	want.Brake = readBrake(c.Body["brake"], &c.Errors)
	if n, ok := c.Body["capacity"].(float64); ok && n >= weir.MinCapacity && n <= weir.MaxCapacity {
		want.Capacity, want.DefaultCapacity = int(n), false
	}
	if given, ok := c.Body["settings"].(map[string]any); ok {
		want.Settings = given
	}
	checkChannel(r.directory, want, &c.Errors)
	on := c.Condition("channel", "/channel")
	if on.Create {
		if _, err := r.editor.store.Channel(c, want.Name); err == nil {
			return route.Reply{}, c.Taken(on, want.Name)
		}
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if err := r.mayUse(c, want.Type); err != nil {
		return route.Reply{}, err
	}
	ch, before, created, err := r.editor.put(c, want, edit{force: c.Query.Bool("force"), on: on, dry: c.DryRun(), request: c.Request})
	if err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(nil)
	}
	r.hooks.changed(c, ch)
	if !created {
		return r.presenter.reply(c, http.StatusOK, before, ch)
	}
	out, err := r.presenter.reply(c, http.StatusCreated, before, ch)
	out.Location = "/v1/channels/" + ch.Name
	return out, err
}

// mayUse reports whether the sender may choose the settings of a type.
func (r *channelRoutes) mayUse(c *route.Call, name string) error {
	if t, ok := r.directory.Type(name); ok && t.Shared {
		return c.RequireReach(operators.Subject{})
	}
	return nil
}

// checkChannel finds errors that depend on the channel type.
func checkChannel(directory *channels.Directory, ch weir.Channel, wrong *validation.Errors) {
	if ch.Type == "" {
		return // reported by the schema
	}
	t, ok := directory.Type(ch.Type)
	if !ok {
		wrong.Add("/type", "enum", "must be one of %s", typeNames(directory.Types()))
		return
	}
	wrong.AddPart("/settings", t.CheckSettings(ch.Settings, ch.Capacity))
}

// checkMove finds stored secrets that a patch would send to another place.
func checkMove(directory *channels.Directory, ch *weir.Channel, was weir.Settings, c *route.Call) {
	t, ok := directory.Type(ch.Type)
	if !ok {
		return // reported by checkChannel
	}
	given, _ := c.Body["settings"].(map[string]any)
	c.Errors.AddPart("/settings", t.CheckMove(was, ch.Settings, given))
}

func errTypeChange(ch weir.Channel) error {
	return &weir.Error{
		Code: weir.CodeConflict, Message: "a channel's type never changes; delete the channel and create it anew",
		Fields: []weir.FieldError{{Pointer: "/type", Code: "conflict", Detail: "is " + ch.Type}},
	}
}

// patch merges a patch into a channel. body checks the body that would write the channel.
func (r *channelRoutes) patch(c *route.Call, have weir.Channel, body *httpjson.Checker) (route.Reply, error) {
	schemaWrong, before := c.Errors, have
	ch, err := r.editor.update(c, have, edit{force: c.Query.Bool("force"), dry: c.DryRun(), request: c.Request}, func(ch *weir.Channel) error {
		before = *ch
		mergeChannel(ch, c.Body, r.defaultCapacity)
		c.Errors = schemaWrong[:len(schemaWrong):len(schemaWrong)]
		patchBrake(ch, c, body)
		checkChannel(r.directory, *ch, &c.Errors)
		checkMove(r.directory, ch, before.Settings, c)
		if err := c.Invalid(); err != nil {
			return err
		}
		if t, ok := c.Body["type"]; ok && t != ch.Type {
			return errTypeChange(*ch)
		}
		if reflect.DeepEqual(before.Settings, ch.Settings) {
			return nil
		}
		return r.mayUse(c, ch.Type)
	})
	if err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(nil)
	}
	r.hooks.changed(c, ch)
	return r.presenter.reply(c, http.StatusOK, before, ch)
}

// mergeChannel merges a patch into a channel. It ignores values of a wrong type; the
// schema check reports them.
func mergeChannel(ch *weir.Channel, patch map[string]any, defaultCapacity int) {
	taken := func(name string) bool { v, given := patch[name]; return given && v == nil }
	if v, ok := patch["name"].(string); ok || taken("name") {
		ch.Title = v
	}
	if v, ok := patch["capacity"].(float64); ok && v >= weir.MinCapacity && v <= weir.MaxCapacity {
		ch.Capacity, ch.DefaultCapacity = int(v), false
	} else if taken("capacity") {
		ch.Capacity, ch.DefaultCapacity = defaultCapacity, true // a removed field takes its default
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

func (r *channelRoutes) delete(c *route.Call, ch weir.Channel) (route.Reply, error) {
	done, err := r.editor.remove(c, ch.ID, c.Query.Bool("cancel"))
	if weir.CodeOf(err) == weir.CodeConflict {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "channel %s has open contacts; wait for them or delete it with ?cancel=true", ch.Name)
	}
	if err != nil {
		return route.Reply{}, err
	}
	r.hooks.changed(c, ch)
	if !done {
		return route.Reply{Status: http.StatusAccepted, Body: api.DeletingView{Channel: ch.Name, Deleting: true}}, nil
	}
	r.directory.Forget(ch.ID)
	r.hooks.onDelete(ch)
	return route.Reply{Status: http.StatusNoContent}, nil
}

// channelListener is told of changes.
type channelListener interface {
	// Changed reports that the row of a channel was created or changed.
	Changed(ctx context.Context, channel weir.ChannelID)
}

// channelHooks tells the rest of this process that a channel was changed.
type channelHooks struct {
	index              *callbacks.Index
	broker             channelListener
	onChange, onDelete func(weir.Channel)
}

// changed invalidates what this process caches of a channel.
func (n *channelHooks) changed(ctx context.Context, ch weir.Channel) {
	n.index.Forget(ch.Name)
	n.broker.Changed(ctx, ch.ID)
	n.onChange(ch)
}

func typeNames(types []channels.Type) string {
	names := make([]string, 0, len(types))
	for i := range types {
		names = append(names, types[i].Name)
	}
	return strings.Join(names, ", ")
}

// settingsHelp describes the settings of every channel type, from the table.
func settingsHelp(types []channels.Type) string {
	var b strings.Builder
	list := func(title string, settings []channels.Setting) {
		fmt.Fprintf(&b, "%s:\n\n", title)
		for _, k := range settings {
			var marks strings.Builder
			if k.Required {
				marks.WriteString(", required")
			}
			if k.Secret {
				marks.WriteString(", secret")
			}
			if k.Default != "" {
				marks.WriteString(", default " + k.Default)
			}
			fmt.Fprintf(&b, "- `%s` (%s%s): %s\n", k.Key, k.Kind, marks.String(), k.Help)
		}
		b.WriteString("\n")
	}
	for i := range types {
		list(fmt.Sprintf("Settings of type `%s` (%s)", types[i].Name, types[i].Summary), types[i].Settings)
	}
	list("Settings of every type", channels.CommonSettings())
	return b.String()
}
