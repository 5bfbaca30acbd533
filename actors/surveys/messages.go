package surveys

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"weir"
	"weir/actors/supervise"
	"weir/people"
	"weir/surveys"
)

// messages applies the answers of respondents to questions before they are acknowledged: those that arrive at about
// the same time together, by one pass over the outbox. Passes follow each other without a delay, so that each is as
// large as the load demands.
//
// A pass, a single message and a page of a round take turns: none applies what another one is applying.
type messages struct {
	io           *access
	requestRound func()
	turn         chan struct{} // holds one element from the reading of entries until they are applied

	mu   sync.Mutex
	next *pass // has not begun; nil: none is wanted
}

// pass is one pass over the outbox.
type pass struct {
	wanted  map[messageKey]surveys.RespondentID // the messages, with who sent them once that is known; 0: nobody whom Weir asks questions
	waiting int                                 // who waits for its beginning, under the lock of messages
	done    chan struct{}                       // closed at its end

	// Read after done.
	senders   map[senderKey]sender                // of the messages; nil: they could not be found
	heard     map[messageKey]surveys.Heard        // what the messages mean that the pass has found, or has missed
	processed map[messageKey]bool                 // what a round had processed before
	taken     map[messageKey]surveys.RespondentID // those of them that are in a change of the respondent
	wrote     map[surveys.RespondentID]bool       // whose changes were written
}

// sender is a respondent who sent a message, as the pass has read them.
type sender struct {
	who    surveys.Respondent
	survey *surveyState
}

// outcome is the result of a pass for one message.
type outcome struct {
	applied bool // and the message means heard
	heard   surveys.Heard
	known   bool // the sender is; nil: no respondent of a survey that can be run
	sender  *sender
}

// messageKey identifies a message among those that wait.
type messageKey struct {
	channel          weir.ChannelID
	from, guid, body string
}

func keyOf(channel weir.ChannelID, m *weir.Incoming) messageKey {
	return messageKey{channel, m.From, m.GUID, m.Body}
}

// passTimeout bounds a pass.
const passTimeout = 2 * ioTimeout

// apply waits for a pass that begins from now on, which applies the message if it is in a conversation of questions. What
// it has not applied then has to be tried by itself. Whoever waits may go, at the end of ctx: the pass goes on for the
// others.
func (b *messages) apply(ctx context.Context, key messageKey) (out outcome) {
	b.mu.Lock()
	if b.next == nil {
		b.next = &pass{
			wanted: map[messageKey]surveys.RespondentID{}, done: make(chan struct{}),
			heard: map[messageKey]surveys.Heard{}, processed: map[messageKey]bool{}, taken: map[messageKey]surveys.RespondentID{}, wrote: map[surveys.RespondentID]bool{},
		}
	}
	p := b.next
	p.wanted[key] = 0
	p.waiting++
	b.mu.Unlock()
	select {
	case b.turn <- struct{}{}: // one of those who wait for the pass begins it
		b.begin(context.WithoutCancel(ctx), p)
	case <-p.done:
	case <-ctx.Done():
		b.leave(p)
		return out
	}
	select {
	case <-p.done:
		out = p.outcome(key)
	case <-ctx.Done():
	}
	return out
}

// leave lets somebody go who waits for a pass to begin. One for which nobody waits does not begin: its messages are left
// to a round.
func (b *messages) leave(p *pass) {
	b.mu.Lock()
	p.waiting--
	dropped := p.waiting == 0 && b.next == p
	if dropped {
		b.next = nil
	}
	b.mu.Unlock()
	if dropped {
		b.requestRound()
	}
}

// begin begins a pass, in the turn of the caller, unless somebody else has.
func (b *messages) begin(ctx context.Context, p *pass) {
	b.mu.Lock()
	began := b.next != p
	if !began {
		b.next = nil // who comes from now on may have an entry that this pass does not read
	}
	b.mu.Unlock()
	if began {
		<-b.turn
		return
	}
	go b.run(ctx, p)
}

// outcome returns what the pass came to for a message.
func (p *pass) outcome(key messageKey) outcome {
	out := outcome{applied: p.processed[key] || p.wrote[p.taken[key]], heard: p.heard[key], known: p.senders != nil}
	if s, ok := p.senders[senderKey{key.channel, key.from}]; ok {
		out.sender = &s
	}
	return out
}

// run runs a pass, and ends its turn.
func (b *messages) run(ctx context.Context, p *pass) {
	defer b.requestRound() // for what rounds have left alone meanwhile, also about others whose numbers end alike
	defer func() { <-b.turn }()
	defer close(p.done) // before that, so that nobody who has waited for this pass takes the turn
	defer func() {
		if panicked := recover(); panicked != nil {
			supervise.LogPanic(b.io.Logger, b.io.Metrics.panics, "pass over messages panicked", panicked)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	mem := newMemory()
	r := newRound(b.io, mem, true)
	r.pass = p
	if err := p.applyMessages(ctx, r); err != nil {
		b.io.Logger.WarnContext(ctx, "messages not applied at once; each is tried again by itself, or in the next round", "messages", len(p.wanted), "error", err)
	}
	for id, pace := range mem.paces {
		b.io.freed.add(id, pace.freedSlots)
	}
}

// wait waits until no pass is running.
func (b *messages) wait() {
	b.turn <- struct{}{}
	<-b.turn
}

// applyMessages finds who sent the messages, and applies those of conversations.
func (p *pass) applyMessages(ctx context.Context, r *roundState) error {
	list := make([]senderKey, 0, len(p.wanted))
	for key := range p.wanted {
		list = append(list, senderKey{key.channel, key.from})
	}
	found, err := r.findSenders(ctx, list)
	if err != nil {
		return err
	}
	senders := make(map[senderKey]sender, len(found))
	for key, who := range found {
		sv, err := r.lookupSurvey(ctx, who.Survey)
		if err != nil {
			return err
		}
		if sv != nil && sv.plan != nil {
			senders[key] = sender{who, sv}
		}
	}
	p.senders = senders
	n := 0
	for key := range p.wanted {
		if s, ok := senders[senderKey{key.channel, key.from}]; ok && s.converses() {
			p.wanted[key] = s.who.ID
			n++
		}
	}
	if n == 0 {
		return nil
	}
	page, gone, err := p.readOutbox(ctx, r.io)
	if err == nil {
		_, err = processPage(ctx, r, page)
	}
	if err == nil && len(gone) > 0 {
		err = p.hearProcessed(ctx, r.io, gone)
	}
	return err
}

// hearProcessed finds what messages mean whose entries a round has processed before the pass, as far as that can be
// known now.
func (p *pass) hearProcessed(ctx context.Context, io *access, gone map[messageKey]bool) error {
	bySurvey := map[*surveyState][]*surveys.Respondent{}
	senders := map[messageKey]*sender{}
	for key := range gone {
		s := p.senders[senderKey{key.channel, key.from}]
		senders[key] = &s
		bySurvey[s.survey] = append(bySurvey[s.survey], &s.who)
	}
	unsure := map[surveys.RespondentID]bool{}
	for sv, list := range bySurvey {
		some, err := io.readTalksAndClaims(ctx, sv, list)
		if err != nil {
			return err
		}
		maps.Copy(unsure, some)
	}
	for key, s := range senders {
		if !unsure[s.who.ID] {
			p.heard[key], p.processed[key] = meaningBefore(s.survey, &s.who, key.body), true
		}
	}
	return nil
}

// readOutbox reads the outbox as far as the messages are that the pass is to apply, up to outboxPages pages: while many
// answer, it holds many events of contacts, which are left to rounds. The messages that are gone have been processed.
func (p *pass) readOutbox(ctx context.Context, io *access) (list []surveys.OutboxEntry, gone map[messageKey]bool, _ error) {
	left := map[messageKey]bool{}
	for key, id := range p.wanted {
		if id != 0 {
			left[key] = true
		}
	}
	for after := int64(0); len(list) < outboxPages*outboxPage; {
		page, err := io.readOutbox(ctx, after)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			if n := &page[i]; n.Kind == surveys.MessageReceived {
				delete(left, keyOf(n.Channel, &n.Message))
			}
		}
		if list = append(list, page...); len(page) < outboxPage || len(left) == 0 {
			return list, left, nil
		}
		after = page[len(page)-1].ID
	}
	return list, nil, nil
}

// converses reports whether what the sender writes is read as an answer to a question.
func (s *sender) converses() bool { return s.survey.plan.Converses(s.survey.survey.State) }

// waiting returns the last digits of the senders whose messages the next pass is to apply. Rounds leave alone whatever is
// about people with such numbers, because what happened to a person counts in order.
func (b *messages) waiting() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		return nil
	}
	list := make(map[string]bool, len(b.next.wanted))
	for key := range b.next.wanted {
		list[lastDigits(key.from)] = true
	}
	return list
}

// exclusively runs what reads entries and applies them, while no pass does.
func (b *messages) exclusively(ctx context.Context, do func() error) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	return do()
}

// ofPass returns the entries of a page about the respondents whose messages a pass is to apply, among them messages
// that they have sent before.
func (p *pass) ofPass(ctx context.Context, r *roundState, page []surveys.OutboxEntry) ([]surveys.OutboxEntry, error) {
	here, ends := map[surveys.RespondentID]bool{}, map[string]bool{}
	for i := range page {
		if n := &page[i]; n.Kind == surveys.MessageReceived {
			if id := p.wanted[keyOf(n.Channel, &n.Message)]; id != 0 {
				here[id], ends[lastDigits(n.Message.From)] = true, true
			}
		}
	}
	var list []surveys.OutboxEntry
	for i := range page {
		n := &page[i]
		key := keyOf(n.Channel, &n.Message)
		if _, known := p.wanted[key]; n.Kind == surveys.MessageReceived && !known && ends[lastDigits(n.Message.From)] {
			who, ok, err := r.findSender(ctx, n)
			if err != nil {
				return nil, err
			}
			if ok && here[who.ID] {
				p.wanted[key] = who.ID
			}
		}
		if here[p.subject(n)] {
			list = append(list, *n)
		}
	}
	return list, nil
}

// lastDigits returns the last digits of a number, which are the same in each of its notations.
func lastDigits(number string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
	return digits[max(0, len(digits)-4):]
}

// subject returns the respondent whom an entry of a page is about, as far as the pass knows; 0: another one. Without a pass
// it is a message whose sender has to be found.
func (p *pass) subject(n *surveys.OutboxEntry) surveys.RespondentID {
	if p == nil && n.Kind == surveys.MessageReceived {
		return 0
	}
	if n.Kind == surveys.MessageReceived {
		return p.wanted[keyOf(n.Channel, &n.Message)]
	}
	return surveys.RespondentID(n.Owner.ID)
}

// note notes what the messages of a respondent mean, who is as before them, and which of them are left for later.
func (p *pass) note(sv *surveyState, e *respondentEntries, left []surveys.OutboxEntry) {
	for i := range e.entries {
		n := &e.entries[i]
		if n.Kind != surveys.MessageReceived {
			continue
		}
		key := keyOf(n.Channel, &n.Message)
		p.heard[key] = meaning(sv, &e.respondent, n.Message.Body)
		if !slices.ContainsFunc(left, func(l surveys.OutboxEntry) bool { return l.ID == n.ID }) {
			p.taken[key] = e.respondent.ID
		}
	}
}

// meaning returns what a message means to the survey of its sender, who is as before it.
func meaning(sv *surveyState, who *surveys.Respondent, body string) surveys.Heard {
	heard := surveys.Heard{Purpose: sv.plan.Purpose}
	if says, found := sv.plan.Says(who.Progress, body); says == people.SaidStop || who.Status == surveys.Active {
		heard.Decides, heard.Says, heard.Found = true, says, found
	}
	return heard
}

// meaningBefore returns what a message means that was processed before, to a respondent whose answers were read.
func meaningBefore(sv *surveyState, who *surveys.Respondent, body string) surveys.Heard {
	heard := meaning(sv, who, body)
	if sv.plan.Questions != nil && !who.OptedOut && surveys.WasAnswer(who.Answers, body) {
		heard.Says, heard.Found = "", "" // it was judged by the question that was asked then
	}
	return heard
}

// freed counts the slots that became free by what passes have applied, until a round takes them over.
type freed struct {
	mu    sync.Mutex
	slots map[weir.ChannelID]int
}

func (f *freed) add(id weir.ChannelID, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots == nil {
		f.slots = map[weir.ChannelID]int{}
	}
	f.slots[id] += n
}

// moveTo adds the slots to the paces of a memory.
func (f *freed) moveTo(m *memory) {
	f.mu.Lock()
	slots := f.slots
	f.slots = nil
	f.mu.Unlock()
	for id, n := range slots {
		m.pace(id).freedSlots += n
	}
}
