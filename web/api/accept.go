package api

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/internal/phonenumber"
	"weir/internal/tracing"
	"weir/internal/validation"
	"weir/operators"
	"weir/people"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// contactAccepter accepts contacts.
type contactAccepter interface {
	// Accept stores contacts. They are durable when it returns.
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
}

// acceptRoutes serves the route on which clients queue contacts.
type acceptRoutes struct {
	lookup    channelLookup
	index     *callbacks.Index // caches channels by name
	directory *channels.Directory
	broker    contactAccepter
	tracer    *tracing.Tracer // nil: traces are off
	now       func() time.Time
	people    people.Purposes // nil: there is none but the default
	zones     *people.Zones
	// finder finds the messages that replies answer, which must not be older than replyWithin; 0: of any age.
	finder      *Finder
	replyWithin time.Duration
	downloads   *route.Downloads // limits imports, too
	bodies      httpjson.Decoder // into api.ContactsBody
}

func (r *acceptRoutes) table() []*route.Route {
	post := &route.Route{
		Method: "POST", Path: "/v1/channels/{channel}/contacts", ID: "post-contacts", Tag: "contacts",
		Summary: "Queue contacts on a channel",
		Description: "1 to 1000 contacts, all or none. They are durable before the response. " +
			"A contact's key makes the request safe to repeat: a key that the channel knows with the same content yields the contact that has it, marked as duplicate, and queues nothing. " +
			"With other content the request is refused (409, key_reused), and errors names for each such contact the fields that differ. " +
			"After a 503 or a lost connection it is not known whether the contacts were queued; repeat the request with the same keys. " +
			"A dry run does not look up the keys.",
		Body: route.TypeOf[api.ContactsBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBatchBody, Handle: r.post,
		Query:   []httpjson.Parameter{route.DryRun()},
		Answers: []route.Answer{{Status: http.StatusAccepted, Description: "queued durably, in the order of the request", Body: route.TypeOf[api.AcceptedList]()}, route.RightAnswer()},
		Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeKeyReused},
	}
	return []*route.Route{post, r.importRoute(post)}
}

// channel returns the channel that contacts are for, from memory if it
// was read within the last second: otherwise a client that sends one contact per
// request would cause a read of the row each time.
func (r *acceptRoutes) channel(ctx context.Context, name string) (weir.Channel, error) {
	ch, ok, err := r.index.Live(ctx, name)
	if err != nil || !ok {
		return r.lookup.named(ctx, name)
	}
	return ch, nil
}

func (r *acceptRoutes) post(c *route.Call) (route.Reply, error) {
	dry := c.DryRun()
	q, err := r.queue(c, dry)
	switch {
	case err != nil:
		return route.Reply{}, err
	case dry:
		return route.Checked(nil)
	}
	return route.Reply{Status: http.StatusAccepted, Body: q.list, Changes: exemptChanges(q.reached)}, nil
}

// queued is what came of the contacts of a request.
type queued struct {
	list    api.AcceptedList
	reached map[string]reached // by purpose
}

// reached says how many contacts reach people who refused, and why they may.
type reached struct {
	contacts int
	reason   string
}

// queue queues the contacts of a request, all or none. A dry run only checks them, and lists none.
func (r *acceptRoutes) queue(c *route.Call, dry bool) (out queued, err error) {
	var traced *tracing.Request
	if !dry {
		traced = r.tracer.Request(c.Request.Header)
	}
	defer func() { traced.End(http.StatusAccepted, err) }()
	name := c.Request.PathValue("channel")
	ch, err := r.channel(c, name)
	if err != nil {
		return out, err
	}
	wrong := slices.Clone(c.Errors)
	out, err = r.accept(c, ch, traced, dry)
	switch weir.CodeOf(err) {
	case weir.CodeNotFound, weir.CodeConflict, weir.CodeInvalid:
	default:
		return out, err
	}
	// The rejection may be due to an outdated cached row.
	r.index.Forget(name)
	now, lost := r.lookup.named(c, name)
	switch {
	case lost != nil:
		return out, lost
	case now.ID == ch.ID && now.Version == ch.Version:
		return out, err
	}
	c.Errors = wrong
	return r.accept(c, now, traced, dry)
}

func (r *acceptRoutes) accept(c *route.Call, ch weir.Channel, traced *tracing.Request, dry bool) (out queued, err error) {
	t, err := channelType(r.directory, ch)
	if err != nil {
		return out, err
	}
	batch := batchReader{
		request: c, now: r.now(), content: t.Content, typeName: t.Name, address: t.CanonicalAddress, region: channels.Region(ch.Settings),
		capacity: ch.Capacity, reserve: channels.ReplyReserve(ch.Settings), errors: &c.Errors, zones: r.zones,
	}
	if r.people != nil {
		batch.purposes = r.people.Purposes()
	}
	if r.replyWithin > 0 {
		batch.wrote, batch.replyWithin = r.finder.wrote, r.replyWithin
	}
	specs := batch.read(c.Body, r.bodies)
	if batch.failed != nil {
		return out, batch.failed
	}
	if err := c.Invalid(); err != nil {
		return out, err
	}
	if ch.Deleting {
		return out, weir.Errorf(weir.CodeConflict, "channel %s is being deleted and takes no contacts", ch.Name)
	}
	if dry {
		return out, nil
	}
	traced.Join(specs)
	accepted, err := r.broker.Accept(c, ch, specs)
	if err != nil {
		return out, err
	}
	traced.Accepted(&ch, accepted)
	list := api.AcceptedList{Contacts: make([]api.AcceptedView, 0, len(accepted))}
	for i := range accepted {
		a := &accepted[i]
		list.Contacts = append(list.Contacts, api.AcceptedView{
			ID: a.Contact.Ref.String(), Key: a.Contact.Key, State: a.Contact.State.String(), Duplicate: a.Duplicate,
		})
	}
	return queued{list, batch.reached}, nil
}

// Limits that schema keywords cannot express.
const (
	maxLabelName  = 64
	maxLabelValue = 256
	maxTwiML      = 64 << 10 // bytes
)

// batchReader converts a request body to specs and finds the errors that depend
// on the channel, the clock or several fields. The schema is checked earlier,
// but batchReader also reads a body that failed there, as far as possible, so
// that all errors are reported at once.
type batchReader struct {
	request  *route.Call
	now      time.Time
	content  channels.Content
	typeName string
	address  func(to, region string) (string, error)
	region   string
	capacity int
	reserve  int
	purposes map[string]*people.Purpose
	zones    *people.Zones
	errors   *validation.Errors
	keys     map[string]int     // first contact of each key
	reached  map[string]reached // for each purpose that reaches people who refused
	// wrote returns when a person has sent the latest message, for replies; nil: they need none.
	wrote       func(ctx context.Context, address string) (time.Time, error)
	replyWithin time.Duration
	written     map[string]time.Time // by address
	failed      error
}

func (b *batchReader) read(body map[string]any, decoder httpjson.Decoder) []weir.Spec {
	list, _ := body["contacts"].([]any)
	if len(list) > 1000 {
		return nil // reported by the schema
	}
	var given api.ContactsBody
	decoder.Decode(body, &given)
	b.keys = make(map[string]int, len(list))
	specs := make([]weir.Spec, 0, len(list))
	for i, v := range list {
		if members, ok := v.(map[string]any); ok {
			specs = append(specs, b.contact(&given.Contacts[i], members, i))
		}
	}
	return specs
}

// contact reads a contact. members are those of its body, also what is of a wrong type.
func (b *batchReader) contact(given *api.ContactBody, members map[string]any, i int) weir.Spec {
	at := "/contacts/" + strconv.Itoa(i)
	s := specOf(given)
	b.to(given.To, &s, at)
	b.survey(s.Survey, at)
	b.reply(&s, at)
	b.key(s.Key, i, at)
	b.window(&s, at)
	b.person(&s, at)
	b.labels(members, at)
	b.messages(members, at)
	b.call(members, at)
	b.kind(members, at)
	b.size(&s, at)
	return s
}

// to brings the address into the canonical form of the channel's type. The schema
// reports one that is missing or too long.
func (b *batchReader) to(given string, s *weir.Spec, at string) {
	if given == "" || len(given) > channels.MaxAddress {
		return
	}
	hidden := func(r rune) bool { return r < '!' || r > '~' }
	if clean, err := phonenumber.Clean(given); err == nil && strings.ContainsFunc(clean, hidden) && !channels.WrittenNumber(clean) {
		b.errors.Add(at+"/to", "format", "must be visible ASCII characters; a phone number may have spaces")
		return
	}
	var err error
	if s.To, err = b.address(given, b.region); err != nil {
		b.errors.Add(at+"/to", "format", "%v", err)
	}
}

// survey checks the survey of a contact. Its name decides which budget pays, so the sender's scopes must reach it.
func (b *batchReader) survey(name, at string) {
	if name != "" && !b.request.Reaches(operators.Survey(name)) {
		b.errors.Add(at+"/survey", "outside", "must begin with %s: the token is limited to such names", b.request.Limits())
	}
}

func (b *batchReader) key(key string, i int, at string) {
	if key == "" {
		return
	}
	if strings.HasPrefix(key, operators.RequeuePrefix) {
		b.errors.Add(at+"/key", "reserved", "must not begin with %s: such keys are of contacts that Weir made of dead letters", operators.RequeuePrefix)
		return
	}
	if first, ok := b.keys[key]; ok {
		b.errors.Add(at+"/key", "duplicate", "is the key of /contacts/%d too", first)
		return
	}
	b.keys[key] = i
}

func (b *batchReader) window(s *weir.Spec, at string) {
	switch {
	case s.NotAfter.IsZero():
	case !s.NotAfter.After(b.now):
		b.errors.Add(at+"/not_after", "window", "is over already")
	case !s.NotBefore.Before(s.NotAfter):
		b.errors.Add(at+"/not_after", "window", "must be later than not_before")
	}
}

// person checks what the rules for the sake of the person need.
func (b *batchReader) person(s *weir.Spec, at string) {
	if s.Purpose == people.DefaultPurpose {
		s.Purpose = "" // so that a repetition is one, whether it says so or not
	}
	b.errors.Append(people.CheckPurpose(at+"/purpose", s.Purpose, b.purposes)...)
	b.exempt(s.Purpose, at)
	if s.TimeZone == "" {
		return
	}
	zone, ok := b.zones.Load(s.TimeZone)
	if !ok {
		b.errors.Add(at+"/time_zone", "unknown", "is not an IANA time zone, like Africa/Nairobi")
		return
	}
	s.TimeZone = zone.String()
}

// reply refuses a reply to a person who has not written lately: no cap and no quiet hours delay it,
// because the person is waiting for it.
func (b *batchReader) reply(s *weir.Spec, at string) {
	if s.Priority != weir.Reply || s.To == "" || b.wrote == nil || b.failed != nil {
		return
	}
	last, known := b.written[s.To]
	if !known {
		if last, b.failed = b.wrote(b.request, s.To); b.failed != nil {
			return
		}
		if b.written == nil {
			b.written = map[string]time.Time{}
		}
		b.written[s.To] = last
	}
	if last.IsZero() || b.now.Sub(last) > b.replyWithin {
		b.errors.Add(at+"/priority", "no_message", "must be high or normal: the person has sent no message in the last %g hours (WEIR_REPLY_WITHIN), and a reply answers one", b.replyWithin.Hours())
	}
}

// exempt notes a purpose that reaches people who refused, which needs a scope of its own.
func (b *batchReader) exempt(purpose, at string) {
	purpose = cmp.Or(purpose, people.DefaultPurpose)
	p := b.purposes[purpose]
	if p == nil || !p.Exempt() {
		return
	}
	if !b.request.Principal.Has(operators.ScopeContactsExempt) {
		b.errors.Add(at+"/purpose", "exempt", "reaches people who refused, so that the token also needs %s", operators.ScopeContactsExempt)
		return
	}
	if b.reached == nil {
		b.reached = map[string]reached{}
	}
	b.reached[purpose] = reached{b.reached[purpose].contacts + 1, p.ExemptReason}
}

// exemptChanges lists the purposes that reach people who refused, for the audit log.
func exemptChanges(by map[string]reached) (list []operators.FieldChange) {
	for _, purpose := range slices.Sorted(maps.Keys(by)) {
		list = append(list, operators.FieldChange{Field: "contacts for " + purpose, After: fmt.Sprintf("%d; exempt: %s", by[purpose].contacts, by[purpose].reason)})
	}
	return list
}

// instantOf reads an instant; the schema reports invalid ones.
func instantOf(v any) time.Time {
	s, _ := v.(string)
	t, _, _ := weir.ParseInstant(s)
	return t
}

func (b *batchReader) labels(members map[string]any, at string) {
	given, _ := members["labels"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, ok := given[name].(string)
		if name == "" || utf8.RuneCountInString(name) > maxLabelName || !printable(name) {
			b.errors.Add(at+"/labels/"+httpjson.PointerToken(name), "format", "a label's name must be 1 to %d printable characters", maxLabelName)
		}
		if ok && utf8.RuneCountInString(value) > maxLabelValue {
			b.errors.Add(at+"/labels/"+httpjson.PointerToken(name), "length", "must have 0 to %d characters", maxLabelValue)
		}
	}
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (b *batchReader) messages(members map[string]any, at string) {
	given, _ := members["messages"].([]any)
	for i, v := range given {
		text, ok := v.(string)
		if n := utf8.RuneCountInString(text); ok && (n < 1 || n > httpjson.MaxMessage) {
			b.errors.Add(at+"/messages/"+strconv.Itoa(i), "length", "must have 1 to %d characters", httpjson.MaxMessage)
		}
	}
}

func (b *batchReader) call(members map[string]any, at string) {
	given, ok := members["call"].(map[string]any)
	if !ok {
		return
	}
	known := 0
	for _, name := range []string{"callback_url", "call_flow_id", "twiml"} {
		if _, ok := given[name]; ok {
			known++
		}
	}
	if known != 1 {
		b.errors.Add(at+"/call", "content", "must have exactly one of callback_url, call_flow_id and twiml")
	}
	if v, ok := given["callback_url"].(string); ok {
		if u, err := url.Parse(v); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			b.errors.Add(at+"/call/callback_url", "format", "must be an http or https URL with a host")
		}
	}
	if v, ok := given["twiml"].(string); ok {
		if len(v) > maxTwiML {
			b.errors.Add(at+"/call/twiml", "length", "must have up to %d bytes", maxTwiML)
		} else if !isTwiML(v) {
			b.errors.Add(at+"/call/twiml", "format", "must be well-formed XML with a Response as its root")
		}
	}
}

// isTwiML reports whether s is a well-formed document with one root, Response.
func isTwiML(s string) bool {
	d := xml.NewDecoder(strings.NewReader(s))
	depth, roots := 0, 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return roots == 1 && depth == 0
		}
		if err != nil {
			return false
		}
		switch e := t.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
				if e.Name.Local != "Response" {
					return false
				}
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(e)) != "" {
				return false
			}
		}
	}
}

// kind checks the content against what the channel type carries.
func (b *batchReader) kind(members map[string]any, at string) {
	if b.content == channels.Any {
		return
	}
	needed, other, carries := "messages", "call", "texts"
	if b.content == channels.Voice {
		needed, other, carries = other, needed, "calls"
	}
	if _, ok := members[needed]; !ok {
		b.errors.Add(at+"/"+needed, "required", "is missing: channel type %s carries %s", b.typeName, carries)
	}
	if _, ok := members[other]; ok {
		b.errors.Add(at+"/"+other, "content", "does not belong here: channel type %s carries %s", b.typeName, carries)
	}
}

// size rejects a contact that could never start on this channel.
func (b *batchReader) size(s *weir.Spec, at string) {
	ledger := weir.Ledger{Capacity: b.capacity, Reserve: b.reserve}
	if !ledger.Blocked(s.Priority, s.Size()) {
		return
	}
	if s.Priority == weir.Reply || s.Size() > b.capacity {
		b.errors.Add(at+"/messages", "size", "takes %d slots, and the channel's capacity is %d", s.Size(), b.capacity)
		return
	}
	b.errors.Add(at+"/messages", "size", "takes %d slots; the channel's capacity is %d, and %d of it are kept for replies", s.Size(), b.capacity, b.reserve)
}

// priorityWords returns the priorities as clients write them, in their order.
func priorityWords() []string { return []string{"reply", "high", "normal"} }

// priorityWord returns a priority as clients write it; one of a later version is normal.
func priorityWord(p weir.Priority) string {
	if p < weir.Reply || p > weir.Normal {
		p = weir.Normal
	}
	return priorityWords()[p]
}
