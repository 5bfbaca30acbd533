package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
)

// interviewsOf returns the definition of a survey that asks questions, each with the numbers by which the provider knows
// it. atOnce is how many people are asked at a time.
func interviewsOf(channel string, atOnce int) map[string]any {
	d := surveyOf(channel, time.Now())
	delete(d, "questionnaires")
	d["batch_size"] = atOnce
	list := make([]map[string]any, load.Questions)
	for i := range list {
		list[i] = map[string]any{
			"name": fmt.Sprint("q", i+1), "kind": "number", "min": 0, "max": 100,
			"text": map[string]string{"en": fmt.Sprintf("{{number}} %d %s", i+1, strings.Repeat("x", 140))},
		}
	}
	d["questions"] = map[string]any{"languages": []map[string]string{{"code": "en"}}, "questions": list}
	return d
}

// interviews measures a survey that asks questions, from its launch until everybody has answered. A contact of the workload
// is a question; its latency is the time from the answer to the one before.
func (m measurement) interviews(ctx context.Context) (Figures, error) {
	w, f := m.w, figuresOf(m.w)
	in, ok := m.s.(*inside)
	if !ok {
		return f, errors.New("interviews are measured in a program of their own")
	}
	s := in.httpSubject
	if err := m.p.Reset(ctx, provider.Run{Expectation: w.Expectation(), Delay: w.Delay, Answer: w.Answer, Questions: load.Questions}); err != nil {
		return f, err
	}
	atOnce := 1_000_000
	if w.Mode == load.Answers {
		atOnce = max(1, int(float64(w.Rate)*w.Delay.Seconds()))
	}
	path := "/v1/surveys/" + s.prefix
	if err := s.do(ctx, http.MethodPut, path, interviewsOf(s.channel(0), atOnce), nil); err != nil {
		return f, err
	}
	if err := s.importRespondents(ctx, path, w.N/load.Questions); err != nil {
		return f, err
	}
	seen, launched, err := m.conduct(ctx, s, path, &f)
	f.PerS, f.P50, f.P99 = float64(w.N)/seen.Last.Sub(launched).Seconds(), seen.P50, seen.P99
	return f, err
}
