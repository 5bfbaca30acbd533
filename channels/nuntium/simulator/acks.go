package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/channels/simulation"
)

// retryAfter returns the pause before a callback is repeated; the last pause
// repeats forever.
// Nuntium never gives up except on a 400: a client that answers 404 for unknown messages is
// called forever.
func (s *Server) retryAfter(failures int) time.Duration {
	minutes := []float64{1, 1, 5, 5, 5, 15, 30}
	return time.Duration(minutes[min(failures, len(minutes))-1] * float64(time.Minute) * s.options.TimeScale)
}

// ack reports the present state of a message. The caller holds the lock.
func (s *Server) ack(m *message) {
	to := m.app.Ack
	if to.Method != "get" && to.Method != "post" || to.URL == "" {
		return
	}
	// There is neither a token nor a cause of failure in it, as at Nuntium.
	values := url.Values{"guid": {m.guid}, "channel": {m.channel.Name}, "state": {m.state}}
	addCustom(values, m.custom)
	s.call(call{
		kind: opAck, subject: m.guid, method: strings.ToUpper(to.Method), url: to.URL, user: to.User, password: to.Password,
		values: values, count: &s.records.Acks,
	})
}

// addCustom adds custom attributes as parameters; arrays in the Rails format.
func addCustom(values url.Values, custom map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(custom)) {
		switch v := custom[key].(type) {
		case []any:
			for _, e := range v {
				values.Add(key+"[]", fmt.Sprint(e))
			}
		case nil:
		default:
			values.Set(key, fmt.Sprint(v))
		}
	}
}

// call is one callback with all its repetitions.
type call struct {
	kind, subject  string
	method, url    string
	user, password string
	values         url.Values
	failures       int
	count          *CallCount
	answered       func(answer) // called under the lock with the response to a successful callback
}

// call sends a callback and repeats it until the response is 2xx or 3xx. 400
// drops it for good. The caller holds the lock.
func (s *Server) call(c call) {
	var heard answer
	s.Call(simulation.Callback{
		Subject: c.subject, Kind: c.kind, Request: c.request,
		Answer: func(header http.Header, body []byte) {
			heard = answer{contentType: header.Get("Content-Type"), body: body}
		},
		Done: func(status int, err error) { s.done(c, heard, status, err) },
	})
}

func (s *Server) done(c call, heard answer, status int, err error) {
	c.count.Sent++
	switch {
	case errors.Is(err, simulation.ErrDropped):
		c.count.Sent--
		c.count.Dropped++
	case err == nil && status >= 200 && status < 400:
		c.count.Taken++
		if c.answered != nil {
			c.answered(heard)
		}
	// Only 400 drops it. After 401, 404 or a time-out Nuntium tries forever.
	case err == nil && status == http.StatusBadRequest:
		c.count.Rejected++
	default:
		c.failures++
		c.count.Retried++
		s.Later(s.retryAfter(c.failures), func() { s.call(c) })
	}
}

func (c call) request(ctx context.Context) (*http.Request, error) {
	target, err := url.Parse(c.url)
	if err != nil {
		return nil, err
	}
	body := ""
	if c.method == http.MethodGet {
		query := target.Query()
		maps.Copy(query, c.values)
		target.RawQuery = query.Encode()
	} else {
		body = c.values.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, c.method, target.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.user != "" {
		r.SetBasicAuth(c.user, c.password)
	}
	return r, nil
}
