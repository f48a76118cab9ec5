package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"drover/spec"
	"drover/spec/markdown"
)

// reader walks a YAML tree and notes everything that is wrong with it, with
// line numbers, instead of stopping at the first.
//
// It goes over nodes, not into structs: yaml.v3 reads 010 as 8 and 1.10 as
// 1.1, and lets unknown keys vanish. Here a value is its own bytes.
type reader struct {
	path     string
	problems []spec.Problem
	notYet   []spec.Problem
	trusted  []string
}

// key is one key of a mapping and what reads its value.
type key struct {
	name string
	read func(n *yaml.Node)
}

func (r *reader) bad(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, spec.Problem{
		File: r.path, Line: n.Line, Code: "bad-setting", Message: fmt.Sprintf(format, args...),
	})
}

// later notes a setting that is kept but not obeyed yet.
func (r *reader) later(n *yaml.Node, what string) {
	r.notYet = append(r.notYet, spec.Problem{
		File: r.path, Line: n.Line, Code: "not-yet", Message: what + " is understood but not obeyed yet",
	})
}

// refuse notes a setting that would be unsafe to ignore.
func (r *reader) refuse(n *yaml.Node, what string) {
	r.problems = append(r.problems, spec.Problem{
		File: r.path, Line: n.Line, Code: "not-yet",
		Message: what + " is not obeyed yet, and starting agents without it would break your limit; remove it to go on",
	})
}

// object reads a mapping of exactly these keys, each at most once.
func (r *reader) object(n *yaml.Node, where string, keys ...key) {
	r.entries(n, where, func(k, v *yaml.Node) {
		for _, known := range keys {
			if known.name == k.Value {
				known.read(v)
				return
			}
		}
		r.unknown(k, keys)
	})
}

func (r *reader) unknown(k *yaml.Node, keys []key) {
	names := make([]string, len(keys))
	for i, known := range keys {
		names[i] = known.name
	}
	word := strings.TrimFunc(k.Value, unicode.IsSpace)
	if slices.Contains(names, word) {
		r.bad(k, "key %q has an odd blank in it, write %s", k.Value, word)
	} else if near := markdown.Nearest(word, names); near != "" {
		r.bad(k, "unknown key %s, did you mean %s?", word, near)
	} else {
		r.bad(k, "unknown key %s; known are %s", word, strings.Join(names, ", "))
	}
}

// entries calls each for every entry of a mapping; keys are plain words and
// none comes twice. An empty value counts as an empty mapping.
func (r *reader) entries(n *yaml.Node, where string, each func(k, v *yaml.Node)) {
	n, ok := r.plain(n)
	if !ok || isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.bad(n, "%s wants keys and values, not %s", where, kind(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge":
			r.bad(k, "%s wants plain keys: anchors, merges and lists are not keys", where)
		case seen[k.Value] != 0:
			r.bad(k, "key %s is there twice, first in line %d", k.Value, seen[k.Value])
		default:
			seen[k.Value] = k.Line
			each(k, v)
		}
	}
}

// plain refuses aliases, anchors and tags: every value stands where it is read.
func (r *reader) plain(n *yaml.Node) (*yaml.Node, bool) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		r.bad(n, "anchors, aliases and tags are not read here; write the value itself")
		return n, false
	}
	return n, true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

// scalar is a value's own text; lists, mappings, nothing and true/false are
// refused.
func (r *reader) scalar(n *yaml.Node, where, wants string) (string, bool) {
	n, ok := r.plain(n)
	if !ok {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || isNull(n) || n.Tag == "!!bool" && n.Style == 0 {
		r.bad(n, "%s wants %s, not %s", where, wants, kind(n))
		return "", false
	}
	if !utf8.ValidString(n.Value) || strings.ContainsRune(n.Value, 0) {
		r.bad(n, "%s holds bytes that are no text", where)
		return "", false
	}
	return n.Value, true
}

func (r *reader) text(to *string, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if s, ok := r.scalar(n, where, "a text"); ok {
			*to = s
		}
	}
}

// oneOf reads one of a few words.
func (r *reader) oneOf(to *string, where string, words ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		wants := strings.Join(words, " or ")
		if s, ok := r.scalar(n, where, wants); ok {
			if !slices.Contains(words, s) {
				r.bad(n, "%s wants %s, not %q", where, wants, s)
				return
			}
			*to = s
		}
	}
}

func (r *reader) boolean(to *bool, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n, ok := r.plain(n); ok {
			switch n.Value {
			case "true", "false":
				*to = n.Value == "true"
			default:
				r.bad(n, "%s wants true or false, not %s", where, kind(n))
			}
		}
	}
}

// count reads a whole number that is not below least, in plain decimal.
func (r *reader) count(to *int, where string, least int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, where, "a whole number")
		if !ok {
			return
		}
		i, err := strconv.Atoi(s)
		if err != nil || strconv.Itoa(i) != s || i < least {
			r.bad(n, "%s wants a whole number from %d, not %q", where, least, s)
			return
		}
		*to = i
	}
}

// texts reads a list of texts.
func (r *reader) texts(to *[]string, where string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n, ok := r.plain(n)
		if !ok {
			return
		}
		if n.Kind != yaml.SequenceNode {
			r.bad(n, "%s wants a list, not %s", where, kind(n))
			return
		}
		out := make([]string, 0, len(n.Content))
		for _, item := range n.Content {
			if s, ok := r.scalar(item, where, "texts"); ok {
				out = append(out, s)
			}
		}
		*to = out
	}
}
