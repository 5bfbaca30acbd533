package surveys

import (
	"fmt"
	"slices"
	"strconv"

	"weir/internal/validation"
)

// ChooseArm returns the index of a respondent's arm for a random u in [0,1).
func ChooseArm(arms []Arm, u float64) int {
	reach := 0
	for i, a := range arms {
		if reach += a.Ratio; u*100 < float64(reach) {
			return i
		}
	}
	// Not reached with ratios that sum to 100, as checkArms requires.
	return 0
}

// checkArms applies the defaults and checks the ratios and the modes.
func checkArms(given []Arm, m *validation.Errors) []Arm {
	arms := slices.Clone(given)
	if len(arms) == 0 {
		m.Add("/arms", "required", "must list at least one arm with its modes")
	}
	if len(arms) == 1 && arms[0].Ratio == 0 {
		arms[0].Ratio = 100
	}
	sum := 0
	for i, a := range arms {
		at := "/arms/" + strconv.Itoa(i)
		checkModes(a.Modes, at, m)
		if a.Ratio < 0 || a.Ratio > 100 {
			m.Add(at+"/ratio", "range", "must be from 0 to 100")
		}
		for j, b := range arms[:i] {
			if a.Questionnaire == b.Questionnaire && slices.Equal(a.Modes, b.Modes) {
				m.Add(at, "duplicate", "is the same as arm %d", j)
			}
		}
		sum += a.Ratio
	}
	if len(arms) > 0 && sum != 100 {
		m.Add("/arms", "range", "the ratios of all arms must sum to 100, not %d", sum)
	}
	return arms
}

func checkModes(modes []Mode, at string, m *validation.Errors) {
	if len(modes) == 0 {
		m.Add(at+"/modes", "required", "must name at least one of %v", Modes())
	}
	for i, mode := range modes {
		at := fmt.Sprintf("%s/modes/%d", at, i)
		switch {
		case !slices.Contains(Modes(), mode):
			m.Add(at, "enum", "%q is not one of %v", validation.Clip(string(mode)), Modes())
		case slices.Contains(modes[:i], mode):
			m.Add(at, "duplicate", "%s is listed twice", mode)
		}
	}
}

// arm returns the arm of a respondent who has none yet. It follows from a hash, so that a respondent
// who is read twice gets the same arm both times.
func (st *Stepper) arm(r *Respondent) int { return ChooseArm(st.Plan.Arms, armHash(r.Survey, r.ID)) }

// armHash returns the respondent's place among the arms, in [0,1).
func armHash(survey int64, id RespondentID) float64 {
	h := uint64(survey)*0x9e3779b97f4a7c15 ^ uint64(id)
	for _, m := range []uint64{0xbf58476d1ce4e5b9, 0x94d049bb133111eb} {
		h = (h ^ h>>30) * m
	}
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}
