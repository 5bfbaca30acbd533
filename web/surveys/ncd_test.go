package surveys_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
	"weir/web"
	"weir/web/webtest"
)

// Scenario 481: with format=ncd the four files of a survey have the columns and words that the scripts of
// the protocol read, in the order that they expect.
func TestNCD_FilesHaveTheColumnsOfTheProtocol(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	all := interviewed(r)
	r.Change(all[0], func(p *surveys.Respondent) { p.Totals.Sent, p.Totals.CallSeconds = 1, 125 })
	r.Change(all[1], func(p *surveys.Respondent) { p.Totals.Received, p.OptedOut = 1, true })
	for file, want := range map[string][][]string{
		"dispositions": {
			{"Respondent ID", "Disposition", "Mode", "Timestamp"},
			{"#0", "queued", "SMS", "2026-04-01 12:00:00 -06:00"},
			{"#0", "completed", "Phone call", "2026-04-01 12:09:00 -06:00"},
			{"#1", "queued", "SMS", "2026-04-01 12:01:00 -06:00"},
			{"#1", "refused", "SMS", "2026-04-01 12:04:00 -06:00"},
			{"#2", "queued", "SMS", "2026-04-01 12:02:00 -06:00"},
		},
		"incentives": {
			{"Telephone number", "Questionnaire-Mode", "Completion date"},
			{all[0].Phone, "main - Phone call", "2026-04-01 12:10:00 -06:00"},
		},
		"log": {
			{"ID", "Respondent ID", "Mode", "Channel", "Disposition", "Action Type", "Action Data", "Timestamp"},
			{"", "#0", "SMS", "texts", "Queued", "Contact attempt", "Enqueued", "2026-04-01 12:00:00 -06:00"},
			{"", "#0", "SMS", "texts", "Queued", "Contact attempt", "Ended: failed: =HYPERLINK(+15559998877)", "2026-04-01 12:06:00 -06:00"},
			{"", "#0", "IVR", "calls", "Queued", "Contact attempt", "Enqueued", "2026-04-01 12:07:00 -06:00"},
			{"", "#0", "IVR", "", "Completed", "Disposition changed", "Completed", "2026-04-01 12:09:00 -06:00"},
			{"", "#0", "IVR", "", "Completed", "Finished", "Finished", "2026-04-01 12:10:00 -06:00"},
			{"", "#1", "SMS", "texts", "Queued", "Contact attempt", "Enqueued", "2026-04-01 12:01:00 -06:00"},
			{"", "#1", "SMS", "texts", "Queued", "Response", "Message", "2026-04-01 12:03:00 -06:00"},
			{"", "#1", "SMS", "", "Refused", "Disposition changed", "Refused", "2026-04-01 12:04:00 -06:00"},
			{"", "#1", "SMS", "", "Refused", "Finished", "Finished: opted out", "2026-04-01 12:05:00 -06:00"},
			{"", "#2", "SMS", "texts", "Queued", "Contact attempt", "Enqueued", "2026-04-01 12:02:00 -06:00"},
			{"", "#3", "", "", "Registered", "Finished", "Finished", "2026-04-01 12:08:00 -06:00"},
		},
		"results": {
			{"respondent_id", "disposition", "date", "modes", "user_stopped", "total_sent_sms", "total_received_sms", "sms_attempts", "total_call_time", "ivr_attempts", "section_order", "sample_file", "first_name", "other_attributes"},
			{"#0", "Completed", "Apr  1, 2026 12:10 -06:00", "SMS, Phone call", "false", "1", "0", "1", "2m 5s", "0", "", "", "Ana", ""},
			{"#1", "Refused", "Apr  1, 2026 12:05 -06:00", "SMS", "true", "0", "1", "1", "0m 0s", "0", "", "", "Ana", ""},
			{"#2", "Queued", "-", "SMS", "false", "0", "0", "1", "0m 0s", "0", "", "", "Ana", ""},
			{"#3", "Registered", "-", "", "false", "0", "0", "0", "0m 0s", "0", "", "", "Ana", ""},
			{"#4", "Registered", "-", "", "false", "0", "0", "0", "0m 0s", "0", "", "", "Ana", ""},
		},
	} {
		g := r.Do("GET", "/v1/surveys/s1/"+file+".csv?format=ncd", "")
		got := rowsOf(t, g.Body, all)
		if file == "log" {
			for i := 1; i < len(got); i++ { // ids of the store, in order for each respondent
				if i > 1 && got[i][1] == got[i-1][1] && got[i-1][7] > got[i][7] || got[i][0] == "" {
					t.Errorf("row %d: %v", i, got[i])
				}
				got[i][0] = ""
			}
		}
		if d := cmp.Diff(want, got); g.Status != 200 || d != "" {
			t.Errorf("%s: %d\n%s", file, g.Status, d)
		}
		if g := r.Do("GET", "/v1/surveys/s1/"+file+".csv?format=ncd&spreadsheet=semicolon", ""); !strings.HasPrefix(g.Body, "\ufeff"+strings.Join(want[0][:2], ";")) {
			t.Errorf("%s for Excel: %.30q", file, g.Body)
		}
		for _, wrong := range []string{"format=spss", "format=ncd&format=ncd"} {
			if g := r.Do("GET", "/v1/surveys/s1/"+file+".csv?"+wrong, ""); g.Status != 422 {
				t.Errorf("%s?%s: %d", file, wrong, g.Status)
			}
		}
	}
	if g := r.Do("GET", "/v1/surveys/s1/log.csv?format=ncd&after=1", ""); g.Status != 422 || !strings.Contains(g.Body, "/after") {
		t.Errorf("a part of the interactions: %d %s", g.Status, g.Body)
	}
}

// Scenario 481: in no layout does a cell begin a formula, or a reader without pii:read get a number.
func TestNCD_CellsAreGuardedAndMasked(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	all := interviewed(r)
	r.Log(r.RespondentsOf("s1")[4], surveys.LogEntry{At: time.Unix(1, 0), Event: "=1+1", Channel: "@SUM(A1)", Reason: "-2+3"})
	reader := r.Token("surveys:admin")
	for _, file := range []string{"results", "log", "dispositions", "incentives"} {
		for _, query := range []string{"?format=ncd", ""} {
			whole, masked := r.Do("GET", "/v1/surveys/s1/"+file+".csv"+query, ""), r.As("GET", "/v1/surveys/s1/"+file+".csv"+query, "", reader)
			for _, row := range rowsOf(t, whole.Body, nil) {
				for _, cell := range row {
					if strings.ContainsAny(cell[:min(1, len(cell))], "=@-") && cell != "-" {
						t.Errorf("%s%s has the cell %q", file, query, cell)
					}
				}
			}
			if strings.Contains(masked.Body, "15559998877") || strings.Contains(masked.Body, all[0].Phone) || masked.Status != map[bool]int{true: http.StatusForbidden, false: http.StatusOK}[file == "incentives"] {
				t.Errorf("%s%s shows a number: %d %s", file, query, masked.Status, masked.Body)
			}
		}
	}
}
