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
	Params ListEventsParams // Type, Subject and Source; the other fields are ignored
	// After is the id of the event after which to start; empty: start with the next
	// event that happens.
	After string
	// OnEvent is called for each event, in order. Its error stops following.
	OnEvent func(EventView) error
	// OnReconnect is called with the reason before a lost connection is reestablished;
	// may be nil.
	OnReconnect func(error)
}

const (
	maxSilence = time.Minute // of a connection; the server sends heartbeats
	maxEvent   = 16 << 20    // bytes
)

// Follow follows the events as they happen. A lost connection is reestablished after
// the last event, so that none is missed or reported twice. It returns when the
// context ends, or when the server rejects the request.
func (c *Client) Follow(ctx context.Context, f Follow) error {
	s := &stream{client: c, Follow: f, retryDelay: c.retryDelay}
	for try := 1; ; try++ {
		received, err := s.connect(ctx)
		if received {
			try = 1
		}
		failed := (*callbackError)(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &failed):
			return failed.cause
		case !retryable(err), !s.connected && try >= c.maxTries:
			return err
		}
		if s.connected && f.OnReconnect != nil {
			f.OnReconnect(err)
		}
		if sleep(ctx, max(s.retryDelay, c.backoff(try, err))) != nil {
			return ctx.Err()
		}
	}
}

// stream is the state of one call of Follow, over any number of connections.
type stream struct {
	Follow
	client     *Client
	retryDelay time.Duration // delay before the next connection
	connected  bool          // at least once
}

// callbackError is an error of decoding an event or of the OnEvent callback.
type callbackError struct{ cause error }

func (e *callbackError) Error() string { return e.cause.Error() }

// connect follows over one connection. received reports whether anything arrived.
func (s *stream) connect(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := url.Values{}
	setQuery(q, "type", s.Params.Type)
	setQuery(q, "subject", s.Params.Subject)
	setQuery(q, "source", s.Params.Source)
	r, err := s.client.newRequest(ctx, http.MethodGet, "/v1/events", q, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if s.After != "" {
		r.Header.Set("Last-Event-ID", s.After)
	}
	timeout := time.AfterFunc(maxSilence, func() { cancel(fmt.Errorf("no data for %s", maxSilence)) })
	defer timeout.Stop()
	response, err := s.client.send(r, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	s.connected = true
	err = s.read(response.Body, func() { received = true; timeout.Reset(maxSilence) })
	if failed := (*callbackError)(nil); errors.As(err, &failed) {
		return received, err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return received, &noResponseError{s.client.base, err}
}

// read reads server-sent events until the connection ends.
func (s *stream) read(from io.Reader, alive func()) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	var data strings.Builder
	id := s.After
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
				s.retryDelay = min(time.Duration(ms)*time.Millisecond, maxRetryDelay)
			}
		case "":
			if lines.Text() != "" {
				continue // a comment
			}
			if err := s.deliver(data.String()); err != nil {
				return err
			}
			s.After = id
			data.Reset()
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the stream of events ended")
}

func (s *stream) deliver(text string) error {
	if text == "" {
		return nil
	}
	var e EventView
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return &callbackError{fmt.Errorf("decode an event: %w", err)}
	}
	if err := s.OnEvent(e); err != nil {
		return &callbackError{err}
	}
	return nil
}
