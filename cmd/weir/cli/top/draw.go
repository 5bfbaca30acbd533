package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cmd/internal/terminal"
)

// Heights of the parts of a picture in lines, and widths in cells.
const (
	headLines = 3 // including a blank line
	footLines = 1
	minWidth  = 20
	maxBar    = 24
)

// Draw returns the picture for a terminal of a size: as many lines as the terminal
// has, without a line break after the last one.
func (s State) Draw(width, height int, colors bool) string {
	d := drawing{s: &s, width: max(minWidth, width), colors: colors}
	d.head()
	// Surveys get a quarter of the height and the router what it needs; channels get the rest.
	surveys, router := d.surveys(max(3, height/4)), d.router()
	room := height - headLines - footLines - len(surveys) - len(router)
	d.channels(max(2, room))
	d.lines = append(append(d.lines, surveys...), router...)
	for len(d.lines) < height-footLines {
		d.lines = append(d.lines, "")
	}
	d.lines = append(d.lines[:max(0, height-footLines)], d.foot())
	return strings.Join(d.lines, "\n")
}

// Page returns about how many channels a picture of a height shows.
func (s State) Page(height int) int { return max(1, height-headLines-footLines-height/4) }

// Text returns the complete state as plain text, for output that is not a terminal.
func (s State) Text(width int) string {
	d := drawing{s: &s, width: max(minWidth, width)}
	d.head()
	d.channels(len(s.Channels) + 2)
	d.lines = append(append(d.lines, d.surveys(len(s.Surveys)+2)...), d.router()...)
	return strings.TrimRight(strings.Join(d.lines, "\n"), "\n") + "\n"
}

// drawing is a picture in progress.
type drawing struct {
	s      *State
	width  int
	colors bool
	lines  []string
}

// add adds a line of text in one style; unprintable characters are escaped.
func (d *drawing) add(style terminal.Style, text string) {
	d.lines = append(d.lines, d.line(style, text))
}

func (d *drawing) line(style terminal.Style, text string) string {
	return style.Paint(terminal.Cut(terminal.Visible(text), d.width), d.colors)
}

// head draws three lines: time and states, sums, and the error of the last poll.
func (d *drawing) head() {
	states := map[string]int64{}
	var inFlight, capacity, queued, accepted, finished int64
	oldest := time.Duration(-1)
	for _, c := range d.s.Channels {
		states[c.State]++
		inFlight += int64(c.InFlight)
		capacity += int64(c.Capacity)
		queued += c.Queued
		accepted += c.AcceptedPerMinute
		finished += c.FinishedPerMinute
		oldest = max(oldest, d.s.waits(c))
	}
	at := d.s.Now.Format("2006-01-02 15:04:05")
	title := fmt.Sprintf("weir top  %s  channels: %d", at, len(d.s.Channels))
	if list := counts(states); list != "" {
		title += " (" + list + ")"
	}
	title += "  " + d.s.URL
	d.add(terminal.Strong, title)
	sum := fmt.Sprintf("in flight %s of %s %s  waiting %s", terminal.Number(inFlight), terminal.Number(capacity), terminal.Meter(inFlight, capacity), terminal.Number(queued))
	if oldest >= 0 {
		sum += ", the oldest for " + shortDuration(oldest)
	}
	if d.s.Minutes {
		sum += fmt.Sprintf("  last minute: %s accepted, %s done", terminal.Number(accepted), terminal.Number(finished))
	}
	d.add(terminal.Plain, sum)
	if d.s.Problem != "" {
		d.add(terminal.Bad, fmt.Sprintf("since %s: %s", d.s.Seen.Format("15:04:05"), d.s.Problem))
	} else {
		d.add(terminal.Plain, "")
	}
}

// The columns of the channel table, in order.
const (
	columnName = iota
	columnState
	columnSlots
	columnBar
	columnSending
	columnUnknown
	columnQueued
	columnOldest
	columnAccepted
	columnFinished
	columnCount
)

// cells are the texts of one row.
type cells [columnCount]string

// channels draws the channel table, with its heading, into room lines.
func (d *drawing) channels(room int) {
	if len(d.s.Channels) == 0 {
		d.add(terminal.Faint, `no channels yet; "weir channel put --help" shows how to create one`)
		return
	}
	all := d.s.sorted()
	first := min(d.s.Offset, max(0, len(all)-1))
	shown := all[first:]
	if len(shown) > room-1 {
		// One line is for the heading, one for the number of those left out.
		shown = shown[:max(0, room-2)]
	}
	head := cells{"CHANNEL", "STATE", "IN FLIGHT", "", "SENDING", "UNKNOWN", "WAITING", "OLDEST", "ACC/MIN", "DONE/MIN"}
	rows := make([]cells, len(shown))
	for i, c := range shown {
		rows[i] = d.cells(c)
	}
	widths := d.widths(append(rows, head))
	d.lines = append(d.lines, terminal.Reverse.Paint(terminal.Left(columns(head, widths), d.width), d.colors))
	for i, c := range shown {
		if w := widths[columnBar]; w > 0 {
			rows[i][columnBar] = "[" + terminal.Bar(int64(c.InFlight), int64(c.Capacity), w-2) + "]"
		}
		text := columns(rows[i], widths)
		if rest := d.width - terminal.Width(text) - 2; c.Reason != "" && c.State != "up" && rest > 8 {
			text += "  " + terminal.Cut(terminal.Visible(c.Reason), rest)
		}
		d.lines = append(d.lines, style(c.State).Paint(terminal.Cut(text, d.width), d.colors))
	}
	if below := len(all) - first - len(shown); below > 0 && room > 1 {
		d.add(terminal.Faint, fmt.Sprintf("… %s more, %d above (j and k move)", terminal.Number(below), first))
	}
}

func (d *drawing) cells(c Channel) cells {
	oldest := "-"
	if w := d.s.waits(c); w >= 0 {
		oldest = shortDuration(w)
	}
	return cells{
		terminal.Visible(c.Name), terminal.Visible(c.State), terminal.Number(c.InFlight) + "/" + terminal.Number(c.Capacity), "", terminal.Number(c.Sending),
		terminal.Number(c.Unknown), terminal.Number(c.Queued), oldest, terminal.Number(c.AcceptedPerMinute), terminal.Number(c.FinishedPerMinute),
	}
}

// widths divides the width of the terminal among the columns. On a narrow terminal
// the least informative columns are dropped; spare width goes to the bars.
func (d *drawing) widths(rows []cells) (w [columnCount]int) {
	used := 0
	for i := range w {
		for _, row := range rows {
			w[i] = max(w[i], terminal.Width(row[i]))
		}
		if i == columnBar || !d.s.Minutes && i >= columnAccepted {
			w[i] = 0
		}
		if w[i] > 0 {
			used += w[i] + 1
		}
	}
	name := max(8, d.width/4)
	for _, i := range []int{columnName, columnSending, columnAccepted, columnUnknown, columnFinished, columnOldest} {
		if over := used - 1 - d.width; over > 0 && i == columnName {
			cut := min(over, max(0, w[i]-name))
			w[i], used = w[i]-cut, used-cut
		} else if over > 0 {
			w[i], used = 0, used-w[i]-1
		}
	}
	if left := d.width - used; left >= 7 {
		w[columnBar] = min(maxBar, left)
	}
	return w
}

// columns joins the cells of a row.
func columns(row cells, widths [columnCount]int) string {
	var parts []string
	for i, w := range widths {
		switch {
		case w == 0:
		case i == columnName || i == columnState || i == columnBar:
			parts = append(parts, terminal.Left(row[i], w))
		default:
			parts = append(parts, terminal.Right(row[i], w))
		}
	}
	return strings.Join(parts, " ")
}

// style returns the style for a state.
func style(state string) terminal.Style {
	switch state {
	case "up", "running", "":
		return terminal.Plain
	case "paused", "stopping", "deleting":
		return terminal.Warning
	default:
		return terminal.Bad
	}
}

// surveys draws the surveys into at most room lines.
func (d *drawing) surveys(room int) []string {
	if len(d.s.Surveys) == 0 {
		return nil
	}
	nameWidth := 6
	for _, v := range d.s.Surveys {
		nameWidth = max(nameWidth, terminal.Width(terminal.Visible(v.Name)))
	}
	nameWidth = min(nameWidth, max(8, d.width/4))
	row := func(name, state, count, bar, rate, end string) string {
		text := strings.Join([]string{terminal.Left(terminal.Visible(name), nameWidth), terminal.Left(terminal.Visible(state), 8), terminal.Right(count, 21), terminal.Left(bar, 12), terminal.Right(rate, 9), end}, " ")
		return terminal.Cut(text, d.width)
	}
	out := []string{"", terminal.Reverse.Paint(terminal.Left(row("SURVEY", "STATE", "FINISHED", "", "PER MIN", "EST. END"), d.width), d.colors)}
	room -= len(out)
	for i, v := range d.s.Surveys {
		if i == room-1 && len(d.s.Surveys) > room {
			return append(out, d.line(terminal.Faint, fmt.Sprintf("… %d more", len(d.s.Surveys)-i)))
		}
		n, all, what := v.Over, v.Respondents, ""
		if v.Target > 0 {
			// The star marks numbers of the target, not of all respondents.
			n, all, what = v.Counted, v.Target, "*"
		}
		rate, end := "-", "-"
		if v.PerMinute > 0 {
			rate = strconv.FormatFloat(v.PerMinute, 'f', 1, 64)
		}
		if !v.EndsAt.IsZero() {
			end = v.EndsAt.In(d.s.Now.Location()).Format("Mon 15:04")
		}
		state := v.State
		if state == "running" && !v.Open {
			state = "closed"
		}
		text := row(v.Name, state, terminal.Number(n)+" of "+terminal.Number(all)+what, "["+terminal.Bar(n, max(1, all), 10)+"]", rate, end)
		out = append(out, style(v.State).Paint(text, d.colors))
	}
	return out
}

// router draws the numbers of the router.
func (d *drawing) router() []string {
	r := d.s.Router
	if r == nil {
		return nil
	}
	text := fmt.Sprintf("ROUTER  open offers %s", terminal.Number(r.Offers))
	if r.Oldest > 0 {
		text += ", longest wait " + shortDuration(r.Oldest)
	}
	return []string{"", d.line(terminal.Plain, text+"; workers: "+cmp.Or(counts(r.Workers), "none")+"; jobs: "+cmp.Or(counts(r.Jobs), "none"))}
}

// counts lists the states that occur, with their numbers.
func counts(states map[string]int64) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		if states[state] > 0 {
			parts = append(parts, terminal.Number(states[state])+" "+state)
		}
	}
	return strings.Join(parts, ", ")
}

// foot draws the keys.
func (d *drawing) foot() string {
	var keys []string
	for i, o := range orders() {
		name := string(o.key) + " " + o.name
		if i == d.s.Sort {
			name = "[" + name + "]"
		}
		keys = append(keys, name)
	}
	return d.line(terminal.Faint, "q quit  sort: "+strings.Join(keys, " ")+"  r reverse  j k move")
}

// shortDuration formats a duration as one short word.
func shortDuration(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return strconv.Itoa(int(d.Hours())/24) + "d"
	}
}
