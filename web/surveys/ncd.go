package surveys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/httpjson"
)

// The layout of the surveys on non-communicable diseases by mobile phone: columns and words are what the
// scripts of its protocol read, which were written for another program.

// formatParameter chooses between the own columns of a file and those of the protocol.
func formatParameter() httpjson.Parameter {
	return httpjson.Parameter{
		Name: "format", Kind: "string", Enum: []string{"ncd"}, Single: true,
		Description: "ncd: the columns and words of the protocol of NCD mobile phone surveys, with instants in the time zone of the survey; absent: those described here",
	}
}

// ncd reports whether a file has the layout of the protocol.
func (d *csvDownload) ncd() bool { return d.Query.Text("format") == "ncd" }

// ncdInstant formats an instant; zero is empty.
func ncdInstant(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("2006-01-02 15:04:05 -07:00")
}

// capitalized returns a disposition or an event with a capital.
func capitalized[T ~string](word T) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(string(word[:1])) + strings.ReplaceAll(string(word[1:]), "_", " ")
}

// ncdMode names a mode in all files but the interactions.
func ncdMode(m surveys.Mode) string {
	if m == surveys.IVR {
		return "Phone call"
	}
	return ncdShortMode(m)
}

// ncdShortMode names a mode in the interactions.
func ncdShortMode(m surveys.Mode) string {
	if m == surveys.MobileWeb {
		return "Mobile Web"
	}
	return strings.ToUpper(string(m))
}

// ncdArm names an arm by its questionnaire and modes.
func ncdArm(v surveys.Survey, a surveys.Arm) string {
	var modes []string
	for _, m := range a.Modes {
		modes = append(modes, ncdMode(m))
	}
	return ncdQuestionnaire(v, a.Questionnaire) + " - " + strings.Join(modes, ", ")
}

// ncdQuestionnaire returns the name of a questionnaire. The only one may have none.
func ncdQuestionnaire(v surveys.Survey, name string) string {
	return cmp.Or(name, v.Title, v.Name)
}

func ncdInteractionColumns() []string {
	return []string{"ID", "Respondent ID", "Mode", "Channel", "Disposition", "Action Type", "Action Data", "Timestamp"}
}

// interactions writes the log in the layout of the protocol.
func (d *csvDownload) interactions(v surveys.Survey) error {
	if d.Query.Int("after") != 0 {
		d.Errors.Add("/after", "content", "is not for format=ncd, because the entries before determine the disposition")
		return d.Invalid()
	}
	zone := zoneOf(v)
	every := func(*surveys.LogEntry) bool { return true }
	return d.byRespondent(v, ncdInteractionColumns(), every, func(e *surveys.LogEntry, t surveys.Trail, _ bool) []string {
		action, data := ncdAction(shownEntry(d.Call, *e))
		return []string{
			strconv.FormatInt(e.ID, 10), e.Respondent.String(), ncdShortMode(cmp.Or(e.Mode, t.Mode)), e.Channel, capitalized(t.Disposition),
			action, data, ncdInstant(e.At, zone),
		}
	})
}

// ncdAction returns what happened, and details of it. The log has no texts.
func ncdAction(e surveys.LogEntry) (action, data string) {
	details := []string{capitalized(e.Event)}
	switch e.Event {
	case surveys.LogMessage:
		action = "Response"
	case surveys.LogReply:
		action = "Prompt"
	case surveys.LogEnqueued, string(surveys.ContactAccepted), string(surveys.CallAnswered), string(surveys.ContactEnded):
		action = "Contact attempt"
	case surveys.LogDisposition:
		action, details[0] = "Disposition changed", capitalized(e.To)
	default:
		action = capitalized(e.Event)
	}
	if e.Outcome != "" {
		details = append(details, string(e.Outcome))
	}
	if e.Reason != "" {
		details = append(details, e.Reason)
	}
	return action, strings.Join(details, ": ")
}

// ncdResults returns the layout of the results: columns that depend on the modes of the survey, and no number.
func ncdResults(v surveys.Survey) resultLayout {
	n := newNCDSurvey(v)
	return resultLayout{n.columns(), n.row}
}

// ncdSurvey is a survey as the protocol sees it.
type ncdSurvey struct {
	survey surveys.Survey
	arms   []surveys.Arm
	modes  []surveys.Mode
	zone   *time.Location
}

func newNCDSurvey(v surveys.Survey) ncdSurvey {
	n := ncdSurvey{survey: v, arms: progressOf(v).arms, zone: zoneOf(v)}
	for _, m := range surveys.Modes() {
		if slices.ContainsFunc(n.arms, func(a surveys.Arm) bool { return slices.Contains(a.Modes, m) }) {
			n.modes = append(n.modes, m)
		}
	}
	return n
}

func (n ncdSurvey) columns() []string {
	out := []string{"respondent_id", "disposition", "date", "modes", "user_stopped"}
	for _, one := range n.counts(api.RespondentView{}) {
		out = append(out, one[0])
	}
	out = append(out, "section_order", "sample_file")
	if len(n.arms) > 1 {
		out = append(out, "variant")
	}
	if n.survey.Definition.CountPartial {
		out = append(out, "p_relevants")
	}
	return out
}

// counts returns the columns of the modes with their values.
func (n ncdSurvey) counts(v api.RespondentView) (list [][2]string) {
	has := func(modes ...surveys.Mode) bool {
		return slices.ContainsFunc(modes, func(m surveys.Mode) bool { return slices.Contains(n.modes, m) })
	}
	for _, one := range []struct {
		name, value string
		shown       bool
	}{
		{"total_sent_sms", strconv.Itoa(v.MessagesSent), has(surveys.SMS, surveys.MobileWeb)},
		{"total_received_sms", strconv.Itoa(v.MessagesReceived), has(surveys.SMS, surveys.MobileWeb)},
		{"sms_attempts", strconv.Itoa(v.Attempts.SMS), has(surveys.SMS)},
		{"mobileweb_attempts", strconv.Itoa(v.Attempts.MobileWeb), has(surveys.MobileWeb)},
		{"total_call_time", fmt.Sprintf("%dm %ds", v.CallSeconds/60, v.CallSeconds%60), has(surveys.IVR)},
		{"ivr_attempts", strconv.Itoa(v.Attempts.IVR), has(surveys.IVR)},
	} {
		if one.shown {
			list = append(list, [2]string{one.name, one.value})
		}
	}
	return list
}

func (n ncdSurvey) row(v api.RespondentView, r *surveys.Respondent, answers []api.AnswerView) []string {
	answered := 0
	for i := range answers {
		if answers[i].Status == questions.Answered {
			answered++
		}
	}
	date := "-" // of the last answer, which ends the interview of those who complete
	if answered > 0 || v.MessagesReceived > 0 || v.CallSeconds > 0 {
		at := r.Finished
		if at.IsZero() {
			at = v.UpdatedAt
		}
		date = at.In(n.zone).Format("Jan _2, 2006 15:04 -07:00")
	}
	var modes []string
	variant := "-"
	if v.Arm != nil {
		arm := n.arms[*v.Arm]
		for _, m := range arm.Modes[:min(r.Step+1, len(arm.Modes))] {
			modes = append(modes, ncdMode(m))
		}
		variant = ncdArm(n.survey, arm)
	}
	out := []string{v.ID, capitalized(v.Disposition), date, strings.Join(modes, ", "), strconv.FormatBool(v.OptedOut)}
	for _, one := range n.counts(v) {
		out = append(out, one[1])
	}
	out = append(out, "", "") // Weir has neither sections nor groups of respondents
	if len(n.arms) > 1 {
		out = append(out, variant)
	}
	if n.survey.Definition.CountPartial {
		out = append(out, strconv.Itoa(answered))
	}
	return out
}
