package mariadb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"
)

// debianPackage contains mariadbd and the SQL that initializes a data directory,
// and no system service.
const debianPackage = "mariadb-server-core"

var errNoServer = errors.New("tests and measurements need a MariaDB (10.6 or later) or MySQL (8 or later) server program, and none is installed: " +
	"install one (Debian, Ubuntu: apt-get install " + debianPackage + "; Fedora: dnf install mariadb-server; macOS: brew install mariadb), " +
	"or name a running one whose user may create databases (tests: WEIR_TEST_MYSQL=mysql://user:password@host:port; weirlab bench: --database)")

// Program is the environment variable with the path of the server program, to use
// another one than the installed one.
const Program = "WEIR_TEST_MYSQLD"

// program finds the server program. It installs one where that needs no consent:
// as root, with apt.
func program(ctx context.Context) (string, error) {
	if path := os.Getenv(Program); path != "" {
		return path, nil
	}
	if path, ok := lookUp(); ok {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errNoServer
	}
	lock := flock.New(filepath.Join(os.TempDir(), "weir-apt.lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if path, ok := lookUp(); ok { // another process installed it first
		return path, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s with apt-get\n", debianPackage)
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", debianPackage},
	} {
		cmd := exec.CommandContext(ctx, apt, args...) //nolint:gosec // the system's own program, with our words
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w (apt-get %s failed: %w\n%s)", errNoServer, args[0], err, tail(out))
		}
	}
	if path, ok := lookUp(); ok {
		return path, nil
	}
	return "", errNoServer
}

// lookUp finds the server program in PATH and in the usual directories of packages,
// which are not always in an ordinary user's PATH.
func lookUp() (string, bool) {
	for _, name := range []string{"mariadbd", "mysqld"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
		for _, dir := range []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, true
			}
		}
	}
	return "", false
}

// tail returns the end of a long output, which holds the reason of a failure.
func tail(out []byte) []byte {
	const most = 4000
	if len(out) > most {
		return out[len(out)-most:]
	}
	return out
}
