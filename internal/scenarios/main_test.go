package scenarios_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Half of the scenarios wait for a database server most of their time: unless
// the command line says otherwise twice as many run at once as there are
// processors.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
