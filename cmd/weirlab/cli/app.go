package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/term"
)

// Options are the inputs and outputs of the commands. Tests replace them.
type Options struct {
	Version        string // empty: the version recorded by the Go toolchain
	Environ        []string
	Stdin          io.Reader // nil: none
	Stdout, Stderr io.Writer
}

// app holds what all commands share.
type app struct{ Options }

// width returns the number of columns of the terminal; 0 if unknown.
func (a *app) width() int {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// weirProgram returns the path of the program weir: the named one, otherwise the one
// beside this program, otherwise the one in PATH.
func weirProgram(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named) // brokers run in folders of their own
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "weir")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	found, err := exec.LookPath("weir")
	if err != nil {
		return "", errors.New("the program weir is missing: not in the folder of weirlab, not in PATH; \"make build\" builds both, --weir names the file")
	}
	return filepath.Abs(found)
}
