package api_test

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/web"
	"weir/web/webtest"
)

// A reply needs a message of the person, on any channel and in any notation of the number, that is not older than the
// bound; otherwise nothing of the request is queued.
func TestAccept_RepliesAnswerMessages(t *testing.T) {
	t.Parallel()
	const within = 7 * 24 * time.Hour
	for name, tt := range map[string]struct {
		within   time.Duration
		from     string // of the message; empty: there is none
		ago      time.Duration
		older    bool // there is an older message, too
		priority string
		want     int
	}{
		"a person who never wrote":           {within, "", 0, false, "reply", 422},
		"another person wrote":               {within, "+15550002", time.Hour, false, "reply", 422},
		"a person who has just written":      {within, "+15550001", 0, false, "reply", 202},
		"at the end of the time":             {within, "+15550001", within, false, "reply", 202},
		"behind it":                          {within, "+15550001", within + time.Second, false, "reply", 422},
		"a message as a provider writes it":  {within, "sms://+15550001", time.Hour, false, "reply", 202},
		"an older message, too":              {within, "+15550001", time.Hour, true, "reply", 202},
		"a shorter time":                     {time.Hour, "+15550001", 2 * time.Hour, false, "reply", 422},
		"any time":                           {0, "", 0, false, "reply", 202},
		"high, to a person who never wrote":  {within, "", 0, false, "high", 202},
		"normal, to someone who never wrote": {within, "", 0, false, "normal", 202},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t, func(o *web.Options) { o.ReplyWithin = tt.within })
			ch, other := r.Channel("a", "texts"), r.Channel("b", "texts")
			wrote := func(ago time.Duration) {
				if _, err := r.Receive(t.Context(), other.ID, weir.Incoming{From: tt.from, Body: "hello", ReceivedAt: r.Clock.Now().Add(-ago)}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.older {
				wrote(3 * within)
			}
			if tt.from != "" {
				wrote(tt.ago)
			}
			g := r.Do("POST", "/v1/channels/"+ch.Name+"/contacts", webtest.Batch(webtest.Text(""), webtest.Text(`,"priority":"`+tt.priority+`"`)))
			if g.Status != tt.want || tt.want == 422 && !strings.Contains(g.Body, `"pointer":"/contacts/1/priority","code":"no_message"`) {
				t.Errorf("%d %s, want %d", g.Status, g.Body, tt.want)
			}
			file := "key,to,text,priority\nk1,+15550001,hello,normal\nk2,+15550001,hello," + tt.priority + "\n"
			got := webtest.Into[api.ContactImport](t, r.Do("POST", "/v1/channels/"+ch.Name+"/contacts:import", file, "Content-Type", "text/csv"), 200)
			if refused := tt.want == 422; refused != (got.Rejected == 1) || got.Queued+got.Rejected != 2 || refused && (got.Errors[0].Column != "priority" || !strings.Contains(got.Errors[0].Reason, "sent no message")) {
				t.Errorf("in a file: %+v", got)
			}
		})
	}
}
