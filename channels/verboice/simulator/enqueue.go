package simulator

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// enqueue accepts a call. It answers 400 to every invalid call.
func (s *Server) enqueue(w http.ResponseWriter, r *http.Request, account string) {
	// Read the body at once, and never as a form: on a POST it is the flow,
	// whatever its content.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	q := r.URL.Query()
	fault := s.Faults().Request(opSend, q.Get("address"))
	if fault.Before(w, r) {
		return
	}
	c, line, problem := s.read(q, time.Now())
	if problem != "" {
		if line != nil {
			s.Tally().Refuse(line.Name)
		}
		answer(w, r, fault, http.StatusBadRequest, map[string]string{"error": problem})
		return
	}
	c.account = account
	if r.Method == http.MethodPost { // any other verb is treated like GET
		c.flow = flow{inline: string(body), isInline: true}
	}
	s.Lock()
	s.accept(line, c)
	id := c.id
	s.Unlock()
	answer(w, r, fault, http.StatusOK, callDocument{id, stateQueued})
}

// read builds a call from the parameters, or returns what is wrong with them.
func (s *Server) read(q url.Values, now time.Time) (_ *call, _ *line, problem string) {
	line := s.lineOf(q)
	if line == nil {
		named := q.Get("channel")
		if named == "" {
			named = q.Get("channel_id")
		}
		return nil, nil, "Channel not found: " + named
	}
	s.Lock()
	disabled := line.Disabled
	s.Unlock()
	c := &call{address: q.Get("address"), statusURL: q.Get("status_callback_url"), echo: echoed(q)}
	switch {
	case disabled:
		return nil, line, "Channel is disabled"
	case strings.TrimSpace(c.address) == "":
		return nil, line, "Call address cannot be empty"
	}
	if problem = c.readWindow(q, now); problem != "" {
		return nil, line, problem
	}
	problem = s.readFlow(c, q)
	c.key = s.options.Key(c.statusURL, c.address)
	return c, line, problem
}

// lineOf finds the channel; the name takes precedence over the number.
func (s *Server) lineOf(q url.Values) *line {
	s.Lock()
	defer s.Unlock()
	return s.lookUp(func(l *line) bool {
		if name := q.Get("channel"); name != "" {
			return l.Name == name
		}
		return strconv.FormatInt(l.ID, 10) == q.Get("channel_id")
	})
}

// readFlow finds the flow, in Verboice's order of precedence.
func (s *Server) readFlow(c *call, q url.Values) (problem string) {
	if id := q.Get("call_flow_id"); id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || len(s.options.CallFlows) > 0 && !slices.Contains(s.options.CallFlows, n) {
			return "Couldn't find CallFlow with id=" + id
		}
		return ""
	}
	if q.Get("call_flow") != "" {
		return ""
	}
	if inline := q.Get("flow"); inline != "" {
		c.flow = flow{inline: inline, isInline: true}
		return ""
	}
	c.flow = flow{url: q.Get("callback_url")}
	return ""
}

func (c *call) readWindow(q url.Values, now time.Time) (problem string) {
	zone := time.UTC
	if name := q.Get("time_zone"); name != "" {
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			return fmt.Sprintf("Time zone %s not supported", name)
		}
	}
	var ok bool
	if c.notBefore, ok = readTime(q.Get("not_before"), zone); !ok {
		return "Invalid date: Not Before"
	}
	if c.notAfter, ok = readTime(q.Get("not_after"), zone); !ok {
		return "Invalid date: Not After"
	}
	switch {
	// The texts are Verboice's own, to the letter: clients have nothing else to distinguish the
	// causes of a 400.
	case c.notAfter.IsZero():
	case c.notAfter.Before(now):
		return "Not After date can't be in the past"
	case c.notAfter.Before(c.notBefore):
		return "Not After date can't be before Not Before date"
	}
	return ""
}

// readTime parses an instant. Without an offset it is in zone.
func readTime(s string, zone *time.Location) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	layouts := []string{"2006-01-02 15:04:05Z07:00", time.RFC3339, "2006-01-02 15:04:05 Z07:00", time.DateTime, "2006-01-02 15:04", time.DateOnly}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// echoed returns the callback_params, which every callback repeats.
func echoed(q url.Values) url.Values {
	echo := url.Values{}
	for key, values := range q {
		if name, ok := strings.CutPrefix(key, "callback_params["); ok && strings.HasSuffix(name, "]") {
			echo[strings.TrimSuffix(name, "]")] = values
		}
	}
	return echo
}

// accept puts a call into the queue of its channel. From here on the tally
// counts it.
func (s *Server) accept(l *line, c *call) {
	s.lastID++
	c.id, c.line, c.state = s.lastID, l, stateQueued
	s.calls[c.id] = c
	s.Tally().Begin(l.Name, c.key, c.address, 1)
	s.enter(c, time.Until(c.notBefore))
}
