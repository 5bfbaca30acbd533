package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"weir/events"
	"weir/web"
	"weir/web/webtest"
)

// noEvents is an empty log that records from where it is read.
type noEvents struct{ after int64 }

func (l *noEvents) EventsSince(_ context.Context, after int64, _ int) ([]events.Event, error) {
	l.after = after
	return nil, nil
}

func (*noEvents) LatestEvent(context.Context) (int64, error) { return 7, nil }

func (*noEvents) OnEvents(func()) (stop func()) { return func() {} }

// FuzzLastEventID: a stream begins after the id in the header, and an invalid
// id is the client's error.
func FuzzLastEventID(f *testing.F) {
	for _, s := range []string{"", "0", "12", "-1", "+3", " 4", "9223372036854775807", "9223372036854775808", "0x1", "1e3", "١", "1\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		log := &noEvents{after: -1}
		r := webtest.New(t, func(o *web.Options) { o.Events = log })
		ctx, leave := context.WithCancel(t.Context())
		leave() // the client disconnects at once
		req := webtest.EventsRequest(t, ctx, "", "Accept", "text/event-stream")
		req.Header["Last-Event-Id"] = []string{id}
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, req)
		want, err := strconv.ParseInt(id, 10, 64)
		switch {
		case id == "":
			want, err = 7, nil
		case want < 0:
			err = strconv.ErrRange
		}
		if err == nil && (w.Code != http.StatusOK || log.after != want) || err != nil && (w.Code != http.StatusUnprocessableEntity || log.after != -1) {
			t.Errorf("%q: %d, read from %d", id, w.Code, log.after)
		}
	})
}
