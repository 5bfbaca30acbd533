package storetest

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

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
		if got, err := d.ReadySlots(d.ctx, channel, lanes, largest, 10); err != nil || got != want {
			t.Errorf("%+v are ready, want %+v (%v)", got, want, err)
		}
	}
	a := []weir.Lane{weir.LaneOf(weir.High, "a"), weir.LaneOf(weir.Normal, "a")}
	ready(a, 9, surveys.Ready{})
	enqueue(1, "a", 1, time.Time{})
	enqueue(2, "a", 1, time.Time{})
	ready(nil, 9, surveys.Ready{Others: 2})
	ready(a, 9, surveys.Ready{Ours: 2})
	if got, err := d.ReadySlots(d.ctx, channel, a, 9, 1); err != nil || got.Ours != 1 {
		t.Errorf("%+v are ready within the limit, want one (%v)", got, err)
	}
	enqueue(3, "b", 14, time.Time{})
	enqueue(4, "b", 3, time.Time{})
	enqueue(5, "b", 1, now().Add(time.Hour))
	ready(a, 9, surveys.Ready{Ours: 2, Others: 3})
	ready(a, 14, surveys.Ready{Ours: 2, Others: 17})
	enqueue(6, "c", 14, time.Time{})
	enqueue(7, "c", 1, time.Time{})
	if got, err := d.ReadySlots(d.ctx, channel, []weir.Lane{weir.LaneOf(weir.High, "c"), weir.LaneOf(weir.Normal, "c")}, 9, 1); err != nil || got.Ours != 1 {
		t.Errorf("%+v are ready behind a blocked contact, want one (%v)", got, err)
	}
}
