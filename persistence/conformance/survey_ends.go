package conformance

import (
	"sync"
	"testing"
	"time"

	"weir"
	"weir/events"
	"weir/surveys"
)

// testEnds checks that operations in progress when a survey ends leave no respondent in it.
func testEnds(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	imp, err := d.BeginImport(d.ctx(), v.ID)
	d.ok(err)
	_, err = d.Add(d.ctx(), v.ID, imp, []surveys.Respondent{person(1, "m")})
	d.ok(err)
	for _, state := range []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping} {
		v.State = state
		v, err = d.UpdateSurvey(d.ctx(), v)
		d.ok(err)
		// A caller checks the state before it deletes; the survey may have been launched since.
		wantCode(t, d.RemoveSurvey(d.ctx(), v.ID), weir.CodeConflict)
	}
	v.State = surveys.Done
	v, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	_, err = d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{person(2, "f")})
	wantCode(t, err, weir.CodeConflict)
	_, err = d.Add(d.ctx(), v.ID, imp, []surveys.Respondent{person(3, "f")})
	wantCode(t, err, weir.CodeConflict)
	wantCode(t, d.CommitImport(d.ctx(), v.ID, imp), weir.CodeConflict)
	_, err = d.BeginImport(d.ctx(), v.ID)
	wantCode(t, err, weir.CodeConflict)
	d.ok(d.AbortImport(d.ctx(), v.ID, imp))
	if n := len(d.everybody(v.ID)); n != 0 {
		t.Errorf("%d respondents came after the end", n)
	}
	d.ok(d.RemoveSurvey(d.ctx(), v.ID))
}

// testLock checks that a lock that was stored is not overtaken by a change that was decided
// before it, and that a locked survey stays when it is done.
func testLock(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	v.State = surveys.Running
	running, err := d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	v = running
	v.Locked = true
	locked, err := d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	running.State = surveys.Stopping
	_, err = d.UpdateSurvey(d.ctx(), running)
	wantCode(t, err, weir.CodeConflict)
	if read, err := d.Survey(d.ctx(), "a"); err != nil || !read.Locked || read.State != surveys.Running {
		t.Errorf("the locked survey as read: %+v (%v)", read, err)
	}
	locked.State = surveys.Done
	done, err := d.UpdateSurvey(d.ctx(), locked)
	d.ok(err)
	wantCode(t, d.RemoveSurvey(d.ctx(), v.ID), weir.CodeLocked)
	done.Locked = false
	_, err = d.UpdateSurvey(d.ctx(), done)
	d.ok(err)
	d.ok(d.RemoveSurvey(d.ctx(), v.ID))
}

// testReady reads how many slots wait on a channel: of some lanes and of all
// others, without blocked contacts and without delayed ones.
func testReady(t *testing.T, d *surveyBench) {
	v, channel := d.survey("a"), d.Channel(t, "c")
	enqueue := func(phone int, survey string, size int, notBefore time.Time) {
		t.Helper()
		m := outreach(channel, d.people(v.ID, phone, 1)[0])
		m.Enqueue.Survey, m.Enqueue.NotBefore, m.Enqueue.Messages = survey, notBefore, make([]string, size)
		d.work(v.ID, m)
	}
	ready := func(lanes []weir.Lane, largest int, want surveys.Ready) {
		t.Helper()
		if got, err := d.ReadySlots(d.ctx(), channel, lanes, largest, 10); err != nil || got != want {
			t.Errorf("%+v are ready, want %+v (%v)", got, want, err)
		}
	}
	a := []weir.Lane{weir.LaneOf(weir.High, "a"), weir.LaneOf(weir.Normal, "a")}
	ready(a, 9, surveys.Ready{})
	enqueue(1, "a", 1, time.Time{})
	enqueue(2, "a", 1, time.Time{})
	ready(nil, 9, surveys.Ready{Others: 2})
	ready(a, 9, surveys.Ready{Ours: 2})
	if got, err := d.ReadySlots(d.ctx(), channel, a, 9, 1); err != nil || got.Ours != 1 {
		t.Errorf("%+v are ready within the limit, want one (%v)", got, err)
	}
	enqueue(3, "b", 14, time.Time{})
	enqueue(4, "b", 3, time.Time{})
	enqueue(5, "b", 1, now().Add(time.Hour))
	ready(a, 9, surveys.Ready{Ours: 2, Others: 3})
	ready(a, 14, surveys.Ready{Ours: 2, Others: 17})
	enqueue(6, "c", 14, time.Time{})
	enqueue(7, "c", 1, time.Time{})
	if got, err := d.ReadySlots(d.ctx(), channel, []weir.Lane{weir.LaneOf(weir.High, "c"), weir.LaneOf(weir.Normal, "c")}, 9, 1); err != nil || got.Ours != 1 {
		t.Errorf("%+v are ready behind a blocked contact, want one (%v)", got, err)
	}
}

// testSurveysAtOnce lets two clients work on one survey at once: one adds and
// imports the same people that the other adds, and moves them.
func testSurveysAtOnce(t *testing.T, backend Backend) {
	one := newBench(t, backend)
	d := newSurveyBench(t, storesOf(one))
	v, channel := d.survey("a"), one.channel("c").ID
	var wg sync.WaitGroup
	fresh := make([]int, 2)
	for i, b := range []*bench{one, one} {
		wg.Go(func() {
			imp, err := b.BeginImport(b.ctx(), v.ID)
			if err != nil {
				t.Error(err)
			}
			for n := range 20 {
				into := []int64{0, imp}[(n+i)%2]
				list := []surveys.Respondent{person(2*n, "m"), person(2*n+1, "f"), person(1000*(i+1)+n, "")}
				added, err := b.Add(b.ctx(), v.ID, into, list)
				if err != nil {
					t.Error(err)
					return
				}
				for _, a := range added {
					if !a.Duplicate {
						fresh[i]++
					}
				}
				workAll(t, b, v.ID, channel)
			}
			if err := b.CommitImport(b.ctx(), v.ID, imp); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(d.everybody(v.ID)); n != fresh[0]+fresh[1] || n != 80 {
		t.Errorf("%d respondents, want 80; %v were added", n, fresh)
	}
	d.sums(v.ID)
	open, _, err := one.Contacts(one.ctx(), weir.ContactFilter{Channel: channel, Limit: 1000})
	one.ok(err)
	active, _, err := one.Respondents(one.ctx(), surveys.Filter{Survey: v.ID, Statuses: []surveys.Status{surveys.Active}, Limit: 1000})
	one.ok(err)
	if len(open) != len(active) || len(open) == 0 {
		t.Errorf("%d contacts for %d active respondents", len(open), len(active))
	}
	one.wantQueued(channel, int64(len(open)))
}

// workAll starts every respondent that can be started, unless another client is faster.
func workAll(t *testing.T, b *bench, survey int64, channel weir.ChannelID) {
	list, err := b.Startable(b.ctx(), survey, now(), nil, 10)
	if err != nil {
		t.Error(err)
	}
	w := surveys.Work{Survey: survey}
	for _, r := range list {
		w.Moves = append(w.Moves, outreach(channel, r))
	}
	got, err := b.Work(b.ctx(), w)
	if err != nil || len(got.Refused) > 0 || len(got.Contacts)+len(got.Stale) != len(w.Moves) {
		t.Errorf("written %+v (%v)", got, err)
	}
}

// testSurveyEvents checks that events are written together with the changes that they report.
func testSurveyEvents(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	d := newSurveyBench(t, storesOf(b))
	v := d.survey("a")
	list := d.people(v.ID, 1, 2)
	event := func(kind string) events.Event {
		return events.Event{Type: kind, Source: "surveys", Subject: "s", At: now(), Data: []byte(`{}`)}
	}
	good, stale := activate(list[0], now()), activate(list[1], now())
	stale.Was.Rev, stale.Is.Rev = 5, 6
	good.Events, stale.Events = []events.Event{event("good")}, []events.Event{event("stale")}
	_, err := b.Work(b.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{good, stale}})
	b.ok(err)
	late := v
	v.State = surveys.Running
	_, err = b.UpdateSurvey(b.ctx(), v, event("launched"))
	b.ok(err)
	_, err = b.UpdateSurvey(b.ctx(), late, event("too late"))
	wantCode(t, err, weir.CodeConflict)
	b.ok(b.SetChannelState(b.ctx(), surveys.ChannelState{Channel: 1, Health: weir.Down, Since: now()}, []events.Event{event("down")}))
	told, err := b.EventsSince(b.ctx(), 0, 10)
	b.ok(err)
	kinds := ""
	for _, e := range told {
		kinds += e.Type + " "
	}
	if kinds != "good launched down " {
		t.Errorf("told: %s", kinds)
	}
}
