package world

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Run runs twice as many scenarios at once as there are processors, unless the command line sets
// -parallel: half of the scenarios wait for a database server most of the time.
func Run(m *testing.M) int {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
