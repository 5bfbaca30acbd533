package form_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// plan is a body with a member of each kind that has one by its type.
type plan struct {
	Title  string   `json:"title,omitempty" maxLength:"200"`
	Names  []string `json:"names,omitempty"`
	Places []string `json:"places,omitempty"`
	Most   int      `json:"most,omitempty" minimum:"1" maximum:"500"`
	Cost   string   `json:"cost,omitempty" pattern:"^[0-9]{1,12}$"`
	Zone   string   `json:"zone,omitempty" pattern:"^[A-Z]{3}$"`
	Mode   string   `json:"mode,omitempty" enum:"slow,fast"`
	Loud   bool     `json:"loud,omitempty"`
	inner
}

type inner struct {
	Later *int   `json:"later,omitempty"`
	Rows  []row  `json:"rows,omitempty"`
	Skip  string `json:"-"`
}

type row struct {
	Prefix string `json:"prefix"`
}

func planFields() *form.Declaration {
	return form.Of(plan{}, []string{"rows"},
		form.Field{Name: "name", Create: true, Kind: form.Code, Label: "Name"},
		form.Field{Name: "title", Label: "Title"},
		form.Field{Name: "names", Label: "Names"},
		form.Field{Name: "places", Kind: form.Checks, Label: "Places"},
		form.Field{Name: "most", Label: "Most"},
		form.Field{Name: "cost", Label: "Cost"},
		form.Field{Name: "zone", Upper: true, MaxLength: 3, Label: "Zone"},
		form.Field{Name: "mode", Label: "Mode"},
		form.Field{Name: "loud", Label: "Loud"},
		form.Field{Name: "later", Folded: true, Label: "Later"},
	)
}

func TestOf_KindAndBoundsFollowFromTheMember(t *testing.T) {
	t.Parallel()
	f := planFields().New(true)
	for name, want := range map[string]form.Kind{
		"name": form.Code, "title": form.Text, "names": form.Words, "places": form.Checks, "most": form.Number, "cost": form.Amount, "zone": form.Code, "mode": form.Select, "loud": form.Switch, "later": form.Number,
	} {
		if got := f.Input(name).Kind; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if most, title, zone := f.Input("most"), f.Input("title"), f.Input("zone"); most.Min != 1 || most.Max != 500 || title.MaxLength != 200 || zone.MaxLength != 3 {
		t.Errorf("bounds: %+v, %+v, %+v", most.Field, title.Field, zone.Field)
	}
	if got := f.Input("mode").Values; !slices.Equal(got, []string{"slow", "fast"}) {
		t.Errorf("choices: %q", got)
	}
}

func TestMistakes_NamesWhatIsForgotten(t *testing.T) {
	t.Parallel()
	if list := planFields().Mistakes(); len(list) > 0 {
		t.Errorf("a whole form: %q", list)
	}
	wrong := form.Of(plan{}, []string{"rows", "lost"}, form.Field{Name: "name", Create: true}, form.Field{Name: "titel"}, form.Field{Name: "title"}, form.Field{Name: "deep", At: []string{"names", "first"}})
	want := []string{
		"places is neither asked for nor kept", "most is neither asked for nor kept", "cost is neither asked for nor kept", "zone is neither asked for nor kept", "mode is neither asked for nor kept",
		"loud is neither asked for nor kept", "later is neither asked for nor kept", "titel is no member", "lost is kept, and no member",
	}
	if got := wrong.Mistakes(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestForm_NewDocumentsAreAskedForTheirName(t *testing.T) {
	t.Parallel()
	d := planFields()
	if d.New(false).Input("name") != nil {
		t.Error("a document that exists is asked for its name")
	}
	f := d.New(true)
	f.Fill(url.Values{"name": {" a "}, "title": {"x"}})
	if body := f.Body(); f.Input("name").Value != "a" || body["name"] != nil || body["title"] != "x" {
		t.Errorf("name %q, body %v", f.Input("name").Value, body)
	}
}

// What was typed goes to the API as it is, so that the API finds what is wrong with it.
func TestBody_HasWhatWasTyped(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ sent, want string }{
		"nothing":          {"title=&names=+&most=&cost=&zone=&mode=", `{"loud":false}`},
		"blanks":           {"title=+x+&most=+7+&zone=+usd&names=a+b%0D%0Ac", `{"loud":false,"most":7,"names":["a","b","c"],"title":"x","zone":"USD"}`},
		"no number":        {"most=many&later=1.5", `{"later":"1.5","loud":false,"most":"many"}`},
		"several choices":  {"places=b&places=a&mode=other&loud=true", `{"loud":true,"mode":"other","places":["b","a"]}`},
		"an unknown field": {"rows=1&other=2", `{"loud":false}`},
	} {
		f := planFields().New(true)
		sent, err := url.ParseQuery(x.sent)
		if err != nil {
			t.Fatal(err)
		}
		f.Fill(sent)
		if got := text(t, f.Body()); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

func text(t rapid.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// browser returns what a browser sends of a form that nobody has touched.
func browser(f *form.Form) url.Values {
	sent := url.Values{}
	for _, in := range f.Inputs {
		switch in.Kind {
		case form.Checks:
			sent[in.Name] = in.Chosen
		case form.Switch:
			if in.Value != "" {
				sent.Set(in.Name, in.Value)
			}
		case form.Secret:
			sent.Set(in.Name, "")
		default:
			sent.Set(in.Name, strings.ReplaceAll(in.Value, "\n", "\r\n"))
		}
	}
	return sent
}

// A form that is shown and sent as it is changes nothing, not even what it does not show.
func TestForm_UntouchedChangesNothing(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-z<&"]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		was := plan{
			Title: rapid.StringMatching(`([a-zé][a-z é]{0,9}[a-z])?`).Draw(t, "title"), Names: rapid.SliceOfN(word, 0, 3).Draw(t, "names"), Places: rapid.SliceOfN(word, 0, 3).Draw(t, "places"),
			Most: rapid.IntRange(0, 500).Draw(t, "most"), Cost: rapid.StringMatching(`[0-9]{0,3}`).Draw(t, "cost"), Mode: rapid.SampledFrom([]string{"", "slow", "fast", "gone"}).Draw(t, "mode"), Loud: rapid.Bool().Draw(t, "loud"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "rows") {
			was.Rows = append(was.Rows, row{word.Draw(t, "prefix")})
		}
		shown := planFields().New(false)
		if err := shown.Show(was); err != nil {
			t.Fatal(err)
		}
		sent := planFields().New(false)
		if err := sent.Show(plan{inner: inner{Rows: was.Rows}}); err != nil { // the kept members are as they are by now
			t.Fatal(err)
		}
		sent.Fill(browser(shown))
		var now plan
		if err := json.Unmarshal([]byte(text(t, sent.Body())), &now); err != nil {
			t.Fatal(err)
		}
		if text(t, now) != text(t, was) {
			t.Errorf("it was %s, it is %s", text(t, was), text(t, now))
		}
		if changes := sent.Changes(shown.Texts()); len(changes) > 0 && len(was.Places)+len(was.Names) == 0 {
			t.Errorf("changes: %v", changes)
		}
		var rows []row
		if err := shown.Kept("rows", &rows); err != nil || !reflect.DeepEqual(rows, was.Rows) {
			t.Errorf("kept: %v %v", rows, err)
		}
	})
}

// mistakes are errors of the API: pairs of pointer and detail.
func mistakes(pairs ...string) (list []weir.FieldError) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, weir.FieldError{Pointer: pair[0], Code: "format", Detail: pair[1]})
	}
	return list
}

func TestPlace_EachMistakeIsBesideItsField(t *testing.T) {
	t.Parallel()
	f := planFields().New(true)
	f.Wrong("name", "Ours.")
	f.Place(locale.New().Choose("en", ""), mistakes("/name", "theirs", "/title", "is long", "/title", "is dull", "/names/0", "first", "/names/1", "second", "/places/0", "no place", "/places/1", "no place either", "/rows/0/prefix", "odd", "", "all wrong", "/titles", "none"), nil)
	want := map[string]string{"name": "Ours.", "title": "Is long.", "names": "First.", "places": "No place. No place either."}
	if !reflect.DeepEqual(f.Mistakes, want) {
		t.Errorf("beside fields: %q", f.Mistakes)
	}
	if len(f.Rest) != 3 || f.Rest[0].Pointer != "/rows/0/prefix" || f.Rest[1].Pointer != "" || f.Rest[2].Pointer != "/titles" || f.Placed() {
		t.Errorf("the rest: %+v", f.Rest)
	}
	f = planFields().New(false)
	f.Place(locale.New().Choose("en", ""), mistakes("/name", "of a document that exists", "", "say more"), func(field string, e *weir.FieldError) string {
		if e.Pointer == "" {
			e.Detail += " here"
			return "most"
		}
		return field
	})
	if f.Mistakes["most"] != "Say more here." || len(f.Rest) != 1 {
		t.Errorf("%q, %+v", f.Mistakes, f.Rest)
	}
	if f = planFields().New(false); f.Placed() {
		t.Error("a form without a mistake has all of them placed: whoever asks has one")
	}
}

// nested is a form whose fields are known when it is made, at any depth of the body.
func nested(fresh bool) *form.Form {
	d := &form.Declaration{Fields: []form.Field{
		{Name: "name", At: []string{"channel"}, Create: true, Kind: form.Code},
		{Name: "title", At: []string{"name"}, Kind: form.Text},
		{Name: "size", Kind: form.Number},
		{Name: "set-url", At: []string{"settings", "url"}, Kind: form.URL},
		{Name: "value-from", At: []string{"settings", "values", "from"}, Kind: form.Code},
		{Name: "set-map", At: []string{"settings", "map"}, Kind: form.JSON},
		{Name: "set-on", At: []string{"settings", "on"}, Kind: form.Switch},
		{Name: "set-key", At: []string{"settings", "key"}, Kind: form.Secret},
		{Name: "set-more", At: []string{"settings", "more"}, Kind: form.Code, Folded: true},
	}}
	return d.New(fresh)
}

func TestPlace_DeepInADocument(t *testing.T) {
	t.Parallel()
	f := nested(true)
	f.Place(locale.New().Choose("en", ""), mistakes("/channel", "taken", "/settings/values/from", "short", "/settings/values", "none", "/settings/map/send/url", "odd", "/settings/map/send", "missing", "/settings", "few"), nil)
	want := map[string]string{"name": "Taken.", "value-from": "Short.", "set-map": "Send/url: odd. Send: missing."}
	if !reflect.DeepEqual(f.Mistakes, want) || len(f.Rest) != 2 {
		t.Errorf("%q, %+v", f.Mistakes, f.Rest)
	}
}

func TestChanges_AreWhatDiffersFromWhatWasShown(t *testing.T) {
	t.Parallel()
	document := map[string]any{"name": "Texts", "size": 7, "settings": map[string]any{"url": "http://a", "values": map[string]string{"from": "x"}, "map": map[string]any{"a": 1}, "on": true, "key": "canary"}}
	for name, x := range map[string]struct {
		change []string // pairs of field and value; a value of "-" is not sent
		want   string
	}{
		"nothing":            {nil, `{}`},
		"a text":             {[]string{"title", "Other"}, `{"name":"Other"}`},
		"no text":            {[]string{"title", ""}, `{"name":""}`},
		"no number":          {[]string{"size", ""}, `{"size":null}`},
		"another number":     {[]string{"size", "8"}, `{"size":8}`},
		"a wrong number":     {[]string{"size", "x"}, `{"size":"x"}`},
		"a part":             {[]string{"value-from", "y"}, `{"settings":{"values":{"from":"y"}}}`},
		"no setting":         {[]string{"set-url", ""}, `{"settings":{"url":null}}`},
		"off":                {[]string{"set-on", "-"}, `{"settings":{"on":null}}`},
		"a secret":           {[]string{"set-key", " blanks "}, `{"settings":{"key":" blanks "}}`},
		"no secret any more": {[]string{"set-key-remove", "true"}, `{"settings":{"key":null}}`},
		"replaced, not gone": {[]string{"set-key", "new", "set-key-remove", "true"}, `{"settings":{"key":"new"}}`},
		"several":            {[]string{"set-more", "z", "set-on", "true", "size", "8"}, `{"settings":{"more":"z"},"size":8}`},
	} {
		shown, f := nested(false), nested(false)
		if err := shown.Show(document); err != nil {
			t.Fatal(err)
		}
		was, ok := form.Recall(shown.Texts().String())
		if !ok || strings.Contains(was.String(), "canary") {
			t.Fatalf("remembered: %s", was)
		}
		sent := browser(shown)
		for pair := range slices.Chunk(x.change, 2) {
			if sent.Set(pair[0], pair[1]); pair[1] == "-" {
				sent.Del(pair[0])
			}
		}
		f.Fill(sent)
		if got := text(t, f.Changes(was)); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
	f := nested(true)
	f.Fill(url.Values{"name": {"a"}, "title": {"T"}, "set-key": {"k"}, "set-on": {"true"}})
	if got := text(t, f.Changes(nil)); got != `{"name":"T","settings":{"key":"k","on":true}}` {
		t.Errorf("a new document: %s", got)
	}
	for _, broken := range []string{"", "null", "[]", `{"a":1}`} {
		if _, ok := form.Recall(broken); ok {
			t.Errorf("%q was taken for what a page had kept", broken)
		}
	}
}

// Of each field one of three has the last word: who typed, who changed it meanwhile, or nobody.
func TestMerge_KeepsWhatWasTypedAndTakesOverTheRest(t *testing.T) {
	t.Parallel()
	fields := []string{"title", "set-url", "value-from", "set-more"}
	rapid.Check(t, func(t *rapid.T) {
		was, typed, theirs := map[string]string{}, map[string]string{}, map[string]string{}
		pick := rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("long ", 50) + "c", strings.Repeat("long ", 50) + "d"})
		for _, name := range fields {
			was[name], typed[name], theirs[name] = pick.Draw(t, "was"), pick.Draw(t, "typed"), pick.Draw(t, "theirs")
		}
		filled := func(texts map[string]string) *form.Form {
			f, sent := nested(false), url.Values{}
			for name, value := range texts {
				sent.Set(name, value)
			}
			f.Fill(sent)
			return f
		}
		f, now := filled(typed), filled(theirs)
		changed := map[string]string{}
		for _, c := range f.Merge(now, filled(was).Texts(), now.Texts()) {
			changed[c.Name] = c.Text
			if c.Long() != (len(c.Text) > 200) {
				t.Errorf("%q is long: %v", c.Text, c.Long())
			}
		}
		for _, name := range fields {
			want := typed[name]
			if typed[name] == was[name] {
				want = theirs[name]
			}
			if got := f.Input(name).Value; got != want {
				t.Errorf("%s was %q, %q was typed, by now it is %q: the form has %q", name, was[name], typed[name], theirs[name], got)
			}
			if their, told := changed[name]; told != (was[name] != theirs[name]) || told && their != theirs[name] {
				t.Errorf("%s: told %v, %q", name, told, their)
			}
		}
	})
}

func TestForget_NoSecretGoesBack(t *testing.T) {
	t.Parallel()
	f := nested(false)
	f.Fill(url.Values{"set-key": {"canary"}, "title": {"T"}})
	f.Forget()
	if key := f.Input("set-key"); key.Value != "" || !key.Lost || f.Input("title").Value != "T" {
		t.Errorf("%+v", key)
	}
	f.Forget()
	if !f.Input("set-key").Lost {
		t.Error("it is not said any more")
	}
}

func TestUnfolded_IfAFoldedFieldIsFilledInOrWrong(t *testing.T) {
	t.Parallel()
	f := nested(false)
	if f.Unfolded() || len(f.Hidden()) != 1 || len(f.Shown()) != 7 {
		t.Errorf("%d and %d", len(f.Shown()), len(f.Hidden()))
	}
	f.Wrong("set-more", "Wrong.")
	if !f.Unfolded() {
		t.Error("a mistake is folded")
	}
	f = nested(false)
	if f.Fill(url.Values{"set-more": {"x"}}); !f.Unfolded() {
		t.Error("a value is folded")
	}
}

func TestChoose_WhatWasChosenIsAmongTheChoices(t *testing.T) {
	t.Parallel()
	f := planFields().New(true)
	in := f.Input("places")
	f.Fill(url.Values{"places": {"b", "gone", "gone"}})
	in.Choose([]form.Choice{{Value: "a"}, {Value: "b", Text: "B"}}, true)
	want := []form.Choice{{Value: "a"}, {Value: "b", Text: "B", Chosen: true}, {Value: "gone", Chosen: true, Gone: true}}
	if !slices.Equal(in.Choices, want) {
		t.Errorf("%+v", in.Choices)
	}
	in.Choices = nil
	in.Choose(nil, false)
	if len(in.Choices) != 2 || in.Choices[0].Gone {
		t.Errorf("of some choices: %+v", in.Choices)
	}
}

func TestInput_LabelsAreThoseOfTheLanguageOrOfTheAPI(t *testing.T) {
	t.Parallel()
	english := locale.New().Choose("en", "")
	own, described := form.Input{Field: form.Field{Label: "Title"}}, form.Input{Field: form.Field{Words: "Base URL", Label: "Title"}}
	if own.Title(english) != "Title" || described.Title(english) != "Base URL" {
		t.Errorf("%q, %q", own.Title(english), described.Title(english))
	}
}
