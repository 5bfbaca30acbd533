package channels

import (
	"slices"
	"testing"
	"time"

	"weir/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// The charts of the overview add the steps of all channels, also of one that has fewer.
func TestRecent_AddsTheStepsOfAllChannels(t *testing.T) {
	t.Parallel()
	var sum api.ChannelMinutes
	for _, ch := range []api.ChannelMinutes{
		{Channel: "a", Accepted: []int64{1, 2, 3}, Sent: []int64{1, 1, 1}, SendFailed: []int64{0, 1, 0}, Finished: []int64{2, 3, 4}, Completed: []int64{2, 1, 0}, Queued: []int64{5, 6, 7}},
		{Channel: "b", Accepted: []int64{10}, Sent: []int64{20}, SendFailed: []int64{30}, Finished: []int64{40}, Completed: []int64{4}, Queued: []int64{50}},
	} {
		addSteps(&sum, &ch)
	}
	begin := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	var all Recent
	all.draw(locale.New().Choose("en", ""), &sum, display.Chart{Unit: "per 15 min", Begin: begin, Step: 15 * time.Minute}, begin.Add(40*time.Minute))
	for _, want := range []struct {
		chart  *display.Chart
		series string
		values []float64
	}{
		{&all.Contacts, "accepted", []float64{11, 2, 3}},
		{&all.Contacts, "dispatched", []float64{21, 1, 1}},
		{&all.Contacts, "not accepted by the provider", []float64{30, 1, 0}},
		{&all.Finished, "completed", []float64{6, 1, 0}},
		{&all.Finished, "other outcomes", []float64{36, 2, 4}},
		{&all.Queued, "queued", []float64{55, 6, 7}},
	} {
		i := slices.IndexFunc(want.chart.Series, func(s display.Series) bool { return s.Name == want.series })
		if i < 0 || !slices.Equal(want.chart.Series[i].Values, want.values) || !want.chart.Open {
			t.Errorf("%s, %s: want %v: %+v", want.chart.Title, want.series, want.values, want.chart)
		}
	}
}
