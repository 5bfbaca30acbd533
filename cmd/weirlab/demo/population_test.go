package demo

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPopulation_IsReproducibleAndNumbersAreUnique(t *testing.T) {
	t.Parallel()
	o := Defaults()
	numbers, all := map[string]bool{}, 0
	for _, s := range o.campaign() {
		for _, p := range s.people {
			numbers[p.phone] = true
			all++
		}
	}
	if all != 2000 || len(numbers) != all {
		t.Errorf("%d people with %d numbers", all, len(numbers))
	}
	if diff := cmp.Diff(population(3, 1, 50), population(3, 1, 50), cmp.AllowUnexported(person{})); diff != "" {
		t.Errorf("another run makes others:\n%s", diff)
	}
}

func TestPopulation_EveryQuotaCanBeFilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{minRespondents, 100, 2000} {
		s := Options{Respondents: n, Seed: 1}.campaign()[0]
		there := map[string]int{}
		for _, p := range s.people {
			there[p.region]++
		}
		for region, quota := range s.quotas {
			if quota < 1 || quota > there[region] {
				t.Errorf("of %d respondents %d are in %s, and %d are wanted", n, there[region], region, quota)
			}
		}
	}
}

func TestPopulation_TheFileHasItsFlaws(t *testing.T) {
	t.Parallel()
	people := population(1, 1, 20)
	var out bytes.Buffer
	refused, err := writePeople(&out, people, true)
	if err != nil || refused != 2 {
		t.Errorf("%d, %v", refused, err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 1+20+1+2 || digits(rows[21][0]) != digits(people[0].phone) || strings.HasPrefix(rows[21][0], people[0].phone) {
		t.Errorf("%v, %q", err, rows)
	}
}
