package report

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdvice is about calls that once were told to send fewer messages, and about
// conditions: no advice without a row that matches.
func TestAdvice(t *testing.T) {
	for _, x := range []struct {
		name, kind, want string
		facts            findingFacts
	}{
		{"output of one process", kindIO, "read or write more at once", findingFacts{region: "MPI_File_write_at"}},
		{"output of one process alone", kindIO, "read and write on all processes evenly", findingFacts{region: "MPI_File_write_at", uneven: true}},
		{"collective output", kindIO, "", findingFacts{region: "MPI_File_write_at_all"}},
		{"a lock that is held", kindTransfer, "", findingFacts{region: "MPI_Win_lock"}},
		{"set-up", kindSetup, "", findingFacts{region: "MPI_Init"}},
		{"late because of computing", kindLateSender, "send earlier", findingFacts{activity: "cpu"}},
		{"late because of MPI", kindLateSender, "", findingFacts{activity: "mpi"}},
		{"late receiver", "late_receiver", "post the receive", findingFacts{}},
		{"late progress", "late_progress", "enter MPI during the computation (MPI_Test)", findingFacts{}},
		{"order of one source", kindWrongOrder, "receive in the order of sending", findingFacts{sameSource: true}},
		{"order of several sources", kindWrongOrder, "receive from any source", findingFacts{}},
		{"small messages", kindSmallMessages, "join messages", findingFacts{region: "MPI_Send"}},
		{"a kind that is not in the table", "another", "", findingFacts{}},
	} {
		got := advice(x.kind, &x.facts)
		if !strings.HasPrefix(got, x.want) || (x.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestAdviceDocument holds docs/metrics.md against the table: one line for each row, in
// its order.
func TestAdviceDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "**Advice**")
	text, _, _ = strings.Cut(text, "\n## ")
	var got []string
	for line := range strings.Lines(text) {
		if c := strings.Split(line, " | "); strings.HasPrefix(line, "| `") && len(c) > 1 {
			got = append(got, strings.Trim(c[0], "|` ")+": "+strings.Trim(c[len(c)-1], " |\n"))
		}
	}
	var want []string
	for _, row := range adviceTable {
		want = append(want, row.kind+": "+row.text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
