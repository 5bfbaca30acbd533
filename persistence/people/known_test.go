package people_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	consent "weir/people"
	"weir/persistence"
	"weir/persistence/people"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// hashOf returns the hash of a number, as a keyed function would.
func hashOf(n uint64) (h consent.Hash) {
	from := rand.New(rand.NewPCG(n, 1))
	binary.LittleEndian.PutUint64(h[:8], from.Uint64())
	binary.LittleEndian.PutUint64(h[8:], from.Uint64())
	return h
}

// A filter has every hash that was added, however many layers it has, and of the others hardly one.
func TestFilter_HasWhatWasAdded(t *testing.T) {
	t.Parallel()
	var f people.Filter
	if f.May(hashOf(1)) {
		t.Error("an empty filter has a hash")
	}
	const added, strangers = 300_000, 100_000
	for n := range uint64(added) {
		f.Add(hashOf(n))
	}
	for n := range uint64(added) {
		if !f.May(hashOf(n)) {
			t.Fatalf("hash %d was added, and the filter lacks it", n)
		}
	}
	wrong := 0
	for n := range uint64(strangers) {
		if f.May(hashOf(added + n)) {
			wrong++
		}
	}
	if wrong > strangers/300 {
		t.Errorf("the filter has %d of %d hashes that were never added", wrong, strangers)
	}
}

// Hashes whose halves are alike are found as well.
func TestFilter_HasHashesOfAnyForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f people.Filter
		for _, h := range rapid.SliceOf(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x80, 0xff}), 16, 16)).Draw(t, "hashes") {
			if f.Add(consent.Hash(h)); !f.May(consent.Hash(h)) {
				t.Fatalf("%x was added, and the filter lacks it", h)
			}
		}
	})
}

// knownStep is a step of the life of what is known.
type knownStep struct {
	What   string
	People []int // who say something
	Page   int
}

func knownSteps() *rapid.Generator[[]knownStep] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) knownStep {
		return knownStep{
			What:   rapid.SampledFrom([]string{"say", "say", "say", "read", "read", "read", "read all", "read again", "restart"}).Draw(t, "what"),
			People: rapid.SliceOfN(rapid.IntRange(0, 200), 1, 8).Draw(t, "people"),
			Page:   rapid.IntRange(1, 5).Draw(t, "page"),
		}
	}), 1, 40)
}

// liveKnown takes steps, and returns what is wrong: whoever has said something may be known, also
// if it is said while the table is being read, in front of what was read or behind it, and while it
// is read again; by a former owner; and under a former key.
func liveKnown(t *testing.T, url string, steps []knownStep) (wrong string) {
	t.Helper()
	db := storetest.Kept(t, url)
	var s *persistence.Store
	var keys [][]byte
	start := func() {
		s = persistence.On(db, persistence.Options{})
		ok(t, s.Join(t.Context()))
		ok(t, s.OpenPeople(t.Context(), keys))
	}
	start()
	defer func() { ok(t, s.Close(t.Context())) }()
	readAll := func() {
		for must(s.ReadPeople(t.Context(), 7))(t) {
		}
	}
	address := func(n int) string { return consent.Canonical(fmt.Sprintf("+1555000%04d", n)) }
	said := map[int]bool{}
	for i, step := range steps {
		switch step.What {
		case "say":
			var list []consent.Consent
			for _, n := range step.People {
				said[n] = true
				list = append(list, consent.Consent{Address: address(n), Purpose: consent.AllPurposes, Status: consent.Refused, Source: consent.FromAPI})
			}
			must(s.RecordConsents(t.Context(), list))(t)
		case "read":
			must(s.ReadPeople(t.Context(), step.Page))(t)
		case "read all":
			if readAll(); !whole(s) {
				return "everything was read, and it is not known who has said something"
			}
		case "read again":
			people.ReadAgain(s.Gate())
		case "restart":
			ok(t, s.Close(t.Context()))
			keys = append([][]byte{fmt.Appendf(nil, "key %d", len(keys))}, keys...)
			start()
		}
		for n := range said {
			if _, may := people.Known(s.Gate(), address(n)); !may {
				return fmt.Sprintf("after step %d: %s has refused, and is taken for somebody who has said nothing", i, address(n))
			}
		}
	}
	readAll()
	strangers := 0
	for n := range 1000 {
		if _, may := people.Known(s.Gate(), address(1000+n)); may {
			strangers++
		}
	}
	if strangers > 20 {
		return fmt.Sprintf("%d of 1000 people who have said nothing are looked up", strangers)
	}
	return ""
}

func whole(s *persistence.Store) bool {
	whole, _ := people.Known(s.Gate(), "")
	return whole
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestKnown_HasWhoeverHasSaidSomething(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if wrong := liveKnown(t, "sqlite://:memory:", knownSteps().Draw(rt, "steps")); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

func TestKnown_HasWhoeverHasSaidSomethingOnMySQL(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		if wrong := liveKnown(t, testmysql.URL(t), knownSteps().Example(seed)); wrong != "" {
			t.Errorf("seed %d: %s", seed, wrong)
		}
	}
}
