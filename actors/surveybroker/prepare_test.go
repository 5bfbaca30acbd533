package surveybroker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// Scenario 76: a channel that cannot be prepared, or does not work, prevents
// the launch of a survey and is named; a channel that is paused, or down for
// now, does not.
func TestLaunchPreparesTheChannels(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*lab, weir.Channel)
		want  string // part of the error; empty: it is launched
	}{
		"not prepared": {func(l *lab, ch weir.Channel) {
			l.lines.unready = map[weir.ChannelID]error{ch.ID: errors.New("no such application")}
		}, "no such application"},
		"erring": {func(l *lab, ch weir.Channel) {
			l.lines.status[ch.ID] = channels.Status{Health: weir.Erring, Reason: "refused"}
		}, "refused"},
		"down": {func(l *lab, ch weir.Channel) { l.lines.status[ch.ID] = channels.Status{Health: weir.Down} }, ""},
		"paused": {func(l *lab, ch weir.Channel) {
			l.store.channels[ch.ID].Paused = true
			l.lines.unready = map[weir.ChannelID]error{ch.ID: errors.New("no such application")}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, quiet, func(l *lab) {
				l.store.addChannel("texts", "text", 5)
				calls := l.store.addChannel("calls", "voice", 5)
				s := l.survey("s", byPhone("10m", "10m"), 2)
				l.store.change(func() { c.spoil(l, calls) })
				_, err := l.sys.Step(l.t.Context(), "s", surveys.Launch)
				if c.want == "" {
					if err != nil || l.store.surveyNow(s.ID).State != surveys.Running {
						t.Errorf("%v; it is %s", err, l.store.surveyNow(s.ID).State)
					}
					return
				}
				e, ok := errors.AsType[*weir.Error](err)
				if !ok || e.Code != weir.CodeConflict || len(e.Fields) != 1 || e.Fields[0].Pointer != "/modes/ivr/channel" ||
					!strings.Contains(e.Fields[0].Detail, `"calls"`) || !strings.Contains(e.Fields[0].Detail, c.want) {
					t.Errorf("%v", err)
				}
				l.pass(time.Minute)
				if st := l.store.surveyNow(s.ID).State; st != surveys.Draft || l.by(s.ID)[surveys.Pending] != 2 {
					t.Errorf("it is %s", st)
				}
			})
		})
	}
}
