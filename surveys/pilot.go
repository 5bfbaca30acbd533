package surveys

import (
	"strconv"
	"strings"
)

// A pilot asks a few people for real before the survey itself does. It is a survey of its own, under
// the name of the survey and a number, with the definition that the survey had when it began: so its
// respondents are in no figure, result or quota of the survey, and decide nothing in it, and whoever was
// in a pilot can still become a respondent. A pilot of a changed definition is another pilot.

// Bounds of pilots.
const (
	MaxPilot = 9999 // the number of a pilot
	// MaxPiloting is how many respondents the pilots of a survey may have under way.
	MaxPiloting = 20
)

// pilotMark is between the name of a survey and the number of its pilot. No name of a survey has it.
const pilotMark = "~pilot"

// PilotName returns the name of a pilot of a survey.
func PilotName(survey string, number int) string { return PilotPrefix(survey) + strconv.Itoa(number) }

// PilotPrefix is what the names of all pilots of a survey begin with, and of no other survey.
func PilotPrefix(survey string) string { return survey + pilotMark }

// PilotOf returns of which survey a survey of this name is a pilot, and its number; 0: it is none.
func PilotOf(name string) (survey string, number int) {
	survey, text, marked := strings.Cut(name, pilotMark)
	number, err := strconv.Atoi(text)
	if !marked || err != nil || number < 1 || number > MaxPilot || PilotName(survey, number) != name {
		return "", 0
	}
	return survey, number
}

// Pilot returns the definition of a pilot: whom, when in a day and how it contacts stays, and
// nothing is left that ends, pauses or narrows the survey. It may be contacted at once, although the survey
// begins later.
func (d Definition) Pilot() Definition {
	d.Schedule.StartDate, d.Schedule.EndDate = "", ""
	d.Cutoff, d.CountPartial, d.Quotas, d.QuotaMessage, d.Budget, d.Brake = 0, false, nil, "", nil, nil
	d.BatchSize, d.InitialSuccessRate = 0, nil
	return d
}
