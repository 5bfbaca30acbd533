package simulator

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

var errCrash = errors.New("the simulated Nuntium failed in the middle of a batch")

// parseMessages reads a JSON object or an array of them.
func parseMessages(body []byte) ([]map[string]any, error) {
	var many []map[string]any
	if json.Unmarshal(body, &many) == nil {
		return many, nil
	}
	var one map[string]any
	if err := json.Unmarshal(body, &one); err != nil {
		return nil, err
	}
	return []map[string]any{one}, nil
}

// newMessage reads the attributes of one message.
func newMessage(attributes map[string]any) *message {
	m := &message{custom: maps.Clone(attributes)}
	if m.custom == nil {
		m.custom = map[string]any{}
	}
	for key, field := range map[string]*string{
		"from": &m.from, "to": &m.to, "subject": &m.subject, "body": &m.body, "guid": &m.guid, "token": &m.token,
	} {
		if v, ok := m.custom[key].(string); ok {
			*field = v
		}
		delete(m.custom, key)
	}
	if c, ok := m.custom["channel"]; ok {
		m.custom["explicit_channel"] = c
		delete(m.custom, "channel")
	}
	m.to = strings.Replace(m.to, "sms://+", "sms://", 1)
	return m
}

// copy returns the message that one channel of a broadcast sends.
func (m *message) copy() *message {
	c := *m
	// Copies have guids of their own. Clients recognize them by the custom attributes.
	c.guid = newGUID()
	c.custom = maps.Clone(m.custom)
	return &c
}

// take routes a batch in order and returns the token in force at its end. On an
// error the messages before the failing one stay stored.
func (s *Server) take(app *application, batch []*message) (token string, err error) {
	s.Lock()
	defer s.Unlock()
	// Messages without a token share a new one; the answer has the one in force at the end.
	token = newGUID()
	for _, m := range batch {
		if m.token != "" {
			token = m.token
		}
		m.token = token
		if err := s.route(app, m); err != nil {
			return "", err
		}
	}
	return token, nil
}

// route chooses a message's destination and stores the message, or drops it.
func (s *Server) route(app *application, m *message) error {
	m.app = app
	if m.guid == "" {
		m.guid = newGUID()
	}
	// The only idempotency that Nuntium has: a known guid is dropped, and the answer is 200.
	if app.byGUID[m.guid] != nil {
		s.records.Repeated++
		return nil
	}
	outcome := Confirmed
	if rule, ok := s.Outcomes.Pick(opSend, m.to); ok {
		outcome = rule.What
	}
	if outcome == Crash {
		return errCrash
	}
	if !validAddress(m.to) {
		explicit, _ := m.custom["explicit_channel"].(string)
		s.store(m)
		m.state = stateFailed
		s.Tally().Begin(explicit, m.guid, m.to, 1)
		s.Tally().End(explicit, m.guid)
		return nil
	}
	s.place(m, outcome)
	return nil
}

// place puts a message on its channel or channels. If an explicit channel
// cannot take the message, it is not stored.
func (s *Server) place(m *message, outcome string) {
	explicit, isExplicit := m.custom["explicit_channel"].(string)
	candidates := s.candidates(m.app, m)
	switch {
	case isExplicit && len(candidates) == 0:
		// The answer is 200 all the same; only a query by the token, which lists nothing, reveals
		// it.
		s.records.Vanished++
		s.Tally().Refuse(explicit)
	case len(candidates) == 0:
		s.store(m)
		m.state = stateFailed
	case m.custom["strategy"] == "broadcast" && !isExplicit:
		s.store(m)
		m.state = stateBroadcasted
		for _, c := range candidates {
			s.put(m.copy(), c, outcome)
		}
	default:
		s.put(m, candidates[0], outcome)
	}
}

// put stores a message on a channel and schedules its steps.
func (s *Server) put(m *message, c *Channel, outcome string) {
	s.store(m)
	m.channel = c
	m.counted = true
	s.Tally().Begin(c.Name, m.guid, m.to, 1)
	if s.options.Taken != nil {
		s.options.Taken(m.guid, m.to, m.body)
	}
	s.walk(m, s.options.steps(outcome))
}

func (s *Server) store(m *message) {
	s.serial++
	m.id = s.serial
	m.state = statePending
	m.app.messages = append(m.app.messages, m)
	m.app.byGUID[m.guid] = m
	m.app.byToken[m.token] = append(m.app.byToken[m.token], m)
	if s.options.PurgeAfter > 0 {
		s.Later(s.options.PurgeAfter, func() { m.app.purge(m) })
		return
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%q%q", m.to, m.body)
	if m.app.texts[h.Sum64()] {
		s.records.Alike++
	}
	m.app.texts[h.Sum64()] = true
}

// candidates returns the channels that may carry a message, best first.
func (s *Server) candidates(app *application, m *message) []*Channel {
	scheme, _, _ := strings.Cut(m.to, "://")
	explicit, isExplicit := m.custom["explicit_channel"].(string)
	suggested, _ := m.custom["suggested_channel"].(string)
	var out []*Channel
	for _, name := range slices.Sorted(maps.Keys(s.channels)) {
		c := s.channels[name]
		switch {
		case !c.Enabled, c.Direction == "incoming", c.Protocol != scheme:
		case c.Application != "" && c.Application != app.Name:
		case isExplicit && name != explicit:
		default:
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Channel) int { return a.Priority - b.Priority })
	if i := slices.IndexFunc(out, func(c *Channel) bool { return c.Name == suggested }); i >= 0 {
		return []*Channel{out[i]}
	}
	return out
}

// validAddress requires a protocol and, for SMS, 5 to 20 digits.
func validAddress(to string) bool {
	scheme, rest, ok := strings.Cut(to, "://")
	if !ok || rest == "" {
		return false
	}
	return scheme != "sms" || len(rest) >= 5 && len(rest) <= 20 && strings.Trim(rest, "0123456789") == ""
}

func newGUID() string { return strings.ToLower(rand.Text()) }
