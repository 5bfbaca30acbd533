package phonenumber_test

import (
	"strings"
	"testing"

	"weir/internal/phonenumber"
)

func TestPhoneNumber_IsBroughtIntoOneForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, region, want string }{
		{"+52 (55) 1234-5678", "", "+525512345678"},
		{"55 1234 5678", "MX", "+525512345678"},
		{"0176.123.45678", "DE", "+4917612345678"},
		{"0049 176 12345678", "DE", "+4917612345678"},
		{"(+44) 20 7946 0958", "", "+442079460958"},
		{"+1 202/555-0123", "MX", "+12025550123"},
		{"+1 202 555/0123", "MX", "+12025550123"},
		{"05121/123456", "DE", "+495121123456"},
		{"+49 35124/12345", "", "+493512412345"},
		{"030/1234567", "DE", "+49301234567"},
		{"0049 89 636/48018", "", "+498963648018"},
		{"\u20072025550123", "US", "+12025550123"},
		{"٠٢٠٢٥٥٥٠١٢٣", "EG", "+20202" + "5550123"},
		{"254722123456.0", "KE", "+254722123456"},
		{"7290.0", "TK", "+6907290"},
		{"0722.123456", "KE", "+254722123456"},
		{"555.010.0234", "US", "+15550100234"},
		{"06.12.34.56.00", "FR", "+33612345600"},
		{"+254.722.12345.6", "", "+254722123456"},
		{"'0722123456", "KE", "+254722123456"},
		{"\u202a+254\u00a0722\u2011123456\u202c", "", "+254722123456"},
		{"00254722123456", "", "+254722123456"},
		{"0015550100777", "MX", "+15550100777"},
		{"+5215512345602", "", "+525512345602"},
		{"11987654321", "BR", "+5511987654321"},
		{"1187654321", "BR", "+5511987654321"},
	} {
		if got, err := phonenumber.Normalize(tt.raw, tt.region); got != tt.want || err != nil {
			t.Errorf("%q in %q: %q %v, want %q", tt.raw, tt.region, got, err, tt.want)
		}
	}
}

func TestPhoneNumber_InvalidPhoneErrorsHideTheNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, region, want string }{
		{"", "MX", "is missing"},
		{"  ", "MX", "is missing"},
		{"5.2155E+11", "MX", "spreadsheets"},
		{"5,2155e+11", "MX", "spreadsheets"},
		{"254722123456.5", "KE", "fraction"},
		{"+254.722.123456.0", "", "fraction"},
		{"0722.123.456.0", "KE", "fraction"},
		{"072.212.345.0", "KE", "fraction"}, // or grouped by threes
		{"3333-4444/45", "GT", "second one"},
		{"3333-4444 / 45", "GT", "second one"},
		{"3333-4444/ 45", "DE", "second one"},
		{"3333-4444/45/46", "DE", "second one"},
		{"3333-4444/45-46", "DE", "second one"},
		{"3333-4444/4445", "DE", "second one"},
		{"3333-4444/3333-4445", "GT", "second one"},
		{"030 123456/123457", "DE", "second one"},
		{"+49 30 123456/57", "", "second one"},
		{"+49 30 123456/123457", "", "second one"},
		{"0049 30 123456 / 123457", "", "second one"},
		{"1-800-FLOWERS", "US", "characters other"},
		{"+52 55 1234 5678 ext. 5", "", "characters other"},
		{"tel:+525512345678", "", "characters other"},
		{"55+12345678", "MX", "characters other"},
		{"5512345678", "", "no country code"},
		{"12", "MX", "too short or too long"},
		{"+52 55 1234 5678 5678 5678", "", "too short or too long"},
		{"+999 1234567", "", "has an unknown country code"},
		{"+", "", "has an unknown country code"},
		{"----", "MX", "has an unknown country code"},
		{strings.Repeat("1", 1000), "MX", "too short or too long"},
	} {
		got, err := phonenumber.Normalize(tt.raw, tt.region)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q in %q: %q %v, want %q", tt.raw, tt.region, got, err, tt.want)
		} else if len(tt.raw) > 3 && strings.Contains(err.Error(), tt.raw) {
			t.Errorf("the error names the number: %v", err)
		}
	}
}

func TestPhoneNumber_KnowsItsRegions(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]bool{"MX": true, "DE": true, "": false, "ZZ": false, "mx": false, "001": false} {
		if phonenumber.KnownRegion(region) != want {
			t.Errorf("%q is a region: %v", region, !want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"+525512345678", "0176 1234567", "5.2E+11", "++", "(+44)", "\u0660\u0661"} {
		f.Add(s, "MX")
	}
	f.Fuzz(func(t *testing.T, raw, region string) {
		got, err := phonenumber.Normalize(raw, region)
		if err != nil {
			return
		}
		if !strings.HasPrefix(got, "+") || strings.Trim(got[1:], "0123456789") != "" || len(got) > 20 {
			t.Fatalf("%q in %q is %q", raw, region, got)
		}
		if again, err := phonenumber.Normalize(got, ""); err != nil || again != got {
			t.Errorf("%q is normalized again as %q, %v", got, again, err)
		}
	})
}
