package surveybroker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
)

// Everything that prevents a survey from being launched is reported at once.
func TestLaunchChecks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*surveys.Definition)
		people []map[string]string
		want   []string
	}{
		"good":        {people: []map[string]string{{"age": "young"}}},
		"nobody":      {want: []string{"/respondents"}},
		"no channels": {change: func(d *surveys.Definition) { d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "none"} }, people: []map[string]string{nil}, want: []string{"/modes/sms/channel"}},
		"wrong channels": {
			change: func(d *surveys.Definition) {
				d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "calls", Retries: "0m"}
			},
			people: []map[string]string{nil}, want: []string{"/modes/sms/retries", "/modes/sms/channel"},
		},
		"over": {change: func(d *surveys.Definition) { d.Schedule.EndDate = "2025-12-31" }, people: []map[string]string{nil}, want: []string{"/schedule/end_date"}},
		"unknown quotas": {
			change: func(d *surveys.Definition) {
				d.Quotas = surveys.Quotas{{Where: map[string]surveys.Match{"town": {In: []string{"x"}}}, Quota: 1}}
			},
			people: []map[string]string{{"age": "old"}},
		},
		"gaps": {
			change: func(d *surveys.Definition) {
				d.Questionnaires["q"][surveys.SMS][0].Messages[0] = "Hello {{first_name}}"
			},
			people: []map[string]string{{"first_name": "Ana"}, {"first_name": " "}}, want: []string{"/respondents/*/attributes/first_name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, quiet, func(l *lab) {
				l.store.addChannel("texts", "text", 1)
				l.store.addChannel("calls", "voice", 1)
				d := byText("10m")
				if c.change != nil {
					c.change(&d)
				}
				s := l.survey("s", d, 0)
				last := ""
				for i, a := range c.people {
					last = l.store.addPerson(s.ID, phone(s.ID, i), a).String()
				}
				_, err := l.sys.Step(l.t.Context(), "s", surveys.Launch)
				var got []string
				if e, ok := errors.AsType[*weir.Error](err); ok {
					for _, f := range e.Fields {
						at := f.Pointer
						if f.Pointer == "/respondents/"+last+"/attributes/first_name" {
							at = "/respondents/*/attributes/first_name"
						}
						got = append(got, at)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.want != nil) {
					l.t.Error(err, diff)
				}
				if st := l.store.surveyNow(s.ID).State; (st == surveys.Running) != (c.want == nil) {
					l.t.Errorf("it is %s", st)
				}
			})
		})
	}
}

func TestStepsThatCannotBeTaken(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		l.survey("s", byText("10m"), 1)
		for _, c := range []struct {
			name string
			step surveys.Step
			code weir.Code
			is   surveys.State
		}{
			{"none", surveys.Launch, weir.CodeNotFound, ""}, {"s", surveys.Pause, weir.CodeConflict, surveys.Draft}, {"s", surveys.Finish, weir.CodeInvalid, ""},
			{"s", surveys.Launch, "", surveys.Running}, {"s", surveys.Launch, "", surveys.Running}, {"s", surveys.Pause, "", surveys.Paused},
			{"s", surveys.Resume, "", surveys.Running}, {"s", surveys.Stop, "", surveys.Stopping}, {"s", surveys.Resume, weir.CodeConflict, surveys.Stopping},
		} {
			s, err := l.sys.Step(l.t.Context(), c.name, c.step)
			if weir.CodeOf(err) != c.code || s.State != c.is {
				l.t.Errorf("%s: %s, %v", c.step, s.State, err)
			}
		}
		l.pass(time.Minute)
	})
}

func TestStats(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 2)
		l.store.addChannel("texts", "text", 2)
		d := byPhone("", "")
		d.Cutoff = 10
		d.FallbackDelay = "10m"
		s := l.survey("s", d, 30)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		for _, r := range l.all(s.ID)[:3] {
			l.hear(s, r.ID, surveys.Report{Disposition: surveys.Complete})
		}
		l.store.change(func() { l.store.channels[calls.ID].Paused = true })
		got, err := l.sys.Stats(l.t.Context(), l.store.surveyNow(s.ID))
		if err != nil {
			l.t.Fatal(err)
		}
		if got.Tally.Completed != 3 || got.Target != 10 || !got.Open || got.Rate <= 0 || !got.EndsAt.After(time.Now()) || got.Success <= 0 {
			l.t.Errorf("%+v", got)
		}
		want := []surveys.ChannelUse{{Mode: surveys.IVR, Channel: "calls", Health: weir.Paused}, {Mode: surveys.SMS, Channel: "texts", Health: weir.Up}}
		if diff := cmp.Diff(want, got.Using); diff != "" {
			l.t.Error(diff)
		}
	})
}
