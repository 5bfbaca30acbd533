package workers

import (
	"slices"
	"strings"
	"time"

	"weir"
)

// Dispositions that a code can map to: those of package surveys that an
// interviewer can set, and two more.
const (
	completed     = "completed"
	refused       = "refused"
	ineligible    = "ineligible"
	partial       = "partial"
	callBack      = "call_back" // the respondent is to be called again
	noDisposition = "none"      // the code does not conclude anything
)

// conclusions returns all dispositions.
func conclusions() []string {
	return []string{completed, refused, ineligible, partial, callBack, noDisposition}
}

// dispositions parses the setting that maps codes to dispositions.
func (r *reader) dispositions(s *settings) {
	s.dispositions = map[string]string{"callback": callBack}
	for _, d := range conclusions() {
		s.dispositions[d] = d
	}
	text := r.text("dispositions")
	if text == "" {
		return
	}
	for part := range strings.SplitSeq(text, ",") {
		code, word, _ := strings.Cut(part, "=")
		code, word = normal(code), normal(word)
		if code == "" || strings.Contains(code, "@") || !slices.Contains(conclusions(), word) {
			r.add("dispositions", "format", "must be like too_young=ineligible,later=call_back; dispositions are %s", strings.Join(conclusions(), ", "))
			return
		}
		s.dispositions[code] = word
	}
}

// splitCode separates a disposition code from the instant after an @.
func splitCode(text string) (code string, at time.Time) {
	code, instant, _ := strings.Cut(text, "@")
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(instant))
	if err != nil {
		at = time.Time{}
	}
	return normal(code), at.UTC()
}

// result returns the survey result of a disposition code for the respondent.
func (s *settings) result(text string) weir.Result {
	code, at := splitCode(text)
	switch d := s.dispositions[code]; d {
	case "", noDisposition:
		return weir.Result{}
	case callBack:
		return weir.Result{CallBack: at}
	default:
		return weir.Result{Disposition: d}
	}
}
