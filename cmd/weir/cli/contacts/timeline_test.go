package contacts

import (
	"testing"
	"time"

	"weir/client"
	"weir/cmd/weir/cli/app"
)

// Steps within one second show milliseconds.
func TestTimelineText_ShowsMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	x := client.TimelineView{ID: "1-1", Channel: "sms", Events: []client.TimelineEvent{
		{At: at, What: "accepted"},
		{At: at.Add(4 * time.Millisecond), What: "claimed", Attempt: 1},
		{At: at.Add(344 * time.Millisecond), What: "handed_over", Attempt: 1},
		{At: at.Add(90344 * time.Millisecond), What: "ended"},
	}}
	got := timelineText(app.New(app.Options{Environ: []string{"TZ=UTC"}, Now: func() time.Time { return at.Add(time.Hour) }}).Clock, &x, false)
	want := `1-1 on sms
2026-05-04 09:00:00Z                accepted
2026-05-04 09:00:00Z  +4 ms         attempt 1: claimed
2026-05-04 09:00:00Z  +340 ms       attempt 1: accepted by the provider
2026-05-04 09:01:30Z  +1 min 30 s   done
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
