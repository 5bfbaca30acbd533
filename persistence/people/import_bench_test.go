package people_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	consent "weir/people"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// benchmarkImport records a list of as many people: in requests of 1,000 in the list's order, four at a
// time, and in parts of 50,000, which are sorted.
func benchmarkImport(b *testing.B, newURL func() string) {
	const people = 200_000
	list := make([]consent.Consent, people)
	for i := range list {
		list[i] = consent.Consent{Key: fmt.Sprint("import:", i), Address: consent.Canonical(fmt.Sprintf("+15550%07d", i)), Purpose: consent.AllPurposes, Status: consent.Refused, Source: consent.FromImport}
	}
	for _, sorted := range []bool{false, true} {
		b.Run(map[bool]string{false: "in the order of the list", true: "sorted"}[sorted], func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := storetest.Open(b, newURL(), persistence.Options{})
				if err := s.OpenPeople(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				for must(s.ReadPeople(b.Context(), 100))(b) {
				}
				before := cpu(b)
				b.StartTimer()
				var group errgroup.Group
				const part = 50_000
				if group.SetLimit(4); sorted {
					group.SetLimit(1)
				}
				for at := 0; at < people; {
					n := 1000
					record := s.RecordConsents
					if sorted {
						n, record = part, s.ImportConsents
					}
					some := list[at : at+n]
					group.Go(func() error { _, err := record(b.Context(), some); return err })
					at += n
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/people/1000, "cpu-µs/person")
				b.StartTimer()
			}
			b.ReportMetric(people*float64(b.N)/b.Elapsed().Seconds(), "people/s")
		})
	}
}

func BenchmarkImport_SQLite(b *testing.B) {
	n := 0
	benchmarkImport(b, func() string { n++; return "sqlite://" + filepath.Join(b.TempDir(), fmt.Sprint(n, ".db")) })
}

func BenchmarkImport_MySQL(b *testing.B) {
	benchmarkImport(b, func() string { return testmysql.URL(b) })
}
