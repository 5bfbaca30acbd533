package form_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// party is a body with objects in it.
type party struct {
	Open   *span             `json:"open,omitempty"`
	Guests []guest           `json:"guests,omitempty"`
	Days   []day             `json:"days,omitempty"`
	Exempt []string          `json:"exempt,omitempty" enum:"fee"`
	Notes  map[string]string `json:"notes,omitempty"`
}

type span struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

type guest struct {
	Seats int    `json:"seats" minimum:"1" maximum:"9"`
	Name  string `json:"name,omitempty"`
	Meal  string `json:"meal,omitempty" enum:"fish,rice"`
}

type day struct {
	Date string `json:"date"`
	Name string `json:"name,omitempty"`
}

type note struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func partyForm() *form.Form {
	return form.Of(party{}, nil,
		form.Field{Name: "open", Kind: form.Group, Names: "open_%[2]s", Label: "Quiet hours", Each: form.Of(span{}, nil,
			form.Field{Name: "from", Kind: form.Clock, Label: "Quiet hours from"}, form.Field{Name: "to", Kind: form.Clock, Label: "to", Called: "quiet hours to"})},
		form.Field{Name: "guests", Kind: form.Rows, Names: "guest_%[1]d_%[2]s", Count: 4, First: 2, Label: "Cap %d", Each: form.Of(guest{}, nil,
			form.Field{Name: "seats", Label: "Contacts", Called: "contacts"}, form.Field{Name: "name", Label: "Name"}, form.Field{Name: "meal", Required: true, Label: "Within"})},
		form.Field{Name: "days", Kind: form.Dates, All: true, Label: "Holidays"},
		form.Field{Name: "exempt", Kind: form.Only, Label: "Title"},
		form.Field{Name: "notes", Kind: form.Named, Names: "%[2]s_%[1]d", From: 3, Count: 2, Label: "Attribute %d", Each: form.Of(note{}, nil,
			form.Field{Name: "name", Kind: form.Code, Label: "New attribute"}, form.Field{Name: "value", Label: "Value"})},
	).New(false)
}

// sendAll returns what a browser sends of a form and of its rows.
func sendAll(f *form.Form) url.Values {
	sent := browser(f)
	for _, in := range f.Inputs {
		if in.Table != nil {
			sent.Del(in.Name)
		}
		for _, row := range in.Table {
			for name, values := range browser(row) {
				sent[name] = values
			}
		}
	}
	return sent
}

// What has been shown in rows, and is sent as it is, makes the same objects.
func TestRows_UntouchedChangeNothing(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-z<&"]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		var was party
		if rapid.Bool().Draw(t, "open") {
			was.Open = &span{From: word.Draw(t, "from"), To: rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "to")}
		}
		for range rapid.IntRange(0, 4).Draw(t, "guests") {
			was.Guests = append(was.Guests, guest{rapid.IntRange(1, 9).Draw(t, "seats"), rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "name"), rapid.SampledFrom([]string{"", "fish", "rice"}).Draw(t, "meal")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "days") {
			was.Days = append(was.Days, day{rapid.StringMatching(`[0-9-]{1,10}`).Draw(t, "date"), rapid.StringMatching(`([a-z]+ [a-z]+)?`).Draw(t, "name")})
		}
		if rapid.Bool().Draw(t, "exempt") {
			was.Exempt = []string{"fee"}
		}
		shown, sent := partyForm(), partyForm()
		if err := shown.Show(was); err != nil {
			t.Fatal(err)
		}
		sent.Fill(sendAll(shown))
		var now party
		if err := json.Unmarshal([]byte(text(t, sent.Body())), &now); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(now, was) {
			t.Errorf("it was %s, it is %s", text(t, was), text(t, now))
		}
		if changes := sent.Changes(shown.Texts()); len(changes) > 0 {
			t.Errorf("changes: %v", changes)
		}
	})
}

// Rows that are empty close up in the body; each mistake is beside the row that was filled in.
func TestRows_MistakesAreBesideTheRowsThatWereFilledIn(t *testing.T) {
	t.Parallel()
	f := partyForm()
	f.Fill(url.Values{
		"open_to": {"9"}, "guest_1_meal": {"fish"}, "guest_2_seats": {"many"}, "guest_2_meal": {"rice"}, "guest_4_name": {"Ann"}, "days": {"x\r\n\r\ny Labour Day"},
		"name_3": {"zone"}, "value_3": {"north"}, "name_4": {""}, "value_4": {"lost"},
	})
	want := `{"days":[{"date":"x"},{"date":"y","name":"Labour Day"}],"guests":[{"meal":"rice","seats":"many"},{"name":"Ann"}],"notes":{"":"lost","zone":"north"},"open":{"to":"9"}}`
	if got := text(t, f.Body()); got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	list := mistakes("/open/to", "bad", "/guests/0/seats", "no number", "/days/0", "odd", "/days/1/date", "odd, too", "/notes/zone", "taken", "/notes/", "no name", "/guests", "few", "/guests/2/seats", "none", "/guests/1", "whole")
	list = append(list, weir.FieldError{Pointer: "/open/from", Code: "required", Detail: "is missing"}, weir.FieldError{Pointer: "/guests/1/seats", Code: "required", Detail: "is missing"})
	f.Place(locale.New().Choose("en", ""), list, nil)
	beside := map[string]string{
		"open_to": "Quiet hours to: bad.", "open_from": "Enter this.", "guest_2_seats": "Contacts: no number.", "guest_4_seats": "Contacts: enter this.",
		"days": "Line 1: odd. Line 3: odd, too.", "value_3": "Taken.", "value_4": "No name.",
	}
	if !reflect.DeepEqual(f.Mistakes, beside) {
		t.Errorf("beside: %q, want %q", f.Mistakes, beside)
	}
	if len(f.Rest) != 3 {
		t.Errorf("about no field: %v", f.Rest)
	}
	if in := f.Input("guests"); len(in.Lead()) != 2 || !in.Unfolded() {
		t.Error("the filled row is folded")
	}
}

// New members are added to those that are changed.
func TestNamed_AreAddedToTheOthers(t *testing.T) {
	t.Parallel()
	f := form.Of(party{}, nil, form.Field{Name: "value_1", At: []string{"notes", "sex"}, Kind: form.Text, Words: "sex"},
		form.Field{Name: "notes", Kind: form.Named, Names: "%[2]s_%[1]d", From: 2, Each: form.Of(note{}, nil, form.Field{Name: "name", Label: "Name"}, form.Field{Name: "value", Label: "Value"})}).New(false)
	if err := f.Show(map[string]any{"notes": map[string]string{"sex": "f"}}); err != nil {
		t.Fatal(err)
	}
	was := f.Texts()
	f.Fill(url.Values{"value_1": {""}, "name_2": {"zone"}, "value_2": {"north"}})
	if got, want := text(t, f.Changes(was)), `{"notes":{"sex":null,"zone":"north"}}`; got != want {
		t.Errorf("changes %s, want %s", got, want)
	}
	f.Fill(url.Values{"value_1": {"f"}, "name_2": {"zone"}})
	if got := f.Changes(was); len(got) != 0 {
		t.Errorf("a name without a value is sent: %v", got)
	}
}
