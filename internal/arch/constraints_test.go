package arch_test

import (
	"go/build"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// notBuilt lists the files that Linux builds without tags leave out, as patterns with the
// reason. Any other file with a build constraint may be one by accident, because of its name:
// the tests of a file x_windows_test.go run nowhere else.
func notBuilt() map[string]string {
	return map[string]string{
		"*_other.go":                   "the variant for systems other than Linux",
		"*_other_test.go":              "the variant for systems other than Linux",
		"internal/race/on.go":          "built with the race detector",
		"internal/failpoint/on.go":     "built into the programs of the crash tests",
		"test/deploytest/*_test.go":    "needs Prometheus and proxies: make test-deploy",
		"test/crashtest/group_*.go":    "needs a group of MySQL servers: make test-group",
		"test/kanneltest/*_test.go":    "needs Kannel: make test-kannel",
		"cmd/weir/daemon/disk_test.go": "mounts a file system, as root: make test-disk",
	}
}

func TestConstraints_EveryFileIsBuilt(t *testing.T) {
	t.Parallel()
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled, linux.BuildTags = "linux", "amd64", true, nil
	used := map[string]bool{}
	for _, f := range load(t).files {
		matches, err := linux.MatchFile(filepath.Join(root, f.folder), path.Base(f.path))
		if err != nil {
			t.Fatal(err)
		}
		if matches {
			continue
		}
		listed := false
		for pattern := range notBuilt() {
			name := f.path
			if !strings.Contains(pattern, "/") { // of any folder
				name = path.Base(f.path)
			}
			if ok, _ := path.Match(pattern, name); ok {
				listed, used[pattern] = true, true
			}
		}
		if !listed {
			t.Errorf("%s is left out of every build on Linux; rename it, or list it in notBuilt with its reason", f.path)
		}
	}
	for pattern := range notBuilt() {
		if !used[pattern] {
			t.Errorf("no file matches %s of notBuilt", pattern)
		}
	}
}
