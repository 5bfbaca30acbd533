package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// surveyOf returns the definition of a survey on a channel. Its messages are the texts of
// a workload: the import gives each respondent a number.
func surveyOf(channel string, began time.Time) map[string]any {
	text := strings.Replace(judge.Text(0, 0, began), "0", "{{number}}", 1)
	return map[string]any{
		"schedule": map[string]any{
			"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
			"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
		},
		"modes": map[string]any{"sms": map[string]string{"channel": channel}},
		"arms":  []map[string]any{{"modes": []string{"sms"}}},
		"questionnaires": map[string]any{"bench": map[string]any{
			"sms": []map[string]any{{"messages": []string{text}}},
		}},
		"limit_per_minute": 1_000_000, "batch_size": 1_000_000,
	}
}

// survey measures a survey from its launch until it is done. Each message fails at the
// provider, which ends its respondent: no retry and no answer is waited for.
func (m measurement) survey(ctx context.Context) (Figures, error) {
	w, f := m.w, figuresOf(m.w)
	s, ok := m.s.(*httpSubject)
	if !ok {
		return f, errors.New("a survey is measured over HTTP")
	}
	if err := m.p.Reset(ctx, provider.Run{Expectation: w.Expectation(), Delay: w.Delay, Answer: w.Answer, Fails: true}); err != nil {
		return f, err
	}
	path := "/v1/surveys/" + s.prefix
	if err := s.do(ctx, http.MethodPut, path, surveyOf(s.channel(0), time.Now()), nil); err != nil {
		return f, err
	}
	began := time.Now()
	if err := s.importRespondents(ctx, path, w.N); err != nil {
		return f, err
	}
	f.EnqueuePS = float64(w.N) / time.Since(began).Seconds()
	_, _, err := m.conduct(ctx, s, path, &f)
	return f, err
}

// conduct launches a survey, waits until it is done, and writes the rate, what it has cost and the faults into the figures.
func (m measurement) conduct(ctx context.Context, s *httpSubject, path string, f *Figures) (seen judge.Seen, launched time.Time, _ error) {
	charge, err := m.meter(ctx)
	if err != nil {
		return seen, launched, err
	}
	launched = time.Now()
	if err := s.launch(ctx, path); err != nil {
		return seen, launched, err
	}
	if seen, err = m.finishSurvey(ctx, s, path); err != nil {
		return seen, launched, err
	}
	f.PerS = float64(m.w.N) / time.Since(launched).Seconds()
	f.MaxActive, f.Duplicate, f.Lost = seen.MaxActive, seen.Twice, max(0, m.w.N-seen.Distinct)
	f.Error = strings.Join(seen.Faults(m.w.Expectation(), 0), "; ")
	return seen, launched, charge(f)
}

// importRespondents adds n respondents, as a file.
func (s *httpSubject) importRespondents(ctx context.Context, path string, n int) error {
	var file bytes.Buffer
	file.WriteString("phone,number\n")
	for id := range n {
		fmt.Fprintf(&file, "%s,%d\n", address(id+1), id+1)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url()+path+"/respondents", &file)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/csv")
	raw, err := s.send(r)
	if err != nil {
		return err
	}
	var added struct{ Added int }
	if err := json.Unmarshal(raw, &added); err != nil {
		return err
	}
	if added.Added != n {
		return fmt.Errorf("of %d respondents %d were added", n, added.Added)
	}
	return nil
}

// launch launches a survey: with 503 a launch continues by itself, and is asked for again.
func (s *httpSubject) launch(ctx context.Context, path string) error {
	for began := time.Now(); ; {
		err := s.do(ctx, http.MethodPost, path+":launch", map[string]any{}, nil)
		busy := (*refusedError)(nil)
		if !errors.As(err, &busy) || busy.status != http.StatusServiceUnavailable || time.Since(began) > stall {
			return err
		}
		if !machine.Sleep(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// finishSurvey waits until a survey is done.
func (m measurement) finishSurvey(ctx context.Context, s *httpSubject, path string) (judge.Seen, error) {
	seen, stalled, err := m.await(ctx, func() (bool, error) {
		var survey struct{ State string }
		err := s.do(ctx, http.MethodGet, path, nil, &survey)
		return survey.State == "done", err
	})
	if stalled {
		err = errors.New("the survey does not end")
	}
	return seen, err
}
