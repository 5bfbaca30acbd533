package surveybroker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/surveys"
)

// hearTries is the max number of tries of a report or a stop message that loses
// against other writers.
const hearTries = 10

// Hear applies an application's report about a respondent. It may be repeated:
// the second time it changes nothing, and messages with a key are not sent
// again.
func (s *System) Hear(ctx context.Context, survey surveys.Survey, id surveys.RespondentID, h surveys.Hearing) (surveys.Respondent, error) {
	if survey.State == surveys.Draft {
		return surveys.Respondent{}, weir.Errorf(weir.CodeConflict, "the survey was not launched")
	}
	plan, wrong := s.library.plan(&survey, s.defaults)
	if plan == nil {
		return surveys.Respondent{}, surveys.Invalid(wrong)
	}
	k := &known{survey: survey, plan: plan}
	for try := range hearTries {
		is, again, err := s.hear(ctx, k, id, h)
		if err != nil {
			return is, err
		}
		if !again {
			return is, s.reply(ctx, k, &is, h)
		}
		select {
		case <-ctx.Done():
			return is, ctx.Err()
		case <-time.After(time.Duration(try) * 5 * time.Millisecond):
		}
	}
	return surveys.Respondent{}, &weir.Error{Code: weir.CodeUnavailable, Message: "the respondent is being changed by others; try again", RetryAfter: time.Second}
}

// hear tries once. again reports that another writer changed the respondent.
func (s *System) hear(ctx context.Context, k *known, id surveys.RespondentID, h surveys.Hearing) (_ surveys.Respondent, again bool, _ error) {
	was, err := s.store.Respondent(ctx, k.survey.ID, id)
	if err != nil {
		return was, false, err
	}
	if err := s.sendable(ctx, k, &was, h.Messages); err != nil {
		return was, false, err
	}
	d := s.newDesk(k, time.Now(), nil, nil)
	attributes, wrong := surveys.Merge(was.Attributes, h.Answers)
	if len(wrong) > 0 {
		return was, false, &weir.Error{Code: weir.CodeInvalid, Message: "the answers cannot be taken", Fields: wrong}
	}
	bucket := was.Bucket
	if len(h.Answers) > 0 {
		bucket = k.plan.Assign(&was, attributes)
	}
	full, err := s.full(ctx, k, &was, h, bucket)
	if err != nil {
		return was, false, err
	}
	p, e, err := d.try(was.Progress, hearing(k.plan, d.now, h, full))
	if err != nil {
		return was, false, refusal(err, was, h)
	}
	if p == was.Progress && maps.Equal(attributes, was.Attributes) && bucket == was.Bucket {
		return was, false, nil
	}
	c := d.change(was, p, e)
	c.move.Is.Attributes, c.move.Is.Bucket = attributes, bucket
	if len(s.replies(k, &c.move.Is, h)) > 0 {
		d.note(&c, surveys.Entry{Event: logReply, Mode: surveys.SMS})
	}
	return s.heard(ctx, k, c)
}

// full reports whether a respondent that stays in the survey is no longer
// needed, because its bucket is full without it.
func (s *System) full(ctx context.Context, k *known, was *surveys.Respondent, h surveys.Hearing, bucket int) (bool, error) {
	ends := h.Disposition != "" && h.Disposition.Final() || h.Stop || was.Status.Final()
	if bucket == surveys.NoBucket || ends || was.Counted && bucket == was.Bucket {
		return false, nil
	}
	sums, err := s.store.Counts(ctx, k.survey.ID)
	return err == nil && k.plan.Quotas.Full(sums.Tally(len(k.plan.Quotas)).Buckets, bucket), err
}

// heard writes a change, after canceling its contact.
func (s *System) heard(ctx context.Context, k *known, c change) (_ surveys.Respondent, again bool, _ error) {
	if c.cancel != (weir.Ref{}) && !s.cancel(ctx, c.cancel, c.recall) {
		return c.move.Was, false, &weir.Error{Code: weir.CodeUnavailable, Message: "the respondent's next contact could not be taken back now; try again", RetryAfter: 2 * time.Second}
	}
	written, err := s.commitWork(ctx, workOf(k, []change{c}))
	if err != nil {
		return c.move.Was, false, err
	}
	if slices.Contains(written.Stale, c.move.Was.ID) {
		return c.move.Was, true, nil
	}
	s.measured(&k.survey, &c)
	s.hint()
	return c.move.Is, false, nil
}

// hearing returns the rule that applies a report. A respondent that turns out
// to be in a full bucket is rejected, unless the report ends it.
func hearing(plan *surveys.Plan, now time.Time, h surveys.Hearing, full bool) rule {
	return func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		if p.Status.Final() && (h.Disposition == "" || p.Status == surveys.Rejected && h.Disposition.Reportable() && !h.Disposition.Final()) {
			return p, surveys.Effects{}, nil // a message after the end, or the repetition of a report that found the quota full
		}
		if h.Stop && h.Disposition == "" {
			p, e := plan.Stop(p)
			return p, e, nil
		}
		q, e, err := plan.Heard(p, now, h.Serial, h.Disposition)
		switch {
		case err != nil || q.Status.Final():
			return q, e, err
		case h.Stop:
			q, f := plan.Stop(q)
			return q, both(e, f), nil
		case full:
			if r, f, err := plan.Reject(q); err == nil {
				return r, both(e, f), nil
			}
		}
		return q, e, nil
	}
}

// both merges the effects of two consecutive steps, neither of which enqueues.
func both(a, b surveys.Effects) surveys.Effects {
	b.Withdraw, b.Recall = max(a.Withdraw, b.Withdraw), a.Recall || b.Recall
	b.Count, b.Finished = a.Count || b.Count, a.Finished || b.Finished
	return b
}

// refusal returns the client's error for a step that cannot be taken.
func refusal(err error, was surveys.Respondent, h surveys.Hearing) error {
	switch {
	case errors.Is(err, surveys.ErrFinal):
		return weir.Errorf(weir.CodeConflict, "the respondent has come to its end: %s, %s", was.Status, was.Disposition)
	case errors.Is(err, surveys.ErrDisposition) && !h.Disposition.Reportable():
		return &weir.Error{Code: weir.CodeInvalid, Message: "the report cannot be taken", Fields: []weir.FieldError{
			{Pointer: "/disposition", Code: "enum", Detail: "this disposition cannot be reported"},
		}}
	case errors.Is(err, surveys.ErrDisposition):
		return weir.Errorf(weir.CodeConflict, "a respondent who is %s cannot become %s", was.Disposition, h.Disposition)
	default:
		return &weir.Error{Code: weir.CodeInternal, Message: "the report could not be taken", Cause: err}
	}
}

// replyKey returns the key of a contact that holds messages of a report.
func replyKey(id surveys.RespondentID, key string, part int) string {
	if key == "" {
		return ""
	}
	return id.String() + "-reply-" + key + "-" + strconv.Itoa(part)
}

// sendable checks, before anything of a report is applied, whether its messages
// can be sent.
func (s *System) sendable(ctx context.Context, k *known, r *surveys.Respondent, messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	for i, m := range messages {
		if strings.TrimSpace(m) == "" {
			return &weir.Error{Code: weir.CodeInvalid, Message: "a message cannot be sent", Fields: []weir.FieldError{
				{Pointer: "/messages/" + strconv.Itoa(i), Code: "length", Detail: "must not be empty"},
			}}
		}
	}
	_, err := s.textChannel(ctx, k, r)
	return err
}

// reply sends the messages of a report, before all other waiting contacts and
// regardless of the schedule, because the respondent is waiting for them. A
// respondent that turned out not to be needed gets the survey's quota message
// instead, once.
func (s *System) reply(ctx context.Context, k *known, r *surveys.Respondent, h surveys.Hearing) error {
	messages, key := s.replies(k, r, h), func(part int) string { return replyKey(r.ID, h.Key, part) }
	if len(messages) == 0 {
		return nil
	}
	if h.Withholds(r.Progress) {
		key = func(int) string { return r.ID.String() + "-quota" }
	}
	ch, err := s.textChannel(ctx, k, r)
	if err != nil {
		return err
	}
	var specs []weir.Spec
	for part := range slices.Chunk(messages, max(1, min(len(messages), ch.Capacity))) {
		specs = append(specs, weir.Spec{
			Key: key(len(specs)), To: r.Phone, Priority: surveys.ReplyPriority(), Survey: k.survey.Name,
			Labels: map[string]string{"respondent": r.ID.String(), "mode": string(surveys.SMS)}, Messages: part,
		})
	}
	_, err = s.channels.Accept(ctx, ch, specs)
	if weir.CodeOf(err) == weir.CodeKeyReused {
		return nil // the first report with this key was answered; its messages stand
	}
	return err
}

// replies returns the messages that a report sends to a respondent in its
// present state.
func (s *System) replies(k *known, r *surveys.Respondent, h surveys.Hearing) []string {
	if !h.Withholds(r.Progress) {
		return h.Messages
	}
	text := k.plan.QuotaMessage(k.survey.Name, person(r, s.tokens), r.Progress)
	if text == "" || len(h.Messages) == 0 && k.plan.Mode(r.Progress).Voice() {
		return nil
	}
	return []string{text}
}

// textChannel returns the channel for answers to a respondent: the channel of
// its latest contact if that was by text, otherwise the survey's.
func (s *System) textChannel(ctx context.Context, k *known, r *surveys.Respondent) (weir.Channel, error) {
	d := &desk{survey: &k.survey, plan: k.plan}
	if m := d.mode(r.Progress); r.Contact != (weir.Ref{}) && m != "" && !m.Voice() {
		ch, err := s.store.ChannelByID(ctx, r.Contact.Channel)
		if weir.CodeOf(err) != weir.CodeNotFound && (err != nil || !ch.Deleting && !ch.Deleted) {
			return ch, err
		}
	}
	for _, m := range []surveys.Mode{surveys.SMS, surveys.MobileWeb} {
		if name := k.plan.Channels[m]; name != "" {
			return s.store.Channel(ctx, name)
		}
	}
	return weir.Channel{}, weir.Errorf(weir.CodeConflict, "the survey has no channel for texts, so that nothing can be answered")
}
