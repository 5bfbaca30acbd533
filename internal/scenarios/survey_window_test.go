package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/channels"
)

// Scenarios 23 and 24: a contact whose window closes while it is queued or while the
// provider has it is created again for the next window. It counts as no attempt and no
// retry, nothing was sent, and the next step is postponed.
func TestSurveyWindow_ExpiredComesAgain(t *testing.T) {
	for mode, c := range map[string]struct {
		channel, typ string
		key          func(survey, id string, n int) string
	}{
		"ivr": {"calls", "labcall", callKey}, "sms": {"texts", "lab", textKey},
	} {
		t.Run(mode, func(t *testing.T) {
			onSurveysFrom(t, monday(17, 50), func(w *world) {
				w.channel(c.channel, 1, fields{"type": c.typ})
				ids := w.launchSurvey("s", surveyByMode(mode, "10m", []fields{{"schedule": daily("UTC", "09:00", "18:00")}}), 0, 3)
				w.sent(1)
				w.until("the second waits", func() bool { return w.waitingContacts("s") == 1 })
				w.wait(monday(18, 0).Add(time.Second))
				if mode == "ivr" {
					w.report(c.key("s", ids[0], 1), "all", "expired") // the provider had it in its queue
				} else {
					w.report(c.key("s", ids[0], 1), "all", "completed")
				}
				w.pass(5 * time.Second)
				again := map[string]bool{ids[1]: true}
				if mode == "ivr" {
					again[ids[0]] = true
				}
				for id := range again {
					p := w.respondent("s", id)
					if p["status"] != "active" || p["disposition"] != "queued" || p["serial"] != 2.0 || w.attemptsMade("s", id, mode) != 0 {
						t.Errorf("%v", p)
					}
					next := w.contact(p["contact"].(string))
					if next["state"] != "queued" || !instant(w, next, "not_before").Equal(monday(33, 0)) || !instant(w, next, "not_after").Equal(monday(42, 0)) {
						t.Errorf("its next contact is %v", next)
					}
					if due := instant(w, p, "due_at"); due.Before(monday(42, 0)) {
						t.Errorf("its next step is due at %v", due)
					}
				}
				if got, ended := w.contactCount("s", "queued"), w.outcomeCounts("s"); got != len(again) || mode == "sms" && ended["sms completed"] != 1 {
					t.Errorf("%d contacts are queued; attempts that ended: %v", got, ended)
				}
				w.skipTo(monday(32, 59))
				w.sent(1)
				w.pass(time.Minute)
				w.until("the second was tried", func() bool {
					w.finish(w.lab.outKeys()...)
					return w.attemptsMade("s", ids[1], mode) == 1
				})
				if n := w.sends(c.key("s", ids[1], 1)); n != 1 {
					t.Errorf("its first attempt was made %d times", n)
				}
				if n := w.sends(c.key("s", ids[0], 1)); mode == "ivr" && n != 2 {
					t.Errorf("the attempt that expired at the provider was made %d times, want once more", n)
				}
				w.expectNoFaults()
			})
		})
	}
}

// contactCount counts the contacts of a survey in a state.
func (w *world) contactCount(survey, state string) int {
	w.Helper()
	n, cursor := 0, ""
	for {
		a := w.want(200, "GET", "/v1/contacts?limit=1000&state="+state+"&survey="+survey+cursor, nil).Body
		n += len(a["contacts"].([]any))
		next, more := a["next_cursor"].(string)
		if !more {
			return n
		}
		cursor = "&cursor=" + next
	}
}

// outcomeCounts counts the attempts of a survey that ended, by mode and outcome.
func (w *world) outcomeCounts(survey string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for _, a := range w.want(200, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["attempts"].([]any) {
		a := a.(map[string]any)
		out[fmt.Sprint(a["mode"], " ", a["outcome"])] = int(a["count"].(float64))
	}
	return out
}

// Scenario 25: 1,600 contacts expire at once because the provider failed. All are created
// again for the next day, once each, no respondent is called meanwhile, and another
// survey on the channel, whose schedule closes later, continues.
func TestSurveyWindow_ManyThatExpireComeAgainOnceEach(t *testing.T) {
	onSurveysFrom(t, monday(17, 55), func(w *world) {
		const people = 1600
		w.channel("calls", people, fields{"type": "labcall"})
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, Reason: "unreachable", ChannelFault: true}
			}
		})
		w.launchSurvey("s", byIVR("", fields{"schedule": daily("UTC", "09:00", "18:00")}), 0, people)
		w.until("all are enqueued", func() bool { return w.contactCount("s", "queued") == people })
		w.wait(monday(18, 0))
		w.lab.behave(func(l *lab) { l.onSend, l.sends = nil, nil })
		w.launchSurvey("late", byIVR("", fields{"schedule": daily("UTC", "09:00", "20:00")}), 5000, 50)
		w.pass(10 * time.Minute)
		for _, key := range w.lab.sentKeys() {
			if !strings.HasPrefix(key, callURL("late/")) {
				t.Fatalf("%s after its window", key)
			}
		}
		if n := len(w.lab.sentKeys()); n != 50 {
			t.Errorf("of the other survey %d were called, want 50", n)
		}
		w.finish(w.lab.outKeys()...)
		if got, n := fmt.Sprint(w.statusCounts("s")), w.contactCount("s", "queued"); got != "map[active:1600]" || n != people {
			t.Errorf("%s, %d contacts are queued", got, n)
		}
		if n := w.contactCount("s", "done"); n != people {
			t.Errorf("%d contacts have expired, want each of %d once", n, people)
		}
		if ended := w.outcomeCounts("s"); ended["ivr expired"] != people || len(ended) != 1 {
			t.Errorf("attempts that ended: %v", ended)
		}
		w.skipTo(monday(32, 59))
		w.sent(50)
		w.wait(monday(33, 1))
		w.sent(50 + people)
		w.expectNoDuplicates()
		w.expectNoFaults()
	})
}

// Scenario 26: an invitation to the mobile web that waits at the end of the day is
// held until the next day, although its turn would come in the evening.
func TestSurveyWindow_InvitationsKeepToTheWindow(t *testing.T) {
	onSurveysFrom(t, monday(17, 59), func(w *world) {
		w.channel("links", 1)
		w.accept("links", sms("other"))
		w.speaks("other")
		id := w.launchSurvey("s", surveyBody([]string{"mobileweb"}, fields{"schedule": daily("UTC", "09:00", "18:00")}), 0, 1)[0]
		w.until("the invitation waits", func() bool { return w.waitingContacts("s") == 1 })
		w.wait(monday(19, 0))
		w.finish("other")
		w.pass(10 * time.Minute)
		w.sent(1)
		w.skipTo(monday(32, 59))
		w.sent(1)
		invited := w.speaks(linkKey("s", id, 1))
		if invited.at.Before(monday(33, 0)) || invited.at.After(monday(33, 0).Add(time.Second)) {
			t.Errorf("it was sent at %v", invited.at)
		}
		w.expectNoFaults()
	})
}

// Scenario 27: weekdays, blocked days and hours are in the schedule's zone.
func TestSurveyWindow_TheZoneDecides(t *testing.T) {
	schedule := func(days []string, blocked ...string) fields {
		blocked = append([]string{"2025-12-25"}, blocked...)
		s := daily("America/Mexico_City", "00:00", "24:00")
		s["weekdays"], s["blocked_days"] = days, blocked
		return fields{"schedule": s}
	}
	wednesday := []string{"wed"}
	thursday := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at       time.Time
		schedule fields
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
			onSurveysFrom(t, c.at, func(w *world) {
				w.channel("calls", 5, fields{"type": "labcall"})
				w.launchSurvey("s", byIVR("", c.schedule), 0, 2)
				if c.opens.Equal(c.at) {
					w.sent(2)
					return
				}
				stats := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body
				if at := instant(w, stats["window"].(map[string]any), "opens_at"); stats["open"] != false || !at.Equal(c.opens) {
					t.Errorf("open: %v; it opens at %v, want %v", stats["open"], at, c.opens)
				}
				w.pass(20 * time.Minute)
				w.sent(0)
				if until := time.Until(c.opens); until < 2*time.Hour {
					w.pass(until - time.Second)
					w.sent(0)
					w.pass(2 * time.Second)
					w.sent(2)
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
			onSurveysFrom(t, c.closes.Add(-15*time.Minute), func(w *world) {
				w.channel("calls", 1, fields{"type": "labcall"})
				ids := w.launchSurvey("s", byIVR("", fields{"schedule": daily("Europe/Berlin", "01:00", "02:30")}), 0, 2)
				w.sent(1)
				w.until("the second waits", func() bool { return w.waitingContacts("s") == 1 })
				window := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body["window"].(map[string]any)
				if opens, closes := instant(w, window, "opens_at"), instant(w, window, "closes_at"); !opens.Equal(c.opens) || !closes.Equal(c.closes) {
					t.Errorf("the window is from %v to %v, want %v to %v", opens, closes, c.opens, c.closes)
				}
				if at := instant(w, w.contact(w.respondent("s", ids[1])["contact"].(string)), "not_after"); !at.Equal(c.closes) {
					t.Errorf("the contact may be made until %v", at)
				}
				w.wait(c.closes.Add(time.Second))
				w.finish(callKey("s", ids[0], 1))
				w.pass(time.Minute)
				w.sent(1)
				w.skipTo(c.next.Add(-time.Second))
				w.sent(1)
				w.pass(2 * time.Second)
				w.sent(2)
				w.expectNoFaults()
			})
		})
	}
}
