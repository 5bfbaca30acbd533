package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/client"
)

// hears returns a client of a server that records the requests and answers with
// an empty object.
func hears(t *testing.T) (*client.Client, *[]string) {
	t.Helper()
	var heard []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		heard = append(heard, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	return dial(t, server.URL), &heard
}

// TestClient_OmitsZeroValuesUnlessTheyMeanZero checks that zero values are omitted, except
// where zero is a value.
func TestClient_OmitsZeroValuesUnlessTheyMeanZero(t *testing.T) {
	t.Parallel()
	c, heard := hears(t)
	ctx := t.Context()
	no, none := false, 0.0
	stop := []string{}
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	noReason := ""
	add(c.ListDeadLetters(ctx, client.ListDeadLettersParams{Reason: &noReason}))
	add(c.ListContacts(ctx, client.ListContactsParams{}))
	add(c.ListContacts(ctx, client.ListContactsParams{State: "queued,done", Limit: 5, Key: "a&b"}))
	add(c.PatchChannel(ctx, "texts", client.ChannelPatch{Paused: &no}, client.PatchChannelParams{}))
	add(c.PatchSurvey(ctx, "flu", client.SurveyPatch{InitialSuccessRate: &none, StopWords: stop}, client.PatchSurveyParams{Version: 3}))
	add(c.PutChannel(ctx, "a b", client.ChannelBody{Type: "nuntium"}, client.PutChannelParams{Force: true}))
	add(c.PostContacts(ctx, "texts", client.ContactsBody{Contacts: []client.ContactBody{{To: "+15550001", NotAfter: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}}}))
	add(c.GetChannelCallback(ctx, "texts"))
	add(c.GetMinutes(ctx, "texts", client.GetMinutesParams{Since: time.Date(2027, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), Step: "5m"}))
	add(c.LaunchSurvey(ctx, "flu", client.LaunchSurveyParams{}))
	errs = append(errs, c.DeleteSurvey(ctx, "flu"))
	want := []string{
		"GET /v1/dead-letters?reason=",
		"GET /v1/contacts",
		"GET /v1/contacts?key=a%26b&limit=5&state=queued%2Cdone",
		`PATCH /v1/channels/texts {"paused":false}`,
		`PATCH /v1/surveys/flu?version=3 {"stop_words":[],"initial_success_rate":0}`,
		`PUT /v1/channels/a%20b?force=true {"type":"nuntium"}`,
		`POST /v1/channels/texts/contacts {"contacts":[{"to":"+15550001","not_after":"2027-01-02T03:04:05Z"}]}`,
		"GET /v1/channels/texts/callback",
		"GET /v1/channels/texts/minutes?since=2027-01-02T02%3A04%3A05Z&step=5m",
		"POST /v1/surveys/flu:launch",
		"DELETE /v1/surveys/flu",
	}
	if diff := cmp.Diff(want, *heard); diff != "" || errors.Join(errs...) != nil {
		t.Errorf("%v\n%s", errors.Join(errs...), diff)
	}
}

// TestClient_KeysMakeBodiesIdempotent checks that keys make bodies idempotent.
func TestClient_KeysMakeBodiesIdempotent(t *testing.T) {
	t.Parallel()
	contacts := func(keys ...string) func(c *client.Client) error {
		return func(c *client.Client) error {
			var b client.ContactsBody
			for _, key := range keys {
				b.Contacts = append(b.Contacts, client.ContactBody{Key: key, To: "+15550001"})
			}
			_, err := c.PostContacts(t.Context(), "texts", b)
			return err
		}
	}
	hearing := func(b client.HearingBody) func(c *client.Client) error {
		return func(c *client.Client) error { _, err := c.PostDisposition(t.Context(), "s", "r1", b); return err }
	}
	consents := func(keys ...string) func(c *client.Client) error {
		return func(c *client.Client) error {
			var b client.ConsentsBody
			for _, key := range keys {
				b.Consents = append(b.Consents, client.ConsentBody{Key: key, To: "+15550001", Status: "refused"})
			}
			_, err := c.PostConsents(t.Context(), b, client.PostConsentsParams{})
			return err
		}
	}
	for name, x := range map[string]struct {
		ask   func(c *client.Client) error
		tries int32
	}{
		"consents with keys":    {consents("a", "b"), 2},
		"a consent without one": {consents("a", ""), 1},
		"contacts with keys":    {contacts("a", "b"), 2},
		"a contact without one": {contacts("a", ""), 1},
		"a disposition":         {hearing(client.HearingBody{Disposition: "completed"}), 2},
		"messages":              {hearing(client.HearingBody{Messages: []string{"hello"}}), 1},
		"messages with a key":   {hearing(client.HearingBody{Messages: []string{"hello"}, Key: "a"}), 2},
		"a step of a survey":    {func(c *client.Client) error { _, err := c.PauseSurvey(t.Context(), "s"); return err }, 2},
		"respondents": {func(c *client.Client) error {
			_, err := c.PostRespondents(t.Context(), "s", client.RespondentsBody{}, client.PostRespondentsParams{})
			return err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, tries := to(t, hangsUp, says(200, "{}"))
			if err := x.ask(to); tries.Load() != x.tries || (err == nil) != (x.tries > 1) {
				t.Errorf("%d tries, want %d: %v", tries.Load(), x.tries, err)
			}
		})
	}
}

// TestClient_DecodesAndCapturesResponses checks decoded and captured responses.
func TestClient_DecodesAndCapturesResponses(t *testing.T) {
	t.Parallel()
	const text = `{"channel":"texts","state":"a_word_of_later","in_flight":3,"new":{"a":[1]}}`
	to, _ := to(t, says(200, text), says(404, missing), says(204, ""), says(200, "a,b\n1,2\n"))
	var raw []byte
	v, err := to.CaptureBody(&raw).GetChannel(t.Context(), "texts")
	if err != nil || v.Channel != "texts" || v.State != "a_word_of_later" || v.InFlight != 3 || string(raw) != text {
		t.Errorf("%+v, %v: %s", v, err, raw)
	}
	if v, err := to.CaptureBody(&raw).GetChannel(t.Context(), "none"); v != nil || client.StatusOf(err) != 404 || string(raw) != text {
		t.Errorf("%+v, %v: %s", v, err, raw)
	}
	if v, err := to.DeleteChannel(t.Context(), "texts", client.DeleteChannelParams{}); v != nil || err != nil {
		t.Errorf("a response without a body: %+v, %v", v, err)
	}
	file, err := to.GetResults(t.Context(), "flu", client.GetResultsParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if got, err := io.ReadAll(file); err != nil || string(got) != "a,b\n1,2\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestClient_ErrorHasTheRequestID(t *testing.T) {
	t.Parallel()
	to, _ := to(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "id-1")
		says(409, conflict)(w, r)
	})
	_, err := to.GetSurvey(t.Context(), "flu")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.RequestID != "id-1" || e.Code != "conflict" {
		t.Errorf("%+v", err)
	}
}

// TestClient_ListStopsAtTheFirstError checks this, and that the caller can stop early.
func TestClient_ListStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	page := says(200, `{"channels":[{"channel":"a"},{"channel":"b"}],"next_cursor":"b"}`)
	first, tries := to(t, page, says(404, missing))
	var got []string
	for v, err := range first.Channels(t.Context(), client.ListChannelsParams{}) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, v.Channel)
	}
	if len(got) != 3 || !strings.Contains(got[2], "404") || tries.Load() != 2 {
		t.Errorf("%v after %d requests", got, tries.Load())
	}
	second, tries := to(t, page)
	for v, err := range second.Channels(t.Context(), client.ListChannelsParams{}) {
		if v.Channel != "a" || err != nil {
			t.Errorf("%+v, %v", v, err)
		}
		break
	}
	if tries.Load() != 1 {
		t.Errorf("%d requests for one channel", tries.Load())
	}
}
