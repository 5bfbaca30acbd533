package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/events"
	"weir/web/auth"
	"weir/web/route"
)

// stream is one client that follows the log. It has no queue: events that it
// has not read stay in the log, so a slow client costs no more than a fast one.
// The deadline of its connection disconnects a client that reads nothing.
type stream struct {
	log       events.Log
	ending    func() bool
	c         *route.Call
	filter    *eventFilter
	out       *route.Deadlines
	position  int64 // how far the log was read
	lastSent  int64 // last id sent to the client
	lastWrite time.Time
}

// serveStream follows the log until the client disconnects or this process
// shuts down.
func (r *eventRoutes) serveStream(c *route.Call, w http.ResponseWriter, f *eventFilter) error {
	if r.ending() {
		return route.ErrDraining()
	}
	release, ok := r.streams.Acquire(c, c.Principal.ID(), 0)
	if !ok {
		return errStreams()
	}
	defer release()
	after, err := r.startPosition(c)
	if err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	defer r.log.OnEvents(func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})()
	st := &stream{log: r.log, ending: r.ending, c: c, filter: f, out: route.NewDeadlines(w), position: after, lastSent: after, lastWrite: time.Now()}
	st.out.ClearRead()
	w.Header().Set("Content-Type", StreamType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // so that proxies do not buffer it
	if c.Request.Method == http.MethodHead {  // a HEAD response has no body, so a write would never fail
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if st.send("retry: "+strconv.Itoa(reconnectDelay)+"\n\n") == nil {
		st.follow(news)
	}
	return nil
}

// startPosition returns the id after which a stream begins.
func (r *eventRoutes) startPosition(c *route.Call) (int64, error) {
	if text := c.Request.Header.Get("Last-Event-ID"); text != "" {
		return parseEventID(c, text, "/Last-Event-ID")
	}
	if after, ok := c.Query["after"].(int64); ok {
		return after, nil
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	return r.log.LatestEvent(ctx)
}

// follow sends events as they arrive.
func (st *stream) follow(news <-chan struct{}) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !st.ending() && st.c.Principal.StillAdmitted() {
		more, err := st.next()
		if err != nil {
			return // the client reconnects with its last id
		}
		if more {
			continue
		}
		select {
		case <-st.c.Done():
			return
		case <-news:
		case now := <-tick.C:
			if now.Sub(st.lastWrite) >= heartbeatInterval && st.heartbeat() != nil {
				return
			}
		}
	}
}

// next sends a bounded number of events.
func (st *stream) next() (more bool, err error) {
	ctx, cancel := route.StepTimeout(st.c)
	defer cancel()
	list, err := st.log.EventsSince(ctx, st.position, eventsRead)
	if err != nil || len(list) == 0 {
		return false, err
	}
	var b bytes.Buffer
	for i := range list {
		st.position = list[i].ID
		if !st.filter.passes(&list[i]) {
			continue
		}
		if err := writeEvent(&b, shownEvent(st.c, &list[i])); err != nil {
			return false, err
		}
		st.lastSent = list[i].ID
		if b.Len() >= route.PageBytes {
			break
		}
	}
	if b.Len() == 0 {
		return true, nil
	}
	return true, st.send(b.String())
}

// writeEvent writes one event. Its JSON has no line break.
func writeEvent(b *bytes.Buffer, v api.EventView) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b.WriteString("id: " + v.ID + "\ndata: ")
	b.Write(raw)
	b.WriteString("\n\n")
	return nil
}

// heartbeat shows that the stream is alive. An id without data gives the client
// its position past filtered events without dispatching an event.
func (st *stream) heartbeat() error {
	if st.position > st.lastSent {
		st.lastSent = st.position
		return st.send(":\nid: " + strconv.FormatInt(st.position, 10) + "\n\n")
	}
	return st.send(":\n\n")
}

func (st *stream) send(text string) error {
	st.lastWrite = time.Now()
	if _, err := st.out.Write([]byte(text)); err != nil {
		return err
	}
	return st.out.Flush()
}

func errStreams() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: fmt.Sprintf("too many streams of events at once (at most %d, %d with one token); try again later", auth.MaxStreams, auth.MaxStreamsPerToken), RetryAfter: route.AcquireTime}
}
