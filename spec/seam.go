package spec

// Op names one kind of effect.
type Op string

// The kinds of effect that pass the seam.
const (
	OpWrite  Op = "write"  // bytes of a file
	OpSync   Op = "sync"   // fsync or fdatasync of a file or folder
	OpRename Op = "rename" // rename or exchange
	OpLink   Op = "link"   // link or symlink
	OpMkdir  Op = "mkdir"
	OpRemove Op = "remove"
	OpLock   Op = "lock"
	OpStart  Op = "start"  // a process
	OpSignal Op = "signal" // a process
	OpRef    Op = "ref"    // a git ref, worktree or index
)

// Seam is passed by every effect of drover and of the shim just before the
// effect happens. The real one lets everything through; crash tests kill the
// process in it, fault tests answer with the error that the effect shall have.
// main builds it once and hands it down.
type Seam func(op Op, object string) error

// Pass asks the seam for an effect on object. A nil seam lets it through.
func (s Seam) Pass(op Op, object string) error {
	if s == nil {
		return nil
	}
	return s(op, object)
}
