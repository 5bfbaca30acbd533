package dashboard_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/api"
)

// textsOfContact returns the members of a contact that are texts, with a value for each. One that is new gets a value of its own.
func textsOfContact() map[string]string {
	texts := map[string]string{}
	for m := range reflect.TypeFor[api.ContactBody]().Fields() {
		if name, _, _ := strings.Cut(m.Tag.Get("json"), ","); m.Type.Kind() == reflect.String {
			texts[name] = "some " + name + " " + numberCanary // which only who may see numbers sees
		}
	}
	texts["to"], texts["priority"], texts["purpose"], texts["time_zone"] = numberCanary, "high", "visits", "Africa/Nairobi"
	return texts
}

// TestContact_EveryTextGoesAllTheWay names the place that was forgotten when a contact got a text: it is sent by the API, by the form
// and by a file, is stored, shown, exported, and makes another contact. A number in it is shown to nobody without pii:read.
func TestContact_EveryTextGoesAllTheWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write pii:read", "contacts:read")
	r.channel("texts")
	r.api("PUT", "/v1/purposes/visits", `{"title":"Visits"}`, nil)
	b := r.login("contacts:read contacts:write pii:read")
	without := r.login("contacts:read")
	texts := textsOfContact()

	send := func(key string, change func(map[string]any)) (status int, answer string) {
		body := map[string]any{"messages": []string{"hello"}}
		for name, text := range texts {
			body[name] = text
		}
		body["key"] = key
		change(body)
		raw, err := json.Marshal(map[string]any{"contacts": []any{body}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ask("POST", "/v1/channels/texts/contacts", string(raw))
	}
	if status, answer := send("by the API", func(map[string]any) {}); status != http.StatusAccepted {
		t.Fatalf("the API: %d %s", status, answer)
	}
	form := url.Values{"channel": {"texts"}, "messages": {"hello"}}
	page := b.get("/contacts/_new").want(200)
	for name, text := range texts {
		form.Set(name, text)
		page.has(`name="` + name + `"`)
	}
	form.Set("key", "by the form")
	b.post("/contacts/_new", form).want(http.StatusSeeOther)

	names := []string{"message"}
	row := []string{"hello"}
	for name, text := range texts {
		names, row = append(names, name), append(row, text)
	}
	row[slices.Index(names, "key")] = "by a file"
	preview := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(strings.Join(names, ",")+"\n"+strings.Join(row, ",")+"\n")).want(200)
	for _, name := range names {
		preview.has(`<option value="` + name + `" selected>`) // a column of its name is it
	}
	if !slices.Equal(slices.Sorted(slices.Values(names)), slices.DeleteFunc(slices.Sorted(slices.Values(api.ContactColumns())), func(name string) bool {
		return slices.Contains([]string{"not_before", "not_after", "callback_url", "call_flow_id", "twiml"}, name)
	})) {
		t.Errorf("columns are %q", api.ContactColumns())
	}
	b.upload("/contacts/_import/send", again(preview), strings.NewReader(strings.Join(names, ",")+"\n"+strings.Join(row, ",")+"\n")).want(200)

	_, answer := r.ask("GET", "/v1/contacts.csv?channel=texts", "")
	file, err := csv.NewReader(strings.NewReader(answer)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var seen int
	for _, c := range r.contactsOf("texts") {
		raw, _ := json.Marshal(c)
		var view map[string]any
		if err := json.Unmarshal(raw, &view); err != nil {
			t.Fatal(err)
		}
		seen++
		page := b.get("/contacts/" + c.ID).want(200)
		without.get("/contacts/" + c.ID).want(200).hasNot(numberCanary)
		at := slices.IndexFunc(file, func(row []string) bool { return row[0] == c.ID })
		for name, want := range texts {
			if name == "key" {
				want = c.Key
			}
			if view[name] != want {
				t.Errorf("%s: %s is %v, want %q", c.Key, name, view[name], want)
			}
			page.has(want)
			if column := slices.Index(file[0], name); column < 0 || file[at][column] != want {
				t.Errorf("%s: the export has not %s", c.Key, name)
			}
		}
	}
	without.get("/contacts/_export.csv?channel=texts").want(200).has("some survey").hasNot(numberCanary)
	if seen != 3 {
		t.Errorf("%d contacts", seen)
	}
	for name := range texts {
		if name == "key" {
			continue
		}
		status, answer := send("by the API", func(body map[string]any) {
			if delete(body, name); name == "to" {
				body["to"] = "+15550001"
			}
		})
		if status != http.StatusConflict || !strings.Contains(answer, "differs in "+name) {
			t.Errorf("another %s under the same key: %d %s", name, status, answer)
		}
	}
}
