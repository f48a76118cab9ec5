package spectest

import (
	"errors"
	"maps"
	"testing"

	"drover/spec"
)

func TestApply(t *testing.T) {
	upper := func(old []byte) []byte { return append([]byte("new "), old...) }
	for _, c := range []struct {
		name         string
		files, after map[string]string
		change       spec.Change
	}{
		{"create", map[string]string{}, map[string]string{"a": "1"}, spec.CreateFile{Path: "a", Text: "1"}},
		{"create beside", map[string]string{"a": "0"}, map[string]string{"a": "0"}, spec.CreateFile{Path: "a", Text: "1"}},
		{"move", map[string]string{"d/a": "1"}, map[string]string{"e/b": "1"}, spec.MoveFile{From: "d/a", To: "e/b"}},
		{"derive", map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "new 1"}, spec.DeriveFile{From: "a", To: "b", Make: upper}},
		{
			"archive beside another",
			map[string]string{"d/a": "1", "d/s/b": "2", "x/d/old": "0"},
			map[string]string{"x/d/old": "0", "x/d_1/a": "1", "x/d_1/s/b": "2"},
			spec.ArchiveFolder{From: "d", To: "x/d"},
		},
		{
			"block",
			map[string]string{"i": "mine\n# b\nold\n# e\nmore\n"},
			map[string]string{"i": "mine\n# b\nnew\n# e\nmore\n"},
			spec.ManagedBlock{Path: "i", Begin: "# b", End: "# e", Lines: []string{"new"}},
		},
		{
			"new block",
			map[string]string{"i": "mine"},
			map[string]string{"i": "mine\n# b\nnew\n# e\n"},
			spec.ManagedBlock{Path: "i", Begin: "# b", End: "# e", Lines: []string{"new"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := maps.Clone(c.files)
			once, err := Apply(c.files, c.change)
			if err != nil || !maps.Equal(once, c.after) {
				t.Fatalf("%v\n%s", err, difference(once, c.after))
			}
			twice, err := Apply(once, c.change)
			if err != nil || !maps.Equal(twice, once) {
				t.Errorf("twice is not once: %v\n%s", err, difference(twice, once))
			}
			if !maps.Equal(c.files, before) {
				t.Errorf("the files it was given have changed")
			}
		})
	}
	taken := map[string]string{"a": "1", "b": "2"}
	if _, err := Apply(taken, spec.MoveFile{From: "a", To: "b"}); !errors.Is(err, errExists) {
		t.Errorf("a move onto a taken name: %v", err)
	}
}
