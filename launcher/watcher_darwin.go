package launcher

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"drover/launcher/proc"

	"golang.org/x/sys/unix"
)

// ownBinary is the binary's path: the system has no other name for it.
func ownBinary(path string) string { return path }

// process is a shim as its watcher knows it.
type process struct {
	id    proc.ID
	child bool // ours to reap
}

// startShim starts a process in a session of its own, in the root folder, with
// fds as its descriptors from 0 on and nothing else.
func startShim(exe string, argv, env []string, fds []uintptr) (process, error) {
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{
		Dir: "/", Env: env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return process{}, fmt.Errorf("start shim: %w", err)
	}
	return process{id: proc.ID{PID: pid}, child: true}, nil
}

// lookStep is how often the watcher looks at its shims: there are no pidfds.
const lookStep = 200 * time.Millisecond

// watcher asks for all shims' processes in one loop.
type watcher struct {
	ended func(attempt string)
	rang  func()
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	pipe  [2]int

	mu    sync.Mutex
	shims map[string]process
	every time.Duration
}

func newWatcher(ended func(attempt string), rang func()) (*watcher, error) {
	w := &watcher{ended: ended, rang: rang, stop: make(chan struct{}), done: make(chan struct{}), shims: map[string]process{}}
	if err := unix.Pipe(w.pipe[:]); err != nil {
		return nil, fmt.Errorf("watch shims: %w", err)
	}
	for _, fd := range w.pipe {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, fmt.Errorf("watch shims: %w", err)
		}
	}
	go w.loop()
	return w, nil
}

// bell is what shims write to.
func (w *watcher) bell() uintptr { return uintptr(w.pipe[1]) }

// add watches a shim that was started.
func (w *watcher) add(attempt string, p process) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shims[attempt] = p
	return nil
}

// adopt watches a shim that another drover started.
func (w *watcher) adopt(attempt string, id proc.ID) error {
	if now, err := proc.Get(id.PID); err != nil || now.Start != id.Start || now.Zombie {
		return proc.ErrGone
	}
	return w.add(attempt, process{id: id})
}

// lookEvery makes the watcher ring by itself.
func (w *watcher) lookEvery(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.every = d
}

func (w *watcher) loop() {
	defer close(w.done)
	tick := time.NewTicker(lookStep)
	defer tick.Stop()
	sink := make([]byte, 512)
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		if n, _ := unix.Read(w.pipe[0], sink); n > 0 {
			w.rang()
		}
		for _, attempt := range w.over() {
			w.ended(attempt)
		}
	}
}

// over takes out the shims that have ended.
func (w *watcher) over() (attempts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.every > 0 {
		w.rang()
	}
	for attempt, p := range w.shims {
		if p.child {
			var ws unix.WaitStatus
			if pid, err := unix.Wait4(p.id.PID, &ws, unix.WNOHANG, nil); err == nil && pid == 0 {
				continue
			}
		} else if now, err := proc.Get(p.id.PID); err == nil && now.Start == p.id.Start && !now.Zombie {
			continue
		}
		delete(w.shims, attempt)
		attempts = append(attempts, attempt)
	}
	return attempts
}

func (w *watcher) close() error {
	w.once.Do(func() {
		close(w.stop)
		<-w.done
		unix.Close(w.pipe[0])
		unix.Close(w.pipe[1])
	})
	return nil
}
