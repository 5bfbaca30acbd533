package channels

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard/display"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// newChannelPath is the path of no channel: their names begin with a letter or a digit.
const newChannelPath = "/channels/_new"

func channelLink(name string) string { return "/channels/" + url.PathEscape(name) }

// channelCrumbs returns the crumbs of a page below that of a channel.
func channelCrumbs(name string, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: name, Link: channelLink(name)}}, more...)
}

// Kind is what a channel can be: of a type, or of one with a template to start from.
type Kind struct {
	api.ChannelTypeView
	Offer  api.TemplateView // its Template is empty: there is none
	common []api.SettingView
	words  *locale.Locale
}

// Title describes the kind in a line.
func (k *Kind) Title() string {
	return strings.TrimSuffix(k.sentence(cmp.Or(k.Offer.Summary, k.Summary)), ".")
}

// sentence returns what the API says about a type as a sentence in the language of the page.
func (k *Kind) sentence(text string) string {
	return k.words.Text(locale.Message(display.Sentence(text)))
}

// Name names the kind.
func (k *Kind) Name() string {
	if k.Offer.Template != "" {
		return k.Type + " · " + k.Offer.Template
	}
	return k.Type
}

// Steps returns what is to be done at the provider.
func (k *Kind) Steps() (list []string) {
	steps := k.SetUp
	if k.Offer.Template != "" {
		steps = k.Offer.SetUp
	}
	for _, step := range steps {
		list = append(list, k.sentence(step))
	}
	return list
}

// Link returns the page that creates a channel of the kind.
func (k *Kind) Link() string {
	query := url.Values{"type": {k.Type}}
	if k.Offer.Template != "" {
		query.Set("template", k.Offer.Template)
	}
	return newChannelPath + "?" + query.Encode()
}

// ReadKinds reads the kinds. A type with templates is last among its own: its template has
// to be written.
func ReadKinds(c *page.Caller) (list []*Kind, err error) {
	var all api.ChannelTypeList
	if err := c.Get("/v1/channel-types", nil, &all); err != nil {
		return nil, err
	}
	for _, t := range all.ChannelTypes {
		for _, offer := range t.Templates {
			list = append(list, &Kind{t, offer, all.Common, c.Locale})
		}
		list = append(list, &Kind{ChannelTypeView: t, common: all.Common, words: c.Locale})
	}
	return list, nil
}

// ReadKind reads one kind; template may be empty.
func ReadKind(c *page.Caller, typ, template string) (*Kind, error) {
	list, err := ReadKinds(c)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if k.Type == typ && k.Offer.Template == template {
			return k, nil
		}
	}
	return nil, &page.Problem{Status: http.StatusNotFound, Detail: c.T("this program has no such channel type")}
}

// rateSetting is shown beside the capacity, and not among the other settings of every type.
const rateSetting = "rate_per_second"

// channelForm is the form that creates or edits a channel, as it was filled in.
type channelForm struct {
	*locale.Locale
	*form.Form
	Kinds    []*Kind // to choose from; nil: Kind is chosen
	Kind     *Kind
	Name     string
	Tag, Was string      // version that is edited, and the texts of its fields
	paused   bool        // the form does not change it
	Changed  []page.Fact // what somebody else changed meanwhile
	Asked    *api.ChannelTestView
	Problem  *page.Problem // an error of the API that is about no field
}

// Back returns the page to return to.
func (f *channelForm) Back() string {
	if f.New {
		return newChannelPath
	}
	return channelLink(f.Name)
}

// Action returns the page that takes the form.
func (f *channelForm) Action() string {
	if f.New {
		return newChannelPath
	}
	return channelLink(f.Name) + "/edit"
}

// Own returns the inputs of what every channel has, and is always shown.
func (f *channelForm) Own() []*form.Input { return f.shown(true) }

// Special returns the inputs of the settings of the kind.
func (f *channelForm) Special() []*form.Input { return f.shown(false) }

func (f *channelForm) shown(own bool) (list []*form.Input) {
	for _, in := range f.Shown() {
		if own == (len(in.At) < 2 || in.At[1] == rateSetting) {
			list = append(list, in)
		}
	}
	return list
}

// channelFields declares the form of a channel of a kind: what every channel has, what its template needs, and the settings, of which
// the API tells kind, label and help.
func channelFields(k *Kind) *form.Declaration {
	fields := []form.Field{
		{Name: "name", At: []string{"channel"}, Create: true, Kind: form.Code, MaxLength: 63, Label: "Name", Help: "As contacts and surveys name it, such as <code>sms</code>. It cannot be changed later."},
		{Name: "title", At: []string{"name"}, Kind: form.Text, MaxLength: 200, Label: "Title", Help: "For people. Optional."},
		{
			Name: "capacity", Kind: form.Number, Min: 1, Max: 1000000, Label: "Capacity",
			Help: "How many slots are in flight at most: calls, or messages until the provider reports their end. Empty: the default of this installation, DEFAULT_CHANNEL_CAPACITY.",
		},
	}
	for _, name := range k.Offer.Values {
		fields = append(fields, form.Field{Name: "value-" + name, At: []string{"settings", "values", name}, Words: k.label(name), Kind: form.Code, Needed: true})
	}
	for _, name := range k.Offer.Secrets {
		fields = append(fields, form.Field{Name: "secret-" + name, At: []string{"settings", "secrets", name}, Words: k.label(name), Kind: form.Secret, Needed: true})
	}
	for i := range k.ChannelTypeView.Settings {
		if s := &k.ChannelTypeView.Settings[i]; k.Offer.Template == "" || s.Key == k.Offer.Key {
			fields = append(fields, k.settingField(s))
		}
	}
	for i := range k.common {
		s := k.settingField(&k.common[i])
		s.Folded = k.common[i].Key != rateSetting
		fields = append(fields, s)
	}
	return &form.Declaration{Fields: fields}
}

func (k *Kind) settingField(s *api.SettingView) form.Field {
	kinds := map[string]form.Kind{"boolean": form.Switch, "integer": form.Number, "object": form.JSON, "url": form.URL}
	f := form.Field{
		Name: "set-" + s.Key, At: []string{"settings", s.Key}, Kind: cmp.Or(kinds[s.Kind], form.Code), Words: k.label(s.Key), Hints: k.sentence(s.Help),
		Default: s.Default, Values: s.Values, Needed: s.Required,
	}
	switch {
	case s.Secret:
		if f.Kind == form.JSON {
			f.Help = `A JSON object, such as <code>{"token": "…"}</code>; it replaces all of them.`
		}
		f.Kind = form.Secret
	case s.Values != nil:
		f.Kind = form.Select
	}
	return f
}

// newChannelForm returns the empty form of a kind. fresh is whether it is about a new channel.
func newChannelForm(v *page.Visit, k *Kind, fresh bool) *channelForm {
	f := &channelForm{Locale: v.Locale, Kind: k, Form: channelFields(k).New(fresh)}
	if in := f.Input("set-" + k.Offer.Key); in != nil {
		in.Value = strings.TrimSpace(k.Offer.Value)
	}
	if begins := v.Limit(operators.ScopeChannelsAdmin); begins != "" && fresh {
		f.Input("name").More = v.HTML("It begins with <code>%s</code>.", begins)
	}
	return f
}

// label returns the name of a setting in the language of the page.
func (k *Kind) label(key string) string {
	return k.words.Text(locale.Message(SettingLabel(key)))
}

// SettingLabel returns the name of a setting for people.
func SettingLabel(key string) string {
	if key == "from" { // otherwise it could be the beginning of an interval
		return "Sender"
	}
	words := strings.FieldsFunc(key, func(r rune) bool { return r == '_' || r == '-' })
	for i, w := range words {
		if slices.Contains([]string{"api", "id", "sid", "sms", "url"}, w) {
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.TrimSuffix(display.Sentence(strings.Join(words, " ")), ".")
}

// show fills in a channel, and remembers that.
func (f *channelForm) show(ch *api.ChannelView, tag string) error {
	f.Name, f.Tag, f.paused = ch.Channel, tag, ch.Paused
	if err := f.Show(ch); err != nil {
		return err
	}
	for _, in := range f.Inputs {
		in.Set = len(in.At) == 2 && slices.Contains(ch.Secrets, in.At[1])
	}
	f.Was = f.texts().String()
	return nil
}

// texts returns the texts that the form shows, with what it does not change.
func (f *channelForm) texts() form.Texts {
	out := f.Texts()
	out["paused"] = strconv.FormatBool(f.paused)
	return out
}

// fill fills in what a browser sent.
func (f *channelForm) fill(sent url.Values) {
	f.Fill(sent)
	f.Tag, f.Was = sent.Get("tag"), sent.Get("was")
	if f.New {
		f.Name = f.Input("name").Value
	}
}

// require adds the mistakes of parts that are missing. The API finds them only where the template
// names them.
func (f *channelForm) require() {
	for _, in := range f.Inputs {
		if len(in.At) > 2 && in.Value == "" {
			f.Wrong(in.Name, f.T("Required: the template needs it."))
		}
	}
}

func (f *channelForm) content() *page.Content {
	if f.New {
		c := &page.Content{Title: f.T("New channel"), Crumbs: []page.Crumb{{Text: f.T("New channel"), Link: newChannelPath}}, Data: f}
		if f.Kind != nil {
			c.Crumbs = append(c.Crumbs, page.Crumb{Text: f.Kind.Name()})
		}
		return c
	}
	return &page.Content{Title: f.T("Edit channel %s", f.Name), Crumbs: channelCrumbs(f.Name, page.Crumb{Text: f.T("Edit")}), Data: f}
}

// newChannel shows the kinds to choose from, or the form of the one that is chosen.
func newChannel(v *page.Visit) (*page.Content, error) {
	query := v.Request.URL.Query()
	f := &channelForm{Locale: v.Locale, Form: &form.Form{New: true}}
	var err error
	if query.Get("type") == "" {
		f.Kinds, err = ReadKinds(v.Caller)
		return f.content(), err
	}
	k, err := ReadKind(v.Caller, query.Get("type"), query.Get("template"))
	if err != nil {
		return nil, err
	}
	return newChannelForm(v, k, true).content(), nil
}

// createChannel creates a channel, or asks its provider.
func createChannel(v *page.Visit) (*page.Content, error) {
	k, err := ReadKind(v.Caller, v.Request.PostForm.Get("type"), v.Request.PostForm.Get("template"))
	if err != nil {
		return nil, err
	}
	f := newChannelForm(v, k, true)
	f.fill(v.Request.PostForm)
	f.require()
	body := f.Changes(nil)
	body["type"] = k.Type
	if v.Request.PostForm.Get("do") == "test" {
		return f.ask(v, body)
	}
	name := f.Name
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" || strings.Trim(name, ".") == "" {
		f.Mistakes["name"] = f.T("1 to 63 characters: a-z, 0-9, dot, underscore and hyphen. It begins with a letter or a digit.")
	} else if !v.MayChannel(name, operators.ScopeChannelsAdmin) {
		f.Mistakes["name"] = v.NameOutside(operators.ScopeChannelsAdmin)
	}
	if f.Mistakes["name"] != "" {
		name = v.NewName(operators.ScopeChannelsAdmin)
	}
	err = v.Save(http.MethodPut, page.Path("v1", "channels", name)+page.Creating(true), body, f.Mistakes, nil)
	if err != nil {
		return f.again(err)
	}
	c := f.content()
	c.To, c.Flash = channelLink(name), &page.Flash{Text: f.T("Channel %s is created. Its provider is being asked whether it works; what is to be done there is under Set-up.", name)}
	return c, nil
}

// again shows the form with every mistake.
func (f *channelForm) again(err error) (*page.Content, error) {
	if p, refused := errors.AsType[*page.Problem](err); refused && slices.ContainsFunc(f.Inputs, func(in *form.Input) bool { return len(in.At) > 2 && f.Mistakes[in.Name] != "" }) {
		p.Errors = slices.DeleteFunc(p.Errors, func(e weir.FieldError) bool { return e.Code == "placeholder" }) // they follow from a part that is missing
	}
	c := f.content()
	f.Problem, err = c.Refused(f.Locale, f.Form, err, func(field string, e *weir.FieldError) string {
		switch {
		case field == "name" && e.Code == "conflict":
			e.Detail = f.T("There is a channel of this name already: edit that one.")
		case e.Code == "required" && strings.HasPrefix(e.Detail, f.Mistake("channel type "+f.Kind.Type+" needs it: ")): // the help text is beside it
			e.Detail = f.T("enter this")
		}
		return field
	}, page.NotSaved())
	f.Forget()
	return c, err
}

// ask asks the provider, and shows the form with its answer. Nothing is stored.
func (f *channelForm) ask(v *page.Visit, body map[string]any) (*page.Content, error) {
	delete(body, "name")
	var answer api.ChannelTestView
	if err := v.Call(http.MethodPost, "/v1/channels:test", body, &answer); err != nil {
		c, err := f.again(err)
		if err == nil {
			c.Flash.Text = f.T("The provider was not asked. Correct the marked fields of the form.")
			if len(f.Mistakes) == 0 {
				c.Flash.Text = f.T("The provider was not asked.")
			}
		}
		return c, err
	}
	f.Asked = &answer
	f.Forget()
	return f.content(), nil
}

// readChannelForm reads a channel, with the form of its type.
func readChannelForm(v *page.Visit) (*channelForm, *api.ChannelView, string, error) {
	var ch api.ChannelView
	tag, err := v.Exchange(http.MethodGet, page.Path("v1", "channels", v.Request.PathValue("name")), "", nil, &ch)
	if err != nil {
		return nil, nil, "", err
	}
	k, err := ReadKind(v.Caller, ch.Type, "")
	if err != nil {
		return nil, nil, "", err
	}
	return newChannelForm(v, k, false), &ch, tag, nil
}

func editChannel(v *page.Visit) (*page.Content, error) {
	f, ch, tag, err := readChannelForm(v)
	if err != nil {
		return nil, err
	}
	if err := f.show(ch, tag); err != nil {
		return nil, err
	}
	return f.content(), nil
}

// changeChannel changes what was changed in the form, or asks the provider.
func changeChannel(v *page.Visit) (*page.Content, error) {
	f, ch, tag, err := readChannelForm(v)
	if err != nil {
		return nil, err
	}
	if err := f.show(ch, tag); err != nil {
		return nil, err
	}
	now := f.texts()
	f.fill(v.Request.PostForm)
	was, whole := form.Recall(f.Was)
	if !whole {
		return nil, &page.Problem{Status: http.StatusBadRequest, Words: "the form is incomplete; open the page again"}
	}
	body := f.Changes(was)
	if v.Request.PostForm.Get("do") == "test" {
		body["channel"] = f.Name
		return f.ask(v, body)
	}
	_, err = v.Exchange(http.MethodPatch, page.Path("v1", "channels", f.Name), cmp.Or(f.Tag, `"0"`), body, &api.ChannelView{})
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusPreconditionFailed {
		return f.merge(v, ch, was, now, tag)
	}
	if err != nil {
		return f.again(err)
	}
	c := f.content()
	c.To, c.Flash = channelLink(f.Name), &page.Flash{Text: f.T("Channel %s is changed.", f.Name)}
	return c, nil
}

// merge shows the form after somebody else has changed the channel: with their values where
// nothing was typed, and a list of what they changed.
func (f *channelForm) merge(v *page.Visit, ch *api.ChannelView, was, now form.Texts, tag string) (*page.Content, error) {
	theirs := newChannelForm(v, f.Kind, false)
	if err := theirs.show(ch, tag); err != nil {
		return nil, err
	}
	for _, change := range f.Merge(theirs.Form, was, now) {
		shown := cmp.Or(change.Text, f.T("empty"))
		if change.Long() {
			shown = f.T("another text")
		}
		f.Changed = append(f.Changed, page.Fact{Name: change.Title(f.Locale), Value: shown})
	}
	if now["paused"] != was["paused"] {
		f.Changed = append(f.Changed, page.Fact{Name: f.T("Paused"), Value: f.T(map[string]locale.Message{"true": "yes", "false": "no"}[now["paused"]])})
	}
	f.Tag, f.Was = tag, theirs.Was
	f.Forget()
	c := f.content()
	c.Status, c.Flash = http.StatusConflict, &page.Flash{Bad: true, Text: f.T("Nothing was saved: the channel was changed meanwhile. Look at what has changed, and save again.")}
	return c, nil
}
