package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/events"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/webtest"
)

// claims makes contacts and claims them at once.
type claims struct {
	t     *testing.T
	s     *persistence.Store
	lease weir.Incarnation
}

// one claims a contact, and reports whether its event is in the log.
func (c *claims) one() bool {
	c.t.Helper()
	list, err := c.s.Accept(c.t.Context(), c.lease.Channel, []weir.Spec{{To: webtest.PhoneCanary}})
	if err != nil {
		c.t.Fatal(err)
	}
	before, err := c.s.LatestEvent(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if r := <-storetest.Commit(c.s, c.lease, storetest.Advance(list[0].Contact)); r.Err != nil {
		c.t.Fatal(r.Err)
	}
	after, err := c.s.LatestEvent(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return after > before
}

// The first request that asks for events of contacts enables them, a page or a stream.
func TestEvents_ReadersEnableContactEvents(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"": false, "?type=weir.survey.*": false, "?source=surveys&type=weir.contact.done": false, "?subject=channel/": false,
		"?type=weir.contact.done": true, "?type=a,weir.m*": true, "?type=*": true, "?source=contacts": true, "?subject=contact/1-": true,
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			var store *persistence.Store
			r, s := webtest.EventRig(t, func(o *web.Options) {
				store, _ = o.Events.(*persistence.Store)
				o.Interest = store
			})
			_, lease := storetest.OpenChannel(t, s, "a")
			c := &claims{t, s, lease}
			if c.one() {
				t.Fatal("events of contacts are written before a request")
			}
			for range 2 {
				w := httptest.NewRecorder()
				r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), query))
				if got := c.one(); w.Code != http.StatusOK || got != want {
					t.Errorf("%d, events of contacts are written: %v", w.Code, got)
				}
			}
		})
	}
}

// A client that opens a stream misses nothing that is committed after it began.
func TestEvents_StreamEnablesContactEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := webtest.EventRig(t, func(o *web.Options) {
			o.Interest, _ = o.Events.(*persistence.Store)
		})
		_, lease := storetest.OpenChannel(t, s, "a")
		c := &claims{t, s, lease}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, lines := webtest.NewFollowed(t, r.Handler).Open(ctx, "?type=weir.contact.*") //nolint:bodyclose // it ends with ctx
		<-lines                                                                         // the stream has begun
		if !c.one() {
			t.Fatal("the stream has begun, and they are not written")
		}
		for line := range lines {
			if strings.HasPrefix(line, "data: ") {
				if !strings.Contains(line, events.ContactDispatched) {
					t.Errorf("in the stream: %s", line)
				}
				return
			}
		}
	})
}

func TestEvents_AreFilteredByPrefixOfTheirType(t *testing.T) {
	t.Parallel()
	r, s := webtest.EventRig(t)
	emit(t, s, 0, 6)
	for query, want := range map[string]int{"?type=a*": 2, "?type=*": 6, "?type=a,b*": 4, "?type=ab*": 0} {
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), query))
		var list api.EventList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Events) != want {
			t.Errorf("%s: %d %s, want %d events", query, w.Code, w.Body, want)
		}
	}
	w := httptest.NewRecorder()
	r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), "?type=weir.*.done"))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"/type"`) {
		t.Errorf("a star in the middle: %d %s", w.Code, w.Body)
	}
}

// The API description has an example of each type of these events, with the data that they
// have.
func TestContactEvents_AreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := web.Description(channels.NewDirectory(webtest.Table(), "http://weir.test", nil))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Paths map[string]map[string]struct {
			Description string
			Responses   map[string]struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(doc, &spec); err != nil {
		t.Fatal(err)
	}
	op := spec.Paths["/v1/events"]["get"]
	var page api.EventList
	if err := json.Unmarshal(op.Responses["200"].Content["application/json"].Example, &page); err != nil {
		t.Fatal(err)
	}
	examples := map[string]any{}
	for _, e := range page.Events {
		examples[e.Type] = e.Data
	}
	for _, kind := range events.ContactTypes() {
		if !strings.Contains(op.Description, "- "+kind+": ") {
			t.Errorf("%s is not described", kind)
		}
		raw, err := json.Marshal(examples[kind])
		if err != nil {
			t.Fatal(err)
		}
		var again []byte
		if kind == events.MessageReceived {
			again = throughStruct[events.MessageData](t, raw)
		} else {
			again = throughStruct[events.ContactData](t, raw)
		}
		var want, got any
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal(again, &got) != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: the example is %s, and its data would be %s", kind, raw, again)
		}
	}
}

// throughStruct decodes and encodes data as the type of an event.
func throughStruct[T any](t *testing.T, raw []byte) []byte {
	t.Helper()
	var data T
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&data); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	out, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
