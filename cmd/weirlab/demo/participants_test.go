package demo

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/channels/simulation"
)

// someone finds a number whose owner writes these texts.
func someone(t *testing.T, texts ...string) string {
	t.Helper()
	for n := range 10_000 {
		number := fmt.Sprintf("1555%07d", n)
		if cmp.Equal(script(1, number), texts) {
			return number
		}
	}
	t.Fatalf("no participant writes %q", texts)
	return ""
}

func TestParticipants_PeopleAnswerWhatHasReachedThem(t *testing.T) {
	t.Parallel()
	number := someone(t, "Who is this?", "2")
	tally := simulation.NewTally()
	var wrote []string
	c := newParticipants(1, pace{1}, tally, "main", func(from, body string) error {
		wrote = append(wrote, from+" "+body)
		return nil
	})
	now := epoch()
	look := func(d time.Duration) []string {
		now = now.Add(d)
		c.poll(now, tally.Keys("main"))
		return wrote
	}
	tally.Begin("main", "1.0", "sms://"+number, 1)
	if got := look(time.Minute); got != nil {
		t.Errorf("before it has reached anybody: %q", got)
	}
	tally.End("main", "1.0")
	if got := look(0); got != nil {
		t.Errorf("without taking time: %q", got)
	}
	look(time.Second)
	if got := look(time.Minute); !cmp.Equal(got, []string{number + " Who is this?"}) || c.answered[number] {
		t.Errorf("the first answer: %q", got)
	}
	tally.Begin("main", "2.0", number, 1)
	tally.End("main", "2.0")
	look(0)
	look(time.Second)
	if got := look(time.Minute); !cmp.Equal(got, []string{number + " Who is this?", number + " 2"}) || !c.answered[number] {
		t.Errorf("the second answer: %q", got)
	}
}

func TestParticipants_PeopleSayStop(t *testing.T) {
	t.Parallel()
	number := someone(t, stopWord)
	c := newParticipants(1, pace{1}, nil, "", func(string, string) error { return nil })
	c.poll(epoch(), []simulation.KeyReport{taken("1", number)})
	c.poll(epoch().Add(time.Second), nil)
	if !c.stopped[number] || c.answered[number] {
		t.Errorf("%+v", c)
	}
}

func TestParticipants_AProviderThatTakesNoMessagesIsNoticed(t *testing.T) {
	t.Parallel()
	c := newParticipants(1, pace{1}, nil, "", func(string, string) error { return errors.New("no") })
	c.poll(epoch(), []simulation.KeyReport{taken("1", someone(t, "1"))})
	c.poll(epoch().Add(time.Second), nil)
	if c.err == nil {
		t.Error("no error")
	}
}

func TestParticipants_WhoHasNoNumberWritesNothing(t *testing.T) {
	t.Parallel()
	if got := script(1, "15550000173"); got != nil {
		t.Errorf("got %q", got)
	}
}

// What the provider has forgotten is forgotten here, too.
func TestParticipants_ForgetWithTheProvider(t *testing.T) {
	t.Parallel()
	number := someone(t, stopWord)
	c := newParticipants(1, pace{1}, simulation.NewTally(), "main", func(string, string) error { return nil })
	c.poll(epoch(), []simulation.KeyReport{taken("1", number), taken("2", "15550009999")})
	c.poll(epoch().Add(time.Minute), []simulation.KeyReport{taken("1", number), taken("2", "15550009999")})
	if !c.stopped[number] || len(c.seen) != 2 || len(c.reached) != 2 {
		t.Fatalf("seen %v, reached %v, stopped %v", c.seen, c.reached, c.stopped)
	}
	c.poll(epoch().Add(time.Minute), []simulation.KeyReport{taken("2", "15550009999")})
	if c.stopped[number] || len(c.seen) != 1 || len(c.reached) != 1 {
		t.Errorf("seen %v, reached %v, stopped %v", c.seen, c.reached, c.stopped)
	}
}
