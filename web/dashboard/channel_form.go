package dashboard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/operators"
	"weir/web/api"
	"weir/web/dashboard/locale"
)

// newChannelPath is the path of no channel: their names begin with a letter or a digit.
const newChannelPath = "/channels/_new"

func channelLink(name string) string { return "/channels/" + url.PathEscape(name) }

// channelCrumbs returns the crumbs of a page below that of a channel.
func channelCrumbs(name string, more ...crumb) []crumb {
	return append([]crumb{{Text: name, Link: channelLink(name)}}, more...)
}

// channelKind is what a channel can be: of a type, or of one with a template to start from.
type channelKind struct {
	api.ChannelTypeView
	Offer  api.TemplateView // its Template is empty: there is none
	common []api.SettingView
}

// Title describes the kind in a line.
func (k *channelKind) Title() string {
	return strings.TrimSuffix(asSentence(cmp.Or(k.Offer.Summary, k.Summary)), ".")
}

// Name names the kind.
func (k *channelKind) Name() string {
	if k.Offer.Template != "" {
		return k.Type + " · " + k.Offer.Template
	}
	return k.Type
}

// Steps returns what is to be done at the provider.
func (k *channelKind) Steps() []string {
	if k.Offer.Template != "" {
		return k.Offer.SetUp
	}
	return k.SetUp
}

// Link returns the page that creates a channel of the kind.
func (k *channelKind) Link() string {
	query := url.Values{"type": {k.Type}}
	if k.Offer.Template != "" {
		query.Set("template", k.Offer.Template)
	}
	return newChannelPath + "?" + query.Encode()
}

// readChannelKinds reads the kinds. A type with templates is last among its own: its template has
// to be written.
func readChannelKinds(c *caller) (list []*channelKind, err error) {
	var all api.ChannelTypeList
	if err := c.get("/v1/channel-types", nil, &all); err != nil {
		return nil, err
	}
	for _, t := range all.ChannelTypes {
		for _, offer := range t.Templates {
			list = append(list, &channelKind{t, offer, all.Common})
		}
		list = append(list, &channelKind{ChannelTypeView: t, common: all.Common})
	}
	return list, nil
}

// readChannelKind reads one kind; template may be empty.
func readChannelKind(c *caller, typ, template string) (*channelKind, error) {
	list, err := readChannelKinds(c)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if k.Type == typ && k.Offer.Template == template {
			return k, nil
		}
	}
	return nil, &problem{Status: http.StatusNotFound, Detail: c.T("this program has no such channel type")}
}

// rateSetting is shown beside the capacity, and not among the other settings of every type.
const rateSetting = "rate_per_second"

// settingField is a field of the form: a setting, or a text of one that holds several.
type settingField struct {
	Form      *channelForm
	ID, Label string // ID is the name of the input, too
	Help      string
	Kind      string // of the setting, as in the API
	Value     string // as text; empty: absent
	Default   string
	Choices   []string
	Required  bool
	Secret    bool
	Set       bool // a secret that has a value
	Remove    bool // a secret that is to be removed
	Lost      bool // a secret that was typed, and is not sent back
	key, part string
}

// Describes reports whether the field has a help text.
func (f *settingField) Describes() bool { return f.Help != "" }

// DefaultHint returns the default, unless the input itself shows it.
func (f *settingField) DefaultHint() string {
	if f.Kind == "boolean" || len(f.Choices) > 0 {
		return ""
	}
	return f.Default
}

// json returns the value for the API, which reports what is wrong with it.
func (f *settingField) json() any {
	switch {
	case f.Kind == "boolean":
		return f.Value == "true"
	case f.Kind == "integer":
		if n, err := strconv.Atoi(f.Value); err == nil {
			return n
		}
	}
	return f.Value
}

// channelForm is the form that creates or edits a channel, as it was filled in.
type channelForm struct {
	*locale.Locale
	New                   bool
	Kinds                 []*channelKind // to choose from; nil: Kind is chosen
	Kind                  *channelKind
	Name, Title, Capacity string
	Rate                  *settingField
	Settings, More        []*settingField
	Tag, Was              string // version that is edited, and the texts of its fields
	paused                bool   // the form does not change it
	Changed               []fact // what somebody else changed meanwhile
	Asked                 *api.ChannelTestView
	Mistakes              map[string]string // by field
	Problem               *problem          // an error of the API that is about no field
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

// Unfolded reports whether one of the folded fields is filled in or wrong.
func (f *channelForm) Unfolded() bool {
	return slices.ContainsFunc(f.More, func(s *settingField) bool { return s.Value != "" || f.Mistakes[s.ID] != "" })
}

// all returns the fields of all settings.
func (f *channelForm) all() []*settingField {
	return slices.Concat([]*settingField{f.Rate}, f.Settings, f.More)
}

// newChannelForm returns the empty form of a kind.
func newChannelForm(l *locale.Locale, k *channelKind) *channelForm {
	f := &channelForm{Locale: l, Kind: k, Mistakes: map[string]string{}, Rate: &settingField{}}
	for _, name := range k.Offer.Values {
		f.Settings = append(f.Settings, &settingField{
			ID: "value-" + name, Label: settingLabel(name), Kind: "string", key: "values", part: name,
			Required: true,
		})
	}
	for _, name := range k.Offer.Secrets {
		f.Settings = append(f.Settings, &settingField{ID: "secret-" + name, Label: settingLabel(name), Kind: "string", key: "secrets", part: name, Required: true, Secret: true})
	}
	for i := range k.ChannelTypeView.Settings {
		s := &k.ChannelTypeView.Settings[i]
		if k.Offer.Template == "" || s.Key == k.Offer.Key {
			f.Settings = append(f.Settings, fieldOf(s))
		}
	}
	for i := range k.common {
		if s := fieldOf(&k.common[i]); s.key == rateSetting {
			f.Rate = s
		} else {
			f.More = append(f.More, s)
		}
	}
	for _, s := range f.all() {
		s.Form = f
		if s.key == k.Offer.Key && s.part == "" {
			s.Value = strings.TrimSpace(k.Offer.Value)
		}
	}
	return f
}

func fieldOf(s *api.SettingView) *settingField {
	return &settingField{
		ID: "set-" + s.Key, Label: settingLabel(s.Key), Help: asSentence(s.Help), Kind: string(s.Kind), Default: s.Default, Choices: s.Values,
		Required: s.Required, Secret: s.Secret, key: s.Key,
	}
}

// settingLabel returns the name of a setting for people.
func settingLabel(key string) string {
	words := strings.FieldsFunc(key, func(r rune) bool { return r == '_' || r == '-' })
	for i, w := range words {
		if slices.Contains([]string{"api", "id", "sid", "sms", "url"}, w) {
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.TrimSuffix(asSentence(strings.Join(words, " ")), ".")
}

// show fills in a channel, and remembers that.
func (f *channelForm) show(ch *api.ChannelView, tag string) {
	f.Name, f.Title, f.Capacity, f.Tag = ch.Channel, ch.Name, strconv.Itoa(ch.Capacity), tag
	f.paused = ch.Paused
	for _, s := range f.all() {
		s.Value = settingValue(ch.Settings[s.key])
		s.Set = slices.Contains(ch.Secrets, s.key)
	}
	f.Was = remembered(f.texts())
}

// settingValue returns a setting as the text of its field.
func settingValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case bool:
		if !v {
			return ""
		}
	}
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(raw)
}

// Names of the fields that are no settings.
const (
	fieldTitle    = "title"
	fieldCapacity = "capacity"
)

// texts returns the texts of all fields that are shown, by their names. Those that are long are
// replaced by a digest: they are compared only.
func (f *channelForm) texts() map[string]string {
	out := map[string]string{fieldTitle: f.Title, fieldCapacity: f.Capacity, "paused": strconv.FormatBool(f.paused)}
	for _, s := range f.all() {
		if s.Secret {
			continue
		}
		out[s.ID] = s.Value
		if len(s.Value) > 200 {
			sum := sha256.Sum256([]byte(s.Value))
			out[s.ID] = "sha256:" + hex.EncodeToString(sum[:])
		}
	}
	return out
}

func remembered(texts map[string]string) string {
	raw, _ := json.Marshal(texts) // of texts it cannot fail
	return string(raw)
}

// recall returns what remembered has kept.
func recall(text string) (map[string]string, error) {
	var out map[string]string
	if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
		return nil, &problem{Status: http.StatusBadRequest, words: "the form is incomplete; open the page again"}
	}
	return out, nil
}

// fill fills in what a browser sent.
func (f *channelForm) fill(form url.Values) {
	text := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
	}
	f.Name, f.Title, f.Capacity = cmp.Or(f.Name, text("name")), text(fieldTitle), text(fieldCapacity)
	f.Tag, f.Was = form.Get("tag"), form.Get("was")
	for _, s := range f.all() {
		s.Value, s.Remove = text(s.ID), form.Get(s.ID+"-remove") != ""
		if s.Secret { // blanks can be a part of it
			s.Value = form.Get(s.ID)
		}
	}
}

// body returns the channel for the API. Of a channel that exists it has what differs from the
// texts that were shown.
func (f *channelForm) body(was map[string]string) map[string]any {
	body, settings := map[string]any{}, map[string]any{}
	now := f.texts()
	changed := func(name string) bool { return was == nil && now[name] != "" || was != nil && now[name] != was[name] }
	if changed(fieldTitle) {
		body["name"] = f.Title
	}
	if changed(fieldCapacity) {
		body["capacity"] = number(f.Capacity)
	}
	for _, s := range f.all() {
		switch {
		case s.Secret && s.Value == "" && s.Remove, !s.Secret && s.Value == "" && was != nil && changed(s.ID):
			settings[s.key] = nil
		case s.Secret && s.Value != "", !s.Secret && changed(s.ID):
			if s.part == "" {
				settings[s.key] = s.json()
				continue
			}
			parts, _ := settings[s.key].(map[string]any)
			if parts == nil {
				parts = map[string]any{}
				settings[s.key] = parts
			}
			parts[s.part] = s.json()
		}
	}
	if len(settings) > 0 {
		body["settings"] = settings
	}
	return body
}

// number returns the number in a text; of another text, the text, which the API refuses. Empty: null.
func number(text string) any {
	if text == "" {
		return nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
}

// require adds the mistakes of parts that are missing. The API finds them only where the template
// names them.
func (f *channelForm) require() {
	for _, s := range f.Settings {
		if s.part != "" && s.Required && s.Value == "" {
			f.Mistakes[s.ID] = f.T("Required: the template needs it.")
		}
	}
}

// place shows the errors of the API beside the fields that they are about.
func (f *channelForm) place(p *problem) {
	rest := *p
	rest.Errors = nil
	incomplete := slices.ContainsFunc(f.Settings, func(s *settingField) bool { return s.part != "" && f.Mistakes[s.ID] != "" })
	for _, e := range p.Errors {
		field, where := f.fieldOf(strings.Split(strings.TrimPrefix(e.Pointer, "/"), "/"))
		if e.Code == "required" && strings.HasPrefix(e.Detail, "channel type ") { // the help text is beside it
			e.Detail = f.T("enter this")
		}
		switch {
		case incomplete && e.Code == "placeholder": // it follows from a part that is missing
		case field == "":
			rest.Errors = append(rest.Errors, e)
		case f.Mistakes[field] == "":
			f.Mistakes[field] = asSentence(where + e.Detail)
		case where != "":
			f.Mistakes[field] += " " + asSentence(where+e.Detail)
		}
	}
	if len(f.Mistakes) == 0 || len(rest.Errors) > 0 {
		f.Problem = &rest
	}
}

// fieldOf returns the field that a JSON pointer is about, and where in a long one; empty: none.
func (f *channelForm) fieldOf(pointer []string) (field, where string) {
	switch pointer[0] {
	case "channel":
		if f.New {
			return "name", ""
		}
	case "name":
		return fieldTitle, ""
	case "capacity":
		return fieldCapacity, ""
	case "settings":
		if len(pointer) < 2 {
			return "", ""
		}
		for _, s := range f.all() {
			if s.key == pointer[1] && (s.part == "" || len(pointer) > 2 && s.part == pointer[2]) {
				if s.part == "" && len(pointer) > 2 {
					where = strings.Join(pointer[2:], "/") + ": "
				}
				return s.ID, where
			}
		}
	}
	return "", ""
}

// forget clears the secrets before the form is sent to the browser.
func (f *channelForm) forget() {
	for _, s := range f.all() {
		if s.Secret && s.Value != "" {
			s.Value, s.Lost = "", true
		}
	}
}

func (f *channelForm) content() *content {
	if f.New {
		c := &content{title: f.T("New channel"), crumbs: []crumb{{Text: f.T("New channel"), Link: newChannelPath}}, data: f}
		if f.Kind != nil {
			c.crumbs = append(c.crumbs, crumb{Text: f.Kind.Name()})
		}
		return c
	}
	return &content{title: f.T("Edit channel %s", f.Name), crumbs: channelCrumbs(f.Name, crumb{Text: f.T("Edit")}), data: f}
}

// newChannel shows the kinds to choose from, or the form of the one that is chosen.
func newChannel(v *visit) (*content, error) {
	query := v.r.URL.Query()
	f := &channelForm{Locale: v.Locale, New: true}
	var err error
	if query.Get("type") == "" {
		f.Kinds, err = readChannelKinds(v.caller)
		return f.content(), err
	}
	k, err := readChannelKind(v.caller, query.Get("type"), query.Get("template"))
	if err != nil {
		return nil, err
	}
	f = newChannelForm(v.Locale, k)
	f.New = true
	return f.content(), nil
}

// createChannel creates a channel, or asks its provider.
func createChannel(v *visit) (*content, error) {
	k, err := readChannelKind(v.caller, v.r.PostForm.Get("type"), v.r.PostForm.Get("template"))
	if err != nil {
		return nil, err
	}
	f := newChannelForm(v.Locale, k)
	f.New = true
	f.fill(v.r.PostForm)
	f.require()
	body := f.body(nil)
	body["type"] = k.Type
	if v.r.PostForm.Get("do") == "test" {
		return f.ask(v, body)
	}
	name := f.Name
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" || strings.Trim(name, ".") == "" {
		f.Mistakes["name"] = f.T("1 to 63 characters: a-z, 0-9, dot, underscore and hyphen. It begins with a letter or a digit.")
	} else if !v.MayChannel(name, operators.ScopeChannelsAdmin) {
		f.Mistakes["name"] = v.nameOutside(operators.ScopeChannelsAdmin)
	} else if _, err := readChannel(v.caller, name); err == nil {
		f.Mistakes["name"] = f.T("There is a channel of this name already: edit that one.")
	} else if status, _ := statusOf(err); status != http.StatusNotFound && status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
		return nil, err
	}
	if f.Mistakes["name"] != "" {
		name = v.newName(operators.ScopeChannelsAdmin)
	}
	err = v.save(http.MethodPut, apiPath("v1", "channels", name)+"?create=true", body, f.Mistakes, nil)
	if err != nil {
		return f.again(err)
	}
	c := f.content()
	c.to, c.flash = channelLink(name), &flash{Text: f.T("Channel %s is created. Its provider is being asked whether it works; what is to be done there is under Set-up.", name)}
	return c, nil
}

// again shows the form with every mistake.
func (f *channelForm) again(err error) (*content, error) {
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict && status != http.StatusPreconditionFailed {
		return nil, err
	}
	f.place(p)
	f.forget()
	c := f.content()
	c.status, c.flash = status, &flash{Bad: true, Text: f.T("Nothing was saved. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.flash.Text = f.T("Nothing was saved.")
	}
	return c, nil
}

// ask asks the provider, and shows the form with its answer. Nothing is stored.
func (f *channelForm) ask(v *visit, body map[string]any) (*content, error) {
	delete(body, "name")
	var answer api.ChannelTestView
	if err := v.call(http.MethodPost, "/v1/channels:test", body, &answer); err != nil {
		c, err := f.again(err)
		if c != nil {
			c.flash.Text = f.T("The provider was not asked. Correct the marked fields of the form.")
			if len(f.Mistakes) == 0 {
				c.flash.Text = f.T("The provider was not asked.")
			}
		}
		return c, err
	}
	f.Asked = &answer
	f.forget()
	return f.content(), nil
}

// readChannelForm reads a channel, with the form of its type.
func readChannelForm(v *visit) (*channelForm, *api.ChannelView, string, error) {
	var ch api.ChannelView
	tag, err := v.exchange(http.MethodGet, apiPath("v1", "channels", v.r.PathValue("name")), "", nil, &ch)
	if err != nil {
		return nil, nil, "", err
	}
	k, err := readChannelKind(v.caller, ch.Type, "")
	if err != nil {
		return nil, nil, "", err
	}
	return newChannelForm(v.Locale, k), &ch, tag, nil
}

func editChannel(v *visit) (*content, error) {
	f, ch, tag, err := readChannelForm(v)
	if err != nil {
		return nil, err
	}
	f.show(ch, tag)
	return f.content(), nil
}

// changeChannel changes what was changed in the form, or asks the provider.
func changeChannel(v *visit) (*content, error) {
	f, ch, tag, err := readChannelForm(v)
	if err != nil {
		return nil, err
	}
	f.show(ch, tag)
	now := f.texts()
	f.fill(v.r.PostForm)
	was, err := recall(f.Was)
	if err != nil {
		return nil, err
	}
	body := f.body(was)
	if v.r.PostForm.Get("do") == "test" {
		body["channel"] = f.Name
		return f.ask(v, body)
	}
	_, err = v.exchange(http.MethodPatch, apiPath("v1", "channels", f.Name), cmp.Or(f.Tag, `"0"`), body, &api.ChannelView{})
	if status, _ := statusOf(err); err != nil && status == http.StatusPreconditionFailed {
		return f.merge(ch, was, now, tag), nil
	}
	if err != nil {
		return f.again(err)
	}
	c := f.content()
	c.to, c.flash = channelLink(f.Name), &flash{Text: f.T("Channel %s is changed.", f.Name)}
	return c, nil
}

// merge shows the form after somebody else has changed the channel: with their values where
// nothing was typed, and a list of what they changed.
func (f *channelForm) merge(ch *api.ChannelView, was, now map[string]string, tag string) *content {
	typed, theirs := f.texts(), newChannelForm(f.Locale, f.Kind)
	theirs.show(ch, tag)
	note := func(name, label string, mine *string, their string) {
		if now[name] == was[name] {
			return
		}
		shown := cmp.Or(their, f.T("empty"))
		if len(shown) > 200 || strings.Contains(shown, "\n") {
			shown = f.T("another text")
		}
		f.Changed = append(f.Changed, fact{label, shown})
		if typed[name] == was[name] {
			*mine = their
		}
	}
	note(fieldTitle, f.T("Title"), &f.Title, theirs.Title)
	note(fieldCapacity, f.T("Capacity"), &f.Capacity, theirs.Capacity)
	if now["paused"] != was["paused"] {
		f.Changed = append(f.Changed, fact{f.T("Paused"), f.T(map[string]locale.Message{"true": "yes", "false": "no"}[now["paused"]])})
	}
	for i, s := range f.all() {
		note(s.ID, s.Label, &s.Value, theirs.all()[i].Value)
	}
	f.Tag, f.Was = tag, theirs.Was
	f.forget()
	c := f.content()
	c.status, c.flash = http.StatusConflict, &flash{Bad: true, Text: f.T("Nothing was saved: the channel was changed meanwhile. Look at what has changed, and save again.")}
	return c
}
