package channels

import (
	"net/url"
	"time"

	"weir/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	hoursLife  = time.Minute // hours change once a minute
	hoursDays  = 28          // of the weekly map
	recentDays = 14          // of the map by day
)

// hoursData shows how busy a channel was by hour. Slots are counted at the end of each minute, so
// that contacts of seconds hardly show there; what was sent does.
type hoursData struct {
	Weekly, Recent, Sent display.Heat
}

func readHours(c *page.Caller, known *page.Cache[*hoursData], channel string) (*hoursData, error) {
	return known.Get(channel+"\n"+c.RightsKey(), func() (*hoursData, error) {
		now := time.Now().UTC()
		begin := now.Truncate(24*time.Hour).AddDate(0, 0, 1-hoursDays)
		var v api.HoursView
		err := c.Get(page.Path("v1", "channels", channel, "hours"), url.Values{"since": {begin.Format(time.RFC3339)}}, &v)
		return hoursOf(c.Locale, &v, begin, now), err
	})
}

// hoursOf makes the maps of hours since a midnight. A weekly value is the mean over the hours
// since the first known one: before it, the channel may not have existed.
func hoursOf(l *locale.Locale, v *api.HoursView, begin, now time.Time) *hoursData {
	d := &hoursData{
		Weekly: display.Heat{Title: l.T("Utilization by weekday and hour"), Unit: l.T("mean of four weeks, in UTC"), Percent: true, Full: 1},
		Recent: display.Heat{Title: l.T("Utilization of the last 14 days"), Unit: l.T("in UTC"), Percent: true, Full: 1},
		Sent:   display.Heat{Title: l.T("Contacts sent in the last 14 days"), Unit: l.T("in UTC")},
	}
	used, sent := map[time.Time]float64{}, map[time.Time]float64{}
	for i := range v.Hours {
		used[v.Hours[i].At.UTC()], sent[v.Hours[i].At.UTC()] = v.Hours[i].Utilization, float64(v.Hours[i].Sent)
	}
	var sums, counts [7][24]float64
	recent := now.Truncate(24*time.Hour).AddDate(0, 0, 1-recentDays)
	for at := begin; at.Before(now); at = at.Add(time.Hour) {
		if k := (int(at.Weekday()) + 6) % 7; len(v.Hours) > 0 && !at.Before(v.Hours[0].At) {
			sums[k][at.Hour()] += used[at]
			counts[k][at.Hour()]++
		}
		if at.Before(recent) {
			continue
		}
		if at.Hour() == 0 {
			d.Recent.Rows = append(d.Recent.Rows, display.HeatRow{Name: l.Day(at)})
			d.Sent.Rows = append(d.Sent.Rows, display.HeatRow{Name: l.Day(at)})
		}
		last := len(d.Recent.Rows) - 1
		d.Recent.Rows[last].Values = append(d.Recent.Rows[last].Values, used[at])
		d.Sent.Rows[last].Values = append(d.Sent.Rows[last].Values, sent[at])
	}
	for i, name := range display.WeekdayNames(l) {
		row := display.HeatRow{Name: name}
		for k := range sums[i] {
			row.Values = append(row.Values, sums[i][k]/max(1, counts[i][k]))
		}
		d.Weekly.Rows = append(d.Weekly.Rows, row)
	}
	return d
}
