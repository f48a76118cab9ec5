package fsstate

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"

	"drover/spec"
)

// seenName is the file that keeps what the events last told of every task. It
// is a fold over events.jsonl and may be deleted at any time: what it lacks is
// read from the events again.
const seenName = "seen.cache"

// seenVersion changes with the form of the file.
const seenVersion = "drover seen 2\n"

// Seen is the last state and reason that an event told of each task; of a
// reason, its code and detail.
func (j *Journal) Seen(ctx context.Context) (map[spec.TaskID]spec.Seen, error) {
	seen, at := j.loadSeen()
	j.seenAt = at
	path := j.path("events.jsonl")
	if info, err := os.Stat(path); err != nil || info.Size() < at {
		seen, at = map[spec.TaskID]spec.Seen{}, 0
		if errors.Is(err, fs.ErrNotExist) {
			return seen, nil
		}
	}
	if at == 0 {
		for e, err := range j.Events(ctx, time.Time{}) {
			if err != nil {
				return nil, fmt.Errorf("read events: %w", err)
			}
			foldSeen(seen, e)
		}
		return seen, nil
	}
	for line, err := range linesFrom(ctx, path, at-1) { // from the line feed before
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		var e spec.Event
		if json.Unmarshal(line, &e) == nil {
			foldSeen(seen, e)
		}
	}
	return seen, nil
}

func foldSeen(seen map[spec.TaskID]spec.Seen, e spec.Event) {
	id := spec.TaskID{Dialect: e.Dialect, Name: e.Task}
	switch {
	case e.Kind == spec.EventState:
		s := spec.Seen{State: e.To, Since: e.At}
		if e.Reason != nil {
			s.Code, s.Detail = e.Reason.Code, e.Reason.Detail
		}
		seen[id] = s
	case e.Kind == spec.EventRequest && e.Cause == "forget":
		delete(seen, id)
	}
}

// SaveSeen keeps what was told, with how far it has read the events, if the
// cache does not say it already. It is a
// cache: a crash leaves the old one or the new one.
func (j *Journal) SaveSeen(ctx context.Context, seen map[spec.TaskID]spec.Seen) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(j.path("events.jsonl"))
	if err != nil {
		return nil // nothing was told yet
	}
	if info.Size() == j.seenAt {
		return nil
	}
	b := binary.AppendVarint([]byte(seenVersion), info.Size())
	b = binary.AppendUvarint(b, uint64(len(seen)))
	for id, s := range seen {
		for _, f := range [...]string{id.Dialect, id.Name, string(s.State), string(s.Code), s.Detail} {
			b = binary.AppendUvarint(b, uint64(len(f)))
			b = append(b, f...)
		}
		b = binary.AppendVarint(b, s.Since.UnixNano())
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	path := j.path(seenName)
	if err := j.disk.Seam.Pass(spec.OpWrite, path); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o644); err != nil {
		return fmt.Errorf("keep what was told: %w", err)
	}
	if err := j.disk.Seam.Pass(spec.OpRename, path); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("keep what was told: %w", err)
	}
	j.seenAt = info.Size()
	return nil
}

// loadSeen reads the cache; one that is missing or damaged is empty.
func (j *Journal) loadSeen() (map[spec.TaskID]spec.Seen, int64) {
	none := map[spec.TaskID]spec.Seen{}
	b, err := os.ReadFile(j.path(seenName))
	if err != nil || len(b) < len(seenVersion)+4 || string(b[:len(seenVersion)]) != seenVersion {
		return none, 0
	}
	body := b[:len(b)-4]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(b[len(body):]) {
		return none, 0
	}
	r := seenReader{b: string(body[len(seenVersion):])}
	at, n := r.varint(), r.uvarint()
	seen := make(map[spec.TaskID]spec.Seen, min(n, uint64(len(body))))
	for range n {
		id := spec.TaskID{Dialect: r.text(), Name: r.text()}
		s := spec.Seen{State: spec.State(r.text()), Code: spec.Code(r.text()), Detail: r.text()}
		s.Since = time.Unix(0, r.varint())
		if r.bad {
			return none, 0
		}
		seen[id] = s
	}
	return seen, at
}

// seenReader takes values off the front of the cache, without copying them;
// bad once it is short.
type seenReader struct {
	b   string
	bad bool
}

func (r *seenReader) uvarint() uint64 {
	var v uint64
	for i := range min(len(r.b), binary.MaxVarintLen64) {
		c := r.b[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return v
		}
	}
	r.bad, r.b = true, ""
	return 0
}

func (r *seenReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *seenReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, ""
		return ""
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}
