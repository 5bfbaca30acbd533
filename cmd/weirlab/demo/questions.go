package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/client"
)

// The part that Weir holds by itself: three questions, one of which not everybody is asked. Some people
// write something that is no answer, and some write STOP. What was asked is judged by the provider's record
// of the texts, what was answered by what the people have written.
const (
	clinic      = "clinic"  // the survey
	firstAsked  = 8_800_000 // the numbers of its people
	askedPeople = 60
	askedLimit  = time.Minute

	// patientFor is how long Weir waits before it reminds a person: longer than an answer may be held up.
	patientFor = time.Minute
)

// question is one of the questions.
type question struct {
	name, text, only string // only: under which condition it is asked; empty: always
	more             map[string]any
}

// clinicQuestions returns the questions, in the order in which they are asked.
func clinicQuestions() []question {
	choice := func(name, text string) map[string]any {
		return map[string]any{"name": name, "text": map[string]string{"en": text}}
	}
	return []question{
		{"vaccinated", "Is your child vaccinated?", "", map[string]any{"kind": "choice", "choices": []any{choice("yes", "Yes"), choice("no", "No")}}},
		{"months", "How many months old is your child?", "${vaccinated} = 'yes'", map[string]any{"kind": "number", "min": 0, "max": 60}},
		{"rating", "How good was the clinic, from 1 to 5?", "", map[string]any{"kind": "number", "min": 1, "max": 5}},
	}
}

// stillWaiting is in each message that reminds a person of a question.
const stillWaiting = "We are still waiting for your answer."

// questionnaire returns the questions in Weir's format.
func questionnaire() map[string]any {
	var list []map[string]any
	for _, q := range clinicQuestions() {
		m := map[string]any{"name": q.name, "text": map[string]string{"en": q.text}}
		if q.only != "" {
			m["relevant"] = q.only
		}
		for k, v := range q.more {
			m[k] = v
		}
		list = append(list, m)
	}
	return map[string]any{
		"languages": []any{map[string]string{"code": "en", "name": "English"}}, "questions": list,
		"messages": map[string]any{"reminder": map[string]string{"en": stillWaiting}, "thanks": map[string]string{"en": "Thank you. Good bye."}},
	}
}

// replies returns what a person writes to a question: no answer first, perhaps, and then the answer, which is
// the last one.
func replies(seed uint64, number, question string) []string {
	c := choice(seed, number, question)
	wrong := c%10 < 2
	var out []string
	switch question {
	case "vaccinated":
		switch {
		case c%100 >= 94:
			return []string{stopWord}
		case c/100%3 == 0:
			out = []string{"no"}
		default:
			out = []string{"Yes"}
		}
		if wrong {
			out = append([]string{"Who is this?"}, out...)
		}
	case "months":
		if out = []string{strconv.Itoa(int(c / 100 % 60))}; wrong {
			out = append([]string{"999"}, out...)
		}
	case "rating":
		if out = []string{strconv.Itoa(1 + int(c/100%5))}; wrong {
			out = append([]string{"very good"}, out...)
		}
	}
	return out
}

// course is how the conversation with a person has to go.
type course struct {
	asked   map[string]int    // how often, by question
	answers map[string]string // that count, by question
	stopped bool
}

func courseOf(seed uint64, number string) course {
	c := course{asked: map[string]int{}, answers: map[string]string{}}
	for _, q := range clinicQuestions() {
		if q.only != "" && c.answers["vaccinated"] != "yes" {
			continue
		}
		says := replies(seed, number, q.name)
		c.asked[q.name] = len(says)
		last := says[len(says)-1]
		if c.stopped = last == stopWord; c.stopped {
			return c
		}
		c.answers[q.name] = strings.ToLower(last)
	}
	return c
}

// talks records the conversations that Weir holds: which questions the provider has taken for whom. It is safe
// for concurrent use.
type talks struct {
	seed uint64

	mu     sync.Mutex
	people map[string]*talk // by digits of the number
}

// talk is the conversation with one person.
type talk struct {
	open    map[string]string // questions that have not reached the person, by key of the message
	asked   map[string]int    // by question
	reached map[string]int    // by question
}

func newTalks(seed uint64) *talks { return &talks{seed: seed, people: map[string]*talk{}} }

// expect makes people known as those whom Weir asks.
func (t *talks) expect(people []person) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range people {
		t.people[digits(p.phone)] = &talk{open: map[string]string{}, asked: map[string]int{}, reached: map[string]int{}}
	}
}

// forget drops people whose conversations are judged.
func (t *talks) forget(people []person) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range people {
		delete(t.people, digits(p.phone))
	}
}

// taken records that the provider has taken a message. One that reminds a person asks nothing anew.
func (t *talks) taken(key, to, body string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	who := t.people[digits(to)]
	if who == nil {
		return
	}
	for _, q := range clinicQuestions() {
		if strings.Contains(body, q.text) && !strings.Contains(body, stillWaiting) {
			who.asked[q.name]++
			who.open[key] = q.name
		}
	}
}

// reply returns what a person writes to a message that has reached it; asked is false of one whom Weir asks nothing.
func (t *talks) reply(number, key string) (says string, asked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	who := t.people[number]
	if who == nil {
		return "", false
	}
	q, is := who.open[key]
	if !is {
		return "", true
	}
	delete(who.open, key)
	said := replies(t.seed, number, q)
	n := min(who.reached[q], len(said)-1) // asked too often, the last one is repeated
	who.reached[q]++
	return said[n], true
}

// asked is what is proved of the conversations.
type asked struct {
	People, Finished, Stopped int
	Asked, Again              int // questions, and those of them that were asked again because of what the person wrote

	Twice, Skipped, AnswersLost int // faults
	Unheard                     int // wrote STOP without effect, or ended otherwise
}

// judge compares a survey's respondents with what they were asked and what they have answered.
func (t *talks) judge(rows []client.RespondentView) (a asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range rows {
		r := &rows[i]
		number := digits(r.Phone)
		who := t.people[number]
		if who == nil {
			continue
		}
		a.People++
		want := courseOf(t.seed, number)
		unreachable := strings.HasSuffix(number, noSuchNumber)
		switch {
		case unreachable:
			continue
		case want.stopped && r.Disposition == "refused":
			a.Stopped++
		case !want.stopped && r.Disposition == "completed":
			a.Finished++
		default:
			a.Unheard++
			continue
		}
		for _, q := range clinicQuestions() {
			n := who.asked[q.name]
			a.Asked += n
			a.Again += max(0, want.asked[q.name]-1)
			a.Twice += max(0, n-want.asked[q.name])
			a.Skipped += max(0, want.asked[q.name]-n)
		}
		a.AnswersLost += lostAnswers(r, want)
	}
	return a
}

// ongoing returns what is known of conversations that are not judged yet: what was skipped and what was lost is known
// at their end.
func (t *talks) ongoing() (a asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for number, who := range t.people {
		if len(who.asked) == 0 {
			continue
		}
		want := courseOf(t.seed, number)
		for q, n := range who.asked {
			a.Asked += n
			a.Twice += max(0, n-want.asked[q])
		}
	}
	return a
}

// lostAnswers returns how many answers of a person Weir does not have, or has differently.
func lostAnswers(r *client.RespondentView, want course) (n int) {
	for q, value := range want.answers {
		if !slices.ContainsFunc(r.Answers, func(a client.AnswerView) bool { return a.Question == q && a.Value == value }) {
			n++
		}
	}
	return n
}

// add adds what is proved of other conversations.
func (a *asked) add(b asked) {
	a.People, a.Finished, a.Stopped = a.People+b.People, a.Finished+b.Finished, a.Stopped+b.Stopped
	a.Asked, a.Again = a.Asked+b.Asked, a.Again+b.Again
	a.Twice, a.Skipped, a.AnswersLost, a.Unheard = a.Twice+b.Twice, a.Skipped+b.Skipped, a.AnswersLost+b.AnswersLost, a.Unheard+b.Unheard
}

func (a *asked) faults() (out []string) {
	for _, f := range []struct {
		n    int
		what string
	}{
		{a.Twice, "questions asked twice"}, {a.Skipped, "questions skipped"}, {a.AnswersLost, "answers lost"}, {a.Unheard, "conversations that ended otherwise than the person wrote"},
	} {
		if f.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	return out
}

func (a *asked) text() string {
	return fmt.Sprintf("Weir itself asked %s: %s, %d of them again because of something that was no answer. Questions asked twice: %d, skipped: %d, answers lost: %d. %s wrote STOP instead of an answer.",
		plural(a.People, "person", "people"), plural(a.Asked, "question", "questions"), a.Again, a.Twice, a.Skipped, a.AnswersLost, plural(a.Stopped, "person", "people"))
}

// questions runs a survey whose questions Weir asks, and kills Weir in the middle of it.
func (s *demonstration) questions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.pace().atLeast(askedLimit, askedLimit))
	defer cancel()
	sv := &survey{name: clinic, title: "The clinic", texts: texts, asks: true, people: population(s.options.Seed, firstAsked, askedPeople)}
	s.say("Now Weir asks %d people %d questions by itself: it holds the conversations, waits for each answer, and asks again after something that is no answer. No application takes part.", askedPeople, len(clinicQuestions()))
	s.talks.expect(sv.people)
	if err := s.launch(ctx, sv, 0); err != nil {
		return err
	}
	s.asking = sv
	defer func() { s.asking = nil }()
	if s.options.Kills > 0 {
		if err := s.await(ctx, "the first answers", func() (bool, error) { return sv.finishedRespondents() > askedPeople/4, nil }); err != nil {
			return err
		}
		if err := s.killAndRestart(ctx); err != nil {
			return err
		}
	}
	err := s.await(ctx, "the questions", func() (bool, error) {
		open, err := s.broker.api.moving(ctx)
		return err == nil && !open && sv.stats.State == "done", nil
	})
	if err != nil {
		return err
	}
	s.asked, err = s.judgeTalks(ctx, sv)
	return err
}

// judgeTalks judges the conversations of a survey that is done.
func (s *demonstration) judgeTalks(ctx context.Context, sv *survey) (asked, error) {
	var rows []client.RespondentView
	for r, err := range s.broker.api.Respondents(ctx, sv.name, client.ListRespondentsParams{}) {
		if err != nil {
			return asked{}, fmt.Errorf("read the respondents of %s: %w", sv.name, err)
		}
		one, err := s.broker.api.GetRespondent(ctx, sv.name, r.ID) // lists have no answers
		if err != nil {
			return asked{}, fmt.Errorf("read a respondent of %s: %w", sv.name, err)
		}
		rows = append(rows, *one)
	}
	a := s.talks.judge(rows)
	if n := len(sv.people) - a.People; n > 0 {
		a.Unheard += n // not in the survey
	}
	s.talks.forget(sv.people)
	return a, nil
}

// launch defines, fills and launches a survey. perMinute bounds how many respondents are started; 0: all at once.
func (s *demonstration) launch(ctx context.Context, sv *survey, perMinute int) error {
	definition := sv.definition(s.options.pace(), s.app)
	definition["limit_per_minute"] = cmp.Or(perMinute, maxRespondents)
	api := s.broker.api
	if err := api.Do(ctx, client.Request{Method: http.MethodPut, Path: "/v1/surveys/" + sv.name, Body: definition}, nil); err != nil {
		return err
	}
	if _, err := api.PostRespondents(ctx, sv.name, respondents(sv.people), client.PostRespondentsParams{}); err != nil {
		return err
	}
	_, err := api.LaunchSurvey(ctx, sv.name, client.LaunchSurveyParams{})
	return err
}
