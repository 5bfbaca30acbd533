package demo

import (
	"fmt"
	"time"

	"weir/client"
)

// survey is one of the surveys.
type survey struct {
	name   string
	title  string
	people []person
	quotas map[string]int // by region; empty: no quotas
	flawed bool           // its file has mistakes
	calls  string         // its channel for calls
	texts  string         // its channel for messages
	silent bool           // it makes no calls
	asks   bool           // Weir asks its questions, by message
	judged bool           // the conversations of such a one
	// patience is the least time that a message waits for an answer. An answer may be held up
	// while the owner of the database changes, and must not come too late for that.
	patience time.Duration

	stats client.StatsView // as of the last poll
}

// cutoff returns the sum of the quotas.
func (s *survey) cutoff() int {
	sum := 0
	for _, n := range s.quotas {
		sum += n
	}
	return sum
}

// definition returns the survey in Weir's format. Its windows are always open, and its
// delays are seconds; in production they are hours and days.
func (s *survey) definition(p pace, app *application) map[string]any {
	if s.asks {
		return map[string]any{
			"title": s.title, "schedule": alwaysOpen(), "arms": []map[string]any{{"modes": []string{"sms"}}}, "questions": questionnaire(),
			"modes": map[string]any{"sms": map[string]string{"channel": s.texts, "retries": p.delay(p.atLeast(patientFor, patientFor))}},
		}
	}
	order := []string{"ivr", "sms"}
	modes := map[string]any{"sms": map[string]string{"channel": s.texts, "retries": pace{1}.delay(p.atLeast(s.patience, 3*time.Second))}}
	questions := map[string]any{"sms": []any{map[string]any{"messages": []string{"Hello {{first_name}}, a question about " + s.title + ": is it good in {{region}}? Answer 1 for yes, 2 for no, STOP to hear no more."}}}}
	if s.silent {
		order = []string{"sms"}
	} else {
		modes["ivr"] = map[string]string{"channel": s.calls, "retries": p.delay(time.Second) + " " + p.delay(2*time.Second)}
		questions["ivr"] = []any{map[string]any{"call": map[string]string{"callback_url": app.url + callPath + "?survey={{survey}}&respondent={{respondent}}"}}}
	}
	d := map[string]any{
		"title": s.title, "schedule": alwaysOpen(),
		"modes": modes, "arms": []map[string]any{{"modes": order}}, "questionnaires": map[string]any{"main": questions},
		"fallback_delay": p.delay(time.Second), "limit_per_minute": maxRespondents,
		"application": map[string]string{"url": app.url + messagePath, "secret": app.secret},
	}
	var quotas []map[string]any
	for _, region := range regions() {
		if n := s.quotas[region]; n > 0 {
			quotas = append(quotas, map[string]any{"where": map[string]any{"region": map[string]any{"in": []string{region}}}, "quota": n})
		}
	}
	if quotas != nil {
		d["quotas"] = quotas
	}
	return d
}

func alwaysOpen() map[string]any {
	return map[string]any{
		"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
		"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
	}
}

// finishedRespondents returns how many of a survey's respondents have a final status.
func (s *survey) finishedRespondents() int {
	return s.stats.Respondents - s.stats.Statuses["pending"] - s.stats.Statuses["active"]
}

func (s *survey) gauge() gauge {
	return gauge{name: s.name, n: s.finishedRespondents(), all: len(s.people), text: fmt.Sprintf("%s of %s final, %s completed, %s active",
		number(s.finishedRespondents()), number(len(s.people)), number(s.stats.Dispositions["completed"]), number(s.stats.Statuses["active"]))}
}
