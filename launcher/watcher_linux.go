package launcher

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"drover/launcher/proc"

	"golang.org/x/sys/unix"
)

// ownBinary is a path that opens the running binary whatever happened to its
// file since.
func ownBinary(string) string { return "/proc/self/exe" }

// process is a shim as its watcher knows it.
type process struct {
	pid   int
	fd    int  // pidfd
	child bool // ours to reap; an adopted one is init's
}

// startShim starts a process in a session of its own, in the root folder, with
// fds as its descriptors from 0 on and nothing else.
func startShim(exe string, argv, env []string, fds []uintptr) (process, error) {
	p := process{child: true, fd: -1}
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{
		Dir: "/", Env: env, Files: fds,
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &p.fd},
	})
	if err != nil {
		return p, fmt.Errorf("start shim: %w", err)
	}
	p.pid = pid
	if p.fd < 0 {
		return p, errors.New("start shim: the kernel gives no pidfd (Linux 5.4 or newer is needed)")
	}
	return p, nil
}

// watcher waits for the ends of all shims in one epoll loop, and for the bell
// that they ring when an agent was started or inspected.
type watcher struct {
	ended func(attempt string)
	rang  func()

	epoll int
	wake  int // an eventfd: something about the loop itself changed
	// The bell's two ends stay bare descriptors: shims share the file and rely
	// on its not blocking, which os.File might undo.
	bellIn, bellTo int
	done           chan struct{}

	mu      sync.Mutex
	shims   map[int32]watched // by pidfd
	every   time.Duration     // ring by itself, 0 for never
	closing bool
}

type watched struct {
	process
	attempt string
}

func newWatcher(ended func(attempt string), rang func()) (_ *watcher, err error) {
	w := &watcher{
		ended: ended, rang: rang, epoll: -1, wake: -1, bellIn: -1, bellTo: -1,
		shims: map[int32]watched{}, done: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			w.closeFDs()
			err = fmt.Errorf("watch shims: %w", err)
		}
	}()
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	var pipe [2]int
	if err = unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	w.bellIn, w.bellTo = pipe[0], pipe[1]
	for _, fd := range []int{w.wake, w.bellIn} {
		if err = w.poll(fd); err != nil {
			return nil, err
		}
	}
	go w.loop()
	return w, nil
}

func (w *watcher) poll(fd int) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// bell is what shims write to.
func (w *watcher) bell() uintptr { return uintptr(w.bellTo) }

// add watches a shim that was started.
func (w *watcher) add(attempt string, p process) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shims[int32(p.fd)] = watched{p, attempt}
	if err := w.poll(p.fd); err != nil {
		delete(w.shims, int32(p.fd))
		unix.Close(p.fd)
		return fmt.Errorf("watch shim: %w", err)
	}
	return nil
}

// adopt watches a shim that another drover started.
func (w *watcher) adopt(attempt string, id proc.ID) error {
	fd, err := proc.Open(id)
	if err != nil {
		return err
	}
	return w.add(attempt, process{pid: id.PID, fd: fd})
}

// lookEvery makes the watcher ring by itself while there are attempts whose
// shim it cannot hold.
func (w *watcher) lookEvery(d time.Duration) {
	w.mu.Lock()
	changed := w.every != d
	w.every = d
	w.mu.Unlock()
	if changed {
		w.nudge()
	}
}

func (w *watcher) nudge() {
	_, _ = unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full means: nudged already
}

func (w *watcher) loop() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 64)
	sink := make([]byte, 512)
	for {
		timeout, closing := w.patience()
		if closing {
			return
		}
		n, err := unix.EpollWait(w.epoll, events, timeout)
		if err != nil && err != unix.EINTR {
			return // the epoll descriptor is ours alone: it cannot fail otherwise
		}
		if n == 0 && err == nil {
			w.rang()
		}
		for _, e := range events[:max(n, 0)] {
			switch fd := int(e.Fd); fd {
			case w.wake:
				_, _ = unix.Read(fd, sink[:8])
			case w.bellIn:
				_, _ = unix.Read(fd, sink)
				w.rang()
			default:
				w.over(e.Fd)
			}
		}
	}
}

func (w *watcher) patience() (ms int, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.every == 0 {
		return -1, w.closing
	}
	return int(w.every / time.Millisecond), w.closing
}

// over reaps a shim that has ended and tells.
func (w *watcher) over(fd int32) {
	w.mu.Lock()
	s, ok := w.shims[fd]
	delete(w.shims, fd)
	w.mu.Unlock()
	if !ok {
		return
	}
	if s.child {
		var ws unix.WaitStatus
		for {
			// How it exited says nothing: exit.json does.
			if _, err := unix.Wait4(s.pid, &ws, unix.WNOHANG, nil); err != unix.EINTR {
				break
			}
		}
	}
	unix.Close(int(fd))
	w.ended(s.attempt)
}

func (w *watcher) close() error {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return nil
	}
	w.closing = true
	w.mu.Unlock()
	w.nudge()
	<-w.done
	w.closeFDs()
	return nil
}

func (w *watcher) closeFDs() {
	for fd := range w.shims {
		unix.Close(int(fd))
	}
	for _, fd := range []int{w.epoll, w.wake, w.bellIn, w.bellTo} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
