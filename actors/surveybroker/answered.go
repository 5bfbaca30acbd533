package surveybroker

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"weir"
	"weir/events"
	"weir/surveys"
)

// answer is an application's response to a [MessageEvent].
type answer struct {
	Disposition surveys.Disposition `json:"disposition"`
	Messages    []string            `json:"messages"`
	Answers     map[string]any      `json:"answers"`
	Stop        bool                `json:"stop"`
}

// Answered applies the body with which an application responded to an event. An
// empty body means nothing, and so does a body that is no answer, such as "OK".
// Answered may be called again: the event's id is the idempotency key.
//
// An error means that the event must be delivered again, to get the same
// answer. That helps only if the answer could not be applied now; a rejected
// answer would be rejected again and hold up the respondent's next messages.
func (s *System) Answered(ctx context.Context, e events.Event, body []byte) error {
	if e.Type != MessageEvent || len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	err := s.answered(ctx, e, body)
	switch weir.CodeOf(err) {
	case weir.CodeInvalid, weir.CodeNotFound, weir.CodeConflict:
		s.logger.WarnContext(ctx, "what an application answered to a message was not taken", "subject", e.Subject, "error", err)
		return nil
	default:
		return err
	}
}

func (s *System) answered(ctx context.Context, e events.Event, body []byte) error {
	var about MessageData
	if err := json.Unmarshal(e.Data, &about); err != nil {
		return &weir.Error{Code: weir.CodeInternal, Message: "the event cannot be read", Cause: err}
	}
	id, err := surveys.ParseRespondentID(about.Respondent)
	if err != nil {
		return &weir.Error{Code: weir.CodeInternal, Message: "the event cannot be read", Cause: err}
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return weir.Errorf(weir.CodeInvalid, "the application's answer is not a JSON object of disposition, messages, answers and stop")
	}
	if a.Disposition == "" && len(a.Messages) == 0 && len(a.Answers) == 0 && !a.Stop {
		return nil
	}
	survey, err := s.store.Survey(ctx, about.Survey)
	if err != nil {
		return err
	}
	answers, wrong := surveys.Attributes(a.Answers)
	if err := surveys.Invalid(wrong); err != nil {
		return err
	}
	_, err = s.Hear(ctx, survey, id, surveys.Hearing{
		Serial: about.Serial, Disposition: a.Disposition, Answers: answers, Messages: a.Messages, Stop: a.Stop,
		Key: "e" + strconv.FormatInt(e.ID, 36),
	})
	return err
}
