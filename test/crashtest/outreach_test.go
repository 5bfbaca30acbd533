package crashtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/internal/polling"
)

// TestOutreach_LearnsEachEndAndReplyOnceDespiteKills kills the example program and the broker at random. In the end the
// program knows how each contact ended, as the broker does, and each reply, once.
func TestOutreach_LearnsEachEndAndReplyOnceDespiteKills(t *testing.T) {
	t.Parallel()
	outreach, err := program("WEIR_TEST_OUTREACH", filepath.Join(t.TempDir(), "outreach"), "weir/examples/outreach")
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			newExampleClient(t, database(t, store), outreach).play(size().clientKills)
		})
	}
}

// exampleClient is the example program beside a broker and its provider.
type exampleClient struct {
	t             *testing.T
	out           *outside
	broker, app   *broker
	api           *client
	journal       string
	chance        *rand.Rand
	people, heard int
}

func newExampleClient(t *testing.T, database, program string) *exampleClient {
	t.Helper()
	dir := t.TempDir()
	o := &exampleClient{
		t: t, out: newSMS(t, capacity), broker: newBroker(t, database), journal: filepath.Join(dir, "journal"),
		chance: rand.New(rand.NewPCG(seed(t), 9)), people: 30 * size().clientKills,
	}
	o.broker.env = slices.DeleteFunc(o.broker.env, func(v string) bool { return v == "WEIR_CONTACT_EVENTS=on" })
	o.api = newClient(t, o.broker.url)
	o.broker.start("")
	o.broker.up()
	o.api.insist(http.MethodPut, "/v1/channels/sms", map[string]any{"type": o.out.kind, "capacity": o.out.capacity, "settings": o.out.settings}, http.StatusCreated, nil)
	address := freeAddress(t)
	var hook struct{ Secret string }
	o.api.insist(http.MethodPost, "/v1/webhooks", map[string]any{
		"url": "http://" + address + "/weir", "types": []string{"weir.contact.done", "weir.contact.corrected", "weir.message.received"},
	}, http.StatusCreated, &hook)
	var list bytes.Buffer
	for i := range o.people {
		fmt.Fprintf(&list, "p%d,+1555%07d,Please call us\n", i, i)
	}
	people := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(people, list.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	o.app = &broker{
		t: t, url: "http://" + address, log: filepath.Join(dir, "outreach.log"),
		env:  []string{"PATH=" + os.Getenv("PATH"), "WEIR_URL=" + o.broker.url, "WEBHOOK_SECRET=" + hook.Secret},
		line: []string{program, "-people", people, "-journal", o.journal, "-listen", address, "-every", "300ms"},
	}
	t.Cleanup(func() {
		o.app.kill()
		if t.Failed() {
			t.Logf("the end of the example's log:\n%s", o.app.tail())
		}
	})
	o.app.start("")
	return o
}

// play kills one of the two at random, while contacts end and people answer.
func (o *exampleClient) play(kills int) {
	o.t.Helper()
	// The provider passes messages on once Weir has told it where to, before the first dispatch.
	if !polling.Until(upWithin, 10*time.Millisecond, func() bool { return o.out.tally.Line(o.out.line).Sent > 0 }) {
		o.t.Fatal("nothing is sent")
	}
	for range kills {
		for range o.chance.IntN(4) {
			o.heard++
			if err := o.out.receive(fmt.Sprintf("1555%07d", o.heard), fmt.Sprint("answer ", o.heard)); err != nil {
				o.t.Fatal(err)
			}
		}
		rest(nil, time.Duration(50+o.chance.IntN(500))*time.Millisecond)
		victim := o.broker
		if o.chance.IntN(2) == 0 {
			victim = o.app
		}
		victim.kill()
		rest(nil, time.Duration(o.chance.IntN(200))*time.Millisecond)
		victim.start("")
	}
	o.broker.up()
	var known struct {
		Ended, Replies int
		Outcomes       map[string]int
	}
	// A message may be reported as delivered after it was reported as failed: the program
	// hears of that, too.
	done := polling.Until(2*time.Minute, 100*time.Millisecond, func() bool {
		want := map[string]int{}
		for _, c := range o.api.list("sms") {
			want[c.Outcome]++
		}
		response, err := http.Get(o.app.url + "/status")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return json.NewDecoder(response.Body).Decode(&known) == nil && known.Ended == o.people && known.Replies == o.heard && maps.Equal(known.Outcomes, want)
	})
	if !done {
		o.t.Errorf("of %d contacts and %d replies it knows %+v", o.people, o.heard, known)
		var stored struct{ Incoming []any }
		o.api.insist(http.MethodGet, "/v1/channels/sms/incoming?limit=500", nil, http.StatusOK, &stored)
		o.t.Errorf("the broker has stored %d messages", len(stored.Incoming))
	}
	o.app.kill()
	o.check()
	o.broker.terminate()
}

// check compares the journal with the broker's contacts.
func (o *exampleClient) check() {
	o.t.Helper()
	raw, err := os.ReadFile(o.journal)
	if err != nil {
		o.t.Fatal(err)
	}
	outcomes, replies, lines := map[string]string{}, map[string]int{}, map[string]int{}
	for line := range bytes.Lines(raw) {
		var e struct{ Kind, ID, Outcome, Text string }
		if err := json.Unmarshal(line, &e); err != nil {
			o.t.Fatalf("%s: %v", line, err)
		}
		switch lines[e.Kind+e.ID]++; e.Kind {
		case "ended", "corrected":
			outcomes[e.ID] = e.Outcome
		case "reply":
			replies[e.Text]++
		}
		if e.Kind != "cursor" && lines[e.Kind+e.ID] > 1 || replies[e.Text] > 1 {
			o.t.Errorf("it has twice: %s", line)
		}
	}
	if o.t.Failed() {
		o.t.Logf("%s", raw)
	}
	contacts := o.api.list("sms")
	if len(contacts) != o.people || len(replies) != o.heard {
		o.t.Errorf("%d contacts of %d people, %d replies of %d", len(contacts), o.people, len(replies), o.heard)
	}
	for _, c := range contacts {
		if got := outcomes[c.Key[len("outreach/"):]]; c.State != "done" || got != c.Outcome {
			o.t.Errorf("contact %s is %s %q, and in the journal %q", c.Key, c.State, c.Outcome, got)
		}
	}
	if n := o.out.alike(); n > 0 {
		o.t.Errorf("%d messages were sent twice", n)
	}
}
