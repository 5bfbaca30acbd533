package surveys_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// Everything that prevents a survey from being launched is reported at once.
func TestLaunch_ReportsAllThatPreventsIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*surveys.Definition)
		people []map[string]string
		want   []string
	}{
		"good":        {people: []map[string]string{{"age": "young"}}},
		"none":        {want: []string{"/respondents"}},
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
		"time zones in another case": {people: []map[string]string{{"time_zone": "africa/nairobi"}}},
		"no time zones":              {people: []map[string]string{{"time_zone": "EAT"}, nil, {"time_zone": "Africa/Nairoby"}}, want: []string{"/respondents"}},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				l.store.addChannel("texts", "text", 1)
				l.store.addChannel("calls", "voice", 1)
				d := smsSurvey("10m")
				if c.change != nil {
					c.change(&d)
				}
				s := l.addSurvey("s", d, 0)
				last := ""
				for i, a := range c.people {
					last = l.store.addPerson(s.ID, phone(s.ID, i), a).String()
				}
				check, failed := l.system.CheckLaunch(l.t.Context(), s)
				if failed != nil || l.store.survey(s.ID).State != surveys.Draft {
					l.t.Error("the check:", failed)
				}
				_, err := l.system.Step(l.t.Context(), "s", surveys.Launch)
				if e, ok := errors.AsType[*weir.Error](err); ok != (check.Refusal != nil) || ok && !cmp.Equal(check.Refusal, e.Fields) {
					l.t.Errorf("the check found %v, the launch %v", check.Refusal, err)
				}
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
				if st := l.store.survey(s.ID).State; (st == surveys.Running) != (c.want == nil) {
					l.t.Errorf("it is %s", st)
				}
			})
		})
	}
}

// Respondents whose time zone was stored before it was checked are counted.
func TestLaunch_CountsTimeZonesThatAreNone(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 7)
		s := l.addSurvey("s", smsSurvey("10m"), 1)
		first := surveys.RespondentID(0)
		for i, zone := range []string{"UTC+3", "EAT", "Africa/Nairobi"} {
			if id := l.store.addPerson(s.ID, phone(s.ID, 10+i), map[string]string{"time_zone": zone}); i == 0 {
				first = id
			}
		}
		check, err := l.system.CheckLaunch(l.t.Context(), s)
		if err != nil || len(check.Refusal) != 1 || !strings.Contains(check.Refusal[0].Detail, ": 2, the first of them "+first.String()+";") {
			l.t.Errorf("%+v %v", check.Refusal, err)
		}
	})
}

// A name that was stored before such were refused is shown of a survey that runs already, as soon as a
// contact goes to its respondent, and logged once; not after it was corrected.
func TestStats_NameARespondentWhoseTimeZoneIsNone(t *testing.T) {
	t.Parallel()
	for zone, known := range map[string]bool{"UTC+3": false, "EAT": false, "Africa/Nairobi": true, "": true} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)))
			var log bytes.Buffer
			l := newLab(t, noAnswer)
			l.log = slog.NewTextHandler(&log, nil)
			l.start()
			defer func() { l.system.Close() }()
			l.store.addChannel("texts", "text", 7)
			s := l.addSurvey("s", smsSurvey("10m"), 1)
			l.command("s", surveys.Launch)
			var ids []surveys.RespondentID
			for i := range 2 {
				ids = append(ids, l.store.addPerson(s.ID, phone(s.ID, 10+i), map[string]string{"time_zone": zone}))
			}
			l.advance(5 * time.Minute)
			st, err := l.system.Stats(l.t.Context(), l.store.survey(s.ID))
			if err != nil || known != (st.Zoneless == 0) || !known && !slices.Contains(ids, st.Zoneless) {
				t.Errorf("%q: %v, %v", zone, st.Zoneless, err)
			}
			if n := strings.Count(log.String(), "is no IANA time zone"); n != map[bool]int{false: 1}[known] {
				t.Errorf("%q was logged %d times: %s", zone, n, &log)
			}
			l.store.locked(func() {
				for _, id := range ids {
					l.store.people[id].Attributes = map[string]string{"time_zone": "Africa/Nairobi"}
				}
			})
			if st, err = l.system.Stats(l.t.Context(), l.store.survey(s.ID)); err != nil || st.Zoneless != 0 {
				t.Errorf("after a correction: %v, %v", st.Zoneless, err)
			}
		})
	}
}

// What looks like a field of another program is sent as it is, and prevents no launch.
func TestLaunch_WarnsOfWhatLooksLikeAField(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 7)
		d := smsSurvey("10m")
		d.Questionnaires["q"][surveys.SMS] = []surveys.Content{{Messages: []string{"Hello {first_name}"}}}
		s := l.addSurvey("s", d, 1)
		want := []weir.FieldError{{
			Pointer: "/questionnaires/q/sms/0/messages/0", Code: "content", Detail: `"{first_name}" is sent as it is: a field is an attribute's name between {{ and }}`,
		}}
		check, err := l.system.CheckLaunch(l.t.Context(), s)
		if diff := cmp.Diff(want, check.Warnings); diff != "" || err != nil || len(check.Refusal) > 0 {
			l.t.Error(err, check.Refusal, diff)
		}
		if diff := cmp.Diff(want, l.command("s", surveys.Launch).Warnings); diff != "" {
			l.t.Error(diff)
		}
	})
}

// What people see before a launch comes from their own data, and from the channels.
func TestCheckLaunch_FindsSamplesAndCapacities(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 7)
		d := smsSurvey("10m")
		d.Questionnaires["q"][surveys.SMS][0].Messages[0] = "Hello {{first_name}}"
		s := l.addSurvey("s", d, 0)
		for i, name := range []string{"", "Ana", "Eva", "Luz"} {
			l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"first_name": name})
		}
		check, err := l.system.CheckLaunch(l.t.Context(), s)
		if err != nil || check.Checked != 4 || check.Missing != 1 || check.Partial || check.Capacity["texts"] < 1 || check.Capacity["texts"] > 7 {
			l.t.Errorf("%+v %v", check, err)
		}
		if len(check.First) != 2 || check.First[0].Attributes["first_name"] != "Ana" {
			l.t.Errorf("the first are %+v", check.First)
		}
	})
}

func TestCommands_InvalidOnesAreRefused(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		l.addSurvey("s", smsSurvey("10m"), 1)
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
			s, err := l.system.Step(l.t.Context(), c.name, c.step)
			if weir.CodeOf(err) != c.code || s.State != c.is {
				l.t.Errorf("%s: %s, %v", c.step, s.State, err)
			}
		}
		l.advance(time.Minute)
	})
}

func TestStats_CountWhatASurveyDid(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 2)
		l.store.addChannel("texts", "text", 2)
		d := callSurvey("", "")
		d.Cutoff = 10
		d.FallbackDelay = "10m"
		s := l.addSurvey("s", d, 30)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		for _, r := range l.respondents(s.ID)[:3] {
			l.report(s, r.ID, surveys.Report{Disposition: surveys.Complete})
		}
		l.store.locked(func() { l.store.channels[calls.ID].Paused = true })
		got, err := l.system.Stats(l.t.Context(), l.store.survey(s.ID))
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

func TestCourse_CountsWhatRespondentsCameTo(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("calls", "voice", 3)
		l.store.addChannel("texts", "text", 2)
		d := callSurvey("", "")
		d.Cutoff = 10
		d.FallbackDelay = "10m"
		s := l.addSurvey("s", d, 30)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		for i, r := range l.respondents(s.ID)[:3] {
			l.report(s, r.ID, surveys.Report{Disposition: []surveys.Disposition{surveys.Complete, surveys.Complete, surveys.Refused}[i]})
		}
		started := 30 - l.statusCounts(s.ID)[surveys.Pending]
		plan, got, err := l.system.Course(l.t.Context(), l.store.survey(s.ID), surveys.CourseQuery{})
		if err != nil || plan == nil {
			l.t.Fatal(plan, err)
		}
		want := surveys.Passed{Started: started, Answered: 3, Completed: 2}
		if got.Total != want || got.Modes[surveys.IVR] != want || got.Days[0].Passed.Add(got.Days[len(got.Days)-1].Passed).Started == 0 {
			l.t.Errorf("%+v, want %+v", got, want)
		}
		if got.Launch.Unknown || got.Rest.Contacts >= got.Launch.Contacts || got.Launch.Bound != "calls" {
			l.t.Errorf("launch %+v, rest %+v", got.Launch, got.Rest)
		}
		l.command("s", surveys.Stop)
		if _, got, err = l.system.Course(l.t.Context(), l.store.survey(s.ID), surveys.CourseQuery{}); err != nil || !got.Rest.Unknown {
			l.t.Errorf("after the stop: %+v, %v", got.Rest, err)
		}
	})
}

// The launch of a survey with very many respondents takes longer than a client
// waits. It continues, a client that asks again joins it, and its result is
// returned once.
func TestLaunch_ContinuesWithoutItsClient(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		d := smsSurvey("10m")
		d.Questionnaires["q"][surveys.SMS][0].Messages = []string{"hello {{name}}"}
		good, bad := l.addSurvey("good", smsSurvey("10m"), 5), l.addSurvey("bad", d, 5)
		pages := 0
		l.store.locked(func() {
			l.store.operationTime = func(op string) time.Duration {
				if op != "Respondents" {
					return 0
				}
				pages++
				return 9 * time.Second
			}
		})
		ask := func(name string) error {
			ctx, cancel := context.WithTimeout(l.t.Context(), 4*time.Second)
			defer cancel()
			_, err := l.system.Step(ctx, name, surveys.Launch)
			return err
		}
		for range 2 { // 4 and 8 seconds after the first
			if err := ask("good"); weir.CodeOf(err) != weir.CodeUnavailable {
				l.t.Errorf("a client that waits too short a time hears %v", err)
			}
		}
		if err := ask("good"); err != nil {
			l.t.Error(err)
		}
		read := 0
		l.store.locked(func() { read = pages })
		if st := l.store.survey(good.ID); st.State != surveys.Running || read != 1 {
			l.t.Errorf("the survey is %s after %d pages were read", st.State, read)
		}
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("a client that waits too short a time hears %v", err)
		}
		l.advance(time.Minute)
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeInvalid {
			l.t.Errorf("the repeated request returns %v", err)
		}
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("the result of a launch is returned twice: %v", err)
		}
		l.advance(time.Minute)
		if st := l.store.survey(bad.ID); st.State != surveys.Draft {
			l.t.Errorf("the bad survey is %s", st.State)
		}
	})
}

// Scenario 76: a channel that cannot be prepared, or does not work, prevents
// the launch of a survey and is named; a channel that is paused, or down for
// now, does not.
func TestLaunch_NamesAChannelThatDoesNotWork(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*lab, weir.Channel)
		want  string // part of the error; empty: it is launched
	}{
		"not prepared": {func(l *lab, ch weir.Channel) {
			l.channels.prepareError = map[weir.ChannelID]error{ch.ID: errors.New("no such application")}
		}, "no such application"},
		"erring": {func(l *lab, ch weir.Channel) {
			l.channels.status[ch.ID] = channels.Status{Health: weir.Erring, Reason: "refused"}
		}, "refused"},
		"down": {func(l *lab, ch weir.Channel) { l.channels.status[ch.ID] = channels.Status{Health: weir.Down} }, ""},
		"paused": {func(l *lab, ch weir.Channel) {
			l.store.channels[ch.ID].Paused = true
			l.channels.prepareError = map[weir.ChannelID]error{ch.ID: errors.New("no such application")}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				l.store.addChannel("texts", "text", 5)
				calls := l.store.addChannel("calls", "voice", 5)
				s := l.addSurvey("s", callSurvey("10m", "10m"), 2)
				l.store.locked(func() { c.spoil(l, calls) })
				_, err := l.system.Step(l.t.Context(), "s", surveys.Launch)
				if c.want == "" {
					if err != nil || l.store.survey(s.ID).State != surveys.Running {
						t.Errorf("%v; it is %s", err, l.store.survey(s.ID).State)
					}
					return
				}
				e, ok := errors.AsType[*weir.Error](err)
				if !ok || e.Code != weir.CodeConflict || len(e.Fields) != 1 || e.Fields[0].Pointer != "/modes/ivr/channel" ||
					!strings.Contains(e.Fields[0].Detail, `"calls"`) || !strings.Contains(e.Fields[0].Detail, c.want) {
					t.Errorf("%v", err)
				}
				l.advance(time.Minute)
				if st := l.store.survey(s.ID).State; st != surveys.Draft || l.statusCounts(s.ID)[surveys.Pending] != 2 {
					t.Errorf("it is %s", st)
				}
			})
		})
	}
}

// TestLaunch_WarnsOfQuestions launches surveys of questions. Quotas may name questions; what conditions look
// at and respondents lack, and what is strange about the questions, is a warning of the check and the launch.
func TestLaunch_WarnsOfQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*surveys.Definition)
		want   []string
	}{
		"nothing":            {change: func(*surveys.Definition) {}},
		"a quota on answers": {change: func(d *surveys.Definition) { d.Quotas = quotaOn("well", "yes") }},
		"a quota on nothing": {change: func(d *surveys.Definition) { d.Quotas = quotaOn("village", "x") }, want: []string{"/quotas/0/where/village unknown"}},
		"an attribute that some lack": {
			change: func(d *surveys.Definition) { d.Questions.Questions[2].Relevant = "${district} = 'north'" },
			want:   []string{"/questions unknown"},
		},
		"an attribute that all have": {change: func(d *surveys.Definition) { d.Questions.Questions[2].Relevant = "${town} = 'north'" }},
		"a choice that is a stop word": {
			change: func(d *surveys.Definition) {
				d.Questions.Questions[0].Choices[1].Words = map[string][]string{"en": {"quit"}}
			},
			want: []string{"/questions/questions/0/choices/1 stop_word"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				l.store.addChannel("texts", "text", 1)
				d := askSurvey("10m")
				c.change(&d)
				s := l.addSurvey("s", d, 0)
				for i, a := range []map[string]string{{"district": "north", "town": "a"}, {"town": "b"}} {
					l.store.addPerson(s.ID, phone(s.ID, i), a)
				}
				places := func(list []weir.FieldError) (out []string) {
					for _, w := range list {
						out = append(out, w.Pointer+" "+w.Code)
					}
					return out
				}
				check, err := l.system.CheckLaunch(l.t.Context(), s)
				if got := places(check.Warnings); err != nil || !cmp.Equal(got, c.want) || check.Refusal != nil {
					l.t.Errorf("the check: %v %v %v, want %v", got, check.Refusal, err, c.want)
				}
				launched, err := l.system.Launch(l.t.Context(), "s", false)
				if got := places(launched.Warnings); err != nil || !cmp.Equal(got, c.want) {
					l.t.Errorf("the launch: %v %v, want %v", got, err, c.want)
				}
			})
		})
	}
}

func quotaOn(name, value string) surveys.Quotas {
	return surveys.Quotas{{Where: map[string]surveys.Match{name: {In: []string{value}}}, Quota: 1}}
}
