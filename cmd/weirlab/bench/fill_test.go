package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
	"weir/persistence/fill"
	"weir/persistence/testmysql"
)

// Contacts that package fill inserts into the database are the same as the program's own:
// the API shows them alike, and the program continues with them.
func TestFill_ContactsAreLikeThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	weir := program(t)
	for name, store := range map[string]string{"sqlite": "sqlite", "mysql": testmysql.URL(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := small(weir, io.Discard)
			o.Databases = []string{store}
			s, err := newSession(o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.end(); err != nil {
					t.Error(err)
				}
			}()
			w := load.Workload{Mode: load.Live, N: 3, Channels: 1, Capacity: 5, Batch: 1, Delay: 10 * time.Millisecond}
			compareFilled(t, s, step{w, PeerSingle, store})
		})
	}
}

// fillChannels lets a Weir create the schema, a channel and a paused one, and inserts a
// contact that is done into the first and twenty that are queued into the second.
func fillChannels(t *testing.T, s *session, st step, d database) {
	t.Helper()
	ctx := t.Context()
	b := started(t, s, st, d)
	p, paused := provider.Client{URL: s.provider.url}, st.Workload
	paused.Mode = load.Bulk
	full := newHTTPSubject(b.URL, token, ownPrefix, 1)
	full.full = true
	if err := errors.Join(newHTTPSubject(b.URL, token, ownPrefix, 1).setUp(ctx, p, st.Workload), full.setUp(ctx, p, paused)); err != nil {
		t.Fatal(err)
	}
	b.Stop()
	target, err := fill.Open(ctx, d.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}()
	begin := time.Now().Add(-time.Minute) // before the contacts of the run
	filler := strings.Repeat("x", len(judge.Text(0, 0, begin)))
	for name, c := range map[string]fill.Contacts{
		"-0":           {Finished: true, Count: 1, Begin: begin, Message: filler},
		backlogChannel: {First: 1, Count: 20, Begin: begin, Message: filler},
	} {
		id, err := target.Channel(ctx, ownPrefix+name)
		if err != nil {
			t.Fatal(err)
		}
		c.Channels = []weir.ChannelID{id}
		if err := target.Contacts(ctx, c, func(int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := target.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

// started starts a Weir on a database.
func started(t *testing.T, s *session, st step, d database) *broker {
	t.Helper()
	b, err := s.newBroker(t.Context(), st, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.start(t.Context()); err != nil {
		b.Stop()
		t.Fatal(err)
	}
	return b
}

// compareFilled puts contacts through beside inserted ones, and compares.
func compareFilled(t *testing.T, s *session, st step) {
	t.Helper()
	ctx := t.Context()
	from, err := s.store(ctx, st.Store)
	if err != nil {
		t.Fatal(err)
	}
	d, err := from.fresh(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.drop(); err != nil {
			t.Error(err)
		}
	}()
	fillChannels(t, s, st, d)
	b := started(t, s, st, d)
	defer b.Stop()
	subject := newHTTPSubject(b.URL, token, ownPrefix, st.Channels)
	p := provider.Client{URL: s.provider.url}
	if err := subject.setUp(ctx, p, st.Workload); err != nil {
		t.Fatal(err)
	}
	if f, err := (measurement{w: st.Workload, s: subject, p: p, store: &reader{}}).run(ctx); err != nil || f.Error != "" {
		t.Fatalf("%v %s", err, f.Error)
	}
	done := contactsOf(t, subject, ownPrefix+"-0", "done")
	if len(done) != 4 {
		t.Fatalf("%d are done, want one filled and 3 more", len(done))
	}
	if diff := cmp.Diff(alike(done[1]), alike(done[0])); diff != "" {
		t.Errorf("what was filled is not like what was sent: %s", diff)
	}
	full := newHTTPSubject(b.URL, token, ownPrefix, 1)
	full.full = true
	queued := contactsOf(t, subject, ownPrefix+backlogChannel, "queued")
	if len(queued) != 20 {
		t.Fatalf("%d are queued, want 20", len(queued))
	}
	if err := subject.enqueueOne(ctx, ownPrefix+backlogChannel); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(alike(contactsOf(t, subject, ownPrefix+backlogChannel, "queued")[20]), alike(queued[0])); diff != "" {
		t.Errorf("what was filled is not like what was queued: %s", diff)
	}
	if err := full.pause(ctx, false); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); len(contactsOf(t, subject, ownPrefix+backlogChannel, "done")) < 21; {
		if !machine.Sleep(ctx, pollInterval) || time.Since(began) > stall {
			t.Fatalf("not all that were queued have ended: %v", contactsOf(t, subject, ownPrefix+backlogChannel, ""))
		}
	}
}

// enqueueOne queues a contact like the inserted ones in a channel.
func (s *httpSubject) enqueueOne(ctx context.Context, channel string) error {
	c := apiContact{Key: "a key", To: address(1), Messages: []string{strings.Repeat("x", 200)}}
	return s.do(ctx, http.MethodPost, "/v1/channels/"+channel+"/contacts", map[string]any{"contacts": []apiContact{c}}, nil)
}

// contactsOf lists the contacts of a channel in a state, oldest first.
func contactsOf(t *testing.T, s *httpSubject, channel, state string) []map[string]any {
	t.Helper()
	var page struct {
		Contacts []map[string]any `json:"contacts"`
	}
	if err := s.do(t.Context(), http.MethodGet, "/v1/contacts?limit=100&channel="+channel+"&state="+state, nil, &page); err != nil {
		t.Fatal(err)
	}
	return page.Contacts
}

// alike returns what a contact has in common with others of its kind: of values that
// differ between contacts, only their presence.
func alike(contact map[string]any) string {
	var plain func(v any) any
	plain = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for name, value := range v {
				switch {
				case name == "id" || name == "key" || name == "to" || name == "messages" || name == "why" || name == "why_clauses" || strings.HasSuffix(name, "_at"):
					out[name] = "some"
				default:
					out[name] = plain(value)
				}
			}
			return out
		case []any:
			for i := range v {
				v[i] = plain(v[i])
			}
		}
		return v
	}
	raw, _ := json.MarshalIndent(plain(contact), "", " ")
	return string(raw)
}
