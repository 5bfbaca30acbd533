package simulator

import (
	"cmp"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/channels/simulation"
)

// Incoming is a message sent by a person. Addresses may omit "sms://".
type Incoming struct {
	From        string            `json:"from"`
	To          string            `json:"to,omitempty"`
	Body        string            `json:"body"`
	GUID        string            `json:"guid,omitempty"`        // empty: one is generated
	Channel     string            `json:"channel,omitempty"`     // empty: the first
	Application string            `json:"application,omitempty"` // empty: the channel's, or the first
	Fields      map[string]string `json:"fields,omitempty"`      // custom attributes, such as country
	// Accepted, if not nil, is called when the application has accepted the message, with the
	// lock held: it must be quick and must not use the server.
	Accepted func() `json:"-"`
}

// Receive simulates a message from a person: its callback to the application is
// repeated until it is accepted. dropped reports that its guid was known.
func (s *Server) Receive(in Incoming) (guid string, dropped bool, err error) {
	s.Lock()
	defer s.Unlock()
	channel := s.channels[cmp.Or(in.Channel, first(s.channels))]
	if channel == nil {
		return "", false, errors.New("no such channel")
	}
	app := s.apps[cmp.Or(in.Application, channel.Application, first(s.apps))]
	if app == nil {
		return "", false, errors.New("no such application")
	}
	in.GUID = cmp.Or(in.GUID, newGUID())
	if app.incoming[in.GUID] {
		s.records.IncomingRepeated++
		return in.GUID, true, nil
	}
	// Known from now on, although the callback may fail: Nuntium itself repeats the callback, and
	// drops what the phone network repeats.
	app.incoming[in.GUID] = true
	if s.options.PurgeAfter > 0 {
		s.Later(s.options.PurgeAfter, func() { delete(app.incoming, in.GUID) })
	}
	s.callIncoming(app, channel, in)
	return in.GUID, false, nil
}

func (s *Server) callIncoming(app *application, channel *Channel, in Incoming) {
	to := app.Interface
	method := map[string]string{"http_get_callback": http.MethodGet, "http_post_callback": http.MethodPost}[to.Type]
	if method == "" || to.URL == "" {
		return // to be fetched by the application, which this simulator does not support
	}
	values := url.Values{
		"application": {app.Name}, "from": {withProtocol(in.From)}, "to": {withProtocol(in.To)},
		"subject": {""}, "body": {printable(in.Body)}, "guid": {in.GUID}, "channel": {channel.Name},
	}
	for key, v := range in.Fields {
		values.Set(key, v)
	}
	s.call(call{
		kind: opIncoming, subject: in.GUID, method: method, url: to.URL, user: to.User, password: to.Password,
		values: values, count: &s.records.IncomingCalls,
		answered: func(a answer) { s.answered(app, in, a) },
	})
}

// answered sends the messages of an application's response. The caller holds
// the lock.
func (s *Server) answered(app *application, in Incoming, a answer) {
	if in.Accepted != nil {
		in.Accepted()
	}
	record := IncomingRecord{GUID: in.GUID, ContentType: a.contentType}
	kind, _, _ := mime.ParseMediaType(a.contentType)
	var replies []*message
	switch {
	case kind == "application/json":
		many, err := parseMessages(a.body)
		if err != nil {
			many = nil
		}
		for _, attributes := range many {
			replies = append(replies, newMessage(attributes))
		}
	// Any other body is a text to the person: an "OK" would reach the phone.
	case strings.TrimSpace(string(a.body)) != "":
		record.Texted = string(a.body)
		replies = append(replies, newMessage(map[string]any{"body": record.Texted}))
	}
	record.Replies = len(replies)
	if s.options.PurgeAfter == 0 {
		s.records.Incoming = append(s.records.Incoming, record)
	}
	for i, m := range replies {
		m.custom["reply_to"], m.custom["reply_sequence"] = in.GUID, strconv.Itoa(i)
		m.to = cmp.Or(m.to, withProtocol(in.From))
		m.from = cmp.Or(m.from, withProtocol(in.To))
		m.token = cmp.Or(m.token, in.GUID)
		if s.route(app, m) != nil {
			return
		}
	}
}

func (s *Server) postIncoming(w http.ResponseWriter, r *http.Request) {
	var in Incoming
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&in)
	if err == nil && in.From == "" {
		err = errors.New("from is required")
	}
	var dropped bool
	if err == nil {
		in.GUID, dropped, err = s.Receive(in)
	}
	if err != nil {
		simulation.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	simulation.WriteJSON(w, http.StatusAccepted, map[string]any{"guid": in.GUID, "dropped": dropped})
}

func withProtocol(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "sms://" + strings.TrimPrefix(address, "+")
}

// printable replaces control characters as Nuntium does.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
