package storetest

import (
	"sync"
	"testing"

	"weir"
	"weir/events"
	"weir/persistence"
	"weir/surveys"
)

// testSurveyMembers lets two processes work on one survey at once: one adds and
// imports the same people that the other adds, and moves them.
func testSurveyMembers(t *testing.T, backend Backend) {
	if !backend.Members {
		return
	}
	url := backend.URL(t)
	one, two := benchOn(t, url, persistence.Options{}), benchOn(t, url, persistence.Options{})
	d := newSurveyBench(t, storesOf(one))
	v, channel := d.survey("a"), one.channel("c").ID
	var wg sync.WaitGroup
	fresh := make([]int, 2)
	for i, b := range []*bench{one, two} {
		wg.Go(func() {
			imp, err := b.BeginImport(b.ctx, v.ID)
			if err != nil {
				t.Error(err)
			}
			for n := range 20 {
				into := []int64{0, imp}[(n+i)%2]
				list := []surveys.Respondent{person(2*n, "m"), person(2*n+1, "f"), person(1000*(i+1)+n, "")}
				added, err := b.Add(b.ctx, v.ID, into, list)
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
			if err := b.CommitImport(b.ctx, v.ID, imp); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(d.everybody(v.ID)); n != fresh[0]+fresh[1] || n != 80 {
		t.Errorf("%d respondents, want 80; %v were added", n, fresh)
	}
	d.sums(v.ID)
	open, _, err := one.Contacts(one.ctx, weir.ContactFilter{Channel: channel, Limit: 1000})
	one.ok(err)
	active, _, err := one.Respondents(one.ctx, surveys.Filter{Survey: v.ID, Statuses: []surveys.Status{surveys.Active}, Limit: 1000})
	one.ok(err)
	if len(open) != len(active) || len(open) == 0 {
		t.Errorf("%d contacts for %d active respondents", len(open), len(active))
	}
	one.wantQueued(channel, int64(len(open)))
}

// workAll starts every respondent that can be started, unless another process is faster.
func workAll(t *testing.T, b *bench, survey int64, channel weir.ChannelID) {
	list, err := b.Startable(b.ctx, survey, now(), nil, 10)
	if err != nil {
		t.Error(err)
	}
	w := surveys.Work{Survey: survey}
	for _, r := range list {
		w.Moves = append(w.Moves, outreach(channel, r))
	}
	got, err := b.Work(b.ctx, w)
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
	_, err := b.Work(b.ctx, surveys.Work{Survey: v.ID, Moves: []surveys.Move{good, stale}})
	b.ok(err)
	late := v
	v.State = surveys.Running
	_, err = b.UpdateSurvey(b.ctx, v, event("launched"))
	b.ok(err)
	_, err = b.UpdateSurvey(b.ctx, late, event("too late"))
	wantCode(t, err, weir.CodeConflict)
	b.ok(b.SetChannelState(b.ctx, surveys.ChannelState{Channel: 1, Health: weir.Down, Since: now()}, []events.Event{event("down")}))
	told, err := b.EventsSince(b.ctx, 0, 10)
	b.ok(err)
	kinds := ""
	for _, e := range told {
		kinds += e.Type + " "
	}
	if kinds != "good launched down " {
		t.Errorf("told: %s", kinds)
	}
}
