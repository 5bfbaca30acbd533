package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir"
)

// conclude gathers the evidence, shows it and judges.
func (s *show) conclude(ctx context.Context) error {
	ends := map[string]map[string]weir.Outcome{}
	for _, st := range s.stages {
		all, err := s.broker.api.ends(ctx, st.name)
		if err != nil {
			return fmt.Errorf("read how the contacts of %s ended: %w", st.name, err)
		}
		ends[st.name] = all
	}
	s.settled += s.broker.api.settled(ctx)
	s.broker.stop() // nothing can be sent any more, so the providers' records are final
	var findings []finding
	repeated, duplicates := 0, 0
	for _, st := range s.stages {
		f := st.feeder.state()
		repeated += f.repeated
		duplicates += f.duplicates
		findings = append(findings, judge(evidence{
			Channel: st.name, Provider: st.channel.provider, Capacity: st.capacity, Acknowledged: st.feeder.acked,
			Ends: ends[st.name], Line: st.provider.tally.Line(st.provider.line), Keys: st.provider.tally.Keys(st.provider.line),
		}))
	}
	s.say("Everything is done.")
	s.view.plain("", s.view.bold("What the simulated providers have recorded"), "")
	s.view.plain(recordTable(findings)...)
	s.view.plain("", s.view.bold("How the contacts ended, as Weir tells"), "")
	s.view.plain(outcomeTable(findings)...)
	s.view.plain("")
	s.view.plain(s.remarks(findings, repeated, duplicates)...)
	return s.judgement(findings)
}

// judgement is the last line, and the error if it is a bad one.
func (s *show) judgement(findings []finding) error {
	var faults []string
	for i := range findings {
		faults = append(faults, findings[i].faults()...)
	}
	took := time.Since(s.view.began).Seconds()
	if len(faults) > 0 {
		s.view.plain("", s.view.verdict(false, "FAIL: "+strings.Join(faults, "; ")+"."))
		return errors.New("the demo failed: " + strings.Join(faults, "; "))
	}
	killed := "the broker was killed " + times(s.options.Kills)
	if s.options.Kills == 0 {
		killed = "the broker was not killed"
	}
	s.view.plain("", s.view.verdict(true, fmt.Sprintf("PASS: nothing lost, nothing sent twice, never over capacity; %s. %.0f s.", killed, took)))
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// remarks explain what the tables do not say by themselves.
func (s *show) remarks(findings []finding, repeated, duplicates int) []string {
	var text []string
	unclear, sent := 0, 0
	for i := range findings {
		unclear += findings[i].Unclear
		sent += findings[i].UnclearSent
	}
	if unclear > 0 {
		text = append(text, fmt.Sprintf("Unclear: the broker was killed in the moment of the call, or the provider kept silent, and nobody could tell Weir what became of it. "+
			"Weir calls at most once, so it ended %s as lost and did not call again. The records show: %d not called, %d called once.",
			these(unclear), unclear-sent, sent))
	}
	if repeated > 0 {
		text = append(text, fmt.Sprintf("Batches that were sent again because no answer came: %d. Contacts in them that Weir knew already, by their keys: %d.",
			repeated, duplicates))
	}
	if s.settled > 0 {
		text = append(text, fmt.Sprintf("The collector settled %s by asking the provider, because a callback was lost or the broker dead when it came.",
			countContacts(s.settled)))
	}
	var lines []string
	for _, t := range text {
		lines = append(lines, wrap(t, min(s.view.columns(), widest))...)
	}
	return lines
}

func these(n int) string {
	if n == 1 {
		return "the contact"
	}
	return fmt.Sprintf("these %d contacts", n)
}

// recordTable is what the providers know, beside what Weir accepted.
func recordTable(findings []finding) []string {
	rows := [][]string{{"channel", "provider", "accepted", "sent", "most in flight", "sent twice", "lost", "unclear"}}
	for i := range findings {
		f := &findings[i]
		rows = append(rows, []string{
			f.Channel, f.Provider, number(f.Acknowledged), number(f.Sent), fmt.Sprintf("%d of %d", f.MostActive, f.Capacity),
			number(f.Twice), number(f.Lost), number(f.Unclear),
		})
	}
	return table(rows, 2)
}

// outcomeTable counts the outcomes that there were.
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

// table sets rows in columns: the first ones to the left, the others to the
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
