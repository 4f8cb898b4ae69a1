package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CacheDir is where fetched things are kept between runs: $IRIS_CACHE, else the
// folder `iris` in the user's cache folder, else .cache of the working directory.
func CacheDir() (string, error) {
	dir := os.Getenv("IRIS_CACHE")
	if dir == "" {
		if user, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(user, "iris")
		} else {
			dir = ".cache"
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// locked runs f while no other process of this machine holds the lock `name` in
// the cache: two checkouts that test at once must not install over each other.
func locked(name string, f func() error) error {
	dir, err := CacheDir()
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return f()
}
