package simulator

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/channels/simulation"
)

// resource is a message or a call.
type resource struct {
	kind      string // messages or calls
	sid       string
	form      url.Values
	status    string
	outcome   simulation.Rule
	code      int // error_code of a message
	answered  string
	created   time.Time
	sent      time.Time // date_sent or start_time
	updated   time.Time
	line, key string
	sequence  int
	over      bool // counted as ended
}

const (
	messages = "Messages"
	calls    = "Calls"
)

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC1123Z)
}

// seconds returns how long a call lasted since the answer.
func (r *resource) seconds() int {
	if r.sent.IsZero() {
		return 0
	}
	return int(r.updated.Sub(r.sent) / time.Second)
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// document returns a resource as the API does.
func (s *Server) document(r *resource) map[string]any {
	uri := "/2010-04-01/Accounts/" + s.options.AccountSID + "/" + r.kind + "/" + r.sid
	d := map[string]any{
		"sid": r.sid, "account_sid": s.options.AccountSID, "to": r.form.Get("To"), "from": optional(r.form.Get("From")),
		"status": r.status, "direction": "outbound-api", "api_version": "2010-04-01", "price": nil, "price_unit": "USD",
		"date_created": stamp(r.created), "date_updated": stamp(r.updated), "uri": uri + ".json",
	}
	if r.kind == messages {
		d["body"], d["num_segments"], d["num_media"] = r.form.Get("Body"), "1", "0"
		d["messaging_service_sid"], d["date_sent"] = optional(r.form.Get("MessagingServiceSid")), stamp(r.sent)
		d["error_code"], d["error_message"] = any(nil), nil
		if r.code != 0 {
			d["error_code"], d["error_message"] = r.code, "simulated"
		}
		d["subresource_uris"] = map[string]string{"media": uri + "/Media.json"}
		return d
	}
	d["start_time"], d["end_time"], d["duration"] = stamp(r.sent), any(nil), nil
	d["answered_by"], d["forwarded_from"], d["caller_name"] = optional(r.answered), any(nil), nil
	d["parent_call_sid"], d["group_sid"], d["trunk_sid"], d["phone_number_sid"] = any(nil), nil, nil, nil
	d["queue_time"], d["to_formatted"], d["from_formatted"] = "0", r.form.Get("To"), r.form.Get("From")
	d["annotation"] = any(nil)
	d["subresource_uris"] = map[string]string{"recordings": uri + "/Recordings.json"}
	if r.over {
		d["end_time"], d["duration"] = stamp(r.updated), strconv.Itoa(r.seconds())
	}
	return d
}

// wrong returns the code of a request that Twilio refuses; 0: it is fine.
func wrong(kind string, form url.Values) int {
	has := form.Has
	switch {
	case form.Get("To") == "" && kind == messages:
		return 21604
	case form.Get("To") == "":
		return 21201
	case strings.Trim(strings.TrimPrefix(form.Get("To"), "whatsapp:"), "+0123456789") != "":
		return 21211
	case kind == calls && form.Get("From") == "":
		return 21213
	case kind == calls && !has("Url") && !has("Twiml") && !has("ApplicationSid"):
		return 21205
	case kind == messages && form.Get("From") == "" && form.Get("MessagingServiceSid") == "":
		return 21603
	case kind == messages && form.Get("Body") == "" && !has("MediaUrl") && !has("ContentSid"):
		return 21602
	case kind == messages && len([]rune(form.Get("Body"))) > 1600:
		return 21617
	}
	if v := form.Get("StatusCallback"); v != "" {
		// Twilio refuses host names with underscores.
		if u, err := url.Parse(v); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Contains(u.Hostname(), "_") {
			return 21609
		}
	}
	return 0
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	kind, ok := strings.CutSuffix(r.PathValue("list"), ".json")
	if !ok || kind != messages && kind != calls {
		refuse(w, http.StatusNotFound, 20404)
		return
	}
	fault := s.Faults().Request(opSend, r.PostForm.Get("To"))
	// A fault before leaves nothing behind; one after, below, keeps the message and loses only
	// the answer. A client cannot distinguish the two.
	if fault.Before(w, r) {
		return
	}
	code := wrong(kind, r.PostForm)
	rule, _ := s.Outcomes.Pick("", r.PostForm.Get("To"))
	if rule.What == Error && code == 0 {
		code, _ = strconv.Atoi(rule.Value)
	}
	var document map[string]any
	if code == 0 {
		document = s.store(kind, r.PostForm, rule)
	} else {
		s.Tally().Refuse(line(r.PostForm))
	}
	if fault.After(w, r) {
		return
	}
	switch {
	case code == 20429:
		refuse(w, http.StatusTooManyRequests, code)
	case code != 0:
		refuse(w, http.StatusBadRequest, code)
	default:
		simulation.WriteJSON(w, http.StatusCreated, document)
	}
}

func line(form url.Values) string {
	if v := form.Get("MessagingServiceSid"); v != "" {
		return v
	}
	return form.Get("From")
}

// store makes a message or call.
func (s *Server) store(kind string, form url.Values, outcome simulation.Rule) map[string]any {
	s.Lock()
	defer s.Unlock()
	s.serial++
	prefix := map[string]string{messages: "SM", calls: "CA"}[kind]
	x := &resource{
		kind: kind, sid: fmt.Sprintf("%s%032x", prefix, s.serial), form: form, status: "queued", outcome: outcome,
		created: time.Now(), updated: time.Now(), line: line(form),
	}
	if form.Get("MessagingServiceSid") != "" {
		x.status = "accepted"
	}
	x.key = x.sid
	if v := form.Get("StatusCallback"); v != "" {
		// The address of its callbacks names attempt and message. By it, the tally counts a
		// second creation of the same message as doubled; two SIDs are never equal.
		x.key, _, _ = strings.Cut(v, "#")
	}
	s.resources, s.bySID[x.sid] = append(s.resources, x), x
	s.records.Requests = append(s.records.Requests, Request{x.sid, form})
	s.Tally().Begin(x.line, x.key, form.Get("To"), 1)
	document := s.document(x)
	s.advance(x, s.options.steps(x))
	return document
}

// visible reports whether queries already show a resource.
// Twilio's reads are only eventually consistent; ListDelay is how far they lag behind.
func (s *Server) visible(r *resource) bool { return time.Since(r.created) >= s.options.ListDelay }

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	sid := strings.TrimSuffix(r.PathValue("file"), ".json")
	fault := s.Faults().Request(opGet, sid)
	if fault.Before(w, r) || fault.After(w, r) {
		return
	}
	s.Lock()
	defer s.Unlock()
	x := s.bySID[sid]
	if x == nil || x.kind != r.PathValue("kind") || !s.visible(x) {
		refuse(w, http.StatusNotFound, 20404)
		return
	}
	simulation.WriteJSON(w, http.StatusOK, s.document(x))
}

// list answers with the resources of a number, the newest first, on one page of at
// most PageSize.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	kind := strings.TrimSuffix(r.PathValue("list"), ".json")
	q := r.URL.Query()
	fault := s.Faults().Request(opList, q.Get("To"))
	if fault.Before(w, r) || fault.After(w, r) {
		return
	}
	if kind != messages && kind != calls {
		refuse(w, http.StatusNotFound, 20404)
		return
	}
	// Twilio's default is 50 and its max 1,000.
	size, err := strconv.Atoi(q.Get("PageSize"))
	if err != nil || size < 1 || size > 1000 {
		size = 50
	}
	page, _ := strconv.Atoi(q.Get("Page"))
	s.Lock()
	defer s.Unlock()
	found := []map[string]any{}
	for i := len(s.resources) - 1; i >= 0; i-- {
		x := s.resources[i]
		fits := x.kind == kind && s.visible(x)
		for _, key := range []string{"To", "From"} {
			fits = fits && (q.Get(key) == "" || q.Get(key) == x.form.Get(key))
		}
		if fits && (q.Get("Status") == "" || q.Get("Status") == x.status) {
			found = append(found, s.document(x))
		}
	}
	start := min(max(0, page)*size, len(found))
	end := min(start+size, len(found))
	uri := func(n int) string {
		q.Set("Page", strconv.Itoa(n))
		q.Set("PageSize", strconv.Itoa(size))
		return "/2010-04-01/Accounts/" + s.options.AccountSID + "/" + kind + ".json?" + q.Encode()
	}
	var next, previous any
	if end < len(found) {
		next = uri(page + 1)
	}
	if page > 0 {
		previous = uri(page - 1)
	}
	simulation.WriteJSON(w, http.StatusOK, map[string]any{
		strings.ToLower(kind): found[start:end], "page": page, "page_size": size, "start": start, "end": max(0, end-1),
		"uri": uri(page), "first_page_uri": uri(0), "next_page_uri": next, "previous_page_uri": previous,
	})
}

// update cancels a message or call. What rings is canceled with a callback, what is
// queued without one.
func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	sid := strings.TrimSuffix(r.PathValue("file"), ".json")
	fault := s.Faults().Request(opCancel, sid)
	if fault.Before(w, r) {
		return
	}
	status, code, document := s.cancel(sid, r.PathValue("kind"), r.PostForm.Get("Status"))
	if fault.After(w, r) {
		return
	}
	if code != 0 {
		refuse(w, status, code)
		return
	}
	simulation.WriteJSON(w, http.StatusOK, document)
}

func (s *Server) cancel(sid, kind, to string) (status, code int, document map[string]any) {
	s.Lock()
	defer s.Unlock()
	x := s.bySID[sid]
	switch {
	case x == nil || x.kind != kind:
		return http.StatusNotFound, 20404, nil
	case to != "canceled" && (to != "completed" || kind == messages):
		return http.StatusBadRequest, 20001, nil
	case x.over && kind == calls:
		return http.StatusBadRequest, 21220, nil
	case kind == messages && x.status != "queued" && x.status != "accepted":
		return http.StatusBadRequest, 30409, nil
	case x.status == "in-progress" && to == "canceled": // only completed ends it
		return 0, 0, s.document(x)
	}
	// Twilio makes no callback about a call that was canceled while queued.
	silent := kind == calls && x.status == "queued"
	x.status, x.updated = to, time.Now()
	s.end(x)
	if !silent {
		s.report(x, x.status)
	}
	return 0, 0, s.document(x)
}
