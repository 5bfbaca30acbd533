package conformance

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/operators"
)

func refsOf(list []operators.DeadLetter) []weir.ContactID {
	var out []weir.ContactID
	for i := range list {
		out = append(out, list[i].Contact.ID)
	}
	return out
}

func (b *bench) deadLetters(f operators.DeadLetterFilter) []operators.DeadLetter {
	b.t.Helper()
	var all []operators.DeadLetter
	for {
		list, next, err := b.DeadLetters(b.ctx(), f)
		b.ok(err)
		if all = append(all, list...); next == "" {
			break
		}
		f.Cursor = next
	}
	if n := must[int64](b.t)(b.CountDead(b.ctx(), f)); n != int64(len(all)) {
		b.t.Errorf("%d dead letters are counted and %d listed", n, len(all))
	}
	return all
}

func testDeadLetters(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	a, lease := b.owned("a")
	begun := now()
	list := b.accept(a, specs(20)...)
	theirs := sms("of a respondent")
	theirs.Owner = weir.Owner{Group: 7, ID: 8, Serial: 1}
	b.end(lease, weir.Failed, "error 500 of call 123456", list[0:3]...)
	b.end(lease, weir.Failed, "error 500 of call 777777", list[3])
	b.end(lease, weir.Lost, "", list[4])
	b.end(lease, weir.DeadLetter, "it chokes", list[5])
	for i, o := range []weir.Outcome{weir.Completed, weir.Busy, weir.NoAnswer, weir.Expired, weir.Canceled} {
		b.end(lease, o, "error 500", list[6+i])
	}
	b.end(lease, weir.Failed, "error 500", b.accept(a, theirs)...)
	other, lease2 := b.owned("b")
	alone := b.end(lease2, weir.Lost, "", b.accept(other, sms("k"))...)

	all := b.deadLetters(operators.DeadLetterFilter{})
	same(t, "all", refsOf(all), []weir.ContactID{list[5].ID, list[4].ID, list[3].ID, list[2].ID, list[1].ID, list[0].ID, alone[0].ID})
	if d := all[2]; d.Outcome != weir.Failed || d.Reason != "error 500 of call …" || d.Contact.Key != "key-3" || d.At.Before(begun.Truncate(time.Millisecond)) {
		t.Errorf("%+v", d)
	}
	reason := "error 500 of call …"
	for name, f := range map[string]struct {
		f    operators.DeadLetterFilter
		want []weir.ContactID
	}{
		"channel": {operators.DeadLetterFilter{Channel: other}, []weir.ContactID{alone[0].ID}},
		"outcome": {operators.DeadLetterFilter{Outcome: weir.Lost}, []weir.ContactID{list[4].ID, alone[0].ID}},
		"reason":  {operators.DeadLetterFilter{Reason: &reason}, []weir.ContactID{list[3].ID, list[2].ID, list[1].ID, list[0].ID}},
		"both":    {operators.DeadLetterFilter{Channel: a, Outcome: weir.Failed, Reason: &reason}, []weir.ContactID{list[3].ID, list[2].ID, list[1].ID, list[0].ID}},
		"none":    {operators.DeadLetterFilter{Channel: a, Outcome: weir.Lost, Reason: &reason}, nil},
		"later":   {operators.DeadLetterFilter{Since: now().Add(time.Hour)}, nil},
		"by now":  {operators.DeadLetterFilter{Since: begun, Until: now().Add(time.Hour), Channel: other}, []weir.ContactID{alone[0].ID}},
	} {
		for _, f.f.Limit = range []int{0, 1, 2} {
			same(t, name, refsOf(b.deadLetters(f.f)), f.want)
		}
	}
	groups := must[[]operators.DeadLetterGroup](t)(b.DeadGroups(b.ctx(), operators.DeadLetterFilter{}, 10))
	if len(groups) != 4 || groups[0].Count != 4 || groups[0].Reason != reason || groups[0].Channel != a || groups[0].Newest.Before(groups[0].Oldest) {
		t.Errorf("%+v", groups)
	}
	if _, _, err := b.DeadLetters(b.ctx(), operators.DeadLetterFilter{Cursor: "x"}); weir.CodeOf(err) != weir.CodeInvalid {
		t.Errorf("a cursor that is none: %v", err)
	}
	for o, want := range map[weir.Outcome]int{weir.Failed: 5, weir.Busy: 1, weir.Lost: 1} {
		for _, limit := range []int{1, 100} {
			if got := b.allPages(weir.ContactFilter{Channel: a, Outcome: o, Limit: limit}); len(got) != want || got[0].Outcome != o {
				t.Errorf("%d contacts ended as %s, want %d", len(got), o, want)
			}
		}
	}
	testRequeue(t, b, a, list)
	testDiscard(t, b, other, alone[0])
}

// testRequeue queues dead letters again: once, twice, two at once.
func testRequeue(t *testing.T, b *bench, a weir.ChannelID, list []weir.Contact) {
	t.Helper()
	waiting := must[int64](t)(b.QueuedCount(b.ctx(), a))
	ids := []weir.ContactID{list[0].ID, list[1].ID, list[0].ID, list[6].ID, 12345} // the same id twice, one contact that succeeded, one unknown id
	got := must[operators.Requeued](t)(b.Requeue(b.ctx(), a, ids, "me"))
	if len(got.Contacts) != 2 || got.Closed != 0 {
		t.Fatalf("%+v", got)
	}
	fresh, _ := b.read(got.Contacts[0].Ref)
	if fresh.State != weir.Queued || fresh.Key != operators.RequeueKey(list[0].Ref) || fresh.To != list[0].To || fresh.Messages[0] != list[0].Messages[0] || fresh.Attempt != 0 {
		t.Errorf("%+v", fresh)
	}
	b.wantQueued(a, waiting+2)
	after := must[operators.DeadLetterHistory](t)(b.History(b.ctx(), list[0].Ref))
	if after.Dead != nil || after.RequeuedAs != fresh.Ref || after.RequeuedBy != "me" || after.RequeuedAt != fresh.QueuedAt {
		t.Errorf("%+v", after)
	}
	if old, _ := b.read(list[0].Ref); old.State != weir.Done || old.Outcome != weir.Failed {
		t.Errorf("the old one: %+v", old)
	}
	if again := must[operators.Requeued](t)(b.Requeue(b.ctx(), a, ids, "me")); len(again.Contacts) != 0 {
		t.Errorf("again: %+v", again)
	}
	var done sync.WaitGroup
	var made [4]int
	for i := range made {
		done.Go(func() {
			r, err := b.Requeue(b.ctx(), a, []weir.ContactID{list[2].ID, list[3].ID, list[4].ID}, fmt.Sprint(i))
			if err != nil {
				t.Error(err)
			}
			made[i] = len(r.Contacts)
		})
	}
	done.Wait()
	if made[0]+made[1]+made[2]+made[3] != 3 {
		t.Errorf("four at once made %v", made)
	}
	b.wantQueued(a, waiting+5)
}

func testDiscard(t *testing.T, b *bench, channel weir.ChannelID, dead weir.Contact) {
	t.Helper()
	for _, want := range []int{1, 0} {
		if n := must[int](t)(b.Discard(b.ctx(), channel, []weir.ContactID{dead.ID, 99})); n != want {
			t.Errorf("%d discarded, want %d", n, want)
		}
	}
	if c, _ := b.read(dead.Ref); c.Outcome != weir.Lost {
		t.Errorf("%+v", c)
	}
	if got := must[operators.Requeued](t)(b.Requeue(b.ctx(), channel, []weir.ContactID{dead.ID}, "")); len(got.Contacts) != 0 {
		t.Errorf("requeued after it was discarded: %+v", got)
	}
}

// testDeadEnds covers a closed window, a channel that is being deleted, a message
// that was delivered after all, and retention.
func testDeadEnds(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	a, lease := b.owned("a")
	late := sms("late")
	late.NotAfter = now().Add(50 * time.Millisecond)
	list := b.accept(a, late, sms("amended"), sms("purged"), sms("fails meanwhile"))
	b.end(lease, weir.Lost, "", list[0])
	tr := claim(list[1], now())
	b.commitAll(lease, tr)
	p, _, err := tr.Contact.ReportPart(now(), 1, 0, weir.PartFailed)
	b.ok(err)
	p, err = p.Finish(now(), weir.Failed, "")
	failed := to(tr.Contact, p, err)
	b.commitAll(lease, failed)
	if n := len(b.deadLetters(operators.DeadLetterFilter{})); n != 2 {
		t.Errorf("%d dead letters", n)
	}
	if p, changed := failed.Contact.CorrectPart(0); !changed {
		t.Error("nothing to amend")
	} else {
		other := claim(list[3], now())
		b.commitAll(lease, other)
		fails, err := other.Contact.Finish(now(), weir.Failed, "")
		b.commitAll(lease, to(failed.Contact, p, nil), to(other.Contact, fails, err))
	}
	same(t, "after a failover", refsOf(b.deadLetters(operators.DeadLetterFilter{})), []weir.ContactID{list[3].ID, list[0].ID})
	for now().Before(late.NotAfter) {
		b.channel("a") // takes some time
	}
	if got := must[operators.Requeued](t)(b.Requeue(b.ctx(), a, []weir.ContactID{list[0].ID}, "")); got.Closed != 1 || len(got.Contacts) != 0 {
		t.Errorf("%+v", got)
	}
	b.end(lease, weir.Failed, "", list[2])
	must[operators.Requeued](t)(b.Requeue(b.ctx(), a, []weir.ContactID{list[2].ID}, ""))
	must[int](t)(b.Purge(b.ctx(), now().Add(time.Hour), 100))
	if after := must[operators.DeadLetterHistory](t)(b.History(b.ctx(), list[2].Ref)); !after.RequeuedAt.IsZero() || len(b.deadLetters(operators.DeadLetterFilter{})) != 0 {
		t.Errorf("after the retention: %+v", after)
	}
	_, err = b.Requeue(b.ctx(), 99, []weir.ContactID{1}, "")
	wantCode(t, err, weir.CodeNotFound)
}
