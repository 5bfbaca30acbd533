package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Follow selects the events to follow and sets the callbacks.
type Follow struct {
	Params ListEventsParams // type, subject and source; the rest is ignored
	// Behind is the id of the event after which to start; empty: with the next
	// event.
	Behind string
	// Event is called for each event, in order. Its error stops following.
	Event func(EventView) error
	// Lost is called with the reason when a lost connection is reestablished; may be nil.
	Lost func(error)
}

const (
	silence   = time.Minute // max silence of a connection; the server sends heartbeats
	mostEvent = 16 << 20    // bytes
)

// Follow follows the events as they happen. A lost connection is reestablished after
// the last event, so that none is missed or reported twice. It returns when the
// context ends, or when the server rejects the request.
func (c *Client) Follow(ctx context.Context, f Follow) error {
	s := &stream{client: c, Follow: f, pause: c.pause}
	for try := 1; ; try++ {
		heard, err := s.once(ctx)
		if heard {
			try = 1
		}
		told := (*tellingError)(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &told):
			return told.cause
		case !passing(err), !s.connected && try >= c.tries:
			return err
		}
		if s.connected && f.Lost != nil {
			f.Lost(err)
		}
		if wait(ctx, max(s.pause, c.before(try, err))) != nil {
			return ctx.Err()
		}
	}
}

// stream is the state of one call of Follow, over any number of connections.
type stream struct {
	Follow
	client    *Client
	pause     time.Duration // delay before the next connection
	connected bool          // at least once
}

// tellingError is an error of decoding an event or of the Event callback.
type tellingError struct{ cause error }

func (t *tellingError) Error() string { return t.cause.Error() }

// once follows over one connection. heard reports whether anything arrived.
func (s *stream) once(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := url.Values{}
	set(q, "type", s.Params.Type)
	set(q, "subject", s.Params.Subject)
	set(q, "source", s.Params.Source)
	r, err := s.client.request(ctx, http.MethodGet, "/v1/events", q, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if s.Behind != "" {
		r.Header.Set("Last-Event-ID", s.Behind)
	}
	quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came for %s", silence)) })
	defer quiet.Stop()
	response, err := s.client.send(r, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	s.connected = true
	err = s.read(response.Body, func() { heard = true; quiet.Reset(silence) })
	if told := (*tellingError)(nil); errors.As(err, &told) {
		return heard, err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return heard, &unansweredError{s.client.base, err}
}

// read reads server-sent events until the connection ends.
func (s *stream) read(from io.Reader, alive func()) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), mostEvent)
	var data strings.Builder
	id := s.Behind
	for lines.Scan() {
		alive()
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id = value
		case "data":
			data.WriteString(value)
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				s.pause = min(time.Duration(ms)*time.Millisecond, longestPause)
			}
		case "":
			if lines.Text() != "" {
				continue // a comment
			}
			if err := s.tell(data.String()); err != nil {
				return err
			}
			s.Behind = id
			data.Reset()
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the stream of events ended")
}

func (s *stream) tell(text string) error {
	if text == "" {
		return nil
	}
	var e EventView
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return &tellingError{fmt.Errorf("an event is not understood: %w", err)}
	}
	if err := s.Event(e); err != nil {
		return &tellingError{err}
	}
	return nil
}
