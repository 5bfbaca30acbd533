package cli_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

const stats = `{"survey":"flu","state":"running","respondents":2000,
"by_status":{"pending":1200,"active":100,"completed":600,"failed":80,"rejected":20,"canceled":0},
"by_disposition":{"registered":1200,"queued":60,"contacted":40,"completed":590,"refused":10,"failed":80,"rejected":20,"new one":0},
"funnel":[{"step":"registered","respondents":2000},{"step":"queued","respondents":800},{"step":"contacted","respondents":730},{"step":"started","respondents":600},{"step":"interim partial","respondents":600},{"step":"completed","respondents":590}],
"counted":590,"target":1000,
"quotas":[{"where":{"region":{"in":["north","east"]},"age":{"from":18,"to":29}},"quota":500,"counted":590},{"where":{"region":{"in":["south"]}},"quota":500,"counted":0}],
"attempts":[{"mode":"ivr","outcome":"completed","count":540},{"mode":"ivr","outcome":"no_answer","count":1210},{"mode":"sms","outcome":"completed","count":90}],
"numbers_needed":1200,"rate_per_minute":12.34,"success_rate":0.857,"ends_at":"2026-05-04T14:10:00Z","open":true,
"window":{"opens_at":"2026-05-04T09:00:00Z","closes_at":"2026-05-04T18:00:00Z"},
"channels":[{"mode":"ivr","channel":"calls","state":"up","since":"2026-05-04T08:30:00Z"},{"mode":"sms","channel":"texts","state":"down","state_reason":"the provider does not answer","since":"2026-05-04T11:00:00Z"},{"mode":"mobileweb","channel":"texts"}]}`

const status = `flu (Flu 2026): running
  launched       Mon 2026-05-04 08:30 UTC
  window         open until Mon 2026-05-04 18:00 UTC
  rate           12.3 respondents a minute
  estimated end  Mon 2026-05-04 14:10 UTC, in 2 h 10 min
  target         590 of 1,000 [###########.........]
  needed         1,200 more numbers at the present success rate
  success        85.7 % of finished respondents

Respondents: 2,000
  pending              1,200   60.0 %  [############........]
  active                 100    5.0 %  [#...................]
  ended                  700   35.0 %  [#######.............]

Steps
  registered           2,000  100.0 %  [####################]
  queued                 800   40.0 %  [########............]
  contacted              730   36.5 %  [#######.............]
  started                600   30.0 %  [######..............]
  interim partial        600   30.0 %  [######..............]
  completed              590   29.5 %  [#####...............]

Dispositions: 2,000
  registered           1,200   60.0 %  [############........]
  queued                  60    3.0 %  [#...................]
  contacted               40    2.0 %  [#...................]
  completed              590   29.5 %  [#####...............]
  rejected                20    1.0 %  [#...................]
  refused                 10    0.5 %  [#...................]
  failed                  80    4.0 %  [#...................]

Quotas
  age 18 to 29, region north or east      590 of 500      [####################]
  region south                              0 of 500      [....................]
  above quota: some respondents were in conversation when the quota was reached

Attempts
  ivr            1,750  540 completed, 1,210 no answer
  sms               90  90 completed

Channels
  ivr        calls            up, since Mon 2026-05-04 08:30 UTC
  sms        texts            down: the provider does not answer, since Mon 2026-05-04 11:00 UTC
  mobileweb  texts            unknown
`

func TestSurveyStatus_ShowsStateReasonAndWindow(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/stats": answers(http.StatusOK, stats), "GET /v1/surveys/flu": answers(http.StatusOK, summary),
		"GET /v1/surveys/new/stats":   answers(http.StatusOK, `{"survey":"new","state":"draft","why":"a draft contacts no respondents; launch it","why_code":"draft","open":false,"window":{"opens_at":"2026-05-06T09:00:00Z","closes_at":"2026-05-06T18:00:00Z"}}`),
		"GET /v1/surveys/new":         answers(http.StatusOK, `{"survey":"new","state":"draft"}`),
		"GET /v1/surveys/young/stats": answers(http.StatusOK, `{"survey":"young","state":"running"}`),
		"GET /v1/surveys/young":       answers(http.StatusOK, `{"survey":"young","state":"running","locked":true}`),
		"GET /v1/surveys/old/stats":   answers(http.StatusOK, `{"survey":"old","state":"done","respondents":1,"by_status":{"canceled":1},"by_disposition":{"queued":1},"rate_per_minute":3}`),
		"GET /v1/surveys/old":         answers(http.StatusOK, `{"survey":"old","state":"done","cause":"window_over","ended_at":"2026-05-01T18:00:00Z"}`),
	})
	same(t, f.run("", "status", "flu"), app.OK, status, "")
	same(t, f.run("", "status", "flu", "--output", "json"), app.OK, stats+"\n", "")
	same(t, f.run("", "status", "new"), app.OK, `new: draft
  why            a draft contacts no respondents; launch it
  window         closed; opens Wed 2026-05-06 09:00 UTC, in 45 h 00 min

Respondents: 0

Dispositions: 0
`, "")
	clitest.Check(t, f.run("", "status", "young"), app.OK, `(?s)young: running, locked.*estimated end  not yet known`, "^$")
	same(t, f.run("", "status", "old"), app.OK, `old: done (finished: the last window has closed)
  ended          Fri 2026-05-01 18:00 UTC
  window         closed permanently
  success        0.0 % of finished respondents

Respondents: 1
  canceled                 1  100.0 %  [####################]

Dispositions: 1
  queued                   1  100.0 %  [####################]
`, "")
	clitest.Check(t, f.run("", "status", "none"), app.NotFound, "^$", "404")
	clitest.Check(t, f.run("", "status", "flu", "--watch", "--interval", "1ms"), app.Usage, "^$", "--interval")
}

// A survey is watched until it is done, also while Weir does not answer.
func TestSurveyStatus_IsWatchedUntilTheSurveyIsDone(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/stats": func(w http.ResponseWriter, r *http.Request) {
			switch looks.Add(1) {
			case 1:
				answers(http.StatusOK, stats)(w, r)
			case 2:
				answers(http.StatusInternalServerError, `{"code":"internal","detail":"something went wrong"}`)(w, r)
			default:
				answers(http.StatusOK, strings.Replace(stats, `"running"`, `"done"`, 1))(w, r)
			}
		},
		"GET /v1/surveys/flu": answers(http.StatusOK, summary),
	})
	r := f.run("", "status", "flu", "--watch", "--interval", "100ms")
	clitest.Check(t, r, app.OK, `(?s)^flu \(Flu 2026\): running\n.*\nflu \(Flu 2026\): done\n`, "^warning: Weir answered 500")
	if n := looks.Load(); n != 3 {
		t.Errorf("it looked %d times", n)
	}
	gone := newFakeWeir(t, nil)
	clitest.Check(t, gone.run("", "status", "flu", "--watch"), app.NotFound, "^$", "404")
}
