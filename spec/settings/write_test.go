package settings

import (
	"reflect"
	"testing"
)

// TestText: what is written reads back to the same.
func TestText(t *testing.T) {
	for name, text := range map[string]string{"default": "", "everything": everything} {
		s, problems := Parse("d", []byte(text))
		if problems != nil {
			t.Fatal(problems)
		}
		again, problems := Parse("d", []byte(s.Text()))
		if problems != nil {
			t.Fatalf("%s: %v\n%s", name, problems, s.Text())
		}
		// Lines of the file, and groups of limits that only the seed's routes
		// have, are no settings.
		for _, x := range []*Settings{&s, &again} {
			x.ZoneLine, x.NotYet = 0, nil
			for k, r := range x.Routes {
				r.LimitKey = ""
				x.Routes[k] = r
			}
			for k, a := range x.Agents {
				if len(a.Env) == 0 && len(a.Args) == 0 {
					a.Env, a.Args = nil, nil
				}
				x.Agents[k] = a
			}
			if len(x.Reclaim.Ignore) == 0 {
				x.Reclaim.Ignore = nil
			}
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%s:\n%+v\n%+v", name, s, again)
		}
	}
}
