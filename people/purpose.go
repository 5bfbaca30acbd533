package people

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
	"weir/internal/phonenumber"
	"weir/internal/validation"
	"weir/limits"
)

// DefaultPurpose is the purpose of contacts that name none. Until somebody sets its rules, it
// has none: a refusal of all purposes counts, and nothing else.
const DefaultPurpose = "default"

// Rule names a rule for the sake of the person.
type Rule string

// The rules, in the order in which they are looked at.
const (
	RuleConsent    Rule = "consent"      // the person has refused
	RuleUnrecorded Rule = "no_consent"   // no consent is recorded, and the purpose needs one
	RuleRepeat     Rule = "repeat_guard" // the same text again
	RuleCap        Rule = "cap"          // too often
	RuleHours      Rule = "quiet_hours"  // at this hour, in the person's zone
	RuleHoliday    Rule = "holidays"     // on this day, in the person's zone
	RuleOnlyTo     Rule = "only_to"      // not one of the addresses that the channel is limited to
)

// Rules returns every rule.
func Rules() []Rule {
	return []Rule{RuleConsent, RuleUnrecorded, RuleRepeat, RuleCap, RuleHours, RuleHoliday, RuleOnlyTo, limits.RuleInFlight, limits.RulePerSecond, limits.RuleNewPeople, limits.RuleMoney, limits.RuleBudget}
}

// Purpose says what contacts are for, and which rules hold for them.
type Purpose struct {
	Title        string    `json:"title,omitempty" maxLength:"200" doc:"for people"`
	Consent      Policy    `json:"consent,omitempty" enum:"unless_refused,recorded" default:"unless_refused" doc:"recorded: only people are contacted whose consent for this purpose, or for all, is recorded"`
	QuietHours   *Hours    `json:"quiet_hours,omitempty" doc:"hours of the person's day in which the person is not contacted; a contact waits for their end"`
	Holidays     []Holiday `json:"holidays,omitempty" maxItems:"400" nullable:"false" doc:"days, in the person's zone, on which nobody is contacted"`
	TimeZone     string    `json:"time_zone,omitempty" doc:"IANA zone of people whose zone neither the contact nor the number says; absent: UTC" example:"Africa/Nairobi"`
	Caps         []Cap     `json:"caps,omitempty" maxItems:"8" nullable:"false" doc:"how often a person is contacted at most; a contact beyond waits"`
	RepeatGuard  string    `json:"repeat_guard,omitempty" doc:"the same text to one address is suppressed within this time" example:"24h"`
	ExemptFrom   []Rule    `json:"exempt_from,omitempty" maxItems:"1" enum:"consent" nullable:"false" doc:"consent: also people who refused are contacted, as in an emergency"`
	ExemptReason string    `json:"exempt_reason,omitempty" maxLength:"500" doc:"why; it is in the audit log"`
	Help         string    `json:"help,omitempty" maxLength:"480" doc:"the answer to a message such as help or info: who is writing, and how to stop it. To one person at most once in 24 hours; absent: there is no answer" example:"Health survey of the Ministry of Health, +52 55 5555 0100. Reply STOP to end it."`
	Confirmation string    `json:"confirmation,omitempty" maxLength:"480" doc:"the one answer to a stop word, which only confirms. To one person at most once in 24 hours, and only within five minutes; absent: there is no answer" example:"You will get no more messages from us. Reply START to change that."`

	repeat time.Duration
	zone   *time.Location
}

// Policy says which consent a purpose needs.
type Policy string

// The policies.
const (
	UnlessRefused Policy = "unless_refused"
	IfRecorded    Policy = "recorded"
)

// Hours are hours of a day; they may pass midnight.
type Hours struct {
	From string `json:"from" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"HH:MM" doc:"first minute" example:"21:00"`
	To   string `json:"to" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"HH:MM" doc:"first minute after them" example:"08:00"`

	from, to int // minutes of the day
}

// Holiday is a day without contacts.
type Holiday struct {
	Date string `json:"date" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" patternDescription:"a day, such as 2026-12-25" doc:"day" example:"2026-12-25"`
	Name string `json:"name,omitempty" maxLength:"100" doc:"for people" example:"Christmas Day"`
}

// Cap limits how often one person is contacted.
type Cap struct {
	Max    int    `json:"max" minimum:"1" maximum:"1000" doc:"most contacts"`
	Within string `json:"within" doc:"time that they are counted over; of calendar days a number of days" example:"7d"`
	Kind   Kind   `json:"kind,omitempty" enum:"rolling,calendar" default:"rolling" doc:"rolling: within the time before each contact; calendar: today and the days before, in the person's zone"`
	Over   Over   `json:"over,omitempty" enum:"purpose,all" default:"purpose" doc:"which contacts count: those of this purpose, or of all"`

	within time.Duration
}

// Kind says how a cap counts time.
type Kind string

// The kinds.
const (
	Rolling  Kind = "rolling"
	Calendar Kind = "calendar"
)

// Over says which contacts a cap counts.
type Over string

// Which contacts a cap counts.
const (
	OverPurpose Over = "purpose"
	OverAll     Over = "all"
)

// Days returns over how many calendar days the contacts are counted; 0: the cap counts other time. Known
// after Compile.
func (k *Cap) Days() int {
	if k.Kind != Calendar {
		return 0
	}
	return int(k.within / day)
}

// Text returns the cap in words.
func (k *Cap) Text() string {
	text := fmt.Sprintf("%d in %s", k.Max, k.Within)
	if k.Kind == Calendar {
		text = fmt.Sprintf("%d in %d calendar days", k.Max, k.Days())
		if k.Days() == 1 {
			text = fmt.Sprintf("%d a calendar day", k.Max)
		}
	}
	if k.Over == OverAll {
		text = fmt.Sprintf("%v over all purposes", text)
	}
	return text
}

const day = 24 * time.Hour

// maxAnswer is the max length of an answer, in characters: three parts of an SMS.
const maxAnswer = 480

// MaxPurposes bounds the number of purposes.
const MaxPurposes = 200

var purposeName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ValidPurposeName reports whether a purpose may have the name.
func ValidPurposeName(name string) bool { return purposeName.MatchString(name) && name != AllPurposes }

// Compile checks the rules and makes them ready for use. Pointers are relative to the
// purpose.
func (p *Purpose) Compile() (*Purpose, validation.Errors) {
	var m validation.Errors
	out := *p
	if out.Consent == "" {
		out.Consent = UnlessRefused
	}
	if p.QuietHours != nil {
		out.QuietHours = p.QuietHours.compile(&m)
	}
	for i, h := range p.Holidays {
		if _, err := time.Parse(time.DateOnly, h.Date); err != nil {
			m.Add("/holidays/"+strconv.Itoa(i)+"/date", "format", "must be a day, such as 2026-12-25")
		}
	}
	out.zone = time.UTC
	if p.TimeZone != "" {
		zone, err := phonenumber.LoadZone(p.TimeZone)
		if err != nil {
			m.Add("/time_zone", "unknown", "%v", err)
		}
		out.zone = zone
	}
	out.Caps = slices.Clone(p.Caps)
	for i := range out.Caps {
		out.Caps[i].compile("/caps/"+strconv.Itoa(i), &m)
	}
	if p.RepeatGuard != "" {
		var err error
		if out.repeat, err = validation.ParseDelay(p.RepeatGuard); err != nil {
			m.Add("/repeat_guard", "format", "%v", err)
		}
	}
	for i, r := range p.ExemptFrom {
		if r != RuleConsent {
			m.Add("/exempt_from/"+strconv.Itoa(i), "enum", "must be consent")
		}
	}
	for _, text := range []struct{ field, text string }{{"help", p.Help}, {"confirmation", p.Confirmation}} {
		switch {
		case text.text == "":
		case strings.TrimSpace(text.text) == "":
			m.Add("/"+text.field, "format", "must have a text, or be absent")
		case utf8.RuneCountInString(text.text) > maxAnswer:
			m.Add("/"+text.field, "length", "must have up to %d characters", maxAnswer)
		}
	}
	switch {
	case len(p.ExemptFrom) > 0 && p.ExemptReason == "":
		m.Add("/exempt_reason", "required", "must say why people who refused are contacted")
	case len(p.ExemptFrom) > 0 && out.Consent == IfRecorded:
		m.Add("/exempt_from/0", "conflict", "contradicts consent: recorded")
	case len(p.ExemptFrom) == 0 && p.ExemptReason != "":
		m.Add("/exempt_reason", "conflict", "belongs to exempt_from")
	}
	return &out, m
}

func (h *Hours) compile(m *validation.Errors) *Hours {
	out := *h
	var errFrom, errTo error
	if out.from, errFrom = minuteOf(h.From); errFrom != nil {
		m.Add("/quiet_hours/from", "format", "must be a time of day, such as 21:00")
	}
	if out.to, errTo = minuteOf(h.To); errTo != nil {
		m.Add("/quiet_hours/to", "format", "must be a time of day, such as 08:00")
	}
	if errFrom == nil && errTo == nil && out.from == out.to {
		m.Add("/quiet_hours/to", "conflict", "is also the beginning: nobody could ever be contacted")
	}
	return &out
}

func minuteOf(text string) (int, error) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}

func (k *Cap) compile(at string, m *validation.Errors) {
	if k.Kind == "" {
		k.Kind = Rolling
	}
	if k.Over == "" {
		k.Over = OverPurpose
	}
	var err error
	switch k.within, err = validation.ParseDelay(k.Within); {
	case err != nil:
		m.Add(at+"/within", "format", "%v", err)
	case k.Kind == Calendar && k.within%day != 0:
		m.Add(at+"/within", "format", "must be a number of days, such as 7d, for calendar days")
	}
	if k.Max < 1 {
		m.Add(at+"/max", "range", "must be at least 1; a purpose that contacts nobody is no purpose")
	}
}

// NoRules returns the rules of a purpose for which nobody has set any.
func NoRules() *Purpose { return &Purpose{Consent: UnlessRefused, zone: time.UTC} }

// Zone returns the zone of people whose zone is not known.
func (p *Purpose) Zone() *time.Location { return p.zone }

// Ruled reports whether the purpose has more rules than that a refusal counts.
func (p *Purpose) Ruled() bool {
	return p.Consent == IfRecorded || p.QuietHours != nil || len(p.Holidays) > 0 || p.NeedsHistory()
}

// Answers reports whether the purpose has a text for a message of a person.
func (p *Purpose) Answers() bool { return p.Help != "" || p.Confirmation != "" }

// NeedsHistory reports whether earlier contacts of a person matter.
func (p *Purpose) NeedsHistory() bool { return len(p.Caps) > 0 || p.repeat > 0 }

// Needs are the newest of a person's earlier contacts that decide about a claim; the others
// change nothing, because a cap leaves one when the oldest of its newest Max leaves.
type Needs struct {
	All, Purpose int  // how many, of all purposes and of the claim's own
	Text         bool // the newest of another contact with the same text
}

// Needs returns what claims for the purpose need.
func (p *Purpose) Needs() Needs {
	n := Needs{Text: p.repeat > 0}
	for i := range p.Caps {
		if k := &p.Caps[i]; k.Over == OverAll {
			n.All = max(n.All, k.Max)
		} else {
			n.Purpose = max(n.Purpose, k.Max)
		}
	}
	return n
}

// Window returns how far back earlier contacts matter.
func (p *Purpose) Window() time.Duration {
	longest := p.repeat
	for i := range p.Caps {
		longest = max(longest, p.Caps[i].within+day) // calendar days begin up to a day earlier
	}
	return longest
}

// Allows reports whether neither quiet hours nor a holiday is against an instant, in any of
// the zones.
func (p *Purpose) Allows(at time.Time, zones []*time.Location) bool {
	return p.Opens(at, zones).Equal(at)
}

// Opens returns the first instant, from at on, that neither quiet hours nor a holiday is
// against in any of the zones; after 30 days without one, the end of those.
func (p *Purpose) Opens(at time.Time, zones []*time.Location) time.Time {
	open, _ := p.allowed(at, zones)
	return open
}

// Exempt reports whether the purpose reaches people who refused.
func (p *Purpose) Exempt() bool { return slices.Contains(p.ExemptFrom, RuleConsent) }

// CheckPurpose refuses the name of a purpose that does not exist. known are those that do.
func CheckPurpose(pointer, name string, known map[string]*Purpose) []weir.FieldError {
	if name == "" || name == DefaultPurpose || known[name] != nil {
		return nil
	}
	return []weir.FieldError{{Pointer: pointer, Code: "unknown", Detail: fmt.Sprintf("there is no purpose %q", validation.Clip(name))}}
}
