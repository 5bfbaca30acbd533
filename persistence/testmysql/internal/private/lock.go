package private

import (
	"fmt"
	"os"
	"syscall"
)

// lock waits for the exclusive lock of a file. The lock is the process's: it
// goes with the process, however that ends.
func lock(path string) (unlock func(), err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// share takes the shared lock of a file.
func share(path string) (release func(), err error) {
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

// unused says whether nobody holds the shared lock of a file.
func unused(path string) bool {
	f, err := openLock(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			if err != nil {
				return fmt.Errorf("lock %s: %w", f.Name(), err)
			}
			return nil
		}
	}
}
