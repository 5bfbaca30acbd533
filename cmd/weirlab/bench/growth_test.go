package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
	"weir/persistence/testmysql"
)

func TestGrowth_IsMeasuredBesideRowsThatWereThere(t *testing.T) {
	t.Parallel()
	weir := program(t)
	folder := t.TempDir()
	var out bytes.Buffer
	o := small(weir, &out)
	o.Modes, o.Peers, o.Repeat = []string{load.Growth}, []string{PeerBaseline, PeerInside}, 2
	o.Rows, o.Finished = []int{0, 3000}, 40
	o.Databases = []string{"sqlite://" + filepath.Join(folder, "any.db"), testmysql.URL(t)}
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	list := lines(t, &out)
	if len(list) != 8 {
		t.Fatalf("%d runs, want two on each store, beside none and beside some\n%s", len(list), out.String())
	}
	none := map[string]float64{} // the size of the store without existing contacts
	for _, f := range list {
		expectMeasured(t, f)
		beside := f.Queued + f.Finished
		if f.StartS <= 0 || f.StoreMB <= 0 || beside > 0 && f.StoreMB < none[f.Peer]+1 {
			t.Errorf("%s, beside %d: the start took %v s, the store has %v MB", f.Peer, beside, f.StartS, f.StoreMB)
		}
		switch {
		case beside == 0:
			none[f.Peer] = f.StoreMB
		case f.Queued != 1800 || f.Finished != 1200:
			t.Errorf("beside %d queued and %d finished, want 1800 and 1200", f.Queued, f.Finished)
		}
	}
	// One of two runs is left out when other programs, such as tests, were busy during it.
	for _, row := range []string{`inside sqlite \| 1800 \| 1200 \| 0`, `inside mysql \| 1800 \| 1200 \| 0`, `inside mysql \| 0 \| 0 \| 0`} {
		if !regexp.MustCompile(`(?m)^\| ` + row + ` \| [12] \| [1-9]`).Match(out.Bytes()) {
			t.Errorf("the table has no row %q:\n%s", row, out.String())
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestGrowth_RowsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	o := small(program(t), io.Discard)
	o.Modes, o.Peers, o.Rows = []string{load.Growth}, []string{PeerInside}, []int{0, 1e14}
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "GB free in") {
		t.Errorf("100 million million rows: %v", err)
	}
}

// Contacts inserted directly into the database are the same as the program's own: the
// API shows them alike, and the program continues with them.
func TestGrowth_FilledContactsAreLikeThoseOfTheProgram(t *testing.T) {
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
			w := load.Workload{Mode: load.Live, N: 3, Channels: 1, Capacity: 5, Batch: 1, Queued: 20, Finished: 1, Delay: 10 * time.Millisecond}
			compareFilled(t, s, step{w, PeerSingle, store})
		})
	}
}

// compareFilled puts contacts through beside inserted ones, and compares.
func compareFilled(t *testing.T, s *session, st step) {
	t.Helper()
	ctx := t.Context()
	d, err := s.filledWith(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.drop(); err != nil {
			t.Error(err)
		}
	}()
	b, err := s.newBroker(ctx, st, d)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	if err := b.start(ctx); err != nil {
		t.Fatal(err)
	}
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

func TestGrowth_IsMeasuredInTurnsAndFillsOnce(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.Modes, o.Peers, o.Databases, o.Repeat, o.Rows = []string{load.Growth}, []string{PeerBaseline, PeerInside}, []string{"sqlite", "mysql"}, 2, []int{0, 100_000}
	steps := plan(o.completed())
	var got []string
	places := map[string]int{}
	for _, st := range steps {
		got = append(got, fmt.Sprint(st.name(), " ", st.Queued, " ", st.Finished))
		if st.kept() {
			places[st.place()]++
		}
		if st.N != 20_000 {
			t.Errorf("%d contacts are put through, want 20,000", st.N)
		}
	}
	once := []string{"inside sqlite 0 0", "inside mysql 0 0", "inside sqlite 50000 50000", "inside mysql 50000 50000"}
	if diff := cmp.Diff(append(once, once...), got); diff != "" {
		t.Error(diff)
	}
	if want := map[string]int{"growth sqlite 50000 50000 0": 2, "growth mysql 50000 50000 0": 2}; !maps.Equal(places, want) {
		t.Errorf("databases that are kept, and their runs: %v, want %v", places, want)
	}
	first, second := expectedOf(steps[:4]), expectedOf(steps)-expectedOf(steps[:4])
	if first-second != 2*100_000*time.Second/filledPerS {
		t.Errorf("the first round is thought to take %v, the second %v", first, second)
	}
}
