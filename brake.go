package weir

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
)

// ReasonOptedOut is the reason of contacts whose person does not want to be contacted, as
// far as the provider knows.
const ReasonOptedOut = "opted out"

// Bounds of a [Brake].
const (
	MinBrakeOver     = 10
	MaxBrakeOver     = 10_000
	MaxBrakePercent  = 99 // more than 100 percent is never reached
	MaxBrakeReasons  = 20
	maxBrakeReason   = 200 // characters
	defaultBrakeOver = 100
	defaultBrakeMin  = 20
)

// Brake defines when a channel or a survey pauses itself, as the API has it.
type Brake api.Brake

// Check returns everything that is wrong with the brake; nil is no brake.
func (b *Brake) Check() (wrong []FieldError) {
	if b == nil {
		return nil
	}
	add := func(pointer, code, format string, args ...any) {
		wrong = append(wrong, FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	within := func(pointer string, n, low, high int) {
		if n != 0 && (n < low || n > high) {
			add(pointer, "range", "must be from %d to %d", low, high)
		}
	}
	within("/over", b.Over, MinBrakeOver, MaxBrakeOver)
	within("/minimum", b.Minimum, 1, MaxBrakeOver)
	if b.Minimum > b.over() && b.Minimum <= MaxBrakeOver {
		add("/minimum", "range", "must not exceed over, which is %d", b.over())
	}
	within("/opted_out_percent", b.OptedOut, 1, MaxBrakePercent)
	within("/failed_percent", b.Failed, 1, MaxBrakePercent)
	if len(b.Reasons) > MaxBrakeReasons {
		add("/reasons", "length", "must have at most %d entries", MaxBrakeReasons)
		return wrong
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		at := "/reasons/" + pointerToken(reason)
		if n := b.Reasons[reason]; n < 1 || n > MaxBrakePercent {
			add(at, "range", "must be from 1 to %d", MaxBrakePercent)
		}
		if n := len([]rune(reason)); n == 0 || n > maxBrakeReason {
			add(at, "length", "a reason must have 1 to %d characters", maxBrakeReason)
		}
	}
	if b.OptedOut == 0 && b.Failed == 0 && len(b.Reasons) == 0 {
		add("", "required", "needs opted_out_percent, failed_percent or reasons")
	}
	return wrong
}

// pointerToken escapes a name for a JSON pointer.
func pointerToken(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

func (b *Brake) over() int {
	if b.Over == 0 {
		return defaultBrakeOver
	}
	return b.Over
}

func (b *Brake) minimum() int {
	if b.Minimum == 0 {
		return min(defaultBrakeMin, b.over())
	}
	return b.Minimum
}

// Window returns how many of the latest contacts are counted, and how many must have ended before the brake acts.
func (b *Brake) Window() (over, minimum int) { return b.over(), b.minimum() }

// Equal reports whether two brakes, which may be nil, are the same.
func (b *Brake) Equal(other *Brake) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.over() == other.over() && b.minimum() == other.minimum() && b.OptedOut == other.OptedOut && b.Failed == other.Failed &&
		maps.Equal(b.Reasons, other.Reasons)
}

// Text describes the brake in words.
func (b *Brake) Text() string {
	text := fmt.Sprintf("of the last %d contacts, from %d on, more than", b.over(), b.minimum())
	sep := " "
	add := func(percent int, what string) {
		text += fmt.Sprintf("%s%d %% %s", sep, percent, what)
		sep = ", or more than "
	}
	if b.OptedOut > 0 {
		add(b.OptedOut, "opted out")
	}
	if b.Failed > 0 {
		add(b.Failed, "failed")
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		add(b.Reasons[reason], "ended with the reason "+strconv.Quote(reason))
	}
	return text
}

// BrakeCause is what a brake has acted on.
type BrakeCause = api.BrakeCause

// The causes.
const (
	BrakeOptedOut BrakeCause = "opted_out"
	BrakeFailed   BrakeCause = "failed"
	BrakeReason   BrakeCause = "reason"
)

// Braked records that a brake has acted. It is kept until the channel or survey is resumed.
type Braked = api.Braked

// BrakeFigures are the present counts of a [BrakeWindow].
type BrakeFigures = api.BrakeFigures

// BrakeCauses returns every cause.
func BrakeCauses() []BrakeCause { return []BrakeCause{BrakeOptedOut, BrakeFailed, BrakeReason} }

// describe returns what happened in one clause, after a subject such as "channel texts".
func describe(b *Braked) string {
	switch b.Cause {
	case BrakeOptedOut:
		return fmt.Sprintf("paused itself: %d of the last %d contacts opted out, the bound is %d %%", b.Count, b.Of, b.Percent)
	case BrakeReason:
		return fmt.Sprintf("paused itself: %d of the last %d contacts ended with the reason %s, the bound is %d %%", b.Count, b.Of, strconv.Quote(b.Reason), b.Percent)
	default: // BrakeFailed
		return fmt.Sprintf("paused itself: %d of the last %d contacts failed, the bound is %d %%", b.Count, b.Of, b.Percent)
	}
}

// BrakeWindow counts the latest contacts that ended, for a [Brake]. Its zero value has no
// brake and counts nothing. It is not safe for concurrent use.
type BrakeWindow struct {
	rule    *Brake
	paused  bool
	endings []ending            // a ring once it is full
	oldest  int                 // in the ring
	people  map[string]struct{} // the addresses of the opt-outs that are counted
	counts  BrakeFigures

	// Who was contacted: digests of the latest addresses. The older ones are dropped once there
	// are [brakeRemembers] newer ones.
	seed          maphash.Seed
	latest, older map[uint64]struct{}
}

// brakeRemembers is of how many people, the latest, a window knows at least that they were
// contacted: a stop word may come minutes after the message, while thousands of others are sent.
// It bounds the memory.
const brakeRemembers = 50_000

// ending is one contact that ended.
type ending struct {
	failed   bool
	reason   string   // "" unless it has a bound
	optedOut []string // addresses of opt-outs that came after it ended, and before the next one did
}

// Configure applies the present brake, and whether its channel or survey is paused. The
// count begins anew with another brake, and when a pause ends: otherwise what was counted
// before would act again at once.
func (w *BrakeWindow) Configure(rule *Brake, paused bool) {
	if !rule.Equal(w.rule) || w.paused && !paused {
		*w = BrakeWindow{rule: rule}
	}
	w.paused = paused
}

// BoundsOptOuts reports whether opt-outs matter.
func (w *BrakeWindow) BoundsOptOuts() bool { return w.rule != nil && w.rule.OptedOut > 0 }

// Contacted notes that a person is contacted: from now on an opt-out of that person counts. No
// one else's does, so that strangers cannot stop a channel with stop words.
func (w *BrakeWindow) Contacted(address string) {
	if !w.BoundsOptOuts() {
		return
	}
	if w.latest == nil {
		w.seed, w.latest = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	if len(w.latest) >= brakeRemembers {
		w.latest, w.older = map[uint64]struct{}{}, w.latest
	}
	w.latest[maphash.String(w.seed, address)] = struct{}{}
}

// contacted reports whether a person was contacted, as far as it is known.
func (w *BrakeWindow) contacted(address string) bool {
	if w.latest == nil {
		return false
	}
	digest := maphash.String(w.seed, address)
	_, lately := w.latest[digest]
	_, before := w.older[digest]
	return lately || before
}

// Ended counts a contact to an address that ended. Those that reached nobody because Weir
// ended them are not counted.
func (w *BrakeWindow) Ended(o Outcome, reason, address string) {
	if w.rule == nil {
		return
	}
	if o == Expired || o == Canceled || o == Suppressed {
		return
	}
	e := ending{failed: o == Failed}
	if w.rule.Reasons[reason] > 0 {
		e.reason = reason
	}
	if len(w.endings) < w.rule.over() {
		w.endings = append(w.endings, e)
		w.counts.Of++
	} else {
		w.drop(w.endings[w.oldest])
		w.endings[w.oldest] = e
		w.oldest = (w.oldest + 1) % len(w.endings)
	}
	w.count(e, 1)
	w.counts.Touched++
	if address != "" {
		w.Contacted(address)
	}
	if reason == ReasonOptedOut {
		w.OptedOut(address)
	}
}

// OptedOut counts a person who was contacted and has opted out, once. It stays in the count as
// long as the contact that ended last before it. An opt-out before the first end is not counted.
func (w *BrakeWindow) OptedOut(address string) {
	if _, known := w.people[address]; known || len(w.endings) == 0 || !w.contacted(address) {
		return
	}
	if w.people == nil {
		w.people = map[string]struct{}{}
	}
	w.people[address] = struct{}{}
	latest := &w.endings[(w.oldest+len(w.endings)-1)%len(w.endings)]
	latest.optedOut = append(latest.optedOut, address)
	w.counts.OptedOut++
}

func (w *BrakeWindow) drop(e ending) {
	w.count(e, -1)
	w.counts.OptedOut -= len(e.optedOut)
	for _, address := range e.optedOut {
		delete(w.people, address)
	}
}

func (w *BrakeWindow) count(e ending, n int) {
	if e.failed {
		w.counts.Failed += n
	}
	if e.reason != "" {
		if w.counts.Reasons == nil {
			w.counts.Reasons = map[string]int{}
		}
		w.counts.Reasons[e.reason] += n
	}
}

// Verdict returns what passes its bound; nil while nothing does.
func (w *BrakeWindow) Verdict(now time.Time) *Braked {
	if w.rule == nil || w.paused || w.counts.Of < w.rule.minimum() {
		return nil
	}
	passes := func(cause BrakeCause, reason string, count, percent int) *Braked {
		if percent == 0 || count*100 <= percent*w.counts.Of {
			return nil
		}
		v := &Braked{At: now, Cause: cause, Reason: reason, Count: count, Of: w.counts.Of, Percent: percent, Touched: w.counts.Touched}
		v.Text = describe(v)
		return v
	}
	if v := passes(BrakeOptedOut, "", w.counts.OptedOut, w.rule.OptedOut); v != nil {
		return v
	}
	if v := passes(BrakeFailed, "", w.counts.Failed, w.rule.Failed); v != nil {
		return v
	}
	for _, reason := range slices.Sorted(maps.Keys(w.rule.Reasons)) {
		if v := passes(BrakeReason, reason, w.counts.Reasons[reason], w.rule.Reasons[reason]); v != nil {
			return v
		}
	}
	return nil
}

// Figures returns the present counts; nil without a brake.
func (w *BrakeWindow) Figures() *BrakeFigures {
	if w.rule == nil {
		return nil
	}
	f := w.counts
	f.Reasons = maps.Clone(f.Reasons)
	return &f
}
