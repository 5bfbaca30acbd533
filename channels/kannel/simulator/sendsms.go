package simulator

import (
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	"weir/channels/simulation"
)

// request is a message as a client asks for it: in headers of a POST or in the
// query of a GET.
type request struct {
	get  func(name string) (string, bool)
	text []byte
}

const undefined = -1

func (r request) value(name string) string { v, _ := r.get(name); return v }

// number returns a numeric parameter: like Kannel, the digits at its begin.
func (r request) number(name string) int {
	v, _ := r.get(name)
	v = strings.TrimSpace(v)
	end := 0
	for end < len(v) && (v[end] >= '0' && v[end] <= '9' || end == 0 && v[end] == '-') {
		end++
	}
	n, err := strconv.Atoi(v[:end])
	if err != nil {
		return undefined
	}
	return n
}

// readRequest reads a POST with a body as smsbox does, and anything else by its
// query. problem is the answer to a body of a type that smsbox does not take.
func readRequest(r *http.Request) (_ request, problem string) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // a request without its end is none
		panic(http.ErrAbortHandler)
	}
	if r.Method != http.MethodPost {
		q := r.URL.Query()
		get := func(name string) (string, bool) { return q.Get(name), q.Has(name) }
		return request{get, []byte(q.Get("text"))}, ""
	}
	kind, charset, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	get := func(name string) (string, bool) {
		v := r.Header.Values("X-Kannel-" + name)
		if len(v) == 0 {
			return "", false
		}
		return strings.TrimSpace(v[0]), true
	}
	switch kind {
	case "", "application/octet-stream":
	case "text/plain":
		if !strings.Contains(strings.ToLower(charset), "charset=") { // ISO-8859-1 is assumed
			body = []byte(latin1(body))
		}
	default:
		return request{get, body}, "Invalid content-type"
	}
	withCoding := func(name string) (string, bool) {
		v, ok := get(name)
		if name == "coding" && !ok && kind != "text/plain" {
			// Like smsbox: a body that is no text is binary unless a coding is given.
			return "1", true
		}
		return v, ok
	}
	return request{withCoding, body}, ""
}

func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

// sendsms answers a request for a message.
func (s *Server) sendsms(w http.ResponseWriter, r *http.Request) {
	in, problem := readRequest(r)
	if problem != "" {
		answer(w, http.StatusBadRequest, problem)
		return
	}
	fault := s.Faults().Request(opSend, in.value("to"))
	if fault.Before(w, r) {
		return
	}
	status, text := s.accept(in, r.Method == http.MethodPost)
	if fault.After(w, r) {
		return
	}
	answer(w, status, text)
}

// accept checks a request in Kannel's order and stores its message.
func (s *Server) accept(in request, post bool) (status int, text string) {
	user, _ := in.get("username")
	password, given := in.get("password")
	// The user comes first, before any mistake in the message: the driver's probe relies on that.
	if !given || user != s.options.Username || password != s.options.Password {
		return http.StatusForbidden, "Authorization failed for sendsms"
	}
	to, ok := in.get("to")
	switch {
	case !ok && post:
		return http.StatusBadRequest, "Missing receiver(s) number(s), rejected"
	case !ok:
		return http.StatusBadRequest, "Missing receiver number, rejected"
	case to == "":
		return http.StatusBadRequest, "Empty receiver number not allowed, rejected"
	case strings.Trim(to, "0123456789 +-") != "":
		return http.StatusBadRequest, "Number(s) has/have been denied by white- and/or black-lists."
	}
	m := &message{reportURL: in.value("dlr-url"), mask: in.number("dlr-mask"), attributes: Message{
		From: in.value("from"), To: to, Coding: max(0, in.number("coding")), Validity: max(0, in.number("validity")),
	}}
	if m.attributes.From == "" {
		m.attributes.From = s.options.GlobalSender
	}
	switch {
	case m.attributes.From == "":
		return http.StatusBadRequest, "Sender missing and no global set, rejected"
	case m.reportURL != "" && !strings.HasPrefix(m.reportURL, "http://") && !strings.HasPrefix(m.reportURL, "https://"):
		return http.StatusBadRequest, "DLR-URL field misformed, rejected"
	case m.mask < undefined || m.mask > 66:
		return http.StatusBadRequest, "DLR-Mask field misformed, rejected"
	case m.attributes.Coding > 2:
		return http.StatusBadRequest, "Coding field misformed, rejected"
	}
	m.attributes.Text = textOf(in.text, m.attributes.Coding)
	return s.store(m, in.value("smsc"))
}

// textOf returns a message's text as a person would read it.
func textOf(raw []byte, coding int) string {
	if coding != 2 {
		return string(raw)
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// store routes a message. Like bearerbox it reports also on one without a route.
func (s *Server) store(m *message, smsc string) (status int, text string) {
	s.Lock()
	defer s.Unlock()
	l := s.route(m.attributes.To, smsc)
	if l == nil {
		s.Tally().Refuse(smsc)
		s.report(m, stateRefused, "NACK/no SMSC")
		return http.StatusForbidden, "Not routable. Do not try again."
	}
	m.link, m.attributes.Link = l, l.ID
	s.records.Messages = append(s.records.Messages, m.attributes)
	s.Tally().Begin(l.ID, m.key(), m.attributes.To, 1)
	rule, _ := s.Outcomes.Pick("", m.attributes.To)
	m.outcome = rule.What
	if l.State == Online {
		s.begin(m)
		return http.StatusAccepted, "0: Accepted for delivery"
	}
	l.waiting = append(l.waiting, m)
	return http.StatusAccepted, "3: Queued for later delivery"
}

// status answers like bearerbox's status.xml.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	fault := s.Faults().Request(opStatus, "")
	if fault.Before(w, r) || fault.After(w, r) {
		return
	}
	w.Header().Set("Server", "Kannel/1.4.5")
	w.Header().Set("Content-Type", "text/plain")
	if s.options.StatusPassword != "" && r.URL.Query().Get("password") != s.options.StatusPassword {
		_, _ = io.WriteString(w, "<?xml version=\"1.0\"?>\n<gateway>\nDenied</gateway>\n")
		return
	}
	_, _ = io.WriteString(w, s.statusDocument())
}

func (s *Server) postLink(w http.ResponseWriter, r *http.Request) {
	if err := s.SetLink(r.FormValue("id"), r.FormValue("state")); err != nil {
		simulation.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
