package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// archiveOf writes the archive of a text into a folder.
func archiveOf(t *testing.T, dir, text string) string {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "traces.otf2")
}

// TestBeyond64Bits analyses locations whose times or bytes, added up, exceed what 64 bits hold with a sign: each ends where
// it has too much, with one diagnostic, and the result is partial and agrees with itself. What just fits is kept.
func TestBeyond64Bits(t *testing.T) {
	t.Parallel()
	most := xtf.Most(5)
	for name, x := range map[string]struct {
		last, bytes uint64
		code        int
	}{
		"fits":  {last: most, bytes: most},
		"time":  {last: most + 1, bytes: 8, code: 4},
		"bytes": {last: most, bytes: most + 1, code: 4},
		"2^62":  {last: 1 << 62, bytes: 1 << 62, code: 4},
		"2^64":  {last: 1<<64 - 1, bytes: 1<<64 - 1, code: 4},
	} {
		t.Run(name, func(t *testing.T) {
			text := "-- program --\nprocesses 5\n-- events --\n"
			for p := range 5 {
				text += fmt.Sprintf("%d 0 ENTER main\n", p)
				switch p {
				case 1:
					text += fmt.Sprintf("1 10 ENTER MPI_Send\n1 10 MPI_SEND 2 0 7 %d\n1 20 LEAVE MPI_Send\n", x.bytes)
				case 2:
					text += fmt.Sprintf("2 10 ENTER MPI_Recv\n2 20 MPI_RECV 1 0 7 %d\n2 20 LEAVE MPI_Recv\n", x.bytes)
				}
				text += fmt.Sprintf("%d %d LEAVE main\n", p, x.last)
			}
			dir := t.TempDir()
			archive := archiveOf(t, dir, text)
			for _, events := range []string{"all", "none"} {
				run := filepath.Join(dir, events+".xtf")
				code, _, errs := call("analyze", archive, "-o", run, "-q", "--events", events)
				_, found, _ := call("report", run, "diagnostics")
				if code != x.code || strings.Contains(found, "overflow") != (x.code != 0) {
					t.Errorf("events %s: analyze has exit code %d, want %d\n%s%s", events, code, x.code, errs, found)
				}
				acceptable(t, run)
			}
		})
	}
}

// TestOneEarlyLocation has one location whose first time is damaged, so that all others seem to begin too late to add up. It
// alone is left out.
func TestOneEarlyLocation(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 5\nresolution 1000000000\n-- events --\n0 1 ENTER main\n0 1700000000000000010 LEAVE main\n"
	for p := 1; p < 5; p++ {
		text += fmt.Sprintf("%d 1900000000000000000 ENTER main\n%d 1900000000000000010 LEAVE main\n", p, p)
	}
	dir := t.TempDir()
	run := filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", archiveOf(t, dir, text), "-o", run, "-q"); code != 0 && code != 4 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	v := jsonOf[struct{ Events uint64 }](t, "report", run, "summary", "--format", "json")
	if v.Events < 8 {
		t.Errorf("%d events are left, want those of 4 locations", v.Events)
	}
	acceptable(t, run)
}

// integers are those of a JSON document.
var integers = regexp.MustCompile(`[:\[,] ?(-?\d+)\b`)

// acceptable has the file checked and reported: it agrees with itself, and no sum has wrapped, which would be above 2^63.
func acceptable(t *testing.T, run string) {
	t.Helper()
	if code, out, errs := call("check", run); code != 0 {
		t.Errorf("check has exit code %d\n%s%s", code, out, errs)
	}
	for _, section := range []string{"summary", "profile", "comm", "intervals", "waits", "paths", "pop"} {
		code, out, errs := call("report", run, section, "--format", "json")
		if code != 0 && code != 4 && !strings.Contains(errs, "--events none") {
			t.Errorf("report %s has exit code %d\n%s", section, code, errs)
		}
		for _, m := range integers.FindAllStringSubmatch(out, -1) {
			if len(m[1]) > 19 && m[1] != "18446744073709551615" || len(m[1]) == 19 && m[1] > "9223372036854775807" {
				t.Errorf("report %s has the number %s", section, m[1])
			}
		}
	}
}

// TestExtremeValues analyses runs whose times and bytes are near the limits of everything, and checks what comes out.
func TestExtremeValues(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			archive := archiveOf(t, dir, extreme(rand.New(rand.NewPCG(seed, 1))))
			run := filepath.Join(dir, "run.xtf")
			events := []string{"all", "none"}[seed%4/3]
			if code, _, errs := call("analyze", archive, "-o", run, "-q", "--events", events); code != 0 && code != 4 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			acceptable(t, run)
		})
	}
}

// extreme is a program of messages and collectives at random times, with random sizes.
func extreme(r *rand.Rand) string {
	n := 2 + r.IntN(4)
	most := xtf.Most(n * 2)
	value := func() uint64 {
		switch r.IntN(8) {
		case 0:
			return most - uint64(r.IntN(3))
		case 1:
			return most / uint64(1+r.IntN(20))
		case 2:
			return 1<<r.IntN(64) - uint64(r.IntN(2))
		case 3:
			return r.Uint64()
		}
		return uint64(r.IntN(1000))
	}
	text := fmt.Sprintf("-- program --\nprocesses %d\nthreads 2\n-- events --\n", n)
	for p := range n {
		steps := 3 + r.IntN(12)
		times := make([]uint64, 2*steps+2)
		for i := range times {
			if times[i] = value(); r.IntN(3) > 0 {
				times[i] = min(times[i], most-uint64(r.IntN(3)))
			}
		}
		slices.Sort(times)
		text += fmt.Sprintf("%d %d ENTER main\n", p*2, times[0])
		for i := range steps {
			a, b := times[2*i+1], times[2*i+2]
			bytes := value()
			switch r.IntN(4) {
			case 0:
				text += fmt.Sprintf("%d %d ENTER MPI_Send\n%d %d MPI_SEND %d 0 7 %d\n%d %d LEAVE MPI_Send\n", p*2, a, p*2, a, (p+1)%n, bytes, p*2, b)
			case 1:
				text += fmt.Sprintf("%d %d ENTER MPI_Recv\n%d %d MPI_RECV %d 0 7 %d\n%d %d LEAVE MPI_Recv\n", p*2, a, p*2, b, (p+n-1)%n, bytes, p*2, b)
			case 2:
				text += fmt.Sprintf("%d %d ENTER MPI_Allreduce\n%d %d MPI_COLLECTIVE_BEGIN\n%d %d MPI_COLLECTIVE_END ALLREDUCE 0 none %d %d\n%d %d LEAVE MPI_Allreduce\n", p*2, a, p*2, a, p*2, b, bytes, value(), p*2, b)
			default:
				text += fmt.Sprintf("%d %d ENTER work\n%d %d LEAVE work\n", p*2, a, p*2, b)
			}
		}
		text += fmt.Sprintf("%d %d LEAVE main\n", p*2, times[len(times)-1])
		a := value()
		text += fmt.Sprintf("%d %d ENTER work\n%d %d LEAVE work\n", p*2+1, a, p*2+1, max(a, value()))
	}
	return text
}

// TestOverlappingSpans has messages that are all on their way for most of the longest run there may be: each event is allowed,
// the sum of their spans is not.
func TestOverlappingSpans(t *testing.T) {
	t.Parallel()
	text, most := "-- program --\nprocesses 2\n-- events --\n0 0 ENTER main\n1 0 ENTER main\n", xtf.Most(2)
	for i := range uint64(3) {
		text += fmt.Sprintf("0 %d ENTER MPI_Send\n0 %d MPI_SEND 1 0 7 8\n0 %d LEAVE MPI_Send\n", 2*i, 2*i, 2*i+1)
		at := most - 20 + 2*i
		text += fmt.Sprintf("1 %d ENTER MPI_Recv\n1 %d MPI_RECV 0 0 7 8\n1 %d LEAVE MPI_Recv\n", at, at+1, at+1)
	}
	text += fmt.Sprintf("0 %d LEAVE main\n1 %d LEAVE main\n", most, most)
	dir := t.TempDir()
	run := filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", archiveOf(t, dir, text), "-o", run, "-q"); code != 4 {
		t.Errorf("exit code %d, want 4: %s", code, errs)
	}
	if found := must(t, "report", run, "diagnostics"); !strings.Contains(found, "overflow") {
		t.Error(found)
	}
	acceptable(t, run)
}
