package report

import (
	"os"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/findings"
)

// TestAdvice is about calls that once were told to send fewer messages, and about
// conditions: no advice without a row that matches.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, kind, want string
		facts            findings.FindingFacts
	}{
		{"output of one process", findings.KindIO, "read or write more at once", findings.FindingFacts{Region: "MPI_File_write_at"}},
		{"output of one process alone", findings.KindIO, "read and write on all processes evenly", findings.FindingFacts{Region: "MPI_File_write_at", Uneven: true}},
		{"collective output", findings.KindIO, "", findings.FindingFacts{Region: "MPI_File_write_at_all"}},
		{"a lock that is held", findings.KindTransfer, "", findings.FindingFacts{Region: "MPI_Win_lock"}},
		{"set-up", findings.KindSetup, "", findings.FindingFacts{Region: "MPI_Init"}},
		{"late because of computing", findings.KindLateSender, "send earlier", findings.FindingFacts{Activity: "cpu"}},
		{"late because of MPI", findings.KindLateSender, "", findings.FindingFacts{Activity: "mpi"}},
		{"late receiver", "late_receiver", "post the receive", findings.FindingFacts{}},
		{"late progress", "late_progress", "enter MPI during the computation (MPI_Test)", findings.FindingFacts{}},
		{"late post", "late_post", "post the window", findings.FindingFacts{}},
		{"late post of a busy target", "late_post", "give the process that is late less to do", findings.FindingFacts{Busy: true}},
		{"early wait", "early_wait", "complete the epoch earlier", findings.FindingFacts{}},
		{"a barrier after calls", "barrier_wait", "drop the barrier if nothing needs it", findings.FindingFacts{Activity: "mpi"}},
		{"a collective after other calls", "nxn_wait", "make the calls shorter", findings.FindingFacts{Activity: "mpi", OtherCall: true}},
		{"a barrier after files", "barrier_wait", "", findings.FindingFacts{Activity: "io"}},
		{"a barrier, even work", "barrier_wait", "drop the barrier", findings.FindingFacts{Activity: "cpu", Even: true}},
		{"a collective, even work", "nxn_wait", "balance each step", findings.FindingFacts{Activity: "cpu", Even: true}},
		{"a collective, uneven work", "nxn_wait", "balance the work before", findings.FindingFacts{Activity: "cpu"}},
		{"a late member of a new communicator", "barrier_wait", "make the communicator or window once", findings.FindingFacts{Region: "MPI_Comm_split", Activity: "cpu"}},
		{"a late member of an operation on a file", "barrier_wait", "balance the work before the operation on the file", findings.FindingFacts{Region: "MPI_File_write_all", Activity: "cpu"}},
		{"a slow operation on a file", "barrier_wait", "", findings.FindingFacts{Region: "MPI_File_write_all", Activity: "mpi"}},
		{"early scan", "early_scan", "balance the work before", findings.FindingFacts{Activity: "cpu"}},
		{"lock contention", "lock_contention", "hold the lock for a shorter time", findings.FindingFacts{}},
		{"order of one source", findings.KindWrongOrder, "receive in the order of sending", findings.FindingFacts{SameSource: true}},
		{"order of several sources, of which one is busy", findings.KindWrongOrder, "give the process that is late less to do", findings.FindingFacts{Busy: true}},
		{"order of several sources", findings.KindWrongOrder, "receive from any source", findings.FindingFacts{}},
		{"small messages", findings.KindSmallMessages, "join messages", findings.FindingFacts{Region: "MPI_Send"}},
		{"a kind that is not in the table", "another", "", findings.FindingFacts{}},
	} {
		got := findings.Advice(x.kind, &x.facts)
		if !strings.HasPrefix(got, x.want) || (x.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestAdviceDocument: docs/metrics.md says when there is a finding of each kind that has advice.
func TestAdviceDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\n| kind | at most |\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for _, row := range findings.AdviceTable {
		for kind := range strings.FieldsSeq(row.Kind) {
			if !strings.Contains(text, "`"+kind+"`") {
				t.Errorf("docs/metrics.md does not say when there is a finding %s", kind)
			}
		}
	}
}
