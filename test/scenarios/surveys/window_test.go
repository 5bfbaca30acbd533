package surveys_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenarios 23 and 24: a contact whose window closes while it is queued or while the
// provider has it is created again for the next window. It counts as no attempt and no
// retry, nothing was sent, and the next step is postponed.
func TestSurveyWindow_ExpiredComesAgain(t *testing.T) {
	for mode, c := range map[string]struct {
		channel, typ string
		key          func(survey, id string, n int) string
	}{
		"ivr": {"calls", "labcall", world.CallKey}, "sms": {"texts", "lab", world.TextKey},
	} {
		t.Run(mode, func(t *testing.T) {
			world.OnSurveysFrom(t, world.Monday(17, 50), func(w *world.World) {
				w.Channel(c.channel, 1, world.Fields{"type": c.typ})
				ids := w.LaunchSurvey("s", world.SurveyByMode(mode, "10m", []world.Fields{{"schedule": world.Daily("UTC", "09:00", "18:00")}}), 0, 3)
				w.Sent(1)
				w.Until("the second waits", func() bool { return waitingContacts(w, "s") == 1 })
				w.Wait(world.Monday(18, 0).Add(time.Second))
				if mode == "ivr" {
					w.Report(c.key("s", ids[0], 1), "all", "expired") // the provider had it in its queue
				} else {
					w.Report(c.key("s", ids[0], 1), "all", "completed")
				}
				w.Pass(5 * time.Second)
				again := map[string]bool{ids[1]: true}
				if mode == "ivr" {
					again[ids[0]] = true
				}
				for id := range again {
					p := w.Respondent("s", id)
					if p["status"] != "active" || p["disposition"] != "queued" || p["serial"] != 2.0 || w.AttemptsMade("s", id, mode) != 0 {
						t.Errorf("%v", p)
					}
					next := w.Contact(p["contact"].(string))
					if next["state"] != "queued" || !world.Instant(w, next, "not_before").Equal(world.Monday(33, 0)) || !world.Instant(w, next, "not_after").Equal(world.Monday(42, 0)) {
						t.Errorf("its next contact is %v", next)
					}
					if due := world.Instant(w, p, "due_at"); due.Before(world.Monday(42, 0)) {
						t.Errorf("its next step is due at %v", due)
					}
				}
				if got, ended := contactCount(w, "s", "queued"), outcomeCounts(w, "s"); got != len(again) || mode == "sms" && ended["sms completed"] != 1 {
					t.Errorf("%d contacts are queued; attempts that ended: %v", got, ended)
				}
				w.SkipTo(world.Monday(32, 59))
				w.Sent(1)
				w.Pass(time.Minute)
				w.Until("the second was tried", func() bool {
					w.Finish(w.Lab.OutKeys()...)
					return w.AttemptsMade("s", ids[1], mode) == 1
				})
				if n := w.Sends(c.key("s", ids[1], 1)); n != 1 {
					t.Errorf("its first attempt was made %d times", n)
				}
				if n := w.Sends(c.key("s", ids[0], 1)); mode == "ivr" && n != 2 {
					t.Errorf("the attempt that expired at the provider was made %d times, want once more", n)
				}
				w.ExpectNoFaults()
			})
		})
	}
}

// contactCount counts the contacts of a survey in a state.
func contactCount(w *world.World, survey, state string) int {
	w.Helper()
	n, cursor := 0, ""
	for {
		a := w.Want(200, "GET", "/v1/contacts?limit=1000&state="+state+"&survey="+survey+cursor, nil).Body
		n += len(a["contacts"].([]any))
		next, more := a["next_cursor"].(string)
		if !more {
			return n
		}
		cursor = "&cursor=" + next
	}
}

// outcomeCounts counts the attempts of a survey that ended, by mode and outcome.
func outcomeCounts(w *world.World, survey string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for _, a := range w.Want(200, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["attempts"].([]any) {
		a := a.(map[string]any)
		out[fmt.Sprint(a["mode"], " ", a["outcome"])] = int(a["count"].(float64))
	}
	return out
}

// Scenario 25: 1,600 contacts expire at once because the provider failed. All are created
// again for the next day, once each, no respondent is called meanwhile, and another
// survey on the channel, whose schedule closes later, continues.
func TestSurveyWindow_ManyThatExpireComeAgainOnceEach(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(17, 55), func(w *world.World) {
		const people = 1600
		w.Channel("calls", people, world.Fields{"type": "labcall"})
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, Reason: "unreachable", ChannelFault: true}
			}
		})
		w.LaunchSurvey("s", world.ByIVR("", world.Fields{"schedule": world.Daily("UTC", "09:00", "18:00")}), 0, people)
		w.Until("all are enqueued", func() bool { return contactCount(w, "s", "queued") == people })
		w.Wait(world.Monday(18, 0))
		w.Lab.Behave(func(l *world.Lab) { l.OnSend, l.Sends = nil, nil })
		w.LaunchSurvey("late", world.ByIVR("", world.Fields{"schedule": world.Daily("UTC", "09:00", "20:00")}), 5000, 50)
		w.Pass(10 * time.Minute)
		for _, key := range w.Lab.SentKeys() {
			if !strings.HasPrefix(key, world.CallURL("late/")) {
				t.Fatalf("%s after its window", key)
			}
		}
		if n := len(w.Lab.SentKeys()); n != 50 {
			t.Errorf("of the other survey %d were called, want 50", n)
		}
		w.Finish(w.Lab.OutKeys()...)
		if got, n := fmt.Sprint(w.StatusCounts("s")), contactCount(w, "s", "queued"); got != "map[active:1600]" || n != people {
			t.Errorf("%s, %d contacts are queued", got, n)
		}
		if n := contactCount(w, "s", "done"); n != people {
			t.Errorf("%d contacts have expired, want each of %d once", n, people)
		}
		if ended := outcomeCounts(w, "s"); ended["ivr expired"] != people || len(ended) != 1 {
			t.Errorf("attempts that ended: %v", ended)
		}
		w.SkipTo(world.Monday(32, 59))
		w.Sent(50)
		w.Wait(world.Monday(33, 1))
		w.Sent(50 + people)
		w.ExpectNoDuplicates()
		w.ExpectNoFaults()
	})
}

// Scenario 26: an invitation to the mobile web that waits at the end of the day is
// held until the next day, although its turn would come in the evening.
func TestSurveyWindow_InvitationsKeepToTheWindow(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(17, 59), func(w *world.World) {
		w.Channel("links", 1)
		w.Accept("links", world.SMS("other"))
		w.Speaks("other")
		id := w.LaunchSurvey("s", world.SurveyBody([]string{"mobileweb"}, world.Fields{"schedule": world.Daily("UTC", "09:00", "18:00")}), 0, 1)[0]
		w.Until("the invitation waits", func() bool { return waitingContacts(w, "s") == 1 })
		w.Wait(world.Monday(19, 0))
		w.Finish("other")
		w.Pass(10 * time.Minute)
		w.Sent(1)
		w.SkipTo(world.Monday(32, 59))
		w.Sent(1)
		invited := w.Speaks(world.LinkKey("s", id, 1))
		if invited.At.Before(world.Monday(33, 0)) || invited.At.After(world.Monday(33, 0).Add(time.Second)) {
			t.Errorf("it was sent at %v", invited.At)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 27: weekdays, blocked days and hours are in the schedule's zone.
func TestSurveyWindow_TheZoneDecides(t *testing.T) {
	schedule := func(days []string, blocked ...string) world.Fields {
		blocked = append([]string{"2025-12-25"}, blocked...)
		s := world.Daily("America/Mexico_City", "00:00", "24:00")
		s["weekdays"], s["blocked_days"] = days, blocked
		return world.Fields{"schedule": s}
	}
	wednesday := []string{"wed"}
	thursday := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at       time.Time
		schedule world.Fields
		opens    time.Time
	}{
		"still Wednesday there":   {thursday.Add(time.Hour), schedule(wednesday), thursday.Add(time.Hour)},
		"Thursday there":          {thursday.Add(6 * time.Hour), schedule(wednesday), thursday.AddDate(0, 0, 6).Add(6 * time.Hour)},
		"the last moment":         {thursday.Add(6*time.Hour - time.Minute), schedule(wednesday), thursday.Add(6*time.Hour - time.Minute)},
		"not yet Wednesday":       {thursday.Add(-19 * time.Hour), schedule(wednesday), thursday.Add(-18 * time.Hour)},
		"blocked there":           {thursday.Add(time.Hour), schedule(wednesday, "2026-01-14"), thursday.AddDate(0, 0, 6).Add(6 * time.Hour)},
		"blocked here, not there": {thursday.Add(time.Hour), schedule(wednesday, "2026-01-15"), thursday.Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			world.OnSurveysFrom(t, c.at, func(w *world.World) {
				w.Channel("calls", 5, world.Fields{"type": "labcall"})
				w.LaunchSurvey("s", world.ByIVR("", c.schedule), 0, 2)
				if c.opens.Equal(c.at) {
					w.Sent(2)
					return
				}
				stats := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body
				if at := world.Instant(w, stats["window"].(map[string]any), "opens_at"); stats["open"] != false || !at.Equal(c.opens) {
					t.Errorf("open: %v; it opens at %v, want %v", stats["open"], at, c.opens)
				}
				w.Pass(20 * time.Minute)
				w.Sent(0)
				if until := time.Until(c.opens); until < 2*time.Hour {
					w.Pass(until - time.Second)
					w.Sent(0)
					w.Pass(2 * time.Second)
					w.Sent(2)
				}
			})
		})
	}
}

// Scenario 28: a window that ends in a local hour which is skipped or repeated
// ends at a defined instant, and the survey continues in the next window.
func TestSurveyWindow_EndsAtADefinedInstantWhenClocksChange(t *testing.T) {
	for name, c := range map[string]struct{ opens, closes, next time.Time }{
		"skipped": { // 02:30 does not exist: the clocks go from 02:00 to 03:00
			time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 23, 0, 0, 0, time.UTC),
		},
		"repeated": { // 02:30 occurs twice: the first counts
			time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, 10, 26, 0, 0, 0, 0, time.UTC),
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.OnSurveysFrom(t, c.closes.Add(-15*time.Minute), func(w *world.World) {
				w.Channel("calls", 1, world.Fields{"type": "labcall"})
				ids := w.LaunchSurvey("s", world.ByIVR("", world.Fields{"schedule": world.Daily("Europe/Berlin", "01:00", "02:30")}), 0, 2)
				w.Sent(1)
				w.Until("the second waits", func() bool { return waitingContacts(w, "s") == 1 })
				window := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body["window"].(map[string]any)
				if opens, closes := world.Instant(w, window, "opens_at"), world.Instant(w, window, "closes_at"); !opens.Equal(c.opens) || !closes.Equal(c.closes) {
					t.Errorf("the window is from %v to %v, want %v to %v", opens, closes, c.opens, c.closes)
				}
				if at := world.Instant(w, w.Contact(w.Respondent("s", ids[1])["contact"].(string)), "not_after"); !at.Equal(c.closes) {
					t.Errorf("the contact may be made until %v", at)
				}
				w.Wait(c.closes.Add(time.Second))
				w.Finish(world.CallKey("s", ids[0], 1))
				w.Pass(time.Minute)
				w.Sent(1)
				w.SkipTo(c.next.Add(-time.Second))
				w.Sent(1)
				w.Pass(2 * time.Second)
				w.Sent(2)
				w.ExpectNoFaults()
			})
		})
	}
}
