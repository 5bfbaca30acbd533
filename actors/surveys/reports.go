package surveys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/events"
	"weir/internal/backoff"
	"weir/internal/phonenumber"
	"weir/internal/plainjson"
	"weir/people"
	"weir/surveys"
	"weir/surveys/respondents"
)

// maxTries is the max number of tries of a report or a stop message that loses
// against other writers.
const maxTries = 10

// reports applies what applications, users and respondents report about a respondent, at
// once. Its methods are safe for concurrent use.
type reports struct {
	io           *access
	requestRound func()
}

// Report applies an application's report about a respondent. It may be repeated:
// the second time it changes nothing, and messages with a key are not sent
// again.
func (s *reports) Report(ctx context.Context, survey surveys.Survey, id surveys.RespondentID, report surveys.Report) (surveys.Respondent, error) {
	if survey.State == surveys.Draft {
		return surveys.Respondent{}, weir.Errorf(weir.CodeConflict, "the survey is a draft; launch it first")
	}
	plan, wrong := s.io.compile(&survey)
	if plan == nil {
		return surveys.Respondent{}, surveys.Invalid(wrong)
	}
	sv := &surveyState{survey: survey, plan: plan}
	var is surveys.Respondent
	err := retryStale(ctx, func() (again bool, err error) {
		is, again, err = s.applyReport(ctx, sv, id, report)
		return again, err
	})
	conflict := weir.CodeOf(err) == weir.CodeConflict
	if report.Stop && (err == nil || conflict) { // a person may refuse, whatever has become of the interview
		if failed := s.recordRefusal(ctx, survey.Name, &is); failed != nil {
			return is, failed
		}
		if conflict {
			err = weir.Errorf(weir.CodeConflict, "%v; the refusal of the person is recorded", err)
		}
	}
	if err != nil {
		return is, err
	}
	return is, s.sendReply(ctx, sv, &is, report)
}

// recordRefusal records that a respondent has opted out in a conversation, for every contact
// to the number. Whoever reported it repeats the report after an error.
func (s *reports) recordRefusal(ctx context.Context, survey string, r *surveys.Respondent) error {
	if s.io.People == nil {
		return nil
	}
	_, err := s.io.People.RecordConsents(ctx, []people.Consent{{
		Key: "report:" + survey + ":" + r.ID.String(), Address: people.Canonical(r.Phone), Purpose: people.AllPurposes, Status: people.Refused,
		Source: people.FromApplication, By: survey,
	}})
	return err
}

// StopRespondent ends a respondent at a user's request: a queued contact is canceled, and
// the provider is asked to cancel one in flight. A respondent that is final stays as it
// is, so that the request may be repeated.
func (s *reports) StopRespondent(ctx context.Context, survey surveys.Survey, id surveys.RespondentID) (is surveys.Respondent, _ error) {
	if survey.State == surveys.Draft {
		return is, weir.Errorf(weir.CodeConflict, "survey %s is a draft and contacts no respondent; remove the respondent", survey.Name)
	}
	plan, wrong := s.io.compile(&survey)
	if plan == nil {
		return is, surveys.Invalid(wrong)
	}
	sv := &surveyState{survey: survey, plan: plan}
	err := retryStale(ctx, func() (again bool, err error) {
		is, err = s.io.Store.Respondent(ctx, survey.ID, id)
		if err == nil && !is.Status.Final() {
			err = s.io.readTalks(ctx, sv, []*surveys.Respondent{&is})
		}
		if err != nil || is.Status.Final() {
			return false, err
		}
		st := s.io.newStepper(sv, time.Now(), nil, nil)
		c, ok := st.Cancel(is)
		if !ok {
			return false, nil
		}
		st.Log(&c, surveys.LogEntry{Event: surveys.LogStopped})
		is, again, err = s.commitReport(ctx, sv, c)
		return again, err
	})
	return is, err
}

// retryStale repeats a change that lost against another writer.
func retryStale(ctx context.Context, change func() (again bool, _ error)) error {
	for try := range maxTries {
		again, err := change()
		if err != nil || !again {
			return err
		}
		if !backoff.Wait(ctx, time.Duration(try)*5*time.Millisecond) {
			return ctx.Err()
		}
	}
	return &weir.Error{Code: weir.CodeUnavailable, Message: "the respondent is being changed concurrently; try again", RetryAfter: time.Second}
}

// applyReport tries once. again reports that another writer changed the respondent.
func (s *reports) applyReport(ctx context.Context, sv *surveyState, id surveys.RespondentID, report surveys.Report) (_ surveys.Respondent, again bool, _ error) {
	was, err := s.io.Store.Respondent(ctx, sv.survey.ID, id)
	if err == nil {
		err = s.io.readTalks(ctx, sv, []*surveys.Respondent{&was})
	}
	if err != nil {
		return was, false, err
	}
	if err := s.checkMessages(ctx, sv, &was, report.Messages); err != nil {
		return was, false, err
	}
	st := s.io.newStepper(sv, time.Now(), nil, nil)
	attributes, wrong := surveys.MergeAnswers(was.Attributes, report.Answers)
	if len(wrong) > 0 {
		return was, false, &weir.Error{Code: weir.CodeInvalid, Message: "the answers are not valid", Fields: wrong}
	}
	bucket := was.Bucket
	if len(report.Answers) > 0 {
		bucket = sv.plan.Assign(&was, attributes)
	}
	full, err := s.fullWithout(ctx, sv, &was, report, bucket)
	if err != nil {
		return was, false, err
	}
	p, e, err := st.Try(was.Progress, reportRule(sv.plan, st.Now, report, full))
	if err != nil {
		return was, false, reportError(err, was, report)
	}
	if p == was.Progress && maps.Equal(attributes, was.Attributes) && bucket == was.Bucket {
		return was, false, nil
	}
	c := st.Build(was, p, e)
	c.Move.Is.Attributes, c.Move.Is.Bucket = attributes, bucket
	if len(s.replyMessages(sv, &c.Move.Is, report)) > 0 {
		st.Log(&c, surveys.LogEntry{Event: surveys.LogReply, Mode: surveys.SMS})
	}
	return s.commitReport(ctx, sv, c)
}

// fullWithout reports whether a respondent that stays in the survey is no longer
// needed, because its bucket is full without it.
func (s *reports) fullWithout(ctx context.Context, sv *surveyState, was *surveys.Respondent, report surveys.Report, bucket int) (bool, error) {
	ends := report.Disposition != "" && report.Disposition.Final() || report.Stop || was.Status.Final()
	if bucket == surveys.NoBucket || ends || was.Counted && bucket == was.Bucket {
		return false, nil
	}
	sums, err := s.io.Store.Counts(ctx, sv.survey.ID)
	return err == nil && sv.plan.Quotas.Full(sums.Tally(len(sv.plan.Quotas)).Buckets, bucket), err
}

// commitReport writes a change, after canceling its contact.
func (s *reports) commitReport(ctx context.Context, sv *surveyState, c surveys.Change) (_ surveys.Respondent, again bool, _ error) {
	if c.Cancel != (weir.Ref{}) && !s.io.cancelContact(ctx, c.Cancel, c.InFlightToo) {
		return c.Move.Was, false, &weir.Error{Code: weir.CodeUnavailable, Message: "the respondent's next contact could not be canceled now; try again", RetryAfter: 2 * time.Second}
	}
	written, err := s.io.storeWork(ctx, workOf(sv, []surveys.Change{c}))
	if err != nil {
		return c.Move.Was, false, err
	}
	if slices.Contains(written.Stale, c.Move.Was.ID) {
		return c.Move.Was, true, nil
	}
	s.io.recordMetrics(&sv.survey, &c)
	s.io.announce(written.Contacts)
	s.requestRound()
	return c.Move.Is, false, nil
}

// reportRule returns the rule that applies a report. A respondent that turns out
// to be in a full bucket is rejected, unless the report ends it.
func reportRule(plan *surveys.Plan, now time.Time, report surveys.Report, full bool) surveys.Rule {
	return func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		if p.Status.Final() && (report.Disposition == "" || p.Status == surveys.Rejected && report.Disposition.Reportable() && !report.Disposition.Final()) {
			return p, surveys.Effects{}, nil // a message after the end, or the repetition of a report that found the quota full
		}
		if report.Stop && report.Disposition == "" {
			return surveys.Certain(plan.OptOut)(p)
		}
		q, e, err := plan.Replied(p, now, report.Serial, report.Disposition)
		switch {
		case err != nil:
			return q, e, err
		case q.Status.Final():
			q.OptedOut = q.OptedOut || report.Stop && !p.Status.Final()
			return q, e, nil
		case report.Stop:
			q, f := plan.OptOut(q)
			return q, mergeEffects(e, f), nil
		case full:
			if r, f, err := plan.Reject(q); err == nil {
				return r, mergeEffects(e, f), nil
			}
		}
		return q, e, nil
	}
}

// mergeEffects merges the effects of two consecutive steps that do not enqueue.
func mergeEffects(a, b surveys.Effects) surveys.Effects {
	b.Cancel, b.CancelInFlight, b.Finished = max(a.Cancel, b.Cancel), a.CancelInFlight || b.CancelInFlight, a.Finished || b.Finished
	return b
}

// reportError returns the client's error for a step that cannot be taken.
func reportError(err error, was surveys.Respondent, report surveys.Report) error {
	switch {
	case errors.Is(err, surveys.ErrFinal):
		return weir.Errorf(weir.CodeConflict, "the respondent is finished: %s, %s", was.Status, was.Disposition)
	case errors.Is(err, surveys.ErrDisposition) && !report.Disposition.Reportable():
		reportable := slices.DeleteFunc(surveys.Dispositions(), func(d surveys.Disposition) bool { return !d.Reportable() })
		return &weir.Error{Code: weir.CodeInvalid, Message: "the report is not valid", Fields: []weir.FieldError{
			{Pointer: "/disposition", Code: "enum", Detail: fmt.Sprintf("must be one of %q", reportable)},
		}}
	case errors.Is(err, surveys.ErrDisposition):
		return weir.Errorf(weir.CodeConflict, "a respondent who is %s cannot become %s", was.Disposition, report.Disposition)
	default:
		return &weir.Error{Code: weir.CodeInternal, Message: "the report could not be applied", Cause: err}
	}
}

// replyKey returns the key of a contact that holds messages of a report.
func replyKey(id surveys.RespondentID, key string, part int) string {
	if key == "" {
		return ""
	}
	return id.String() + "-reply-" + key + "-" + strconv.Itoa(part)
}

// checkMessages checks, before anything of a report is applied, whether its messages
// can be sent.
func (s *reports) checkMessages(ctx context.Context, sv *surveyState, r *surveys.Respondent, messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	for i, m := range messages {
		if strings.TrimSpace(m) == "" {
			return &weir.Error{Code: weir.CodeInvalid, Message: "a message is not valid", Fields: []weir.FieldError{
				{Pointer: "/messages/" + strconv.Itoa(i), Code: "length", Detail: "must not be empty"},
			}}
		}
	}
	_, err := s.textChannel(ctx, sv, r)
	return err
}

// sendReply sends the messages of a report, before all other waiting contacts and
// regardless of the schedule, because the respondent is waiting for them. A
// respondent that turned out not to be needed gets the survey's quota message
// instead, once.
func (s *reports) sendReply(ctx context.Context, sv *surveyState, r *surveys.Respondent, report surveys.Report) error {
	messages, key := s.replyMessages(sv, r, report), func(part int) string { return replyKey(r.ID, report.Key, part) }
	if len(messages) == 0 {
		return nil
	}
	if report.WithholdsMessages(r.Progress) {
		key = func(int) string { return r.ID.String() + "-quota" }
	}
	ch, err := s.textChannel(ctx, sv, r)
	if err != nil {
		return err
	}
	var specs []weir.Spec
	for part := range slices.Chunk(messages, max(1, min(len(messages), ch.Capacity))) {
		specs = append(specs, weir.Spec{
			Key: key(len(specs)), To: r.Phone, Priority: weir.Reply, Survey: sv.survey.Name, Owner: weir.Owner{Group: r.Survey, ID: int64(r.ID)},
			Labels: map[string]string{"respondent": r.ID.String(), "mode": string(surveys.SMS)}, Messages: part,
		})
	}
	_, err = s.io.Channels.Accept(ctx, ch, specs)
	if weir.CodeOf(err) == weir.CodeKeyReused {
		return nil // the first report with this key was answered; its messages stand
	}
	return err
}

// replyMessages returns the messages that a report sends to a respondent in its
// present state.
func (s *reports) replyMessages(sv *surveyState, r *surveys.Respondent, report surveys.Report) []string {
	if !report.WithholdsMessages(r.Progress) {
		return report.Messages
	}
	text := sv.plan.QuotaMessage(sv.survey.Name, s.io.Tokens.Person(r), r.Progress)
	if text == "" || len(report.Messages) == 0 && surveys.Voice(sv.plan.Mode(r.Progress)) {
		return nil
	}
	return []string{text}
}

// textChannel returns the channel for answers to a respondent: the channel of
// its latest contact if that was by text, otherwise the survey's.
func (s *reports) textChannel(ctx context.Context, sv *surveyState, r *surveys.Respondent) (weir.Channel, error) {
	if r.Contact != (weir.Ref{}) && sv.plan.Covers(r.Progress) && !surveys.Voice(sv.plan.Mode(r.Progress)) {
		ch, err := s.io.Store.ChannelByID(ctx, r.Contact.Channel)
		if weir.CodeOf(err) != weir.CodeNotFound && (err != nil || !ch.Deleting && !ch.Deleted) {
			return ch, err
		}
	}
	for _, m := range []surveys.Mode{surveys.SMS, surveys.MobileWeb} {
		if name := sv.plan.Channels[m]; name != "" {
			return s.io.Store.Channel(ctx, name)
		}
	}
	return weir.Channel{}, weir.Errorf(weir.CodeConflict, "the survey has no text channel to send messages on")
}

// appResponse is an application's response to a [surveys.MessageEvent].
type appResponse struct {
	Disposition surveys.Disposition `json:"disposition"`
	Messages    []string            `json:"messages"`
	Answers     map[string]any      `json:"answers"`
	Stop        bool                `json:"stop"`
}

// ApplyResponse applies the body with which an application responded to an event. An
// empty body means nothing, and so does a body that is no answer, such as "OK".
// ApplyResponse may be called again: the event's id is the idempotency key.
//
// An error means that the event must be delivered again, to get the same
// answer. That helps only if the answer could not be applied now; a rejected
// answer would be rejected again and hold up the respondent's next messages.
func (s *reports) ApplyResponse(ctx context.Context, e events.Event, body []byte) error {
	if e.Type != surveys.MessageEvent || len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return s.unlessRejected(ctx, e, s.applyResponse(ctx, e, body))
}

// unlessRejected returns an error of applying an answer if applying it again may help.
func (s *reports) unlessRejected(ctx context.Context, e events.Event, err error) error {
	switch weir.CodeOf(err) {
	case weir.CodeInvalid, weir.CodeNotFound, weir.CodeConflict:
		s.io.Logger.WarnContext(ctx, "answer to a message rejected", "subject", e.Subject, "error", err)
		return nil
	default:
		return err
	}
}

// readMessage returns the content of a [surveys.MessageEvent].
func readMessage(e events.Event) (about surveys.MessageData, id surveys.RespondentID, _ error) {
	err := json.Unmarshal(e.Data, &about)
	id, idErr := surveys.ParseRespondentID(about.Respondent)
	if err := errors.Join(err, idErr); err != nil {
		return about, 0, &weir.Error{Code: weir.CodeInternal, Message: "the event cannot be read", Cause: err}
	}
	return about, id, nil
}

// ApplyMessage applies a message of a respondent to a survey that evaluates the answers
// itself, see [surveys.Plan.Answered]. Like [reports.ApplyResponse] it may be called again, and
// fails only if that helps.
func (s *reports) ApplyMessage(ctx context.Context, e events.Event) error {
	if e.Type != surveys.MessageEvent {
		return nil
	}
	return s.unlessRejected(ctx, e, s.applyMessage(ctx, e))
}

func (s *reports) applyMessage(ctx context.Context, e events.Event) error {
	about, id, err := readMessage(e)
	if err != nil {
		return err
	}
	survey, err := s.io.Store.Survey(ctx, about.Survey)
	if err != nil {
		return err
	}
	plan, wrong := s.io.compile(&survey)
	if plan == nil {
		return surveys.Invalid(wrong)
	}
	r, err := s.io.Store.Respondent(ctx, survey.ID, id)
	if err != nil {
		return err
	}
	report, ok := plan.Answered(survey.Name, s.io.Tokens.Person(&r), r.Progress, about.Text)
	if !ok {
		return nil
	}
	report.Serial = about.Serial
	_, err = s.Report(ctx, survey, id, report)
	return err
}

func (s *reports) applyResponse(ctx context.Context, e events.Event, body []byte) error {
	about, id, err := readMessage(e)
	if err != nil {
		return err
	}
	var a appResponse
	if err := plainjson.Unmarshal(body, &a); err != nil {
		return weir.Errorf(weir.CodeInvalid, "the response is not a JSON object with disposition, messages, answers and stop")
	}
	if a.Disposition == "" && len(a.Messages) == 0 && len(a.Answers) == 0 && !a.Stop {
		return nil
	}
	survey, err := s.io.Store.Survey(ctx, about.Survey)
	if err != nil {
		return err
	}
	answers, wrong := respondents.Attributes(a.Answers)
	// The application passes on what a person has written, which cannot be refused: the rest of it counts.
	if i := slices.IndexFunc(wrong, func(f weir.FieldError) bool { return f.Pointer == "/"+respondents.FieldTimeZone }); i >= 0 {
		s.io.Logger.WarnContext(ctx, "time zone of an answer not stored", "subject", e.Subject, "error", wrong[i].Detail)
		wrong = slices.Delete(wrong, i, i+1)
	}
	if err := surveys.Invalid(wrong); err != nil {
		return err
	}
	_, err = s.Report(ctx, survey, id, surveys.Report{
		Serial: about.Serial, Disposition: a.Disposition, Answers: answers, Messages: a.Messages, Stop: a.Stop,
		Key: "e" + strconv.FormatInt(e.ID, 36),
	})
	return err
}

// Incoming applies a message at once, before it is acknowledged to the provider, if it must be or should
// be: after the acknowledgment of a stop word the sender must not be contacted again, and who answers a
// question waits for the next one. Other messages are left to the next round; a message whose outbox entry
// has been processed needs nothing. Incoming may be called again. It returns what the message means to the
// survey of the respondent who sent it.
func (s *reports) Incoming(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (heard surveys.Heard, _ error) {
	err := retryStale(ctx, func() (again bool, err error) {
		heard, again, err = s.applyNow(ctx, channel, m)
		return again, err
	})
	return heard, err
}

// applyNow tries once. again reports that another writer changed the respondent, or that entries are left.
func (s *reports) applyNow(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (heard surveys.Heard, again bool, _ error) {
	out := s.io.messages.apply(ctx, keyOf(channel, &m))
	switch {
	case out.applied:
		return out.heard, false, nil
	case out.known && out.sender == nil:
		return heard, false, nil
	case out.known && !out.sender.converses():
		heard, stops, err := s.stops(ctx, out.sender.survey, &out.sender.who, m.Body)
		if err != nil || !stops {
			return heard, false, err
		}
	default:
		defer s.requestRound()
	}
	err := s.io.messages.exclusively(ctx, func() error {
		r, who, sv, err := s.findSender(ctx, channel, m)
		if err != nil || sv == nil {
			return err
		}
		var stops bool
		if heard, stops, err = s.stops(ctx, sv, &who, m.Body); err == nil && (stops || sv.plan.Converses(sv.survey.State)) {
			heard, again, err = s.applyAlone(ctx, r, sender{who, sv}, channel, m, heard)
		}
		return err
	})
	return heard, again, err
}

// stops reports whether a message must be applied before it is acknowledged because its sender refuses, and what it
// means. It reads the conversation of the sender.
func (s *reports) stops(ctx context.Context, sv *surveyState, who *surveys.Respondent, body string) (heard surveys.Heard, stops bool, _ error) {
	if err := s.io.readTalkAndClaim(ctx, sv, who); err != nil {
		return heard, false, err
	}
	heard = meaning(sv, who, body)
	return heard, refuses(heard, who), nil
}

// refuses reports whether a message that means heard ends its sender.
func refuses(heard surveys.Heard, who *surveys.Respondent) bool {
	return heard.Says == people.SaidStop && !who.Status.Final()
}

// findSender returns the respondent who sent a message, and the survey; nil: there is none.
func (s *reports) findSender(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (r *roundState, who surveys.Respondent, sv *surveyState, _ error) {
	r = newRound(s.io, newMemory(), true)
	who, ok, err := r.findSender(ctx, &surveys.OutboxEntry{Kind: surveys.MessageReceived, Channel: channel, Message: m})
	if err != nil || !ok {
		return r, who, nil, err
	}
	if sv, err = r.lookupSurvey(ctx, who.Survey); err != nil || sv == nil || sv.plan == nil {
		return r, who, nil, err
	}
	return r, who, sv, nil
}

// applyAlone applies one message, like a round that processes only what the outbox has about the sender, in order, up to
// this message.
func (s *reports) applyAlone(ctx context.Context, r *roundState, from sender, channel weir.ChannelID, m weir.Incoming, heard surveys.Heard) (_ surveys.Heard, again bool, _ error) {
	sv, who := from.survey, from.who
	stops := refuses(heard, &who)
	entries, err := entriesUpTo(ctx, r, &who, channel, m, stops)
	if err != nil {
		return heard, false, err
	}
	if len(entries) == 0 {
		return meaningBefore(sv, &who, m.Body), false, nil
	}
	again, err = s.applyEntries(ctx, r, sv, who, entries)
	if err != nil && !stops {
		s.io.Logger.WarnContext(ctx, "message not applied at once; the next round applies it", "survey", sv.survey.Name, "respondent", who.ID.String(), "error", err)
		return heard, false, nil
	}
	return heard, again, err
}

// applyEntries applies outbox entries of a respondent. again reports that another writer changed the
// respondent, or that entries are left.
func (s *reports) applyEntries(ctx context.Context, r *roundState, sv *surveyState, who surveys.Respondent, entries []surveys.OutboxEntry) (again bool, _ error) {
	st, err := r.stepper(ctx, sv)
	if err == nil {
		err = s.io.readBuckets(ctx, sv, st)
	}
	if err != nil {
		return false, err
	}
	c, left := st.ApplyEntries(who, entries)
	_, again, err = s.commitReport(ctx, sv, c)
	return again || len(left) > 0, err
}

// entriesUpTo returns the outbox entries about a respondent up to a message of the respondent, oldest
// first; none if that has been processed. Unless all are wanted it reads only the oldest page, and returns
// none if the message is on another.
func entriesUpTo(ctx context.Context, r *roundState, who *surveys.Respondent, channel weir.ChannelID, m weir.Incoming, all bool) (list []surveys.OutboxEntry, _ error) {
	for after := int64(0); ; {
		page, err := r.io.readOutbox(ctx, after)
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			about := n.Owner.Group == who.Survey && n.Owner.ID == int64(who.ID)
			if number, ok := numberOf(n.Message.From); ok && n.Kind == surveys.MessageReceived && phonenumber.Identity(number) == phonenumber.Identity(who.Phone) {
				sender, ok, err := r.findSender(ctx, &n)
				if err != nil {
					return nil, err
				}
				about = ok && sender.ID == who.ID
			}
			if !about {
				continue
			}
			list = append(list, n)
			if n.Kind == surveys.MessageReceived && n.Channel == channel && n.Message.GUID == m.GUID && n.Message.Body == m.Body && n.Message.From == m.From {
				return list, nil
			}
		}
		if len(page) < outboxPage || !all {
			return nil, nil
		}
		after = page[len(page)-1].ID
	}
}
