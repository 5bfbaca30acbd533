package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/channels/simulation"
	"weir/client"
)

// talker finds a number whose conversation has a course.
func talker(t *testing.T, is func(course) bool) string {
	t.Helper()
	for n := range 10_000 {
		number := fmt.Sprintf("1555%07d", firstAsked+n)
		if !strings.HasSuffix(number, noSuchNumber) && is(courseOf(1, number)) {
			return number
		}
	}
	t.Fatal("nobody has such a conversation")
	return ""
}

// conversation is what a provider has taken, and what Weir says, of one person.
type conversation struct {
	texts []string
	row   client.RespondentView
}

// held returns the conversation with a person as it has to be.
func held(number string) conversation {
	c := courseOf(1, number)
	v := conversation{row: client.RespondentView{Phone: "+" + number, Disposition: "completed"}}
	if c.stopped {
		v.row.Disposition = "refused"
	}
	for _, q := range clinicQuestions() {
		for n := range c.asked[q.name] {
			text := q.text
			if n > 0 {
				text = "Sorry, we did not understand your answer.\n" + text
			}
			v.texts = append(v.texts, text)
		}
		if a, answered := c.answers[q.name]; answered {
			v.row.Answers = append(v.row.Answers, client.AnswerView{Question: q.name, Status: "answered", Value: a})
		}
	}
	v.texts = append(v.texts, "Thank you. Good bye.")
	return v
}

func (v *conversation) judged(number string) asked {
	t := newTalks(1)
	t.expect([]person{{phone: "+" + number}})
	for i, text := range v.texts {
		t.taken(fmt.Sprint(i), "sms://"+number, text)
	}
	t.taken("other", "sms://15550000000", clinicQuestions()[0].text)
	return t.judge([]client.RespondentView{v.row})
}

func TestTalks_FindEveryFault(t *testing.T) {
	t.Parallel()
	yes := talker(t, func(c course) bool { return c.asked["months"] == 1 && c.asked["vaccinated"] == 2 })
	no := talker(t, func(c course) bool { return c.answers["vaccinated"] == "no" && c.asked["rating"] == 1 })
	stop := talker(t, func(c course) bool { return c.stopped })
	last := func(v *conversation) *client.AnswerView { return &v.row.Answers[len(v.row.Answers)-1] }
	tests := []struct {
		name   string
		number string
		change func(*conversation)
		want   []string
	}{
		{"with every question", yes, func(*conversation) {}, nil},
		{"with a question that is not for everybody", no, func(*conversation) {}, nil},
		{"with a STOP", stop, func(*conversation) {}, nil},
		{"a reminder asks nothing anew", yes, func(v *conversation) { v.texts = append(v.texts, stillWaiting+" "+clinicQuestions()[1].text) }, nil},
		{"a question twice", yes, func(v *conversation) { v.texts = append(v.texts, clinicQuestions()[2].text) }, []string{"1 questions asked twice"}},
		{"a question that is not relevant", no, func(v *conversation) { v.texts = append(v.texts, clinicQuestions()[1].text) }, []string{"1 questions asked twice"}},
		{"a question less", yes, func(v *conversation) {
			v.texts = slices.DeleteFunc(v.texts, func(text string) bool { return text == clinicQuestions()[1].text })
		}, []string{"1 questions skipped"}},
		{"not asked again", yes, func(v *conversation) { v.texts = v.texts[1:] }, []string{"1 questions skipped"}},
		{"an answer less", yes, func(v *conversation) { v.row.Answers = v.row.Answers[1:] }, []string{"1 answers lost"}},
		{"another answer", no, func(v *conversation) { last(v).Value = "99" }, []string{"1 answers lost"}},
		{"the answer to another question", yes, func(v *conversation) { last(v).Question = "months" }, []string{"1 answers lost"}},
		{"a STOP without effect", stop, func(v *conversation) { v.row.Disposition = "unresponsive" }, []string{"1 conversations that ended otherwise than the person wrote"}},
		{"broken off", yes, func(v *conversation) { v.row.Disposition = "breakoff" }, []string{"1 conversations that ended otherwise than the person wrote"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := held(test.number)
			test.change(&v)
			a := v.judged(test.number)
			if got := a.faults(); a.People != 1 || !cmp.Equal(got, test.want) {
				t.Errorf("%d people, faults %q, want %q", a.People, got, test.want)
			}
		})
	}
}

// Whoever Weir asks answers each question when it has reached the person, also one that is asked again.
func TestTalks_PeopleAnswerTheQuestionThatHasReachedThem(t *testing.T) {
	t.Parallel()
	number := talker(t, func(c course) bool { return c.asked["vaccinated"] == 2 && c.answers["vaccinated"] == "no" })
	tally := simulation.NewTally()
	var wrote []string
	c := newParticipants(1, pace{1}, tally, "main", func(_, body string) error {
		wrote = append(wrote, body)
		return nil
	})
	c.talks.expect([]person{{phone: "+" + number}})
	now := epoch()
	reaches := func(key, text string) {
		c.talks.taken(key, "sms://"+number, text)
		tally.Begin("main", key, "sms://"+number, 1)
		tally.End("main", key)
		for range 2 {
			now = now.Add(time.Second)
			c.poll(now, tally.Keys("main"))
		}
	}
	reaches("1.0", clinicQuestions()[0].text)
	reaches("2.0", "Sorry. "+clinicQuestions()[0].text)
	reaches("3.0", clinicQuestions()[2].text)
	reaches("4.0", "Thank you.")
	want := append(replies(1, number, "vaccinated"), replies(1, number, "rating")...)[:3]
	if !cmp.Equal(wrote, want) || len(c.answered) != 0 {
		t.Errorf("wrote %q, want %q; counted as an answer to the application: %v", wrote, want, c.answered)
	}
}

// The record counts questions while their conversations go on, and shows at once what was asked twice.
func TestRecord_CountsConversationsThatGoOn(t *testing.T) {
	t.Parallel()
	number := talker(t, func(c course) bool { return c.asked["vaccinated"] == 1 && c.answers["vaccinated"] == "no" })
	talks := newTalks(1)
	talks.expect([]person{{phone: "+" + number}, {phone: "+15550000000"}})
	r := newRecord(newRefusals(), talks, nil)
	r.conversed(asked{Asked: 40})
	for i, want := range []asked{{Asked: 41}, {Asked: 42, Twice: 1}} {
		talks.taken(fmt.Sprint(i), "sms://"+number, clinicQuestions()[0].text)
		if got := r.proof(time.Now()); got.Asked != want || len(got.Faults) != want.Twice {
			t.Errorf("asked %d times: %+v, want %+v; faults %q", i+1, got.Asked, want, got.Faults)
		}
	}
}
