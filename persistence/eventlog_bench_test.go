package persistence_test

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"weir/events"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// BenchmarkEmit has 64 callers emit events by fives, as the router does.
func BenchmarkEmit(b *testing.B) {
	for name, url := range map[string]func() string{
		"sqlite": func() string { return "sqlite://" + filepath.Join(b.TempDir(), "weir.db") },
		"mysql":  func() string { return testmysql.URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s := storetest.Open(b, url(), persistence.Options{})
			e := events.Event{
				Type: "Microsoft.Communication.RouterJobQueued", Source: "router", Subject: "job/7f2c/channel/voice/queue/q1",
				Data: json.RawMessage(`{"jobId":"7f2c","channelId":"voice","queueId":"q1","priority":1,"labels":{"skill":"x","language":"es"},"tags":{}}`),
			}
			var all sync.WaitGroup
			b.ResetTimer()
			for range 64 {
				all.Go(func() {
					for range b.N {
						if err := s.Emit(b.Context(), e, e, e, e, e); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)*64*5/b.Elapsed().Seconds(), "events/s")
		})
	}
}
