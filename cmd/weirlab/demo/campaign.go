package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/client"
)

// survey is one of the two surveys.
type survey struct {
	name   string
	title  string
	people []person
	quotas map[string]int // by region; empty: no quotas
	flawed bool           // its file has mistakes

	stats client.StatsView // as of the last poll
}

// Max attempts that a survey may make in each mode.
const (
	callAttempts = 3
	textAttempts = 2
)

// campaign distributes the respondents over two surveys: one with a quota for each
// region, and one without quotas.
func (o Options) campaign() []*survey {
	first := o.Respondents * 3 / 5
	a := &survey{name: "vaccines", title: "Vaccines", people: population(o.Seed, 1, first), quotas: map[string]int{}, flawed: true}
	b := &survey{name: "water", title: "Clean water", people: population(o.Seed, first+1, o.Respondents-first)}
	for _, p := range a.people {
		a.quotas[p.region]++
	}
	for region, n := range a.quotas {
		a.quotas[region] = max(1, n*3/5)
	}
	return []*survey{a, b}
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
	d := map[string]any{
		"title": s.title,
		"schedule": map[string]any{
			"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
			"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
		},
		"modes": map[string]any{
			"ivr": map[string]string{"channel": calls, "retries": p.delay(time.Second) + " " + p.delay(2*time.Second)},
			"sms": map[string]string{"channel": texts, "retries": p.delay(3 * time.Second)},
		},
		"arms": []map[string]any{{"modes": []string{"ivr", "sms"}}},
		"questionnaires": map[string]any{"main": map[string]any{
			"ivr": []any{map[string]any{"call": map[string]string{"callback_url": app.url + callPath + "?survey={{survey}}&respondent={{respondent}}"}}},
			"sms": []any{map[string]any{"messages": []string{"Hello {{first_name}}, a question about " + s.title + ": is it good in {{region}}? Answer 1 for yes, 2 for no, STOP to hear no more."}}},
		}},
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

// refusedRows is the exit code of an import that rejected some rows.
const refusedRows = 4

// begin defines, fills and launches the surveys with the same commands that users
// run.
func (s *demonstration) begin(ctx context.Context) error {
	for _, sv := range s.surveys {
		definition, err := json.MarshalIndent(sv.definition(pace{s.options.Speed}, s.app), "", " ")
		if err != nil {
			return err
		}
		file := sv.name + ".json"
		if err := os.WriteFile(filepath.Join(s.broker.folder, file), definition, 0o600); err != nil {
			return err
		}
		flaws, err := s.writePeople(sv)
		if err != nil {
			return err
		}
		if err := s.command(ctx, 0, "put", file, sv.name); err != nil {
			return err
		}
		code := 0
		if flaws.refused > 0 {
			code = refusedRows
		}
		if err := s.command(ctx, code, "import", sv.name+".csv", sv.name); err != nil {
			return err
		}
	}
	for _, sv := range s.surveys {
		if err := s.command(ctx, 0, "launch", sv.name); err != nil {
			return err
		}
	}
	return nil
}

func (s *demonstration) writePeople(sv *survey) (flaws, error) {
	f, err := os.OpenFile(filepath.Join(s.broker.folder, sv.name+".csv"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return flaws{}, err
	}
	out, err := writePeople(f, sv.people, sv.flawed)
	return out, errors.Join(err, f.Close())
}

// command runs "weir survey …" like a user, and shows its output. It must exit with
// the given code.
func (s *demonstration) command(ctx context.Context, code int, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	args = append([]string{"survey"}, args...)
	s.say("$ weir %s", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, s.broker.program, args...) //nolint:gosec // our own program
	cmd.Dir, cmd.Env = s.broker.folder, append(s.broker.system, "WEIR_URL="+s.broker.api.base, "WEIR_TOKEN="+s.broker.api.token)
	text, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(text)) {
		s.view.plain("         " + strings.TrimRight(line, "\n"))
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("weir %s ended with %d, not with %d", strings.Join(args, " "), got, code)
	}
	return nil
}

const commandLimit = time.Minute
