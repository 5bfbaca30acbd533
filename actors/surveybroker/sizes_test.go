package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// A survey whose contacts take several slots gets its share, by weight, of a
// channel that another survey keeps busy with small contacts.
func TestLargeContactsHaveTheirShare(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 20)
		small, large := byText("10h"), byText("10h")
		large.Questionnaires["q"][surveys.SMS][0].Messages = []string{"one", "two", "three"}
		large.Weight = 2
		a, b := l.survey("a", small, 900), l.survey("b", large, 900)
		slots := map[int64]int{}
		l.lines.handed = func(c weir.Contact) { slots[c.For.Survey] += c.Size() }
		l.step("a", surveys.Launch)
		l.step("b", surveys.Launch)
		l.pass(30 * time.Minute)
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		if n := slots[a.ID] + slots[b.ID]; n < 500 {
			l.t.Errorf("%d slots were used in 30 minutes of 20 slots", n)
		}
		if share := float64(slots[b.ID]) / float64(slots[a.ID]+slots[b.ID]); share < 0.6 || share > 0.73 {
			l.t.Errorf("the survey with large contacts and twice the weight has %.2f of the slots: %v", share, slots)
		}
	})
}
