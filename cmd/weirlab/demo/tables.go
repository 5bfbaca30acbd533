package demo

import (
	"fmt"
	"strings"

	"weir"
)

// recordTable shows the providers' records beside Weir's contacts.
func recordTable(findings []finding) []string {
	rows := [][]string{{"channel", "provider", "contacts", "sent", "most in flight", "sent twice", "lost", "unclear"}}
	for i := range findings {
		f := &findings[i]
		rows = append(rows, []string{
			f.Channel, f.Provider, number(f.Acknowledged), number(f.Sent), fmt.Sprintf("%d of %d", f.PeakActive, f.Capacity),
			number(f.Twice), number(f.Lost), number(f.Unclear),
		})
	}
	return table(rows, 2)
}

// outcomeTable counts the outcomes that occurred.
func outcomeTable(findings []finding) []string {
	head := []string{"channel"}
	var shown []weir.Outcome
	for _, o := range weir.Outcomes() {
		for i := range findings {
			if findings[i].Outcomes[o] > 0 {
				head, shown = append(head, string(o)), append(shown, o)
				break
			}
		}
	}
	rows := [][]string{head}
	for i := range findings {
		row := []string{findings[i].Channel}
		for _, o := range shown {
			row = append(row, number(findings[i].Outcomes[o]))
		}
		rows = append(rows, row)
	}
	return table(rows, 1)
}

// table aligns rows in columns: the first left columns to the left, the others to the
// right.
func table(rows [][]string, left int) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var lines []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i < left {
				fmt.Fprintf(&b, "  %-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", widths[i], cell)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
