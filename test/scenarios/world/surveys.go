package world

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels"
	"weir/persistence/testmysql"
)

// surveyTiming configures how a world runs surveys.
type surveyTiming struct {
	Every time.Duration // the longest pause between rounds
	Check time.Duration // between checks of channels
}

// OnSurveys plays a scenario of surveys on both stores.
func OnSurveys(t *testing.T, play func(*World)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		inSurveyBubble(t, time.Time{}, play)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		w := NewWorld(t, testmysql.URL(t))
		w.Timing = &surveyTiming{Every: 5 * time.Second, Check: 5 * time.Minute}
		w.Begin()
		play(w)
	})
}

// OnSurveysFrom plays a scenario of surveys in virtual time, from an instant on.
func OnSurveysFrom(t *testing.T, from time.Time, play func(*World)) {
	t.Parallel()
	inSurveyBubble(t, from, play)
}

// Monday returns an instant of a day on which only the scenario's own events happen.
func Monday(hour, minute int) time.Time { return time.Date(2026, 1, 12, hour, minute, 0, 0, time.UTC) }

func inSurveyBubble(t *testing.T, from time.Time, play func(*World)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		time.Sleep(time.Until(from))
		w := NewWorld(t, "sqlite://:memory:")
		w.Virtual = true
		// Periodic polls are expensive in a virtual day, so they are rare here; everything
		// that matters is signaled.
		w.Timing = &surveyTiming{Every: 10 * time.Minute, Check: 5 * time.Minute}
		w.Core.ReconcileEvery = 10 * time.Minute
		w.Begin()
		play(w)
	})
}

// Always returns a schedule that is always open.
func Always() Fields { return Daily("UTC", "00:00", "24:00") }

// Daily returns a schedule that is open every day from one local time to another.
func Daily(zone, from, to string) Fields {
	return Fields{
		"time_zone": zone, "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
		"windows": []Fields{{"from": from, "to": to}},
	}
}

// SurveyBody returns the body of a survey that tries modes one after the other, each over
// a channel: sms over texts, ivr over calls, mobileweb over links. The lab identifies
// its contacts by the keys that textKey, callKey and linkKey return.
func SurveyBody(modes []string, more ...Fields) Fields {
	channel := map[string]string{"sms": "texts", "ivr": "calls", "mobileweb": "links"}
	content := map[string]Fields{
		"sms":       {"messages": []string{"{{survey}} {{respondent}} {{attempt}}"}},
		"ivr":       {"call": Fields{"callback_url": CallURL("{{survey}}/{{respondent}}/{{attempt}}")}},
		"mobileweb": {"messages": []string{"link {{survey}} {{respondent}} {{attempt}}"}},
	}
	used, words := Fields{}, Fields{}
	for _, m := range modes {
		used[m], words[m] = Fields{"channel": channel[m]}, []Fields{content[m]}
	}
	body := Fields{"schedule": Always(), "modes": used, "arms": []Fields{{"modes": modes}}, "questionnaires": Fields{"q": words}}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return body
}

// BySMS returns a survey by text with a retry schedule.
func BySMS(retries string, more ...Fields) Fields { return SurveyByMode("sms", retries, more) }

// ByIVR returns a survey by calls with a retry schedule.
func ByIVR(retries string, more ...Fields) Fields { return SurveyByMode("ivr", retries, more) }

func SurveyByMode(mode, retries string, more []Fields) Fields {
	body := SurveyBody([]string{mode}, more...)
	RetrySchedule(body, mode, retries)
	return body
}

// RetrySchedule sets the retries of a mode.
func RetrySchedule(body Fields, mode, retries string) {
	body["modes"].(Fields)[mode].(Fields)["retries"] = retries
}

func TextKey(survey, respondent string, attempt int) string {
	return fmt.Sprintf("%s %s %d", survey, respondent, attempt)
}

func LinkKey(survey, respondent string, attempt int) string {
	return "link " + TextKey(survey, respondent, attempt)
}

func CallKey(survey, respondent string, attempt int) string {
	return CallURL(fmt.Sprintf("%s/%s/%d", survey, respondent, attempt))
}

// Number returns a phone number.
func Number(n int) string { return "+1202" + strconv.Itoa(2000000+n) }

func sendAndEnd(w *World, of func(LabAttempt) (time.Duration, string)) func(context.Context, LabAttempt) channels.SendResult {
	return func(_ context.Context, a LabAttempt) channels.SendResult {
		sent := w.Lab.Take(a)
		if after, outcome := of(a); outcome != "" {
			w.afterFunc(after, func() { w.ReportAttempt(a, "all", outcome) })
		}
		return sent
	}
}
