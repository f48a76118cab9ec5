package launcher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"drover/spec"
)

// source is which binary runs and which one lies on disk now (seed 003,
// failure contract). Hashes are taken when the first attempt needs them, then
// only when the file changes.
type source struct {
	imported time.Time
	path     string // on disk
	loaded   string // a path that opens the binary as it was loaded

	mu         sync.Mutex
	loadedSum  string
	current    os.FileInfo
	currentSum string
}

// fill writes the source facts of a locator.
func (s *source) fill(loc *spec.Locator) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loadedSum == "" {
		sum, info, err := hash(s.loaded)
		if err != nil {
			return err
		}
		s.loadedSum, s.currentSum, s.current = sum, sum, info
	}
	if info, err := os.Stat(s.path); err != nil {
		// Deleted under us, as an upgrade may do.
		s.current, s.currentSum = nil, ""
	} else if !unchanged(s.current, info) {
		sum, info, err := hash(s.path)
		if err != nil {
			return err
		}
		s.currentSum, s.current = sum, info
	}
	loc.ImportTime, loc.SourcePath = s.imported, s.path
	loc.DispatcherSourceSHA256, loc.CurrentSourceSHA256 = s.loadedSum, s.currentSum
	loc.DispatcherSourceMatchesLoaded = s.loadedSum == s.currentSum
	return nil
}

func unchanged(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func hash(path string) (sum string, info os.FileInfo, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("hash own binary: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return "", nil, fmt.Errorf("hash own binary: %w", err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", nil, fmt.Errorf("hash own binary: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), info, nil
}
