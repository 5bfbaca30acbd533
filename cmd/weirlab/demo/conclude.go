package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/client"
)

// conclude gathers the evidence, shows it and judges.
func (s *demonstration) conclude(ctx context.Context) error {
	contacts := map[string][]client.ContactView{}
	for _, st := range s.stages {
		all, err := s.broker.api.contacts(ctx, st.name)
		if err != nil {
			return fmt.Errorf("read the contacts of %s: %w", st.name, err)
		}
		contacts[st.name] = all
	}
	dossiers, err := s.dossiers(ctx)
	if err != nil {
		return err
	}
	if s.cluster != nil {
		s.settled += s.cluster.settled(ctx)
		s.cluster.stop()
	} else {
		s.settled += s.broker.api.settled(ctx)
		s.broker.Stop()
	}
	// Nothing can be sent any more, so the records are final.
	s.app.stop()
	s.halt()
	s.playing.Wait()
	var findings []finding
	for _, st := range s.stages {
		findings = append(findings, st.judged(contacts[st.name]))
	}
	var verdicts []verdict
	for i := range dossiers {
		s.complete(s.surveys[i], &dossiers[i], contacts)
		verdicts = append(verdicts, inspect(dossiers[i]))
	}
	s.tables(findings, verdicts)
	return s.judgement(findings, verdicts)
}

// judged compares the contacts of a channel with the provider's record.
func (st *stage) judged(contacts []client.ContactView) finding {
	return judge(evidence{
		Channel: st.name, Provider: st.channel.provider, Capacity: st.capacity, Contacts: contacts,
		Line: st.provider.tally.Line(st.provider.line), Keys: st.provider.tally.Keys(st.provider.line),
	})
}

// dossiers reads the broker's data about the surveys.
func (s *demonstration) dossiers(ctx context.Context) ([]dossier, error) {
	var out []dossier
	for _, sv := range s.surveys {
		survey, err := s.broker.api.GetSurvey(ctx, sv.name)
		if err != nil {
			return nil, err
		}
		stats, err := s.broker.api.GetSurveyStats(ctx, sv.name)
		if err != nil {
			return nil, err
		}
		d := dossier{Survey: sv.name, State: string(survey.State), Cause: string(survey.Cause), Stats: *stats, People: sv.people, Quotas: sv.quotas}
		for r, err := range s.broker.api.Respondents(ctx, sv.name, client.ListRespondentsParams{}) {
			if err != nil {
				return nil, fmt.Errorf("read the respondents of %s: %w", sv.name, err)
			}
			d.Rows = append(d.Rows, r)
		}
		out = append(out, d)
	}
	return out, nil
}

// complete adds the data of the providers, the participants and the application, and the
// number of lost contacts.
func (s *demonstration) complete(sv *survey, d *dossier, contacts map[string][]client.ContactView) {
	reached := map[string]map[string]int{}
	d.Unclear = map[string]int{}
	for _, st := range s.stages {
		reached[st.name] = map[string]int{}
		for _, k := range st.provider.tally.Keys(st.provider.line) {
			reached[st.name][digits(k.Address)] += k.Taken
		}
		for _, c := range contacts[st.name] {
			if c.Outcome == string(weir.Lost) {
				d.Unclear[digits(c.To)]++
			}
		}
	}
	d.Calls, d.Texts = reached[sv.calls], reached[sv.texts]
	d.Stopped, d.Answered = s.wrote()
	d.Completed, d.Late, d.Sent = s.app.completed, s.app.late, s.app.sent
}

// wrote returns who wrote STOP, and who answered by message.
func (s *demonstration) wrote() (stopped, answered map[string]bool) {
	stopped, answered = map[string]bool{}, map[string]bool{}
	for _, p := range s.participants {
		maps.Copy(stopped, p.stopped)
		maps.Copy(answered, p.answered)
	}
	return stopped, answered
}

// tables shows the findings.
func (s *demonstration) tables(findings []finding, verdicts []verdict) {
	s.view.plain("", s.view.bold("Records of the simulated providers"), "")
	s.view.plain(recordTable(findings)...)
	s.view.plain("", s.view.bold("Outcomes of the contacts, as Weir reports them"), "")
	s.view.plain(outcomeTable(findings)...)
	s.view.plain("", s.view.bold("Status of the respondents, as Weir reports it"), "")
	s.view.plain(endTable(verdicts)...)
	if lines := s.quotaTable(verdicts); lines != nil {
		s.view.plain("", s.view.bold("Quotas of "+s.surveys[0].name), "")
		s.view.plain(lines...)
	}
	if s.cluster != nil {
		s.view.plain("", s.view.bold("Who owned the database"), "")
		s.view.plain(s.cluster.owners(s.view.began)...)
	}
	if s.courtesy.rules != nil {
		s.view.plain("", s.view.bold("Rules for the sake of people, as Weir reports them"), "")
		s.view.plain(s.courtesy.table()...)
	}
	s.view.plain("")
	s.view.plain(s.remarks(findings)...)
}

// judgement prints the last line, and returns an error if there are faults.
func (s *demonstration) judgement(findings []finding, verdicts []verdict) error {
	var faults []string
	for i := range findings {
		faults = append(faults, findings[i].faults()...)
	}
	for i := range verdicts {
		faults = append(faults, verdicts[i].faults()...)
	}
	if n := len(s.app.wrong); n > 0 {
		faults = append(faults, fmt.Sprintf("the application: %s (%d such)", s.app.wrong[0], n))
	}
	if s.unasked != "" {
		faults = append(faults, "interviews: "+s.unasked)
	}
	faults = append(faults, s.asked.faults()...)
	faults = append(faults, s.courtesy.faults...)
	faults = append(faults, s.braking.faults...)
	if n := s.pestered(); n > 0 {
		faults = append(faults, plural(n, "contact", "contacts")+" reached people who had refused, by the providers' records")
	}
	took := time.Since(s.view.began).Seconds()
	if len(faults) > 0 {
		s.view.plain("", s.view.verdict(false, "FAIL: "+strings.Join(faults, "; ")+"."))
		return errors.New("the demo failed: " + strings.Join(faults, "; "))
	}
	killed := "the broker was killed " + times(s.kills)
	switch {
	case s.cluster != nil:
		killed = fmt.Sprintf("the database had %d owners, one after the other", len(s.cluster.tenures))
	case s.kills == 0:
		killed = "the broker was not killed"
	}
	asked := ""
	if s.asked.People > 0 {
		asked = ", no question asked twice or skipped, no answer lost"
	}
	s.view.plain("", s.view.verdict(true, fmt.Sprintf("PASS: no respondent lost, none contacted twice for one attempt, never over capacity, nobody after STOP%s; %s. %.0f s.", asked, killed, took)))
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// remarks returns explanations of the tables.
func (s *demonstration) remarks(findings []finding) []string {
	var text []string
	unclear, sent := 0, 0
	for i := range findings {
		unclear += findings[i].Unclear
		sent += findings[i].UnclearSent
	}
	stopped, answered := s.wrote()
	text = append(text, fmt.Sprintf("Besides the calls, %s answered by message, and %s wrote STOP. The application received %s besides these.",
		plural(len(answered), "person", "people"), plural(len(stopped), "person", "people"), plural(s.app.wrote, "message", "messages")))
	if s.asked.People > 0 {
		text = append(text, s.asked.text())
	}
	_, refused := s.refusals.people()
	text = append(text, fmt.Sprintf("%s refused by STOP. After Weir had accepted that, the providers' records have %s to them.",
		plural(refused, "person", "people"), plural(s.pestered(), "call or message", "calls and messages")))
	if s.braking.text != "" {
		text = append(text, s.braking.text)
	}
	if s.cluster != nil {
		t := s.cluster.balancer.Tally()
		text = append(text, fmt.Sprintf("The balancer passed on %s; %d of them were refused, and %d were cut because their process died.",
			plural(t.Served, "request", "requests"), t.Refused, t.Cut))
	} else {
		text = append(text, s.interviewed)
	}
	if unclear > 0 {
		text = append(text, fmt.Sprintf("Unclear: the process was killed during the call to the provider, or the provider never reported, so Weir cannot know the outcome. "+
			"Weir calls at most once per attempt, so %s ended as lost, and the survey went on with the next attempt. The records show: %d not called, %d called once.",
			these(unclear), unclear-sent, sent))
	}
	if s.settled > 0 {
		text = append(text, fmt.Sprintf("The reconciler resolved %s by asking the provider, because a callback was lost or arrived while no process could take it.",
			plural(s.settled, "contact", "contacts")))
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

// endTable counts respondents; its columns add up.
func endTable(verdicts []verdict) []string {
	head, groups := []string{"status", "disposition"}, map[group]bool{}
	for i := range verdicts {
		head = append(head, verdicts[i].Survey)
		for g := range verdicts[i].Groups {
			groups[g] = true
		}
	}
	rows := [][]string{head}
	row := func(a, b string, of func(*verdict) int) {
		cells := []string{a, b}
		for i := range verdicts {
			cells = append(cells, number(of(&verdicts[i])))
		}
		rows = append(rows, cells)
	}
	order := []string{"completed", "failed", "rejected", "canceled", "active", "pending"}
	for _, g := range slices.SortedFunc(maps.Keys(groups), func(a, b group) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)), cmp.Compare(a.Disposition, b.Disposition))
	}) {
		row(g.Status, g.Disposition, func(v *verdict) int { return v.Groups[g] })
	}
	row("sum", "", func(v *verdict) int { return v.Sum })
	row("in the file", "", func(v *verdict) int { return v.File })
	return table(rows, 2)
}

// quotaTable shows the first survey's quotas.
func (s *demonstration) quotaTable(verdicts []verdict) []string {
	quotas := s.surveys[0].quotas
	rows := [][]string{{"region", "completed", "quota"}}
	for _, region := range regions() {
		if n, ok := quotas[region]; ok {
			rows = append(rows, []string{region, number(verdicts[0].Quotas[region]), number(n)})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return table(rows, 1)
}
