package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/client"
	"weir/cmd/weirlab/machine"
)

// The rules for the sake of the person: people who wrote STOP are in another survey and get
// direct contacts, and others get reminders beyond the cap of their purpose.
const (
	reminders     = "reminders" // the purpose with a cap
	followUp      = "follow-up" // the other survey
	firstReminded = 8_000_000   // the numbers of the people who are reminded
	firstFollowed = 8_500_000   // and of those in the other survey who have not refused
	reminded      = 20
	remindedStops = 3   // of them write STOP
	mostRefused   = 100 // of the people who refused in the surveys, who are contacted again
	courtesyLimit = 30 * time.Second
	courtesyEvery = 50 * time.Millisecond
)

// courtesy is how the rules were kept, by Weir's own report; that nobody who refused was
// contacted is judged by the providers' records.
type courtesy struct {
	rules  []ruled
	faults []string
}

// ruled counts the contacts that a rule suppressed or held up.
type ruled struct {
	Name, Effect string
	Number       int
}

// reminderRules has the cap: one contact of a person in 24 hours.
func reminderRules() client.Purpose {
	return client.Purpose{Title: "Reminders", Caps: []client.Cap{{Max: 1, Within: "24h"}}}
}

// sayers returns n people, with numbers from first on, who answer the first message with a text.
func sayers(seed uint64, first, n int, text string) []person {
	var out []person
	for i := first; len(out) < n; i++ {
		number := fmt.Sprintf("1555%07d", i)
		if said := script(seed, number); len(said) == 1 && said[0] == text {
			out = append(out, person{phone: "+" + number, name: "Ana", region: "north"})
		}
	}
	return out
}

// courteous shows the rules at work. Weir and the participants go on.
func (s *demonstration) courteous(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.pace().atLeast(courtesyLimit, courtesyLimit))
	defer cancel()
	earlier, _ := s.refusals.people() // in the surveys
	earlier = earlier[:min(len(earlier), mostRefused)]
	refusing := sayers(s.options.Seed, firstReminded, remindedStops, stopWord)
	willing := sayers(s.options.Seed, firstReminded, reminded-remindedStops, "1")
	s.say("Now the rules for the sake of people: %d get a reminder, of which the purpose %s allows 1 in 24 hours; %d of them answer STOP.", reminded, reminders, remindedStops)
	if _, err := s.broker.api.PutPurpose(ctx, reminders, reminderRules(), client.PutPurposeParams{}); err != nil {
		return err
	}
	if err := s.remind(ctx, "first", reminders, append(slices.Clone(willing), refusing...)); err != nil {
		return err
	}
	if err := s.await(ctx, "the reminders", func() (bool, error) { return s.heardAll(ctx, refusing) }); err != nil {
		return err
	}
	again := slices.Clone(refusing)
	for _, number := range earlier {
		again = append(again, person{phone: "+" + number, name: "Bo", region: "south"})
	}
	s.say("%s who wrote STOP are in another survey, and get a direct contact. All the others get a second reminder.", plural(len(again), "person", "people"))
	err := s.remind(ctx, "second", reminders, willing)
	if err == nil {
		err = s.remind(ctx, "direct", "", again)
	}
	if err == nil {
		err = s.followUp(ctx, again, sayers(s.options.Seed, firstFollowed, remindedStops, "1"))
	}
	if err == nil {
		err = s.await(ctx, "the rules", func() (bool, error) { return s.ruledOut(ctx, len(again), len(willing)) })
	}
	return err
}

// remind sends each person a message.
func (s *demonstration) remind(ctx context.Context, which, purpose string, to []person) error {
	var all client.ContactsBody
	for _, p := range to {
		all.Contacts = append(all.Contacts, client.ContactBody{
			Key: which + "-" + digits(p.phone), To: p.phone, Purpose: purpose, Messages: []string{"This is your " + which + " reminder. STOP ends them."},
		})
	}
	_, err := s.broker.api.PostContacts(ctx, texts, all)
	return err
}

// heardAll reports whether all reminders are done, and the refusals at Weir.
func (s *demonstration) heardAll(ctx context.Context, refusing []person) (bool, error) {
	for _, p := range refusing {
		if !s.refusals.refused(p.phone) {
			return false, nil
		}
	}
	open, err := s.broker.api.moving(ctx)
	return !open, err
}

// followUp runs a survey by message of people who have refused, and of some who have not.
func (s *demonstration) followUp(ctx context.Context, refused, willing []person) error {
	return s.launch(ctx, &survey{name: followUp, title: "the reminders", texts: texts, silent: true, people: append(slices.Clone(refused), willing...)}, 0)
}

// respondents returns people as a survey takes them.
func respondents(of []person) (all client.RespondentsBody) {
	for _, p := range of {
		all.Respondents = append(all.Respondents, client.RespondentBody{Phone: p.phone, Attributes: map[string]any{"first_name": p.name, "region": p.region}})
	}
	return all
}

// ruledOut reports whether the rules have decided about everybody, and notes what they decided.
// What waits for a day is canceled then.
func (s *demonstration) ruledOut(ctx context.Context, refused, capped int) (bool, error) {
	survey, err := s.broker.api.GetSurvey(ctx, followUp)
	if err != nil || survey.State != "done" {
		return false, err
	}
	if open, err := s.broker.api.moving(ctx); err != nil || open {
		return false, err
	}
	list, err := s.broker.api.contacts(ctx, texts)
	if err != nil {
		return false, err
	}
	optedOut := 0
	for r, err := range s.broker.api.Respondents(ctx, followUp, client.ListRespondentsParams{}) {
		if err != nil {
			return false, err
		}
		if r.OptedOut {
			optedOut++
		}
	}
	s.courtesy = courtesyOf(list, refused, capped)
	s.courtesy.rules = append(s.courtesy.rules, ruled{"consent", "respondents of " + followUp + " opted out", optedOut})
	if optedOut != refused {
		s.courtesy.faults = append(s.courtesy.faults, fmt.Sprintf("%d of %d respondents who had refused ended as opted out", optedOut, refused))
	}
	for i := range list {
		if list[i].Outcome == "" {
			if _, err := s.broker.api.CancelContact(ctx, list[i].ID); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// courtesyOf counts what the rules have decided about contacts: as many people as given had
// refused when a direct contact to them was accepted, and as many reminders were over the cap.
func courtesyOf(list []client.ContactView, refused, capped int) courtesy {
	count, direct, waiting := map[ruled]int{}, 0, 0
	for i := range list {
		c := &list[i]
		suppressed := c.Outcome == string(weir.Suppressed)
		switch {
		case suppressed:
			count[ruled{Name: c.Rule, Effect: "contacts suppressed"}]++
		case c.Outcome == "" && c.Rule != "":
			count[ruled{Name: c.Rule, Effect: "contacts wait, canceled at the end"}]++
		}
		if suppressed && c.Survey == "" && c.Rule == "consent" {
			direct++
		}
		if c.Outcome == "" && c.Rule == "cap" {
			waiting++
		}
	}
	var out courtesy
	for r, n := range count {
		out.rules = append(out.rules, ruled{r.Name, r.Effect, n})
	}
	slices.SortFunc(out.rules, func(a, b ruled) int { return cmp.Or(cmp.Compare(b.Name, a.Name), cmp.Compare(a.Effect, b.Effect)) })
	if direct != refused {
		out.faults = append(out.faults, fmt.Sprintf("%d of %d direct contacts to people who had refused were suppressed", direct, refused))
	}
	if waiting != capped {
		out.faults = append(out.faults, fmt.Sprintf("%d of %d reminders over the cap wait", waiting, capped))
	}
	return out
}

// table lists the rules.
func (c courtesy) table() []string {
	rows := [][]string{{"rule", "effect", "number"}}
	for _, r := range c.rules {
		rows = append(rows, []string{r.Name, r.Effect, strconv.Itoa(r.Number)})
	}
	return table(rows, 2)
}

// await polls until a condition holds.
func (s *demonstration) await(ctx context.Context, what string, holds func() (bool, error)) error {
	for {
		if ok, err := holds(); err != nil || ok {
			return err
		}
		s.poll(ctx)
		s.view.draw(time.Now(), s.gauges())
		if !machine.Sleep(ctx, courtesyEvery) {
			return fmt.Errorf("%s: not done after %s", what, courtesyLimit)
		}
	}
}

// pestered returns how many calls and messages reached people after they had refused, by the
// records of all providers.
func (s *demonstration) pestered() (n int) {
	for _, st := range s.stages {
		n += len(s.refusals.breaches(st.provider.tally.Keys(st.provider.line)))
	}
	return n
}
