package trace

import "testing"

// TestCallPlace: the place of a call is the innermost line of the program that is not of a header, and in what it calls.
func TestCallPlace(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		frames []string
		want   string
	}{
		{nil, ""},
		{[]string{"main (a.c:3)"}, "a.c:3"},
		{[]string{"main (a.c:3)", "solve+0x2a"}, "a.c:3 > solve+0x2a"},
		{[]string{"main (a.cpp:3)", "step (a.cpp:9)", "Halo::exchange (halo.hpp:7)"}, "a.cpp:9 > halo.hpp:7"},
		{[]string{"main (a.cpp:3)", "send (in.inl:5)", "all (out.h:7)"}, "a.cpp:3 > out.h:7"},
		{[]string{"main (a.cpp:3)", "send (in.hh:5)", "f+0x1"}, "a.cpp:3 > f+0x1"},
		{[]string{"f+0x1", "all (out.h:7)"}, "out.h:7"},
		{[]string{"f+0x1"}, "f+0x1"},
	} {
		if got := placeOf(x.frames); got != x.want {
			t.Errorf("%q: %q, want %q", x.frames, got, x.want)
		}
	}
}

func TestBareName(t *testing.T) {
	for name, want := range map[string]string{
		"solve": "solve", "a::Halo<double, 16>::exchange": "a::Halo<…>::exchange", "f<g<int>, h<>>": "f<…>", "a<b>::c<d>": "a<…>::c<…>",
		"operator<": "operator<", "v<int>::operator<< <char>": "v<…>::operator<< <…>", "s::operator->": "s::operator->", "a > b": "a > b", "x<y": "x<y", "": "",
		"f<decltype(g()->h)>::i": "f<…>::i", "(anonymous namespace)::f": "(anonymous namespace)::f",
	} {
		if got := BareName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
