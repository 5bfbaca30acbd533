package phonenumber_test

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"weir/internal/phonenumber"
)

// anOld draws a number that a row of the table has as an old one.
func anOld(t *rapid.T, r *phonenumber.Renumbering) string {
	expr := "^" + strings.ReplaceAll(r.Old, "?", "[0-9]") + "$"
	return r.Code + rapid.StringMatching(expr).Draw(t, "old")
}

func TestRenumberings_OldAndNewFormsAreOnePerson(t *testing.T) {
	t.Parallel()
	for _, r := range phonenumber.Renumberings() {
		t.Run(r.Region+" "+r.Old, func(t *testing.T) {
			t.Parallel()
			if _, err := path.Match(r.Old, ""); err != nil || r.Source == "" || r.Since == "" && !r.Both ||
				regexp.MustCompile(`[^0-9]`).MatchString(r.Old[r.At:r.At+r.Delete]) {
				t.Fatalf("the row is not complete: %+v", r)
			}
			if old, now := r.Example(); now == "" || phonenumber.Identity(old) != now {
				t.Fatalf("its example %s is %q", old, now)
			}
			valid := 0
			rapid.Check(t, func(t *rapid.T) {
				old := anOld(t, &r)
				now := phonenumber.Identity(old)
				if now == old || phonenumber.Identity(now) != now {
					t.Fatalf("%s is known as %s, which is known as %s", old, now, phonenumber.Identity(now))
				}
				if all := phonenumber.Notations(now); !slices.Contains(all, old) || all[0] != now {
					t.Errorf("%s is not among the notations %v of %s", old, all, now)
				}
				n, err := phonenumbers.Parse(now, "ZZ")
				if err == nil && phonenumbers.IsValidNumberForRegion(n, r.Region) {
					valid++
				}
				if r.Both {
					return
				}
				for _, text := range []string{old, "00" + old[1:], old[:4] + " " + old[4:] + ".0"} {
					if got, err := phonenumber.Normalize(text, ""); err == nil && got != now {
						t.Errorf("%q is %s, not %s", text, got, now)
					}
				}
				if was, err := phonenumbers.Parse(old, "ZZ"); r.Region != "GA" && (r.Region != "BR" || old[5] != '7') && err == nil && phonenumbers.IsValidNumberForRegion(was, r.Region) {
					t.Errorf("%s is a valid number today, perhaps somebody else's", old)
				}
			})
			if valid == 0 {
				t.Error("none of the new forms is a valid number")
			}
		})
	}
}

// examples are the numbers of every region that its numbering plan has as an example.
func examples() map[string][]string {
	out := map[string][]string{}
	for _, region := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())) {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			if n := phonenumbers.GetExampleNumberForType(region, kind); n != nil {
				if text := phonenumbers.Format(n, phonenumbers.E164); !slices.Contains(out[region], text) {
					out[region] = append(out[region], text)
				}
			}
		}
	}
	return out
}

func TestRenumberings_LeaveOtherNumbersAlone(t *testing.T) {
	t.Parallel()
	seen := 0
	for region, numbers := range examples() {
		for _, number := range numbers {
			seen++ // the plan's own examples of Gabon are old numbers
			if is := phonenumber.Identity(number); is != number && !strings.HasPrefix(number, "+549") && !strings.HasPrefix(number, "+2410") {
				t.Errorf("%s of %s is known as %s", number, region, is)
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d examples", seen)
	}
}

// No sign that nobody sees, no script and no fraction that a program adds may change the
// digits of a number, wherever it comes from.
func TestNormalize_NothingChangesTheDigits(t *testing.T) {
	t.Parallel()
	all := examples()
	for region, numbers := range all { // the rest are no possible numbers by the plan itself
		all[region] = slices.DeleteFunc(numbers, func(number string) bool {
			_, err := phonenumber.Normalize(number, "")
			return err != nil
		})
	}
	maps.DeleteFunc(all, func(_ string, numbers []string) bool { return len(numbers) == 0 })
	regions := slices.Sorted(maps.Keys(all))
	if len(regions) < 200 {
		t.Fatalf("only %d regions have an example that is possible", len(regions))
	}
	draws, judged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		region := rapid.SampledFrom(regions).Draw(t, "region")
		number := rapid.SampledFrom(all[region]).Draw(t, "number")
		want, err := phonenumber.Normalize(number, "")
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		n, _ := phonenumbers.Parse(number, "ZZ")
		forms := []string{number, number[1:], "00" + number[1:], phonenumbers.Format(n, phonenumbers.INTERNATIONAL), phonenumbers.GetNationalSignificantNumber(n)}
		suffixes := []string{"", ".0", ".00", ",0", "\u202c", "\u00a0", ".5", ".25", ".000000"}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		if rapid.Bool().Draw(t, "points") { // behind others, two digits may as well be the last ones of the number
			form = points(phonenumbers.Format(n, rapid.SampledFrom([]phonenumbers.PhoneNumberFormat{phonenumbers.INTERNATIONAL, phonenumbers.NATIONAL}).Draw(t, "format")))
		}
		if strings.Contains(form, ".") {
			suffixes = []string{"", ".0", ",0", ",00", ".0\u202c"}
		}
		clean, cleanErr := phonenumber.Normalize(form, region)
		disguised := disguise(t, form) + rapid.SampledFrom(suffixes).Draw(t, "suffix")
		got, err := phonenumber.Normalize(disguised, region)
		if draws++; err == nil {
			judged++
		}
		if err == nil && got != clean {
			t.Errorf("%q is %s, and without signs and fraction %s %v", disguised, got, clean, cleanErr)
		}
		if form == number && clean != want {
			t.Errorf("%s is %s in %s", form, clean, region)
		}
	})
	if judged*4 < draws { // more than half of them, in the long run
		t.Errorf("only %d of %d disguised numbers were accepted, and judged", judged, draws)
	}
}

// points writes a number with points between its groups.
func points(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r != '+' && (r < '0' || r > '9') }), ".")
}

// disguise writes a number as other programs and keyboards do.
func disguise(t *rapid.T, text string) string {
	hidden := []string{"\u200b", "\u200e", "\u202a", "\u202d", "\u00ad", "\u2060", "\ufeff", "\ufe0f"}
	var out strings.Builder
	out.WriteString(rapid.SampledFrom([]string{"", "'", "\u2019", "\u202a", " ", "\u00a0"}).Draw(t, "before"))
	zeros := rapid.SampledFrom([]rune{'0', '\u0660', '\u06f0', '\u0966', '\uff10', '\U0001d7ce'}).Draw(t, "script")
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			out.WriteRune(zeros + r - '0')
		case r == '+':
			out.WriteRune(rapid.SampledFrom([]rune{'+', '\uff0b', '\ufe62'}).Draw(t, "plus"))
		case r == '-':
			out.WriteRune(rapid.SampledFrom([]rune{'-', '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212', '\uff0d'}).Draw(t, "hyphen"))
		case r == ' ':
			out.WriteRune(rapid.SampledFrom([]rune{' ', '\u00a0', '\u2007', '\u202f', '\u3000', '\t'}).Draw(t, "blank"))
		default:
			out.WriteRune(r)
		}
		if rapid.IntRange(0, 5).Draw(t, "hide") == 0 {
			out.WriteString(rapid.SampledFrom(hidden).Draw(t, "sign"))
		}
	}
	return out.String()
}

func TestReported_IsThePersonOfTheNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, region, want string }{
		{"254722123456", "", "+254722123456"},
		{"+254722123456", "KE", "+254722123456"},
		{"254722123456", "KE", "+254722123456"},
		{"0722123456", "KE", "+254722123456"},
		{"722123456", "KE", "+254722123456"},
		{"00254722123456", "", "+254722123456"},
		{"00254722123456", "KE", "+254722123456"},
		{"00254722123456", "US", "+254722123456"},
		{"0015550100777", "", "+15550100777"},
		{"0015550100777", "MX", "+15550100777"},
		{"5215512345602", "", "+525512345602"},
		{"5215512345602", "MX", "+525512345602"},
		{"541123456702", "", "+541123456702"},
		{"2025550123", "US", "+12025550123"},
		{"2025550123", "", "+2025550123"},
		{"+254722123456/TYPE=PLMN", "", "+254722123456"},
		{"+254722123456;ext=1", "", "+254722123456"},
		{"tel:+254722123456;phone-context=x", "KE", "+254722123456"},
		{"sip:+254722123456@gateway.example", "", "+254722123456"},
		{"whatsapp:+254722123456", "", "+254722123456"},
		{"sms://254722123456", "", "+254722123456"},
		{"\u200e+254 722 123456\u202c", "", "+254722123456"},
		{"254722123456.0", "", "+254722123456"},
		{"0722123456", "", ""},
		{"Safaricom", "KE", ""},
		{"", "KE", ""},
		{"12", "", ""},
	} {
		if got, ok := phonenumber.Reported(tt.text, tt.region); got != tt.want && ok || ok != (tt.want != "") {
			t.Errorf("%q in %q is %q, %v; want %q", tt.text, tt.region, got, ok, tt.want)
		}
	}
}

// The manual has the table as it is.
func TestRenumberings_AreInTheManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/consent.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range phonenumber.Renumberings() {
		old, now := r.Example()
		since := r.Since
		if since == "" {
			since = "both are in use"
		}
		row := "| " + r.Region + " | `" + old + "` | `" + now + "` | " + since + " | " + r.Source + " |\n"
		if !strings.Contains(string(manual), row) {
			t.Errorf("docs/consent.md lacks\n%s", row)
		}
	}
}
