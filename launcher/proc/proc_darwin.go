package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Boot identifies this boot by its time.
func Boot() (string, error) {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "", fmt.Errorf("read boot time: %w", err)
	}
	return strconv.FormatInt(tv.Sec, 10), nil
}

// Namespace is the same for all: the system has no pid namespaces.
func Namespace() (string, error) { return "", nil }

// Self names the calling process.
func Self() (ID, error) {
	boot, err := Boot()
	if err != nil {
		return ID{}, err
	}
	info, err := Get(os.Getpid())
	return ID{PID: info.PID, Start: info.Start, BootID: boot}, err
}

// Get reads one process, ErrGone when there is none.
func Get(pid int) (Info, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return Info{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return info(k), nil
}

func info(k *unix.KinfoProc) Info {
	const zombie, noTerminal = 5, -1 // SZOMB, NODEV
	start := k.Proc.P_starttime
	return Info{
		PID: int(k.Proc.P_pid), Parent: int(k.Eproc.Ppid),
		Start:    strconv.FormatInt(start.Sec*1e6+int64(start.Usec), 10),
		Terminal: k.Eproc.Tdev != noTerminal,
		Zombie:   k.Proc.P_stat == zombie,
	}
}

// List lists all processes that can be seen.
func List() ([]Info, error) {
	ks, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]Info, 0, len(ks))
	for i := range ks {
		all = append(all, info(&ks[i]))
	}
	return all, nil
}

// Signal sends sig to the process that id names; ErrGone when it is over.
// Without process handles a number can be reused between the comparison and
// the signal.
func Signal(id ID, sig unix.Signal) error {
	if boot, err := Boot(); err != nil || boot != id.BootID {
		return fmt.Errorf("process %d of another boot: %w", id.PID, ErrGone)
	}
	return SignalInfo(Info{PID: id.PID, Start: id.Start}, sig)
}

// SignalInfo sends sig to a process of a listing made in this boot.
func SignalInfo(p Info, sig unix.Signal) error {
	now, err := Get(p.PID)
	if err != nil {
		return err
	}
	if now.Start != p.Start || now.Zombie {
		return fmt.Errorf("process %d is not the one meant: %w", p.PID, ErrGone)
	}
	if err := unix.Kill(p.PID, sig); err != nil {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// Search finds the processes of attempts whose shim is gone, by RunDir. Only
// the marker in the environment counts here.
func Search(targets []Target) (map[string][]Info, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	return settled(func(p Info) (string, bool) {
		args, err := unix.SysctlRaw("kern.procargs2", p.PID)
		if err != nil {
			return "", false
		}
		for _, t := range targets {
			mark := append([]byte("\x00"+EnvRunDir+"="+t.RunDir), 0)
			if bytes.Contains(args, mark) && !older(p.Start, t.Since) {
				return t.RunDir, true
			}
		}
		return "", false
	})
}

// Adopt does nothing: the system has no subreapers, an orphan escapes.
func Adopt() error { return nil }
