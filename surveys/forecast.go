package surveys

import (
	"math"
	"slices"
	"time"

	"weir"
	"weir/limits"
	"weir/surveys/pacing"
)

// LaunchCheck is what is known of a draft before its launch.
type LaunchCheck struct {
	Plan     *Plan             // nil: the definition is not valid
	Checked  int               // number of respondents
	Partial  bool              // there are more than were checked
	Missing  int               // respondents that lack a value used in the texts
	Refusal  []weir.FieldError // what the launch would be refused for
	Warnings []weir.FieldError
	Budget   *BudgetForecast
	First    []Respondent   // the first ones that lack nothing
	Capacity map[string]int // slots of each channel that respondents can use
}

// BudgetForecast is what the budget of a draft pays for.
type BudgetForecast struct {
	limits.BudgetUse              // by surveys of its name
	Average          limits.Money // what a first attempt reserves; 0: that is not known
}

// Attempts returns about how many attempts the rest of the budget pays for; ok is false if that
// is not known.
func (b *BudgetForecast) Attempts() (_ int64, ok bool) {
	if b.Average <= 0 {
		return 0, false
	}
	return int64(b.Left() / b.Average), true
}

// Forecast estimates when a survey that is launched ends at best.
type Forecast struct {
	Contacts int           // of the respondents that are needed
	Open     time.Duration // for which the schedule has to be open
	Bound    string        // the channel that takes the longest; empty: the limit per minute
	EndsAt   time.Time
	TooShort bool      // the schedule ends before; EndsAt is when
	Unknown  bool      // no respondent is to be contacted, or a capacity is not known: there is no estimate
	Modes    []ModeUse // in the order of [Modes]
}

// ModeUse is the number of respondents whom a mode is for.
type ModeUse struct {
	Mode  Mode
	First int // contacted by it first
	Later int // at most, if no mode before reached them
}

// Forecast assumes that everybody answers the first attempt, that a contact holds its slots
// for [pacing.TypicalHold], that each channel serves only this survey, and that the share of
// respondents who complete is the one that the definition expects. It is thus a lower bound
// for planning, not a promise.
func (pl *Plan) Forecast(now time.Time, respondents int, capacity map[string]int) Forecast {
	return pl.forecastOf(now, pl.neededOf(respondents), capacity)
}

// forecastOf is [Plan.Forecast] for a number of contacts.
func (pl *Plan) forecastOf(now time.Time, contacts int, capacity map[string]int) Forecast {
	f := Forecast{Contacts: contacts}
	f.Modes = pl.modeUses(f.Contacts)
	minutes := float64(f.Contacts) / float64(max(1, pl.LimitPerMinute))
	slots := map[string]int{}
	for _, use := range f.Modes {
		slots[pl.Channels[use.Mode]] += use.First * pl.Size(use.Mode)
	}
	for _, name := range sortedKeys(slots) {
		if slots[name] > 0 && capacity[name] < 1 {
			f.Unknown = true
			return f
		}
		// In turns: as many at once as the channel has slots.
		turns := math.Ceil(float64(slots[name]) / float64(max(1, capacity[name])))
		if m := turns * pacing.TypicalHold.Minutes(); m > minutes {
			minutes, f.Bound = m, name
		}
	}
	if f.Contacts == 0 {
		f.Unknown = true
		return f
	}
	f.Open = time.Duration(min(minutes, maxForecast.Minutes()) * float64(time.Minute))
	end, ok := pl.Schedule.Later(now, f.Open)
	if !ok {
		end, _ = pl.Schedule.LastClose()
		f.TooShort = true
	}
	f.EndsAt = end
	return f
}

// maxForecast bounds a forecast, so that it can be computed for every definition.
const maxForecast = 10 * 365 * 24 * time.Hour

// neededOf returns how many of the respondents have to be contacted to reach the target.
func (pl *Plan) neededOf(respondents int) int {
	target := pl.Target()
	if target == 0 {
		return respondents
	}
	if rate := pl.InitialSuccessRate; rate > 0 {
		target = int(min(math.Ceil(float64(target)/rate-1e-9), math.MaxInt32))
	}
	return min(respondents, target)
}

// modeUses splits respondents by the modes of their arms.
func (pl *Plan) modeUses(respondents int) (list []ModeUse) {
	uses, left := map[Mode]*ModeUse{}, respondents
	for i, arm := range pl.Arms {
		n := int(math.Round(float64(respondents) * float64(arm.Ratio) / 100))
		if n = min(n, left); i == len(pl.Arms)-1 {
			n = left
		}
		left -= n
		for step, mode := range arm.Modes {
			if uses[mode] == nil {
				uses[mode] = &ModeUse{Mode: mode}
			}
			if step == 0 {
				uses[mode].First += n
			} else {
				uses[mode].Later += n
			}
		}
	}
	for _, mode := range Modes() {
		if use := uses[mode]; use != nil {
			list = append(list, *use)
		}
	}
	return list
}

// Sample is the first contact of a mode, as one respondent gets it.
type Sample struct {
	Questionnaire string
	Mode          Mode
	Contact       weir.Spec
}

// Samples returns the first contact of every questionnaire and mode for one person. Those for
// which the person lacks a value are left out.
func (pl *Plan) Samples(survey string, person Person) (list []Sample) {
	for i, arm := range pl.Arms {
		for _, mode := range arm.Modes {
			if slices.ContainsFunc(list, func(s Sample) bool { return s.Questionnaire == arm.Questionnaire && s.Mode == mode }) {
				continue
			}
			spec, err := pl.Contact(survey, person, Progress{Arm: i}, Outreach{Mode: mode, Attempt: 1, Serial: 1})
			if err == nil {
				list = append(list, Sample{arm.Questionnaire, mode, spec})
			}
		}
	}
	return list
}
