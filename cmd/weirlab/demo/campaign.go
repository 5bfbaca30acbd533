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
)

// Max attempts that a survey may make in each mode.
const (
	callAttempts = 3
	textAttempts = 2
)

// campaign distributes the respondents over two surveys: one with a quota for each
// region, and one without quotas. With several processes each has channels of its own.
func (o Options) campaign() []*survey {
	first := o.Respondents * 3 / 5
	a := &survey{name: "vaccines", title: "Vaccines", people: population(o.Seed, 1, first), quotas: map[string]int{}, flawed: true}
	b := &survey{name: "water", title: "Clean water", people: population(o.Seed, first+1, o.Respondents-first)}
	for _, sv := range []*survey{a, b} {
		sv.calls, sv.texts = calls, texts
	}
	if o.several() {
		b.calls, b.texts = moreCalls, moreTexts
		a.patience, b.patience = standstill+5*time.Second, standstill+5*time.Second
	}
	for _, p := range a.people {
		a.quotas[p.region]++
	}
	for region, n := range a.quotas {
		a.quotas[region] = max(1, n*3/5)
	}
	return []*survey{a, b}
}

// refusedRows is the exit code of an import that rejected some rows.
const refusedRows = 4

// begin defines, fills and launches the surveys with the same commands that users
// run.
func (s *demonstration) begin(ctx context.Context) error {
	for _, sv := range s.surveys {
		definition, err := json.MarshalIndent(sv.definition(s.options.pace(), s.app), "", " ")
		if err != nil {
			return err
		}
		file := sv.name + ".json"
		if err := os.WriteFile(filepath.Join(s.broker.Folder, file), definition, 0o600); err != nil {
			return err
		}
		refused, err := s.writePeople(sv)
		if err != nil {
			return err
		}
		if err := s.command(ctx, 0, "put", file, sv.name); err != nil {
			return err
		}
		code := 0
		if refused > 0 {
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

func (s *demonstration) writePeople(sv *survey) (refused int, err error) {
	f, err := os.OpenFile(filepath.Join(s.broker.Folder, sv.name+".csv"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	refused, err = writePeople(f, sv.people, sv.flawed)
	return refused, errors.Join(err, f.Close())
}

// command runs "weir survey …" like a user, and shows its output. It must exit with
// the given code.
func (s *demonstration) command(ctx context.Context, code int, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	args = append([]string{"survey"}, args...)
	s.say("$ weir %s", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, s.broker.Program, args...) //nolint:gosec // our own program
	cmd.Dir, cmd.Env = s.broker.Folder, append(s.broker.system, "WEIR_URL="+s.broker.URL, "WEIR_TOKEN="+s.broker.api.token)
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
