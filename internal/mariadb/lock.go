package mariadb

import (
	"fmt"
	"os"
	"syscall"
)

// Lock waits for the exclusive lock of a file. The lock belongs to the process:
// the system releases it when the process ends in any way.
func Lock(path string) (unlock func(), err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	// The file stays: another process may have opened it already, and would then lock another
	// file than the next one.
	return func() { _ = f.Close() }, nil
}

// Share waits for the shared lock of a file.
func Share(path string) (release func(), err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_SH); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// Unused reports whether no process holds a lock of a file; false if the file cannot be opened.
func Unused(path string) bool {
	f, err := openLock(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // whoever calls names it
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		// Signals, such as the runtime's own, may interrupt the wait.
		if err != syscall.EINTR {
			if err != nil {
				return fmt.Errorf("lock %s: %w", f.Name(), err)
			}
			return nil
		}
	}
}
