package conformance

import (
	"fmt"
	"testing"

	"weir"
	"weir/internal/document"
	"weir/people"
	"weir/surveys"
)

// replying is a survey whose respondents are answered over a channel.
type replying struct {
	*bench
	survey  int64
	channel weir.ChannelID
	lease   weir.Incarnation
	list    []surveys.Respondent
}

func newReplying(b *bench, persons int) *replying {
	b.t.Helper()
	id, lease := b.owned("a")
	v, _, err := b.PutSurvey(b.ctx(), surveys.Survey{Name: "s"}, document.Condition{})
	b.ok(err)
	var list []surveys.Respondent
	for i := range persons {
		list = append(list, person(1+i, ""))
	}
	added, err := b.Add(b.ctx(), v.ID, 0, list)
	b.ok(err)
	s := &replying{b, v.ID, id, lease, make([]surveys.Respondent, persons)}
	for i := range added {
		s.list[i] = s.person(added[i].ID)
	}
	b.accept(id, sms("before")) // from now on the writer knows the channel
	return s
}

// person returns a respondent as it is stored.
func (s *replying) person(id surveys.RespondentID) surveys.Respondent {
	s.t.Helper()
	list, err := s.RespondentsByID(s.ctx(), []surveys.RespondentID{id})
	s.ok(err)
	return list[0]
}

// reply returns a move that says the first turn to a respondent.
func (s *replying) reply(i int) surveys.Move {
	const turn = 1
	r := s.list[i]
	m := activate(r, now())
	m.Channel, m.Is.Talk.Turn, m.Is.Talk.Since = s.channel, turn, turn
	m.Reply = &weir.Spec{
		Key: fmt.Sprint(r.ID, "-q", turn), To: r.Phone, Priority: weir.Reply, Messages: []string{"next"}, Labels: map[string]string{"turn": fmt.Sprint(turn)},
		Owner: weir.Owner{Group: s.survey, ID: int64(r.ID)},
	}
	return m
}

// claimed writes moves, and claims the replies of the first n.
func (s *replying) claimed(n int, moves ...surveys.Move) ([]weir.Accepted, surveys.Written) {
	s.t.Helper()
	w, err := s.NewWork(s.ctx(), surveys.Work{Survey: s.survey, Moves: moves})
	s.ok(err)
	var told []weir.Accepted
	if !w.Submit(weir.Claims{By: s.lease, First: n, Done: func(got []weir.Accepted, _ error) { told = got }}) || w.Submit(weir.Claims{}) {
		s.t.Error("the first Submit submits, and no other")
	}
	got, err := w.Wait()
	s.ok(err)
	same(s.t, "what done was called with", told, got)
	return got, w.Written()
}

// testClaimedReplies claims the contacts that say turns in the transaction of the turns.
func testClaimedReplies(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	s := newReplying(b, 5)
	stale := s.reply(1)
	stale.Was.Rev, stale.Is.Rev = 7, 8
	var got []weir.Accepted
	for range 2 { // the first finds that a move is stale, and claims nothing
		var written surveys.Written
		got, written = s.claimed(2, s.reply(0), stale)
		if len(written.Contacts) != 0 || len(written.Stale) == 0 {
			t.Errorf("written: %+v", written)
		}
	}
	if len(got) != 0 { // the first move was made before
		t.Errorf("made again: %+v", got)
	}
	b.wantQueued(s.channel, 2)

	got, written := s.claimed(2, s.reply(2), s.reply(3), s.reply(4))
	if len(written.Stale)+len(written.Refused)+len(written.Contacts) != 0 || len(got) != 3 {
		t.Fatalf("%d replies, written: %+v", len(got), written)
	}
	for i, want := range []weir.State{weir.Sending, weir.Sending, weir.Queued} {
		c := got[i].Contact
		if stored, _ := b.read(c.Ref); c.State != want || stored.State != want {
			t.Errorf("reply %d is %v, stored as %v, want %v", i, c.State, stored.State, want)
		}
		if r := s.person(s.list[2+i].ID); r.Said != c.Ref || r.Rev != 1 {
			t.Errorf("respondent %d: %+v", i, r)
		}
	}
	if flying := must[[]weir.Contact](t)(b.InFlight(b.ctx(), s.channel)); len(flying) != 2 {
		t.Errorf("%d are in flight", len(flying))
	}
	b.wantQueued(s.channel, 3)

	t.Run("a key that is taken", func(t *testing.T) {
		again := s.reply(0)
		again.Was = s.person(s.list[0].ID)
		again.Is.Rev = again.Was.Rev + 1
		if got, _ := s.claimed(1, again); len(got) != 1 || !got[0].Duplicate {
			t.Errorf("made: %+v", got)
		}
	})
	t.Run("without the lease it waits", func(t *testing.T) {
		b.acquire(s.channel)
		if got, _ := s.claimed(1, s.reply(1)); len(got) != 1 || got[0].Contact.State != weir.Queued {
			t.Errorf("made: %+v", got)
		}
	})
}

// testRefusedReplies: a reply to somebody who has refused is not claimed with its turn; it ends instead.
func testRefusedReplies(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	s := newReplying(b, 2)
	b.says(s.list[0].Phone, people.Refused)
	got, written := s.claimed(2, s.reply(0), s.reply(1))
	if len(got) != 2 || len(written.Stale) != 0 || got[0].Contact.Outcome != weir.Suppressed || got[1].Contact.State != weir.Sending {
		t.Errorf("%+v, written: %+v", got, written)
	}
	if stored, attempts := b.read(got[0].Contact.Ref); stored.State != weir.Done || stored.Attempt != 0 || len(attempts) > 0 {
		t.Errorf("the reply to who has refused: %+v, attempts %+v", stored.Progress, attempts)
	}
}
