package web_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/events"
	consent "weir/people"
	"weir/persistence"
	"weir/web"
	"weir/web/webtest"
)

func TestProjects_DeadLettersOfOthersAreLeftOut(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r, store, others := webtest.DeadRig(t, 5, func(o *web.Options) { o.Gate = b.Gate })
	ch, err := store.Channel(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	specs := []weir.Spec{{Key: "x", To: "+15550001", Messages: []string{"m"}}, {Key: "y", To: "+15550001", Messages: []string{"m"}}, {Key: "z", To: "+15550001", Messages: []string{"m"}}}
	own := webtest.FailAll(t, store, ch.ID, specs)
	team := r.Token("contacts:read@b", "contacts:write@b")
	if page := webtest.Into[api.DeadList](t, r.As("GET", "/v1/dead-letters", "", team), 200); len(page.DeadLetters) != 3 || page.DeadLetters[0].Contact.Channel != "b" {
		t.Errorf("%+v", page)
	}
	if groups := webtest.Into[api.DeadGroups](t, r.As("GET", "/v1/dead-letters/groups", "", team), 200); len(groups.Groups) != 1 || groups.Groups[0].Count != 3 {
		t.Errorf("%+v", groups)
	}
	if g := r.As("GET", "/v1/dead-letters.csv", "", team); g.Status != 200 || strings.Count(g.Body, "\n") != 4 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	do := func(step, body string) api.DeadDone {
		t.Helper()
		return webtest.Into[api.DeadDone](t, r.As("POST", "/v1/dead-letters:"+step, body, team), 200)
	}
	for _, x := range []struct {
		step, body string
		want       api.DeadDone
	}{
		{"requeue", `{"all":true,"dry_run":true}`, api.DeadDone{DryRun: true, Matching: 3, Remaining: 3}},
		{"discard", `{"contacts":["` + others[0].Ref.String() + `"]}`, api.DeadDone{}},
		{"requeue", `{"contacts":["` + others[5].Ref.String() + `"]}`, api.DeadDone{}}, // of a respondent, which is not revealed
		{"requeue", `{"contacts":["` + others[0].Ref.String() + `","` + own[0].Ref.String() + `"]}`, api.DeadDone{Matching: 1, Done: 1}},
		{"discard", `{"all":true,"limit":1}`, api.DeadDone{Matching: 2, Done: 1, Remaining: 1}},
		{"discard", `{"all":true}`, api.DeadDone{Matching: 1, Done: 1}},
	} {
		if got := do(x.step, x.body); got != x.want {
			t.Errorf("%s %s: %+v, want %+v", x.step, x.body, got, x.want)
		}
	}
	for _, path := range []string{"/v1/dead-letters?channel=a", "/v1/dead-letters/groups?channel=a", "/v1/dead-letters.csv?channel=a"} {
		if g := r.As("GET", path, "", team); g.Status != http.StatusForbidden || !strings.Contains(g.Body, "begin with b") {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	if all := webtest.Into[api.DeadDone](t, r.Do("POST", "/v1/dead-letters:requeue", `{"all":true,"dry_run":true}`), 200); all.Matching != 5 {
		t.Errorf("of the others %d are left", all.Matching)
	}
}

// publish emits events of several parts of Weir about two projects.
func publish(t *testing.T, s *persistence.Store) {
	t.Helper()
	var list []events.Event
	for _, x := range [][3]string{
		{"weir.contact.done", "contacts", `{"contact":"1-1","channel":"north-a","survey":"east-s"}`}, {"weir.contact.done", "contacts", `{"contact":"2-1","channel":"south-a","survey":"north-s"}`},
		{"weir.survey.state", "surveys", `{"survey":"north-s"}`}, {"weir.survey.state", "surveys", `{"survey":"south-s"}`}, {"weir.survey.message", "surveys", `{"survey":"south-s","channel":"north-a"}`},
		{"weir.channel.state", "channels", `{"channel":"north-a"}`}, {"weir.channel.state", "channels", `{"channel":"south-a"}`}, {"weir.channel.state", "channels", `{}`},
		{"weir.webhook.disabled", "webhooks", `{"channel":"north-a"}`}, {"a", "router", `{"channel":"north-a"}`},
	} {
		list = append(list, events.Event{Type: x[0], Source: x[1], Subject: "s", At: webtest.Start(), Data: json.RawMessage(x[2])})
	}
	if err := s.Emit(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

func TestProjects_EventsOfOthersAreLeftOut(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r, s := webtest.EventRig(t, func(o *web.Options) { o.Gate = b.Gate })
	publish(t, s)
	for _, x := range []struct {
		scopes []string
		want   string
	}{
		{[]string{"contacts:read@north-"}, "1 3 6"},
		{[]string{"contacts:read@south-"}, "2 4 5 7"},
		{[]string{"contacts:read@north-", "contacts:read@south-", "surveys:admin@x"}, "1 2 3 4 5 6 7"},
		{[]string{"contacts:read@north-", "router"}, "1 3 6 10"},
		{[]string{"router", "contacts:write@north-"}, "10"},
		{[]string{"contacts:read"}, "1 2 3 4 5 6 7 8 9 10"},
	} {
		var got []string
		for _, e := range webtest.Into[api.EventList](t, r.As("GET", "/v1/events", "", r.Token(x.scopes...)), 200).Events {
			got = append(got, e.ID)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: %s, want %s", x.scopes, got, x.want)
		}
	}
	if g := r.As("GET", "/v1/events?source=contacts", "", r.Token("router")); g.Status != http.StatusForbidden {
		t.Errorf("%d", g.Status)
	}
	if g := r.As("GET", "/v1/events", "", r.Token("contacts:write@north-")); g.Status != http.StatusForbidden {
		t.Errorf("%d", g.Status)
	}
}

func TestProjects_StreamLeavesOutEventsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := webtest.NewBearers(t, time.Now)
		r, s := webtest.EventRig(t, func(o *web.Options) { o.Gate = b.Gate })
		publish(t, s)
		team := r.Token("contacts:read@north-")
		f := webtest.NewFollowed(t, r.Handler)
		_, lines := f.Open(t.Context(), "?after=0", "Authorization", "Bearer "+team) //nolint:bodyclose // it ends with the test
		if diff := cmp.Diff([]string{"1", "3", "6"}, webtest.Ids(t, lines, 3)); diff != "" {
			t.Error(diff)
		}
		publish(t, s)
		if diff := cmp.Diff([]string{"11", "13", "16"}, webtest.Ids(t, lines, 3)); diff != "" {
			t.Error(diff)
		}
	})
}

// claim claims a contact: the price of its channel is counted, or that the person had refused.
func claim(t *testing.T, r *webtest.Rig, ch weir.Channel, to string) {
	t.Helper()
	c := r.Contact(ch, weir.Progress{}, func(c *weir.Contact) { c.To = to })
	p, err := c.Claim(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.Move(c, p)
}

// refuse records that a person refuses a channel.
func refuse(t *testing.T, r *webtest.Rig, to, channel string) {
	t.Helper()
	if _, err := r.RecordConsents(t.Context(), []consent.Consent{{Address: consent.Canonical(to), Purpose: consent.OverChannel(channel), Status: consent.Refused, Source: consent.FromProvider, By: channel}}); err != nil {
		t.Fatal(err)
	}
}

func TestProjects_SumsOfOthersAreLeftOut(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate = b.Gate })
	r.Clock.Instant = time.Now() // as the store
	refuse(t, r, "+15550002", "north-a")
	for _, name := range []string{"north-a", "south-a", "east-a"} {
		ch := r.Channel(name, "texts")
		if g := r.Do("PUT", "/v1/prices/"+name, `{"currency":"USD","per_attempt":"0.01"}`); g.Status != 201 {
			t.Fatal(g.Body)
		}
		if name != "south-a" {
			claim(t, r, ch, "+15550001")
		}
		if name == "north-a" {
			claim(t, r, ch, "+15550002")
		}
	}
	for scope, want := range map[string][3]int{"contacts:read@north-": {1, 1, 1}, "channels:admin@south-": {1, 0, 0}, "contacts:read@x": {0, 0, 0}, "contacts:read": {3, 2, 1}} {
		team := r.Token(scope)
		got := [3]int{
			len(webtest.Into[api.PriceList](t, r.As("GET", "/v1/prices", "", team), 200).Prices),
			len(webtest.Into[api.SpendingList](t, r.As("GET", "/v1/spending", "", team), 200).Spending),
			len(webtest.Into[api.SkippedList](t, r.As("GET", "/v1/skipped", "", team), 200).Skipped),
		}
		if got != want {
			t.Errorf("%s: prices, sums and rules %v, want %v", scope, got, want)
		}
	}
	// A page is read on behind what it leaves out, and its cursor is that of its own last row.
	none := webtest.Into[api.SpendingList](t, r.As("GET", "/v1/spending?limit=1", "", r.Token("contacts:read@south-")), 200)
	if len(none.Spending) != 0 || none.NextCursor != "" {
		t.Errorf("%+v", none)
	}
}

// A cursor names no row that the page leaves out, and pages of any size have every row once.
func TestProjects_CursorsNameNothingOfOthers(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) {
		allParts(t, o)
		o.Gate = b.Gate
	})
	for _, name := range []string{"a-south", "north-1", "north-2", "south-1", "south-2", "z-south"} {
		r.Channel(name, "texts")
		r.Put(name, "")
		r.Do("PUT", "/v1/prices/"+name, `{"currency":"USD","per_attempt":"0.01"}`)
	}
	team := r.Token("contacts:read@north-", "surveys:admin@north-", "channels:admin@north-")
	for path, key := range map[string]string{"/v1/channels": "channels", "/v1/surveys": "surveys", "/v1/minutes": "channels"} {
		for limit := 1; limit <= 7; limit++ {
			var names []string
			for cursor, pages := "", 0; ; pages++ {
				var page map[string]json.RawMessage
				var rows []struct{ Name, Channel, Survey string }
				got := r.As("GET", fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, cursor), "", team)
				if err := errors.Join(json.Unmarshal([]byte(got.Body), &page), json.Unmarshal(page[key], &rows)); err != nil || got.Status != 200 || pages > 7 {
					t.Fatalf("%s: %d %s: %v", path, got.Status, got.Body, err)
				}
				for _, row := range rows {
					names = append(names, row.Name+row.Channel+row.Survey)
				}
				cursor = ""
				_ = json.Unmarshal(page["next_cursor"], &cursor) // absent on the last page
				if told, _ := base64.RawURLEncoding.DecodeString(cursor); strings.Contains(string(told)+cursor, "south") {
					t.Errorf("%s?limit=%d: the cursor is of %s", path, limit, told)
				}
				if cursor == "" {
					break
				}
			}
			if want := []string{"north-1", "north-2"}; path != "/v1/minutes" && !slices.Equal(names, want) { // no minutes are recorded
				t.Errorf("%s?limit=%d lists %v, want %v", path, limit, names, want)
			}
		}
	}
}

// While a limit of money counts a channel, its price is as much the limit's as the channel's.
func TestProjects_PricesOfASharedLimitNeedWhatTheLimitNeeds(t *testing.T) {
	t.Parallel()
	const price = `{"currency":"USD","per_attempt":"0.01"}`
	for name, tt := range map[string]struct {
		limit string // empty: none
		team  int    // what a team may do
	}{
		"no limit":                 {"", 200},
		"of the channel":           {`{"channels":["north-a"],"currency":"USD","money_per_day":"5.00"}`, 403},
		"of several":               {`{"channels":["north-a","south-a"],"currency":"USD","money":"5.00"}`, 403},
		"of another":               {`{"channels":["south-a"],"currency":"USD","money_per_month":"5.00"}`, 200},
		"of surveys over all":      {`{"surveys":["any"],"currency":"USD","money":"5.00"}`, 403},
		"of contacts, no money":    {`{"channels":["north-a"],"per_second":5}`, 200},
		"of surveys over the same": {`{"surveys":["any"],"channels":["north-a"],"currency":"USD","money":"5.00"}`, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := webtest.NewBearers(t, time.Now)
			r := webtest.New(t, func(o *web.Options) { o.Gate = b.Gate })
			for _, channel := range []string{"north-a", "south-a"} {
				r.Channel(channel, "texts")
				r.Do("PUT", "/v1/prices/"+channel, price)
			}
			if tt.limit != "" {
				if g := r.Do("PUT", "/v1/limits/l", tt.limit); g.Status != 201 {
					t.Fatal(g.Body)
				}
			}
			team, all := r.Token("channels:admin@north-"), r.Token("channels:admin")
			for _, token := range []string{team, all} {
				want := map[string]int{team: tt.team, all: 200}[token]
				if g := r.As("PUT", "/v1/prices/north-a", price, token); g.Status != want {
					t.Errorf("set: %d, want %d: %s", g.Status, want, g.Body)
				}
			}
			if g := r.As("DELETE", "/v1/prices/north-a", "", team); (g.Status == 403) != (tt.team == 403) {
				t.Errorf("deleted: %d: %s", g.Status, g.Body)
			}
		})
	}
}

// What a channel sends to may be everybody's, such as a queue of the router: rights to some names
// do not choose it, and still serve the channel.
func TestProjects_SharedPlacesNeedAllRights(t *testing.T) {
	t.Parallel()
	table := webtest.Table()
	for i := range table {
		table[i].Shared = table[i].Name == "texts"
	}
	b := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) {
		o.Gate, o.Directory = b.Gate, channels.NewDirectory(table, "http://weir.test", nil)
	})
	r.Channel("north-a", "texts")
	body := fmt.Sprintf(`{"type":"texts","settings":{"base_url":"http://provider.test","token":%q}}`, webtest.ProviderCanary)
	team, all := r.Token("channels:admin@north-"), r.Token("channels:admin")
	for _, tt := range []struct {
		method, path, body string
		team               int
	}{
		{"PUT", "/v1/channels/north-b", body, 403},
		{"PUT", "/v1/channels/north-a", body, 403},
		{"PATCH", "/v1/channels/north-a", `{"settings":{"channel":"another"}}`, 403},
		{"PATCH", "/v1/channels/north-a", `{"capacity":5,"paused":true}`, 200},
	} {
		if g := r.As(tt.method, tt.path, tt.body, team); g.Status != tt.team {
			t.Errorf("a team: %s %s: %d, want %d: %s", tt.method, tt.path, g.Status, tt.team, g.Body)
		}
		if g := r.As(tt.method, tt.path, tt.body, all); g.Status >= 300 {
			t.Errorf("with all rights: %s %s: %d %s", tt.method, tt.path, g.Status, g.Body)
		}
	}
}

func TestProjects_PeopleAreFoundWithoutWhatOthersKnow(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate = b.Gate })
	somebody := webtest.Someone(r) // channel a, survey s
	to := consent.Canonical(webtest.PhoneCanary)
	if _, err := r.RecordConsents(t.Context(), []consent.Consent{
		{Address: to, Purpose: consent.AllPurposes, Status: consent.Refused, Source: consent.FromWord, Words: "said to a", By: "a"},
		{Address: to, Purpose: consent.OverChannel("a"), Status: consent.Refused, Source: consent.FromProvider, By: "a"},
		{Address: to, Purpose: consent.AllPurposes, Status: consent.Given, Source: consent.FromAPI, Words: "in a list", Key: "client:k", By: "configured-1"},
	}); err != nil {
		t.Fatal(err)
	}
	find := func(body string, scopes ...string) (api.PersonView, webtest.Got) {
		g := r.As("POST", "/v1/people:find", body, r.Token(append(scopes, "pii:read")...))
		var v api.PersonView
		_ = json.Unmarshal([]byte(g.Body), &v)
		return v, g
	}
	body := `{"to":"` + webtest.PhoneCanary + `"}`
	for _, x := range []struct {
		scopes                                   []string
		contacts, messages, respondents, history int
		words                                    []string
	}{
		{[]string{"contacts:read"}, 3, 2, 1, 3, []string{"in a list", "", "said to a"}},
		{[]string{"contacts:read@a"}, 3, 2, 0, 3, []string{"", "", "said to a"}},
		{[]string{"contacts:read@s"}, 0, 0, 1, 2, []string{"", ""}},
		{[]string{"contacts:read@s", "people:admin"}, 3, 2, 1, 3, []string{"in a list", "", "said to a"}},
	} {
		v, g := find(body, x.scopes...)
		var words []string
		for _, c := range v.Consents {
			words = append(words, c.Words)
		}
		if g.Status != 200 || len(v.Contacts) != x.contacts || len(v.Messages) != x.messages || len(v.Respondents) != x.respondents || !slices.Equal(words, x.words) {
			t.Errorf("%s: %d contacts, %d messages, %d respondents, words %q: %s", x.scopes, len(v.Contacts), len(v.Messages), len(v.Respondents), words, g.Body)
		}
	}
	for body, scope := range map[string]string{`{"contact":"` + somebody.Contacts[0].Ref.String() + `"}`: "contacts:read@s", `{"respondent":"` + somebody.Respondent.ID.String() + `"}`: "contacts:read@a"} {
		if _, g := find(body, scope); g.Status != http.StatusNotFound || strings.Contains(g.Body, webtest.PhoneCanary[1:]) {
			t.Errorf("%s with %s: %d %s", body, scope, g.Status, g.Body)
		}
	}
}

func TestProjects_TokensHaveNoMoreThanTheLimitsOfTheirMaker(t *testing.T) {
	t.Parallel()
	r, _, _ := webtest.TokenRig(t)
	maker := r.Token("tokens:admin", "contacts:read@north-", "surveys:admin")
	for scope, want := range map[string]int{
		"contacts:read@north-": 201, "contacts:read@north-a": 201, "surveys:admin@south-": 201, "surveys:admin": 201,
		"contacts:read": 403, "contacts:read@north": 403, "contacts:read@south-": 403, "contacts:write@north-": 403,
	} {
		if g := r.As("POST", "/v1/tokens", `{"name":"x","scopes":["`+scope+`"]}`, maker); g.Status != want || want == 403 && !strings.Contains(g.Body, "who lacks: "+scope) {
			t.Errorf("%s: %d %s", scope, g.Status, g.Body)
		}
	}
	g := r.As("POST", "/v1/tokens", `{"name":"x","scopes":["contacts:raed","contacts:read@","pii:read@a","contacts:read@A"]}`, webtest.APICanary)
	for _, text := range []string{"/scopes/0", "must be one of contacts:write", "/scopes/1", "must have the beginning of names behind @", "/scopes/2", "is for the whole installation", "/scopes/3", "63 characters"} {
		if g.Status != http.StatusUnprocessableEntity || !strings.Contains(g.Body, text) {
			t.Errorf("%d, no %s in %s", g.Status, text, g.Body)
		}
	}
	var long []string
	for i := range 10 {
		long = append(long, fmt.Sprintf("contacts:read@%s%d", strings.Repeat("a", 40), i))
	}
	list, _ := json.Marshal(long)
	if g := r.As("POST", "/v1/tokens", `{"name":"x","scopes":`+string(list)+`}`, webtest.APICanary); g.Status != http.StatusUnprocessableEntity || !strings.Contains(g.Body, `"/scopes"`) {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	who := webtest.Into[api.WhoView](t, r.As("GET", "/v1/whoami", "", maker), 200)
	if d := cmp.Diff([]string{"contacts:read@north-", "surveys:admin", "tokens:admin"}, who.Scopes); d != "" {
		t.Error(d)
	}
}

// A contact that does not exist and one of another project have the same answer.
func TestProjects_ContactsOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate = b.Gate })
	theirs := r.Contact(r.Channel("south-a", "texts"), weir.Progress{})
	team := r.Token("contacts:read@north-", "contacts:write@north-")
	absent := weir.Ref{Channel: theirs.Channel, ID: 9999}
	for _, request := range []string{"GET /v1/contacts/%s", "GET /v1/contacts/%s/timeline", "DELETE /v1/contacts/%s"} {
		ask := func(ref weir.Ref) string {
			method, path, _ := strings.Cut(fmt.Sprintf(request, ref), " ")
			req := httptest.NewRequest(method, path, nil)
			req.Header.Set("Authorization", "Bearer "+team)
			g := r.Serve(req)
			return fmt.Sprint(g.Status) + strings.ReplaceAll(g.Body, ref.String(), "ID")
		}
		if got, want := ask(theirs.Ref), ask(absent); !strings.HasPrefix(got, "404") || got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

// Every route that finds channels or surveys by itself leaves out, or refuses, what another project has.
func TestProjects_EveryRouteThatFindsRowsLeavesOutOthers(t *testing.T) {
	t.Parallel()
	b := webtest.NewBearers(t, time.Now)
	var log *persistence.Store
	r := webtest.New(t, func(o *web.Options) {
		allParts(t, o)
		o.Gate = b.Gate
		log = o.Events.(*persistence.Store)
	})
	publish(t, log)
	r.Clock.Instant = time.Now() // as the store
	refuse(t, r, webtest.PhoneCanary, "south-a")
	theirs := r.Channel("south-a", "texts")
	contact := r.Contact(theirs, weir.Progress{}).Ref.String()
	for _, name := range []string{"south", "north"} {
		if name == "north" {
			r.Contact(r.Channel("north-a", "texts"), weir.Progress{})
		}
		r.Do("PUT", "/v1/prices/"+name+"-a", `{"currency":"USD","per_attempt":"0.01"}`)
		r.Put(name+"-s", "")
	}
	claim(t, r, theirs, "+15550001")
	claim(t, r, theirs, webtest.PhoneCanary)
	team := r.Token("contacts:read@north-", "contacts:write@north-", "channels:admin@north-", "surveys:admin@north-", "pii:read")
	person, named := `{"to":"`+webtest.PhoneCanary+`"}`, `{"channel":"south-a"}`
	const left, refused, absent = 200, 403, 404
	requests := map[string]struct {
		request, body string // of the path, what differs from the pattern
		want          int
	}{
		"GET /v1/channels": {"", "", left}, "GET /v1/prices": {"", "", left}, "GET /v1/spending": {"", "", left}, "GET /v1/skipped": {"", "", left}, "GET /v1/contacts": {"", "", left}, "GET /v1/contacts.csv": {"", "", left},
		"GET /v1/surveys": {"", "", left}, "GET /v1/events": {"", "", left}, "POST /v1/contacts:search": {"", person, left}, "POST /v1/consents:search": {"", person, left}, "POST /v1/people:find": {"", person, left},
		"GET /v1/minutes": {"", "", left}, "POST /v1/channels:test": {"", named, refused}, "POST /v1/contacts:cancel": {"", named, refused}, "POST /v1/dead-letters:requeue": {"", named, refused}, "POST /v1/dead-letters:discard": {"", named, refused},
		"GET /v1/dead-letters": {"?channel=south-a", "", refused}, "GET /v1/dead-letters.csv": {"?channel=south-a", "", refused}, "GET /v1/dead-letters/groups": {"?channel=south-a", "", refused},
		"GET /v1/contacts/{id}": {"", "", absent}, "GET /v1/contacts/{id}/timeline": {"", "", absent}, "DELETE /v1/contacts/{id}": {"", "", absent},
	}
	for pattern, about := range reaches() {
		x, known := requests[pattern]
		if known != (about == "found") {
			t.Errorf("%s is about %s, and the test has a request: %v", pattern, about, known)
			continue
		}
		if !known {
			continue
		}
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{id}", contact) + x.request
		got := r.As(method, path, x.body, team)
		if got.Status != x.want || x.want == left && strings.Contains(got.Body, "south-") || x.want == refused && !strings.Contains(got.Body, "begin with north-") {
			t.Errorf("%s: %d %s", pattern, got.Status, got.Body)
		}
		if all := r.As(method, path, x.body, webtest.APICanary); x.want == left && pattern != "GET /v1/minutes" && !strings.Contains(all.Body, "south-") {
			t.Errorf("%s shows nothing of them to those who may see it, so the test shows nothing: %d %s", pattern, all.Status, all.Body)
		}
	}
}
