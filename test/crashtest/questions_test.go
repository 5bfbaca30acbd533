package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// questionPoints are the durable boundaries of a turn: the message is stored, the turn is stored with the claim of its
// contact, or the contact is claimed from the queue, as that of the first question; it is sent, answered by the provider,
// and reported.
func questionPoints() []string {
	return []string{"survey.before", "survey.committed", "accept.claiming", "accept.claimed", "accept.committed", "claim.before", "claim.committed", "send.before", "send.answered", "ref.before", "report.before", "report.committed"}
}

// hits returns how often a point is hit at least. Turns that are stored together hit theirs once, and so do the contacts
// of the first question that are claimed together.
func hits(point string) int {
	switch at, _, _ := strings.Cut(point, "."); at {
	case "claim":
		return 1
	case "accept":
		return 2
	default:
		return size().talkers
	}
}

// TestQuestions_SurviveKillsAtEachBoundaryOfATurn kills the program before, within and after the turns of
// conversations, whose people answer by a script what has reached them. By the record of the provider
// nobody is asked again what is answered, no question is skipped, and no answer is lost.
func TestQuestions_SurviveKillsAtEachBoundaryOfATurn(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			w := newTalkWorld(t, database(t, store), from)
			chance := rand.New(rand.NewPCG(from, 45))
			points := questionPoints()
			chance.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
			struck := 0
			for range max(1, size().cell) {
				for _, point := range points {
					w.launch(size().talkers)
					w.broker.kill()
					w.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(hits(point))))
					if err := w.broker.died(size().strikeLimit); err != nil {
						t.Errorf("%s: %v", point, err)
					}
					struck++
					w.broker.kill()
					w.broker.start("")
					w.broker.up()
				}
			}
			w.settle()
			t.Logf("%d kills, %d conversations, %d texts", struck, len(w.people), len(w.seen.all()))
			w.broker.terminate()
		})
	}
}

// talkWorld is a broker with surveys of questions, and the people who answer them.
type talkWorld struct {
	*rig
	out     *outside
	seen    *records
	heard   *heard
	write   func(guid, from, text string)
	surveys int
	people  map[string]bool // by number, as the provider has it
	done    chan struct{}
	ended   chan struct{}
	known   map[string]bool // keys of texts that were read
}

func newTalkWorld(t *testing.T, database string, from uint64) *talkWorld {
	t.Helper()
	w := &talkWorld{
		rig: &rig{t: t, broker: newBroker(t, database), pulse: newPulse(t)}, people: map[string]bool{},
		known: map[string]bool{}, done: make(chan struct{}), ended: make(chan struct{}),
	}
	w.api = newClient(t, w.broker.url)
	w.out, w.seen, w.heard, w.write = newSurveySMS(t, from)
	w.broker.start("")
	w.broker.up()
	w.api.insist(http.MethodPut, "/v1/channels/sms", map[string]any{"type": w.out.kind, "capacity": w.out.capacity, "settings": w.out.settings}, http.StatusCreated, nil)
	go func() {
		defer close(w.ended)
		for rest(w.done, 20*time.Millisecond) {
			w.read()
		}
	}()
	t.Cleanup(w.end)
	return w
}

func (w *talkWorld) end() {
	select {
	case <-w.done:
	default:
		close(w.done)
	}
	<-w.ended
}

// asked are the questions, each with what its text contains.
var asked = []string{"Are you well?", "Why not?", "How old are you?"}

// asking is a question and who is asked.
type asking struct {
	number   string
	question int
}

// guid returns the provider's id of the answer. Each person answers each question once.
func (p asking) guid() string { return fmt.Sprint("m-", p.number, "-", p.question) }

// questionIn returns the question of a text; -1: there is none.
func questionIn(text string) int {
	return slices.IndexFunc(asked, func(q string) bool { return strings.Contains(text, q) })
}

// scripted is what a person answers to a question.
func scripted(number string, question int) string {
	n := whim(number)
	return []string{[]string{"yes", "no"}[n%2], "because of " + number, fmt.Sprint(20 + n%50)}[question]
}

// launch launches a survey with new people.
func (w *talkWorld) launch(people int) {
	w.t.Helper()
	name := fmt.Sprint("talk", w.surveys)
	w.surveys++
	text := func(s string) map[string]string { return map[string]string{"en": s} }
	path := "/v1/surveys/" + name
	w.api.insist(http.MethodPut, path, map[string]any{
		"schedule": map[string]any{
			"time_zone": zone(time.Now()), "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
			"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
		},
		"modes": map[string]any{"sms": map[string]string{"channel": "sms", "retries": strings.Repeat("5s ", 9)}},
		"arms":  []map[string]any{{"modes": []string{"sms"}}}, "limit_per_minute": 100_000, "batch_size": 100_000,
		"questions": map[string]any{"languages": []map[string]string{{"code": "en"}}, "messages": map[string]any{"thanks": text("Thanks")}, "questions": []map[string]any{
			{"name": "well", "kind": "choice", "text": text(asked[0]), "choices": []map[string]any{{"name": "yes", "text": text("Yes")}, {"name": "no", "text": text("No")}}},
			{"name": "why", "kind": "text", "text": text(asked[1]), "relevant": "${well} = 'no'"},
			{"name": "age", "kind": "number", "text": text(asked[2])},
		}},
	}, http.StatusCreated, nil)
	var rows []map[string]any
	for i := range people {
		number := fmt.Sprintf("1555%07d", w.surveys*1000+i)
		w.people[number] = true
		rows = append(rows, map[string]any{"phone": "+" + number})
	}
	w.api.insist(http.MethodPost, path+"/respondents", map[string]any{"respondents": rows}, http.StatusOK, nil)
	w.api.insist(http.MethodPost, path+":launch", map[string]any{}, http.StatusOK, nil)
}

// read lets people answer the questions that have reached them.
func (w *talkWorld) read() {
	texts := map[string]string{}
	for _, o := range w.seen.all() {
		texts[o.key] = o.what
	}
	for _, k := range w.out.tally.Keys(w.out.line) {
		if k.Active > 0 || w.known[k.Key] {
			continue
		}
		w.known[k.Key] = true
		number := strings.TrimPrefix(k.Address, "sms://")
		if q := questionIn(texts[k.Key]); q >= 0 {
			w.write(asking{number, q}.guid(), number, scripted(number, q)) // the provider drops repeats
		}
	}
}

// settle waits until the surveys are done and compares what the provider has seen, and what the API
// shows, with the script.
func (w *talkWorld) settle() {
	w.t.Helper()
	for began := time.Now(); ; rest(nil, 100*time.Millisecond) {
		open := 0
		for n := range w.surveys {
			var s struct{ State string }
			w.api.insist(http.MethodGet, fmt.Sprint("/v1/surveys/talk", n), nil, http.StatusOK, &s)
			if s.State != "done" {
				open++
			}
		}
		if open == 0 {
			break
		}
		if time.Since(began) > 2*time.Minute {
			w.t.Fatalf("%d surveys are not done", open)
		}
	}
	w.finished(w.out)
	w.end()
	w.checkTexts()
	for n := range w.surveys {
		w.checkAnswers(n)
	}
}

// reminderAfterAnswer is for how long what repeats a question, and was queued already, may be claimed after the answer was
// acknowledged: until a round has applied it, where too many messages came at once.
const reminderAfterAnswer = 10 * time.Second

// checkTexts checks what the provider has got.
func (w *talkWorld) checkTexts() {
	w.t.Helper()
	to := map[string]string{}
	for _, k := range w.out.tally.Keys(w.out.line) {
		to[k.Key] = strings.TrimPrefix(k.Address, "sms://")
	}
	claimed := map[string]time.Time{} // by contact, the first time
	for _, c := range w.api.list("sms") {
		if len(c.Attempts) > 0 && c.Attempts[0].ClaimedAt != nil {
			claimed[c.ID] = *c.Attempts[0].ClaimedAt
		}
	}
	got, contacts := map[asking]bool{}, map[string]int{}
	for _, o := range w.seen.all() { // in the order of their arrival
		p := asking{to[o.key], questionIn(o.what)}
		if p.number == "" {
			continue // the provider took nothing
		}
		// A network may repeat a text. A reminder that was claimed when the answer came is not stopped any more.
		if contacts[o.key]++; contacts[o.key] > 1 || p.question < 0 {
			continue
		}
		answered := w.heard.when(p.guid())
		late := time.Duration(0)
		if got[p] {
			late = reminderAfterAnswer
		}
		got[p] = true
		if first := claimed[contactOf(o.key)]; !answered.IsZero() && first.After(answered.Add(late)) {
			w.t.Errorf("%s was asked %q again, %v after the answer was acknowledged: %q", p.number, asked[p.question], first.Sub(answered), o.what)
		}
	}
	for number := range w.people {
		for q := range asked {
			if want := q != 1 || scripted(number, 0) == "no"; got[asking{number, q}] != want {
				w.t.Errorf("%s: %q was asked: %v, want %v", number, asked[q], !want, want)
			}
		}
	}
}

// checkAnswers checks what the API shows of a survey.
func (w *talkWorld) checkAnswers(n int) {
	w.t.Helper()
	var page struct {
		Respondents []struct {
			ID, Phone, Disposition string
		}
	}
	path := fmt.Sprint("/v1/surveys/talk", n, "/respondents")
	w.api.insist(http.MethodGet, path+"?limit=500", nil, http.StatusOK, &page)
	for _, r := range page.Respondents {
		var one struct {
			Answers []struct{ Question, Status, Value string }
		}
		w.api.insist(http.MethodGet, path+"/"+r.ID, nil, http.StatusOK, &one)
		number := strings.TrimPrefix(r.Phone, "+")
		var got []string
		for _, a := range one.Answers {
			got = append(got, strings.TrimSpace(fmt.Sprint(a.Question, " ", a.Status, " ", a.Value)))
		}
		why := "why skipped"
		if scripted(number, 0) == "no" {
			why = "why answered " + scripted(number, 1)
		}
		want := []string{"well answered " + scripted(number, 0), why, "age answered " + scripted(number, 2)}
		if r.Disposition != "completed" || !slices.Equal(got, want) {
			w.t.Errorf("%s is %s: %q, want %q", r.Phone, r.Disposition, got, want)
		}
	}
}
