package channels_test

import (
	"testing"

	"weir"
	"weir/channels"
)

func TestSettings_PaceIsChecked(t *testing.T) {
	t.Parallel()
	typ := channels.Type{Name: "made-up"}
	for _, c := range []struct {
		settings    weir.Settings
		rate, burst int
		wrong       string // pointer and code
	}{
		{weir.Settings{}, 0, 1, ""},
		{weir.Settings{"rate_per_second": 0.0}, 0, 1, ""},
		{weir.Settings{"rate_per_second": 1.0}, 1, 1, ""},
		{weir.Settings{"rate_per_second": 11.0}, 11, 2, ""},
		{weir.Settings{"rate_per_second": 100.0}, 100, 10, ""},
		{weir.Settings{"rate_per_second": 2.0, "burst": 20.0}, 2, 20, ""},
		{weir.Settings{"rate_per_second": 10_000.0, "burst": 10_000.0}, 10_000, 10_000, ""},
		{settings: weir.Settings{"rate_per_second": -1.0}, wrong: "/rate_per_second range"},
		{settings: weir.Settings{"rate_per_second": 10_001.0}, wrong: "/rate_per_second range"},
		{settings: weir.Settings{"rate_per_second": 0.5}, wrong: "/rate_per_second type"},
		{settings: weir.Settings{"rate_per_second": 5.0, "burst": 0.0}, wrong: "/burst range"},
		{settings: weir.Settings{"rate_per_second": 5.0, "burst": 10_001.0}, wrong: "/burst range"},
		{settings: weir.Settings{"rate_per_second": 0.0, "burst": 5.0}, wrong: "/burst conflict"},
		{settings: weir.Settings{"burst": 5.0}, wrong: "/burst conflict"},
	} {
		errs := typ.CheckSettings(c.settings, 10)
		if c.wrong != "" {
			if len(errs) != 1 || errs[0].Pointer+" "+errs[0].Code != c.wrong {
				t.Errorf("%v: %+v, want %s", c.settings, errs, c.wrong)
			}
			continue
		}
		if rate, burst := channels.Pace(c.settings); rate != c.rate || burst != c.burst || len(errs) > 0 {
			t.Errorf("%v: %d %d %v", c.settings, rate, burst, errs)
		}
	}
}
