package conformance

import (
	"reflect"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/events"
	"weir/surveys"
)

func aBrake() *weir.Brake {
	return &weir.Brake{Over: 50, OptedOut: 5, Reasons: map[string]int{"number not usable": 30}}
}

func aBraked() *weir.Braked {
	return &weir.Braked{
		At: time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC), Cause: weir.BrakeReason, Reason: "number not usable",
		Count: 9, Of: 20, Percent: 30, Touched: 340, Text: "paused itself: …",
	}
}

// testBrakes checks that a brake pauses its channel together with its event, and that only a
// resume deletes what it has done.
func testBrakes(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	act := func(want bool) {
		t.Helper()
		if acted := must[bool](t)(b.BrakeChannel(b.ctx(), c.ID, *aBraked())); acted != want {
			t.Errorf("it acted: %v, want %v", acted, want)
		}
	}
	update := func(change func(*weir.Channel)) weir.Channel {
		t.Helper()
		v := must[weir.Channel](t)(b.Channel(b.ctx(), "a"))
		change(&v)
		stored := must[weir.Channel](t)(b.UpdateChannel(b.ctx(), v))
		same(t, "as read", must[weir.Channel](t)(b.ChannelByID(b.ctx(), c.ID)), stored)
		return stored
	}
	act(false) // it has no brake
	was := update(func(c *weir.Channel) { c.Brake = aBrake() })
	same(t, "the brake", was.Brake, aBrake())
	act(true)
	act(false)
	v := must[weir.Channel](t)(b.Channel(b.ctx(), "a"))
	if !v.Paused || v.Version != was.Version+1 || !reflect.DeepEqual(v.Braked, aBraked()) || !reflect.DeepEqual(v.Settings, was.Settings) {
		t.Errorf("braked: %+v", v)
	}
	_, err := b.UpdateChannel(b.ctx(), was) // decided before
	wantCode(t, err, weir.CodeConflict)
	list := must[[]events.Event](t)(b.EventsSince(b.ctx(), 0, 10))
	if len(list) != 1 || list[0].Type != events.ChannelBraked || list[0].Subject != "channel/a" {
		t.Errorf("the events: %+v", list)
	}
	if v := update(func(c *weir.Channel) { c.Title = "x" }); !v.Paused || v.Braked == nil {
		t.Errorf("another change resumed it: %+v", v)
	}
	if v := update(func(c *weir.Channel) { c.Paused = false }); v.Braked != nil || v.Brake == nil {
		t.Errorf("resumed: %+v", v)
	}
	update(func(c *weir.Channel) { c.Paused = true })
	act(false) // an operator has paused it
	update(func(c *weir.Channel) { c.Paused = false })
	update(func(c *weir.Channel) { c.Deleting = true })
	act(false)
	_, err = b.BrakeChannel(b.ctx(), 999, *aBraked())
	wantCode(t, err, weir.CodeNotFound)
}

// testSurveyBrakes checks that a survey keeps its brake, and what it has done, beside its definition.
func testSurveyBrakes(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	v.State, v.Definition.Brake = surveys.Running, (*api.Brake)(aBrake())
	v, err := d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	v.State, v.Braked = surveys.Paused, aBraked()
	paused, err := d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	for _, read := range []surveys.Survey{paused, must[surveys.Survey](t)(d.Survey(d.ctx(), "a"))} {
		if !reflect.DeepEqual(read.Braked, aBraked()) || !reflect.DeepEqual(read.Definition.Brake, (*api.Brake)(aBrake())) {
			t.Errorf("braked: %+v", read)
		}
	}
	paused.State, paused.Braked = surveys.Running, nil
	resumed, err := d.UpdateSurvey(d.ctx(), paused)
	d.ok(err)
	if resumed.Braked != nil || resumed.Definition.Brake == nil {
		t.Errorf("resumed: %+v", resumed)
	}
}
