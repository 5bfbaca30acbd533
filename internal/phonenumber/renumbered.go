package phonenumber

import (
	"path"
	"slices"
	"strings"
)

// Renumbering is a change of how a country, or the providers of messages there, write numbers.
// The old and the new form belong to the same subscriber, and the old form was never assigned to
// another one.
type Renumbering struct {
	Region string // ISO 3166
	Code   string // country code with its plus
	Old    string // pattern of [path.Match] of an old number behind the country code
	At     int    // where it changes, in digits behind the country code
	Delete int    // digits that go
	Insert string // digits that come
	Both   bool   // both forms are dialed today
	Since  string // when the new form began to be used
	Source string // what it was announced in
}

// Renumberings returns every one that is known. Fixed lines of Côte d'Ivoire are not among
// them: their new prefix depends on the operator. Numbering plans still have Brazilian numbers
// of eight digits that begin with 7, of trunked radio, which ended in 2018.
func Renumberings() []Renumbering { return slices.Clone(renumberings[:]) }

var renumberings = [...]Renumbering{ //nolint:gochecknoglobals // a table that nothing changes
	{"AR", "+54", "9??????????", 0, 1, "", true, "", "E.164 has the 9 of mobile numbers, national dialing has 15; WhatsApp and SMS gateways write either"},
	{"BJ", "+229", "[24-79]???????", 0, 0, "01", false, "2024-11-30", "ARCEP Bénin: ten digits"},
	{"BR", "+55", "[1-9][1-9][6-9]???????", 2, 0, "9", false, "2016-11-06", "Anatel: the ninth digit of mobile numbers, by area since 2012"},
	{"CI", "+225", "[014-9][0-3]??????", 0, 0, "01", false, "2021-01-31", "ARTCI: ten digits, mobile, Moov"},
	{"CI", "+225", "[014-9][4-6]??????", 0, 0, "05", false, "2021-01-31", "ARTCI: ten digits, mobile, MTN"},
	{"CI", "+225", "[014-9][7-9]??????", 0, 0, "07", false, "2021-01-31", "ARTCI: ten digits, mobile, Orange"},
	{"CM", "+237", "[5-79]???????", 0, 0, "6", false, "2014-11-21", "ART Cameroun: nine digits, mobile"},
	{"CM", "+237", "[23]???????", 0, 0, "2", false, "2014-11-21", "ART Cameroun: nine digits, fixed"},
	{"GA", "+241", "0[256]??????", 0, 1, "6", false, "2019-11-15", "ARCEP Gabon: mobile, Gabon Telecom and Moov"},
	{"GA", "+241", "0[47]??????", 0, 1, "7", false, "2019-11-15", "ARCEP Gabon: mobile, Airtel"},
	{"GA", "+241", "01??????", 0, 1, "1", false, "2019-11-15", "ARCEP Gabon: fixed"},
	{"MX", "+52", "1??????????", 0, 1, "", false, "2019-08-03", "IFT: the 1 of mobile numbers from abroad ended"},
	{"VN", "+84", "16[2-9]???????", 0, 2, "3", false, "2018-09-15", "MIC: ten digits, Viettel"},
	{"VN", "+84", "120???????", 0, 3, "70", false, "2018-09-15", "MIC: ten digits, MobiFone"},
	{"VN", "+84", "121???????", 0, 3, "79", false, "2018-09-15", "MIC: ten digits, MobiFone"},
	{"VN", "+84", "122???????", 0, 3, "77", false, "2018-09-15", "MIC: ten digits, MobiFone"},
	{"VN", "+84", "126???????", 0, 3, "76", false, "2018-09-15", "MIC: ten digits, MobiFone"},
	{"VN", "+84", "128???????", 0, 3, "78", false, "2018-09-15", "MIC: ten digits, MobiFone"},
	{"VN", "+84", "123???????", 0, 3, "83", false, "2018-09-15", "MIC: ten digits, VinaPhone"},
	{"VN", "+84", "124???????", 0, 3, "84", false, "2018-09-15", "MIC: ten digits, VinaPhone"},
	{"VN", "+84", "125???????", 0, 3, "85", false, "2018-09-15", "MIC: ten digits, VinaPhone"},
	{"VN", "+84", "127???????", 0, 3, "81", false, "2018-09-15", "MIC: ten digits, VinaPhone"},
	{"VN", "+84", "129???????", 0, 3, "82", false, "2018-09-15", "MIC: ten digits, VinaPhone"},
	{"VN", "+84", "186???????", 0, 3, "56", false, "2018-09-15", "MIC: ten digits, Vietnamobile"},
	{"VN", "+84", "188???????", 0, 3, "58", false, "2018-09-15", "MIC: ten digits, Vietnamobile"},
	{"VN", "+84", "199???????", 0, 3, "59", false, "2018-09-15", "MIC: ten digits, Gmobile"},
}

// after returns the new form of a number, as E.164; false: it is not an old one.
func (r *Renumbering) after(number string) (string, bool) {
	own, ok := strings.CutPrefix(number, r.Code)
	if !ok || !matches(r.Old, own) {
		return "", false
	}
	return r.Code + own[:r.At] + r.Insert + own[r.At+r.Delete:], true
}

// before returns the old form of a number, as E.164; false: it had none.
func (r *Renumbering) before(number string) (string, bool) {
	own, ok := strings.CutPrefix(number, r.Code)
	if !ok || len(own) < r.At || !strings.HasPrefix(own[r.At:], r.Insert) {
		return "", false
	}
	deleted := r.Old[r.At : r.At+r.Delete] // plain digits of the pattern
	old := own[:r.At] + deleted + own[r.At+len(r.Insert):]
	return r.Code + old, matches(r.Old, old)
}

// Example returns an old number of the row, and the same one as it is today.
func (r *Renumbering) Example() (old, now string) {
	own := []byte{}
	for i, class := 0, false; i < len(r.Old); i++ {
		switch c := r.Old[i]; {
		case c == '[', c == ']':
			class = c == '['
		case c == '?':
			own = append(own, '1'+byte(i%8))
		case !class || r.Old[i-1] == '[': // of a class its first digit
			own = append(own, c)
		}
	}
	old = r.Code + string(own)
	now, _ = r.after(old)
	return old, now
}

func matches(pattern, digits string) bool {
	ok, _ := path.Match(pattern, digits) // the patterns are right, as a test says
	return ok
}

// today returns a number in the form in which its country dials it today.
func today(number string) string { return replaced(number, false) }

// Identity returns the one form under which the subscriber of a number is known, as E.164,
// whichever notation the number has.
func Identity(number string) string { return replaced(number, true) }

func replaced(number string, identity bool) string {
	for i := range renumberings {
		if r := &renumberings[i]; identity || !r.Both {
			if now, ok := r.after(number); ok {
				return now
			}
		}
	}
	return number
}

// Notations returns the forms in which the number of an [Identity] may be recorded: itself and its
// old forms.
func Notations(identity string) []string {
	list := []string{identity}
	for i := range renumberings {
		if old, ok := renumberings[i].before(identity); ok {
			list = append(list, old)
		}
	}
	return list
}
