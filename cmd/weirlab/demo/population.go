package demo

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
)

// person is one respondent.
type person struct {
	phone  string // E.164
	name   string
	region string
}

func regions() []string { return []string{"north", "south", "east", "west"} }

// population returns n people with consecutive, unique numbers from first on.
func population(seed uint64, first, n int) []person {
	names := []string{"Ana", "Bo", "Chidi", "Dana", "Emeka", "Fatima", "Goran", "Hana", "Ines", "José", "Kofi", "Lan"}
	chance := rand.New(rand.NewPCG(seed, uint64(first)))
	out := make([]person, n)
	for i := range out {
		out[i] = person{
			phone: fmt.Sprintf("+1555%07d", first+i), name: names[chance.IntN(len(names))], region: regions()[chance.IntN(len(regions()))],
		}
	}
	return out
}

// writePeople writes the file that is imported. Real files have mistakes: if flawed,
// so has this one. refused is the number of rows that an import rejects.
func writePeople(to io.Writer, people []person, flawed bool) (refused int, err error) {
	w := csv.NewWriter(to)
	rows := [][]string{{"Phone", "First name", "Region"}}
	for _, p := range people {
		rows = append(rows, []string{p.phone, p.name, p.region})
	}
	if flawed && len(people) > 0 {
		again := people[0].phone // the same number in another format
		rows = append(rows, []string{again[:2] + " (" + again[2:5] + ") " + again[5:], people[0].name, people[0].region})
		rows = append(rows, []string{"1.5E+10", "Max", "north"}, []string{"ask her brother", "Noor", "east"})
		refused = 2
	}
	return refused, w.WriteAll(rows)
}
